//! The state of an image's units on disk: how far each is written, and whether it still works.
//!
//! Two copies of a table with an entry of 16 bytes for each unit, in the order of their numbers; for a hybrid drive one
//! more for each realm, whose pointer is 1 when the sequential span is active:
//!
//! ```text
//! offset  size  field
//!      0     4  pointer: blocks written from the unit's start
//!      4     1  condition: 0 as new, 1 read-only, 2 offline
//!      5     3  zero
//!      8     4  sequence: of two copies the one with the higher one is newer
//!     12     4  CRC-32C of the unit's number (4 bytes) and of the 12 bytes before
//! ```
//!
//! Integers are little-endian. An entry of zeros is that of a unit that nothing has ever happened to.

use imbrex::layer::Condition;

/// Bytes of an entry.
pub const ENTRY_BYTES: usize = 16;

/// What is written about a unit.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Blocks written from the unit's start.
    pub pointer: u32,
    /// What has become of it, if it does not work as it should.
    pub broken: Option<Broken>,
    /// Grows with every change.
    pub sequence: u32,
}

/// How a unit does not work.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Broken {
    /// No write and no reset succeeds.
    ReadOnly,
    /// Nothing succeeds.
    Offline,
}

impl Broken {
    /// What a condition means for a unit.
    #[must_use]
    pub fn of(condition: Condition) -> Option<Self> {
        match condition {
            Condition::Conventional | Condition::Sequential | Condition::Inactive => None,
            Condition::ReadOnly => Some(Self::ReadOnly),
            Condition::Offline => Some(Self::Offline),
        }
    }

    /// The unit's condition.
    #[must_use]
    pub fn condition(self) -> Condition {
        match self {
            Self::ReadOnly => Condition::ReadOnly,
            Self::Offline => Condition::Offline,
        }
    }
}

impl Entry {
    /// The bytes of the entry of the unit numbered `unit`.
    #[must_use]
    pub fn encode(&self, unit: u32) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[..4].copy_from_slice(&self.pointer.to_le_bytes());
        bytes[4] = match self.broken {
            None => 0,
            Some(Broken::ReadOnly) => 1,
            Some(Broken::Offline) => 2,
        };
        bytes[8..12].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = crc(unit, &bytes);
        bytes[12..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    /// The entry of the unit numbered `unit`; nothing if it is damaged.
    #[must_use]
    pub fn decode(bytes: &[u8; ENTRY_BYTES], unit: u32) -> Option<Self> {
        if *bytes == [0; ENTRY_BYTES] {
            return Some(Self::default());
        }
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let broken = match bytes[4] {
            0 => None,
            1 => Some(Broken::ReadOnly),
            2 => Some(Broken::Offline),
            _ => return None,
        };
        (u32_at(12) == crc(unit, bytes)).then(|| Self { pointer: u32_at(0), broken, sequence: u32_at(8) })
    }
}

fn crc(unit: u32, bytes: &[u8; ENTRY_BYTES]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&unit.to_le_bytes()), &bytes[..12])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_and_any_flipped_bit_is_seen() {
        for broken in [None, Some(Broken::ReadOnly), Some(Broken::Offline)] {
            let entry = Entry { pointer: 70_000, broken, sequence: 9 };
            let bytes = entry.encode(3);
            assert_eq!(Entry::decode(&bytes, 3), Some(entry));
            assert_eq!(Entry::decode(&bytes, 4), None, "another unit's");
            for bit in 0..ENTRY_BYTES * 8 {
                let mut bad = bytes;
                bad[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Entry::decode(&bad, 3), None, "bit {bit}");
            }
        }
        assert_eq!(Entry::decode(&[0; ENTRY_BYTES], 8), Some(Entry::default()));
    }
}
