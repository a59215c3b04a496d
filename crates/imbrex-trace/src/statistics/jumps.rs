//! How far requests lie from one another. Takes no memory.

use serde::Serialize;

use super::ratio;
use crate::TraceRequest;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// The longest jumps that are counted as short ones, in bytes, ascending.
const REACHES: [u64; 3] = [64 * KIB, MIB, 256 * MIB];

/// The parts of the jumps that are no longer than so much. A jump is the distance in bytes, in either direction, from
/// the end of a read or write to the start of the next; 0 if that goes on where the other ended.
#[derive(Copy, Clone, PartialEq, Debug, Default, Serialize)]
pub struct JumpShares {
    /// Jumps of at most 64 KiB.
    pub within_64kib: f64,
    /// Jumps of at most 1 MiB.
    pub within_1mib: f64,
    /// Jumps of at most 256 MiB.
    pub within_256mib: f64,
}

/// The jumps between requests.
#[derive(Default)]
pub struct Jumps {
    /// Where the last request ended.
    end: Option<u64>,
    all: u64,
    within: [u64; REACHES.len()],
}

impl Jumps {
    /// Takes in a read or a write.
    #[inline]
    pub fn add(&mut self, request: &TraceRequest) {
        let before = self.end.replace(request.end_bytes());
        let Some(before) = before else { return };
        let jump = request.offset_bytes.abs_diff(before);
        self.all += 1;
        for (within, reach) in self.within.iter_mut().zip(REACHES) {
            *within += u64::from(jump <= reach);
        }
    }

    /// How many of the jumps so far are short.
    pub fn shares(&self) -> JumpShares {
        let [within_64kib, within_1mib, within_256mib] = self.within.map(|within| ratio(within, self.all));
        JumpShares { within_64kib, within_1mib, within_256mib }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::Access;

    fn shares(requests: &[(u64, u32)]) -> [f64; 3] {
        let mut jumps = Jumps::default();
        for &(offset_bytes, bytes) in requests {
            jumps.add(&TraceRequest { arrival_ns: 0, offset_bytes, bytes, access: Access::Write });
        }
        let JumpShares { within_64kib, within_1mib, within_256mib } = jumps.shares();
        [within_64kib, within_1mib, within_256mib]
    }

    #[test]
    fn jumps_by_hand() {
        // On, ahead by 64 KiB and by a sector more, back by 1 MiB from the end, ahead by a sector more than 256 MiB.
        let mut at = 1 << 30;
        let mut requests = vec![(at, 4096)];
        for (jump, bytes) in [(0, 512), (64 << 10, 512), ((64 << 10) + 512, 512), (-(1 << 20), 8192)] {
            let end = at + u64::from(requests.last().unwrap().1);
            at = end.checked_add_signed(jump).unwrap();
            requests.push((at, bytes));
        }
        assert_eq!(shares(&requests), [0.5, 1.0, 1.0]);
        requests.push((at + 8192 + (256 << 20) + 512, 512));
        assert_eq!(shares(&requests), [0.4, 0.8, 0.8]);
    }

    #[test]
    fn one_request_jumps_nowhere() {
        assert_eq!((shares(&[]), shares(&[(7 << 30, 4096)])), ([0.0; 3], [0.0; 3]));
    }
}
