//! An image: a drive of any preset emulated in a file. Its recording's rules are enforced, and its state outlives the
//! program.
//!
//! ```text
//! offset    what lies there
//! 0         header: UUID and the drive's preset, framed (see `frame.rs`), magic "IMBREXI1"
//! 64 KiB    its copy
//! 128 KiB   two copies of the table of units (see `unit_table.rs`), each rounded up to 4 KiB
//! 1 MiB*    the drive's blocks, one after the other, from the next whole MiB on
//! ```
//!
//! What a drive has not been given takes no room where the file system keeps sparse files. A write pointer is written
//! to the table with the next flush, as a drive's volatile cache would have it; an emptied unit at once, since its
//! blocks may be overwritten from then on. An activation of a realm is, too, when all before it is durable: so a power
//! cut leaves one span of a realm or the other, and never what is written about both.

mod ahead;
mod copies;
mod destroyed;
mod forget;
mod realms;
mod store;
mod table;
pub mod unit_table;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use imbrex::block::{Extent, Pba};
use imbrex::drive::{DriveError, DrivePreset};
use imbrex::layer::Condition;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::backing::{Backing, Nowhere};
use crate::frame::{self, Frame, FrameError, FrameKind};
use ahead::Ahead;
pub use copies::Metadata;
use destroyed::Blank;
use table::{COPIES, data_at, entry_at, read_table};
use unit_table::{Broken, Entry};

/// What the header is framed as.
const KIND: FrameKind = FrameKind { magic: *b"IMBREXI1", newest: VERSION };
/// The format version of what is made.
const VERSION: u32 = 1;
/// Bytes of a copy of the header.
const HEADER_BYTES: usize = 64 << 10;

/// A drive emulated in a backing.
pub struct Image<B> {
    backing: B,
    uuid: Uuid,
    preset: DrivePreset,
    data_at: u64,
    state: Mutex<State>,
    /// Held by whoever writes much.
    long_writes: Mutex<()>,
}

/// What changes while the drive is used.
struct State {
    media: Box<dyn Media>,
    /// What the table says, or will say after the next flush.
    entries: Vec<Entry>,
    /// Units whose entry in the table is older.
    dirty: BTreeSet<u32>,
    /// Units of which room is kept for some blocks.
    kept: BTreeSet<Unit>,
    blank: Blank,
    /// Long runs of blocks of which room is kept where they are written next.
    ahead: Vec<Ahead>,
    /// How often units have been emptied since the image was opened.
    emptied: BTreeMap<Unit, u64>,
    /// Parts of the image that are damaged in one copy.
    stale: Vec<String>,
}

/// Why an image cannot be made or opened.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Both copies of the header are unusable.
    #[error("both copies of the image's header are unusable: {0}")]
    Header(#[source] FrameError),
    /// The header's text makes no sense.
    #[error("the image's header makes no sense: {0}")]
    Text(String),
    /// The drive that the image emulates is impossible.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// Both copies of an entry of the table are damaged.
    #[error(
        "both copies of entry {unit} of the image's table of units are damaged, at bytes {first} and {second} of the file"
    )]
    Unit {
        /// The unit.
        unit: u32,
        /// Offset of the first copy.
        first: u64,
        /// Offset of the second copy.
        second: u64,
    },
    /// The file ends before the drive does.
    #[error("the file has {is} bytes, and what is in it takes {needed}: its end is missing")]
    Short {
        /// Bytes of the file.
        is: u64,
        /// Bytes that it takes.
        needed: u64,
    },
    /// The file system below has no files that long.
    #[error(
        "the file system has no files of {0} bytes; use one that has (xfs, btrfs, tmpfs), which may itself lie in a \
         sparse file (mkfs.xfs FILE; mount -o loop FILE FOLDER), or a smaller --capacity, or instead of an image a block \
         device that is a drive for this layer"
    )]
    TooLong(u64),
    /// The file cannot be read or written.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// The text of the header.
#[derive(Serialize, Deserialize)]
struct Text {
    name: String,
    drive: DrivePreset,
}

impl Image<Nowhere> {
    /// A drive as new that keeps nothing: what could be made on it is seen without a file.
    ///
    /// # Errors
    /// When the drive is impossible.
    pub fn draft(preset: &DrivePreset) -> Result<Self, ImageError> {
        Self::blank(Nowhere, Uuid::nil(), preset)
    }
}

/// What is known of a drive at first.
fn blank(preset: &DrivePreset) -> Blank {
    // No other write destroys anything.
    if preset.recording() == Recording::Interlaced { Blank::unknown(preset.blocks()) } else { Blank::default() }
}

impl<B: Backing> Image<B> {
    /// How long the backing of a drive must be, in bytes.
    ///
    /// # Errors
    /// When the drive is impossible.
    pub fn len(preset: &DrivePreset) -> Result<u64, DriveError> {
        let media = preset.media(preset.recording())?;
        Ok(data_at(table::units(media.as_ref())) + preset.bytes())
    }

    /// Makes an image of an empty drive in a backing of zeros. The header is written last, so that an image that was
    /// not made to its end is none.
    ///
    /// # Errors
    /// When the drive is impossible or the backing cannot be written.
    pub fn create(backing: B, preset: &DrivePreset) -> Result<Self, ImageError> {
        let text = toml::to_string(&Text { name: preset.name.clone(), drive: preset.clone() });
        let text = text.map_err(|e| ImageError::Text(e.to_string()))?;
        let frame = Frame { version: VERSION, uuid: Uuid::new_v4(), sequence: 1, text };
        let bytes = frame.encode(KIND, HEADER_BYTES);
        let bytes = bytes.ok_or_else(|| ImageError::Text("the drive's preset is too long".to_owned()))?;
        let image = Self::blank(backing, frame.uuid, preset)?;
        image.backing.sync()?;
        for copy in (0..COPIES).rev() {
            image.backing.write_at(&bytes, copy * HEADER_BYTES as u64)?;
        }
        image.backing.sync()?;
        Ok(image)
    }

    /// An empty drive in a backing of which nothing is read or written yet.
    fn blank(backing: B, uuid: Uuid, preset: &DrivePreset) -> Result<Self, ImageError> {
        let media = preset.media(preset.recording())?;
        let entries = vec![Entry::default(); table::units(media.as_ref()) as usize];
        let data_at = data_at(entries.len() as u64);
        let state = Mutex::new(State {
            media,
            blank: blank(preset),
            entries,
            dirty: BTreeSet::new(),
            kept: BTreeSet::new(),
            ahead: Vec::new(),
            emptied: BTreeMap::new(),
            stale: Vec::new(),
        });
        Ok(Self { backing, uuid, preset: preset.clone(), data_at, state, long_writes: Mutex::default() })
    }

    /// Opens an image.
    ///
    /// # Errors
    /// When there is none, or what is damaged.
    pub fn open(backing: B) -> Result<Self, ImageError> {
        let mut copies = Vec::new();
        for copy in 0..COPIES {
            let mut bytes = vec![0; HEADER_BYTES];
            let read = backing.read_at(&mut bytes, copy * HEADER_BYTES as u64);
            copies.push(read.map_err(|_| FrameError::Damaged).and_then(|()| Frame::decode(&bytes, KIND)));
        }
        let (frame, stale) = frame::newest(copies).map_err(ImageError::Header)?;
        let text: Text = toml::from_str(&frame.text).map_err(|e| ImageError::Text(e.message().to_owned()))?;
        let preset = DrivePreset { name: text.name, ..text.drive };
        // Before anything is made as large as the text says.
        preset.media.validate().map_err(|e| ImageError::Text(e.to_string()))?;
        let (is, needed) = (backing.size()?, preset.blocks().saturating_mul(preset.block_bytes.into()));
        let whole = |needed: u64| if needed > is { Err(ImageError::Short { is, needed }) } else { Ok(()) };
        whole(needed)?;
        preset.validate()?;
        let mut media = preset.media(preset.recording())?;
        whole(needed.saturating_add(data_at(table::units(media.as_ref()))))?;
        let mut stale: Vec<String> = stale.iter().map(|copy| format!("copy {copy} of the image's header")).collect();
        let (entries, dirty) = read_table(&backing, media.as_mut(), &mut stale)?;
        let data_at = data_at(entries.len() as u64);
        let state = Mutex::new(State {
            media,
            blank: blank(&preset),
            entries,
            dirty,
            kept: BTreeSet::new(),
            ahead: Vec::new(),
            emptied: BTreeMap::new(),
            stale,
        });
        Ok(Self { backing, uuid: frame.uuid, preset, data_at, state, long_writes: Mutex::default() })
    }

    /// The image's own UUID.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.uuid
    }

    /// The drive.
    #[must_use]
    pub fn preset(&self) -> &DrivePreset {
        &self.preset
    }

    /// The backing.
    #[must_use]
    pub fn backing(&self) -> &B {
        &self.backing
    }

    /// Lets a unit wear out, as a failing head would.
    ///
    /// # Errors
    /// When the backing cannot be written.
    pub fn fail(&self, unit: Unit, condition: Condition) -> io::Result<()> {
        let mut state = self.state();
        state.media.fail(unit, condition);
        let entry = &mut state.entries[unit.index as usize];
        (entry.broken, entry.sequence) = (Broken::of(condition), entry.sequence.wrapping_add(1));
        self.write_entry(&state, unit.index)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Where a block lies in the backing.
    #[must_use]
    pub fn offset(&self, block: Pba) -> u64 {
        self.data_at + block.block() * u64::from(self.preset.block_bytes)
    }

    /// The block that lies there in the backing.
    fn block_at(&self, offset: u64) -> Pba {
        Pba::disk((offset - self.data_at) / u64::from(self.preset.block_bytes))
    }

    fn bytes(&self, at: Extent<Pba>) -> u64 {
        u64::from(at.blocks) * u64::from(self.preset.block_bytes)
    }

    fn write_entry(&self, state: &State, unit: u32) -> io::Result<()> {
        let bytes = state.entries[unit as usize].encode(unit);
        let units = state.entries.len() as u64;
        (0..COPIES).try_for_each(|copy| self.backing.write_at(&bytes, entry_at(units, copy, unit)))
    }

    /// Takes the room of blocks that hold nothing any more.
    fn discard(&self, space: Extent<Pba>) {
        self.backing.discard(self.offset(space.start), self.bytes(space));
    }
}
