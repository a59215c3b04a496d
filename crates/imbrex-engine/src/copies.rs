//! The copies of the journal: what one of them lacks is written again from another.
//!
//! A power cut may leave an entry whole in one copy only, and a block of a copy may be damaged. Unless that is mended
//! before a new epoch relies on the entry, a single further damaged block would lose it.

use super::chain::{Chain, Segment};
use super::runs::Runs;
use imbrex_core::block::{Address, Extent, Pba};

/// What a copy lacks of the chain.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Lacking {
    pub copy: Extent<Pba>,
    pub segments: Vec<Segment>,
}

impl Lacking {
    /// Where a block belongs in the copy.
    pub fn place(&self, number: u64) -> Pba {
        self.copy.start.plus(number % u64::from(self.copy.blocks))
    }
}

/// What copies lack of the chain.
pub(super) fn lacking(runs: &Runs, chain: &Chain, copies: &[Extent<Pba>]) -> Vec<Lacking> {
    let of_copy = |copy: &Extent<Pba>| Lacking { copy: *copy, segments: left_out(runs, chain, copy) };
    copies.iter().map(of_copy).filter(|lacking| !lacking.segments.is_empty()).collect()
}

fn left_out(runs: &Runs, chain: &Chain, copy: &Extent<Pba>) -> Vec<Segment> {
    let runs = runs.of_copy(copy);
    let mut lacking = Vec::new();
    for &Segment { mut start, end, epoch } in &chain.segments {
        let first = runs.partition_point(|run| (run.epoch, run.end) <= (epoch, start));
        let there = runs[first..].iter().take_while(|run| run.epoch == epoch && run.start < end);
        for run in there {
            if start < run.start {
                lacking.push(Segment { start, end: run.start, epoch });
            }
            start = run.end;
        }
        if start < end {
            lacking.push(Segment { start, end, epoch });
        }
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Header;

    const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(10), 4), Extent::new(Pba::disk(50), 4)];

    /// Entries of one block, each found in a copy, by copy, number and epoch.
    fn found(blocks: &[(usize, u64, u32)]) -> Runs {
        let mut runs = Runs::new(&COPIES);
        for &(copy, start, epoch) in blocks {
            let header = Header { start, epoch, count: 1, ..Header::default() };
            runs.add(COPIES[copy].start.plus(start % 4), &header);
        }
        runs
    }

    #[test]
    fn what_a_copy_lacks_is_taken_from_the_other() {
        let (third, fourth) = (Segment { start: 3, end: 4, epoch: 1 }, Segment { start: 4, end: 5, epoch: 2 });
        let chain = Chain { segments: vec![third, fourth], ..Chain::default() };
        let lacks = |blocks: &[_]| lacking(&found(blocks), &chain, &COPIES);
        assert_eq!(lacks(&[(0, 3, 1), (0, 4, 2), (1, 3, 1), (1, 4, 2)]), []);
        // The second copy holds an older entry where the first has number 4.
        let expected = Lacking { copy: COPIES[1], segments: vec![fourth] };
        assert_eq!(expected.place(4), Pba::disk(50));
        assert_eq!(lacks(&[(0, 3, 1), (0, 4, 2), (1, 3, 1), (1, 0, 1)]), [expected]);
        assert_eq!(lacks(&[(0, 3, 1), (0, 4, 2)]), [Lacking { copy: COPIES[1], segments: vec![third, fourth] }]);
    }

    #[test]
    fn what_lies_between_runs_is_lacking() {
        let segment = |start, end| Segment { start, end, epoch: 1 };
        let chain = Chain { segments: vec![segment(4, 8)], ..Chain::default() };
        let runs = found(&[(0, 5, 1), (0, 7, 1), (1, 4, 1), (1, 5, 1), (1, 6, 1), (1, 7, 0)]);
        let [first, second] = COPIES;
        let expected = [
            Lacking { copy: first, segments: vec![segment(4, 5), segment(6, 7)] },
            Lacking { copy: second, segments: vec![segment(7, 8)] },
        ];
        assert_eq!(lacking(&runs, &chain, &COPIES), expected);
    }
}
