//! A framed text: what Imbrex writes about a store or an image, with a checksum over all of it.
//!
//! ```text
//! offset  size  field
//!      0     8  magic
//!      8     4  format version
//!     12     4  length of the text in bytes
//!     16    16  UUID
//!     32     8  sequence: the copy with the higher one is newer
//!     40     4  CRC-32C of the header with this field zero, and of the text
//!     44        the text, TOML in UTF-8
//! ```
//!
//! Integers are little-endian. What follows the text is not looked at.

use uuid::Uuid;

/// Bytes before the text.
const HEADER: usize = 44;
const CRC_AT: usize = 40;

/// What a frame is of: what it begins with, and the newest format version that is known of it.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct FrameKind {
    /// What it begins with.
    pub magic: [u8; 8],
    /// The newest version. Older ones are known, too.
    pub newest: u32,
}

/// A text and what is written around it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// The format version of what it is about.
    pub version: u32,
    /// The UUID of what it is about.
    pub uuid: Uuid,
    /// Grows with every change.
    pub sequence: u64,
    /// The text.
    pub text: String,
}

/// Why there is no frame.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FrameError {
    /// Nothing of that kind is here.
    #[error("it does not begin with {0:?}")]
    NoMagic(String),
    /// Another version of Imbrex wrote it.
    #[error("its format version is {0}, and this program knows versions up to {1}; use the Imbrex that wrote it")]
    Version(u32, u32),
    /// The bytes are damaged.
    #[error("its checksum does not match")]
    Damaged,
}

impl Frame {
    /// The bytes, `len` of them with zeros at the end. None if they do not fit.
    #[must_use]
    pub fn encode(&self, kind: FrameKind, len: usize) -> Option<Vec<u8>> {
        let text = self.text.as_bytes();
        let mut bytes = Vec::with_capacity(len);
        bytes.extend(kind.magic);
        bytes.extend(self.version.to_le_bytes());
        bytes.extend(u32::try_from(text.len()).ok()?.to_le_bytes());
        bytes.extend(self.uuid.as_bytes());
        bytes.extend(self.sequence.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(text);
        let crc = crc32c::crc32c(&bytes);
        bytes[CRC_AT..HEADER].copy_from_slice(&crc.to_le_bytes());
        let fits = bytes.len() <= len;
        bytes.resize(len, 0);
        fits.then_some(bytes)
    }

    /// The frame in `bytes`.
    ///
    /// # Errors
    /// Why there is none.
    pub fn decode(bytes: &[u8], FrameKind { magic, newest }: FrameKind) -> Result<Self, FrameError> {
        if bytes.get(..8) != Some(&magic) {
            return Err(FrameError::NoMagic(String::from_utf8_lossy(&magic).into_owned()));
        }
        let header = bytes.get(..HEADER).ok_or(FrameError::Damaged)?;
        let u32_at = |at: usize| header[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte));
        let len = u32_at(12) as usize;
        let text = HEADER.checked_add(len).and_then(|end| bytes.get(HEADER..end)).ok_or(FrameError::Damaged);
        let whole = |text: &[u8]| {
            let crc = crc32c::crc32c_append(crc32c::crc32c(&header[..CRC_AT]), &[0; 4]);
            crc32c::crc32c_append(crc, text) == u32_at(CRC_AT)
        };
        // Another version may have its checksum elsewhere.
        let version = u32_at(8);
        if !(1..=newest).contains(&version) {
            return Err(FrameError::Version(version, newest));
        }
        let text = text.ok().filter(|text| whole(text)).ok_or(FrameError::Damaged)?;
        let uuid = Uuid::from_slice(&header[16..32]).map_err(|_| FrameError::Damaged)?;
        let sequence = u64::from(u32_at(32)) | u64::from(u32_at(36)) << 32;
        let text = String::from_utf8(text.to_vec()).map_err(|_| FrameError::Damaged)?;
        Ok(Self { version, uuid, sequence, text })
    }
}

/// The newest of copies, and the numbers of those that are not like it.
///
/// # Errors
/// Why the first copy is none, if no copy is whole.
pub fn newest(copies: Vec<Result<Frame, FrameError>>) -> Result<(Frame, Vec<usize>), FrameError> {
    let best = copies.iter().flatten().max_by_key(|frame| frame.sequence).cloned();
    let Some(best) = best else {
        let reasons = copies.into_iter().filter_map(Result::err);
        let reason = reasons.min_by_key(|reason| matches!(reason, FrameError::NoMagic(_)));
        return Err(reason.unwrap_or(FrameError::Damaged));
    };
    let stale = (0..).zip(&copies).filter(|(_, copy)| copy.as_ref() != Ok(&best)).map(|(number, _)| number).collect();
    Ok((best, stale))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    const KIND: FrameKind = FrameKind { magic: *b"IMBREXT1", newest: 2 };

    fn frame(sequence: u64) -> Frame {
        Frame { version: 2, uuid: Uuid::from_u128(7), sequence, text: "key = 'value'".to_owned() }
    }

    #[test]
    fn any_flipped_bit_is_seen() {
        let bytes = frame(5).encode(KIND, 80).unwrap();
        assert_eq!(Frame::decode(&bytes, KIND), Ok(frame(5)));
        assert_eq!(frame(5).encode(KIND, 50), None, "no room");
        for bit in 0..(HEADER + 13) * 8 {
            let mut bad = bytes.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(Frame::decode(&bad, KIND).is_err(), "bit {bit}");
            for len in [0, 8, bit / 8] {
                assert!(Frame::decode(&bad[..len], KIND).is_err());
            }
        }
    }

    #[test]
    fn the_newest_copy_counts_and_the_others_are_named() {
        let (old, new) = (Ok(frame(1)), Ok(frame(2)));
        assert_eq!(newest(vec![old.clone(), new.clone()]), Ok((frame(2), vec![0])));
        assert_eq!(newest(vec![new.clone(), Err(FrameError::Damaged)]), Ok((frame(2), vec![1])));
        assert_eq!(newest(vec![new.clone(), new]), Ok((frame(2), vec![])));
        let none = FrameError::NoMagic("x".to_owned());
        assert_eq!(newest(vec![Err(none.clone()), Err(FrameError::Version(9, 2))]), Err(FrameError::Version(9, 2)));
        assert_eq!(newest(vec![Err(none.clone())]), Err(none));
    }
}
