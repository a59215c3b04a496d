//! A trace file together with how it is to be read.

use std::path::PathBuf;
use std::str::FromStr;

use super::{TraceError, TraceFormat};

/// A trace file and the choices made for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceFile {
    /// What messages and results call it.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// How it is read.
    pub options: FileOptions,
}

/// Choices that a file leaves open. The default suits a file that holds one volume.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FileOptions {
    /// The format, instead of the one that the content shows.
    pub format: Option<TraceFormat>,
    /// The volume whose requests are taken, instead of the busiest at the beginning.
    pub volume: Option<String>,
    /// Which events of a `blkparse` output are requests, instead of [`BlockEvent::Queued`], or
    /// [`BlockEvent::Issued`] where the beginning has only such.
    pub event: Option<BlockEvent>,
}

/// An event in the life of a request in the kernel's block layer.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum BlockEvent {
    /// `Q`: the request came to the block layer, before it was merged with others.
    #[default]
    Queued,
    /// `D`: the request, merged and scheduled, was issued to the drive.
    Issued,
}

impl BlockEvent {
    /// The letter by which `blkparse` shows it.
    #[must_use]
    pub fn letter(self) -> char {
        match self {
            Self::Queued => 'Q',
            Self::Issued => 'D',
        }
    }
}

impl FromStr for BlockEvent {
    type Err = TraceError;

    fn from_str(letter: &str) -> Result<Self, TraceError> {
        match letter {
            "Q" => Ok(Self::Queued),
            "D" => Ok(Self::Issued),
            _ => Err(TraceError::NoSuchEvent { name: letter.into() }),
        }
    }
}

impl From<PathBuf> for TraceFile {
    fn from(path: PathBuf) -> Self {
        Self { name: path.display().to_string(), path, options: FileOptions::default() }
    }
}
