//! The superblock: what a member of a store says about itself, in two copies on every member.

use imbrex::layers::live_defaults;
use imbrex::perform::journal::Coding;
use imbrex::space::SUPERBLOCK_BYTES;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::frame::{Frame, FrameError, FrameKind};
use crate::sums::Checksums;

/// What a superblock is framed as. Since version 2 the records of journals are compact.
const KIND: FrameKind = FrameKind { magic: *b"IMBREXS1", newest: PAGED };
/// The format version of a volume whose maps are in memory.
const WHOLE: u32 = 2;
/// The format version of a volume that has pages of a map on the drive: without them its journal says too little.
const PAGED: u32 = 3;

/// A layer as it is configured in a store.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layered {
    /// The layer.
    pub layer: String,
    /// Blocks of its persistent buffer, if it has one.
    pub buffer_blocks: u32,
    /// Blocks of each copy of its journal.
    pub journal_blocks: u32,
    /// Bytes of its map that a server has in memory, if the rest lies on the drive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub map_memory: Option<u64>,
    /// Blocks in which the pages of that map lie: none where all of it is in memory.
    #[serde(default, skip_serializing_if = "is_none")]
    pub map_blocks: u32,
    /// The fields of its configuration that were set.
    #[serde(default)]
    pub config: toml::Table,
}

impl Layered {
    /// The oldest format version that has what it needs.
    #[must_use]
    pub fn version(&self) -> u32 {
        if self.map_memory.is_some() { PAGED } else { WHOLE }
    }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "what serde asks for")]
fn is_none(blocks: &u32) -> bool {
    *blocks == 0
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
        let mut decoded = Self { version: frame.version, ..decoded };
        for layered in std::iter::once(&mut decoded.own).chain(&mut decoded.above) {
            live_defaults::read_back(&layered.layer, &mut layered.config);
        }
        if decoded.uuid() != frame.uuid {
            return Err(text("its UUID is not that of a member".to_owned()));
        }
        Ok(decoded)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn superblock(own: Layered) -> Superblock {
        Superblock {
            version: own.version(),
            identity: 7,
            blocks: 1000,
            block_bytes: 4096,
            members: vec![Uuid::from_u128(5)],
            member: 0,
            own,
            above: None,
            generation: None,
            checksums: None,
        }
    }

    #[test]
    fn a_volume_keeps_what_was_default_when_it_was_formatted() {
        let own = Layered { layer: "tracklace".to_owned(), ..Layered::default() };
        let read = again(&superblock(own)).own.config;
        assert_eq!(read, "frame_tracks = 32000\nleast_entries = 0".parse().unwrap());
        let config: toml::Table = "frame_tracks = 0\nleast_entries = 9".parse().unwrap();
        let own = Layered { layer: "tracklace".to_owned(), config: config.clone(), ..Layered::default() };
        assert_eq!(again(&superblock(own)).own.config, config);
    }

    fn again(superblock: &Superblock) -> Superblock {
        let bytes = superblock.encode(1).unwrap();
        Superblock::decode(&Superblock::frame(&bytes).unwrap()).unwrap()
    }

    #[test]
    fn only_a_volume_with_pages_on_the_drive_has_the_new_version_and_says_where_they_are() {
        let config: toml::Table = toml::from_str("step_blocks = 64").unwrap();
        let whole = Layered { layer: "log-greedy".to_owned(), journal_blocks: 10, config, ..Layered::default() };
        let paged = Layered { map_memory: Some(1 << 20), map_blocks: 48, ..whole.clone() };
        for (own, version) in [(whole, 2), (paged, 3)] {
            let superblock = superblock(own);
            let bytes = superblock.encode(1).unwrap();
            assert_eq!(bytes[8], version);
            assert_eq!(String::from_utf8_lossy(&bytes).contains("map_"), version == 3);
            assert_eq!((again(&superblock), superblock.coding()), (superblock.clone(), Coding::Compact));
            let older = Frame::decode(&bytes, FrameKind { newest: 2, ..KIND });
            assert_eq!(older.err(), (version == 3).then_some(FrameError::Version(3, 2)));
        }
    }
}
