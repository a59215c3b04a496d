//! Which bytes are known to read as zeros, without reading any.

use imbrex::block::{Extent, Lba};
use imbrex::perform::Failure;

use super::Engine;

/// How often a layer is asked at a time: everybody else waits meanwhile.
const MOST_ASKED: usize = 4096;
/// The most blocks that it is asked for at once.
const MOST_BLOCKS: u64 = 1 << 20;

/// Bytes that follow each other.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Known {
    /// The first of them.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
    /// Whether they read as zeros, or else as anything.
    pub zeros: bool,
}

impl Engine {
    /// What is known of the `bytes` bytes from `offset` on: runs that follow each other without a gap, of which two
    /// neighbours are not alike. They may end early, but the first one is there. A write that was answered is known of;
    /// while a layer's life begins, nothing is known to be zeros.
    ///
    /// # Errors
    /// When the bytes lie beyond the device.
    pub fn known_zeros(&self, offset: u64, bytes: u64) -> Result<Vec<Known>, Failure> {
        let block = u64::from(self.block_bytes);
        let end = offset.checked_add(bytes).ok_or(Failure::OutOfRange)?;
        let blocks = end.div_ceil(block);
        if blocks > self.capacity() {
            return Err(Failure::OutOfRange);
        }
        let mut machine = self.shared.machine();
        let is_serving = machine.stack.is_serving();
        let layer = machine.stack.layer().filter(|layer| is_serving && blocks <= layer.capacity());
        let Some(layer) = layer else { return Ok(vec![Known { offset, bytes, zeros: false }]) };
        let (mut runs, mut next) = (Vec::<Known>::new(), offset);
        for _ in 0..MOST_ASKED {
            if next >= end {
                break;
            }
            let first = next / block;
            let (zeros, alike) = layer.known_zeros(Extent::new(Lba(first), (blocks - first).min(MOST_BLOCKS) as u32));
            let until = ((first + u64::from(alike)) * block).min(end);
            match runs.last_mut() {
                Some(last) if last.zeros == zeros => last.bytes += until - next,
                _ => runs.push(Known { offset: next, bytes: until - next, zeros }),
            }
            next = until;
        }
        Ok(runs)
    }
}
