//! The superblock: what a member of a store says about itself, in two copies on every member.

use imbrex::perform::journal::Coding;
use imbrex::space::SUPERBLOCK_BYTES;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::frame::{Frame, FrameError, FrameKind};
use crate::sums::Checksums;

/// What a superblock is framed as. Since version 2 the records of journals are compact.
const KIND: FrameKind = FrameKind { magic: *b"IMBREXS1", newest: VERSION };
/// The format version of what is formatted.
pub const VERSION: u32 = 2;

/// A layer as it is configured in a store.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layered {
    /// The layer.
    pub layer: String,
    /// Blocks of its persistent buffer, if it has one.
    pub buffer_blocks: u32,
    /// Blocks of each copy of its journal.
    pub journal_blocks: u32,
    /// The fields of its configuration that were set.
    #[serde(default)]
    pub config: toml::Table,
}

/// A member's generation.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Generation {
    /// The one that it is of.
    pub is: u64,
    /// The one that it has been told of: the same, or the next.
    pub told: u64,
}

/// What a member says about itself and the store it is part of.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Superblock {
    /// The format version.
    #[serde(skip)]
    pub version: u32,
    /// Tells the journal blocks of this store from those of another.
    pub identity: u64,
    /// Blocks of the member's drive.
    pub blocks: u64,
    /// Bytes of a block.
    pub block_bytes: u32,
    /// The members' UUIDs, by device number from 1.
    pub members: Vec<Uuid>,
    /// Which of them this is.
    pub member: usize,
    /// The layer on the member's drive.
    pub own: Layered,
    /// The layer above all members, if there are several.
    #[serde(default)]
    pub above: Option<Layered>,
    /// How often the volume has changed hands, if it has several members and has been served since they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<Generation>,
    /// How the data on the member is summed, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checksums: Option<Checksums>,
}

/// Why there is no superblock.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SuperblockError {
    /// The bytes are none.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// The text makes no sense.
    #[error("the superblock makes no sense: {0}")]
    Text(String),
}

impl Superblock {
    /// The member's UUID.
    #[must_use]
    pub fn uuid(&self) -> Uuid {
        self.members.get(self.member).copied().unwrap_or_default()
    }

    /// How the volume's journals encode their records.
    #[must_use]
    pub fn coding(&self) -> Coding {
        if self.version == 1 { Coding::Plain } else { Coding::Compact }
    }

    /// How often the volume has changed hands.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.generation.unwrap_or_default()
    }

    /// Blocks that checksums take on the member.
    #[must_use]
    pub fn checksum_blocks(&self) -> u64 {
        self.checksums.map_or(0, |checksums| checksums.blocks(self.blocks, self.block_bytes))
    }

    /// The bytes of a copy.
    ///
    /// # Errors
    /// When the configuration is too long.
    pub fn encode(&self, sequence: u64) -> Result<Vec<u8>, SuperblockError> {
        let text = toml::to_string(self).map_err(|e| SuperblockError::Text(e.to_string()))?;
        let bytes =
            Frame { version: self.version, uuid: self.uuid(), sequence, text }.encode(KIND, SUPERBLOCK_BYTES as usize);
        bytes.ok_or_else(|| SuperblockError::Text("the layer's configuration is too long".to_owned()))
    }

    /// The frame of a copy.
    ///
    /// # Errors
    /// Why there is none.
    pub fn frame(bytes: &[u8]) -> Result<Frame, FrameError> {
        Frame::decode(bytes, KIND)
    }

    /// What a frame says.
    ///
    /// # Errors
    /// When it makes no sense.
    pub fn decode(frame: &Frame) -> Result<Self, SuperblockError> {
        let text = |reason: String| SuperblockError::Text(reason);
        let decoded: Self = toml::from_str(&frame.text).map_err(|e| text(e.message().to_owned()))?;
        let decoded = Self { version: frame.version, ..decoded };
        if decoded.uuid() != frame.uuid {
            return Err(text("its UUID is not that of a member".to_owned()));
        }
        Ok(decoded)
    }
}
