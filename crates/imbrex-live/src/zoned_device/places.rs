//! Where blocks lie on a drive of whose zones only the beginning can be written.

use std::io;

use bytes::{Bytes, BytesMut};
use imbrex::block::{Extent, Pba};

use super::BLOCK_BYTES;

/// Zones of equal length whose blocks are numbered one zone after the other, without the gaps between them.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Places {
    /// Blocks of a zone that can be written.
    pub zone_blocks: u32,
    /// Bytes from the beginning of a zone to that of the next.
    pub zone_bytes: u64,
}

impl Places {
    /// Reads blocks, by as many calls of `read` as they lie in pieces.
    pub fn read(self, at: Extent<Pba>, read: impl Fn(usize, u64) -> io::Result<Bytes>) -> io::Result<Bytes> {
        let (first, offset) = self.piece(at);
        let content = read(bytes(first), offset)?;
        if first == at.blocks {
            return Ok(content);
        }
        let mut all = BytesMut::with_capacity(bytes(at.blocks));
        all.extend_from_slice(&content);
        let mut rest = at.skip(first);
        while !rest.is_empty() {
            let (blocks, offset) = self.piece(rest);
            all.extend_from_slice(&read(bytes(blocks), offset)?);
            rest = rest.skip(blocks);
        }
        Ok(all.freeze())
    }

    /// Writes blocks, from the front to the back.
    pub fn write(
        self,
        at: Extent<Pba>,
        content: &[u8],
        write: impl Fn(&[u8], u64) -> io::Result<()>,
    ) -> io::Result<()> {
        let (mut rest, mut content) = (at, content);
        while !rest.is_empty() {
            let (blocks, offset) = self.piece(rest);
            let (piece, behind) = content.split_at(bytes(blocks));
            write(piece, offset)?;
            (rest, content) = (rest.skip(blocks), behind);
        }
        Ok(())
    }

    /// How many of the blocks from the first on lie one behind the other, and where, in bytes.
    fn piece(self, at: Extent<Pba>) -> (u32, u64) {
        let zone_blocks = u64::from(self.zone_blocks);
        let (zone, block) = (at.start.block() / zone_blocks, at.start.block() % zone_blocks);
        let has_gap = self.zone_bytes > zone_blocks * u64::from(BLOCK_BYTES);
        let left = if has_gap { (zone_blocks - block) as u32 } else { at.blocks };
        (at.blocks.min(left), zone * self.zone_bytes + block * u64::from(BLOCK_BYTES))
    }
}

fn bytes(blocks: u32) -> usize {
    blocks as usize * BLOCK_BYTES as usize
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::cell::RefCell;

    use super::*;

    /// What a read and a write of these blocks ask of a device whose zones have eight blocks.
    fn asked(zone_blocks: u32, at: Extent<Pba>) -> Vec<(u64, u64)> {
        let block = u64::from(BLOCK_BYTES);
        let places = Places { zone_blocks, zone_bytes: 8 * block };
        // A block of the device is full of its number.
        let device: Vec<u8> = (0..64).flat_map(|number| [number; BLOCK_BYTES as usize]).collect();
        let (read, written) = (RefCell::new(Vec::new()), RefCell::new(Vec::new()));
        let content = places.read(at, |len, offset| {
            read.borrow_mut().push((offset / block, len as u64 / block));
            Ok(Bytes::copy_from_slice(&device[offset as usize..][..len]))
        });
        let content = content.unwrap();
        assert_eq!(content.len(), bytes(at.blocks));
        let written_at = |piece: &[u8], offset: u64| {
            assert_eq!(piece, &device[offset as usize..][..piece.len()], "each block goes where it came from");
            written.borrow_mut().push((offset / block, piece.len() as u64 / block));
            Ok(())
        };
        places.write(at, &content, written_at).unwrap();
        assert_eq!(*read.borrow(), *written.borrow());
        read.into_inner()
    }

    #[test]
    fn gaps_are_passed() {
        let at = |start, blocks| Extent::new(Pba::disk(start), blocks);
        assert_eq!(asked(5, at(3, 2)), [(3, 2)]);
        assert_eq!(asked(5, at(5, 5)), [(8, 5)]);
        assert_eq!(asked(5, at(4, 12)), [(4, 1), (8, 5), (16, 5), (24, 1)]);
        assert_eq!(asked(8, at(4, 12)), [(4, 12)], "without gaps in one piece");
    }
}
