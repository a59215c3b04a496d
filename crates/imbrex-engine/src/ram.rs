//! The RAM of a layer: content that its Moves leave there.
//!
//! Content is copied in and out. Kept as it came, a block would keep all in memory that was read with it, or that a
//! client wrote with it, for as long as it waits.

use bytes::{Bytes, BytesMut};

/// Blocks that take memory together, as soon as something is put into one of them.
pub(super) const CHUNK: usize = 64;

/// Chunks that are kept when nothing is in them: those of a step, which the next one takes again.
const KEPT: usize = 64;

/// Blocks of RAM, all zeros at first.
pub(super) struct Ram {
    block_bytes: usize,
    chunks: Vec<Option<Box<[u8]>>>,
    /// How many of them there are.
    taken: usize,
}

impl Ram {
    /// With `blocks` blocks.
    pub fn new(blocks: u32, block_bytes: usize) -> Self {
        Self { block_bytes, chunks: vec![None; (blocks as usize).div_ceil(CHUNK)], taken: 0 }
    }

    /// Puts `content` into the blocks from `first` on.
    pub fn put(&mut self, first: u64, content: &[u8]) {
        let chunk_bytes = CHUNK * self.block_bytes;
        let mut at = first as usize * self.block_bytes;
        let mut rest = content;
        while !rest.is_empty() {
            let offset = at % chunk_bytes;
            let (part, behind) = rest.split_at(rest.len().min(chunk_bytes - offset));
            let chunk = self.chunks[at / chunk_bytes].get_or_insert_with(|| {
                self.taken += 1;
                vec![0; chunk_bytes].into_boxed_slice()
            });
            chunk[offset..offset + part.len()].copy_from_slice(part);
            at += part.len();
            rest = behind;
        }
    }

    /// What is in `blocks` blocks from `first` on.
    pub fn get(&self, first: u64, blocks: u32) -> Bytes {
        let chunk_bytes = CHUNK * self.block_bytes;
        let mut at = first as usize * self.block_bytes;
        let end = at + blocks as usize * self.block_bytes;
        let mut content = BytesMut::with_capacity(end - at);
        while at < end {
            let offset = at % chunk_bytes;
            let part = (end - at).min(chunk_bytes - offset);
            match &self.chunks[at / chunk_bytes] {
                Some(chunk) => content.extend_from_slice(&chunk[offset..offset + part]),
                None => content.resize(content.len() + part, 0),
            }
            at += part;
        }
        content.freeze()
    }

    /// Whether it takes more memory than is kept when nothing is in it.
    pub fn is_much(&self) -> bool {
        self.taken > KEPT
    }

    /// Gives memory back, if it is more than little: nothing in it is needed any more.
    pub fn clear(&mut self) {
        if self.is_much() {
            self.chunks.fill(None);
            self.taken = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const BLOCKS: usize = 3 * CHUNK - 5;

    proptest! {
        #[test]
        fn behaves_like_an_array(steps in prop::collection::vec((0..BLOCKS, 1..2 * CHUNK, 1u8..), 1..20)) {
            let (mut ram, mut plain) = (Ram::new(BLOCKS as u32, 2), vec![0; 2 * BLOCKS]);
            for (first, blocks, value) in steps {
                let blocks = blocks.min(BLOCKS - first);
                ram.put(first as u64, &vec![value; 2 * blocks]);
                plain[2 * first..2 * (first + blocks)].fill(value);
                let (from, to) = (first / 2, (first + blocks + 3).min(BLOCKS));
                prop_assert_eq!(&ram.get(from as u64, (to - from) as u32)[..], &plain[2 * from..2 * to]);
            }
        }
    }

    #[test]
    fn much_memory_is_given_back() {
        let blocks = (KEPT + 1) * CHUNK;
        let mut ram = Ram::new(blocks as u32, 1);
        ram.put(0, &vec![1; blocks - CHUNK]);
        ram.clear();
        assert_eq!((ram.taken, ram.get(0, 1)[0]), (KEPT, 1));
        ram.put(blocks as u64 - 1, &[1]);
        ram.clear();
        assert_eq!((ram.taken, ram.get(0, 1)[0]), (0, 0));
    }
}
