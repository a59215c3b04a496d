//! Which bytes are known to read as zeros, without reading any.

use imbrex::block::{Extent, Lba};
use imbrex::perform::Failure;
use imbrex::plan::{Op, Place, Plan};

use super::Engine;

/// The most blocks that a layer is asked for at a time: everybody else waits meanwhile.
const MOST_LOCATED: u64 = 4096;
/// How often it is asked for an answer, which a client waits for.
const MOST_ASKED: usize = 1024;
/// The most runs of an answer.
const MOST_RUNS: usize = 4096;

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
    /// while a layer's epoch begins, nothing is known to be zeros.
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
        let (mut runs, mut next, mut plan) = (Vec::<Known>::new(), offset, Plan::new());
        for _ in 0..MOST_ASKED {
            if next >= end || runs.len() >= MOST_RUNS {
                break;
            }
            let first = next / block;
            let at = Extent::new(Lba(first), (blocks - first).min(MOST_LOCATED) as u32);
            plan.clear();
            let machine = self.shared.machine();
            if !machine.stack.is_serving() || !machine.locate(at, &mut plan) {
                break;
            }
            drop(machine);
            for op in plan.ops() {
                let Op::Move { from, to: Place::Host(host), blocks, .. } = *op else { continue };
                let until = ((first + u64::from(host + blocks)) * block).min(end);
                let zeros = from == Place::Zero;
                match runs.last_mut() {
                    Some(last) if last.zeros == zeros => last.bytes += until - next,
                    _ => runs.push(Known { offset: next, bytes: until - next, zeros }),
                }
                next = until;
            }
        }
        Ok(if runs.is_empty() && bytes > 0 { vec![Known { offset, bytes, zeros: false }] } else { runs })
    }
}
