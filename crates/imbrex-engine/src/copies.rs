//! The copies of the journal: what one of them lacks is written again from another.
//!
//! A power cut may leave an entry whole in one copy only, and a block of a copy may be damaged. Unless that is mended
//! before a new epoch relies on the entry, a single further damaged block would lose it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::chain::Chain;
use super::scan::Found;
use imbrex_core::block::{Address, Extent, Pba};

/// The blocks of the chain's entries that a copy lacks, where they belong, and what they hold in another copy.
pub(super) fn lacking(found: &[Found], chain: &Chain, copies: &[Extent<Pba>]) -> Vec<(Pba, Bytes)> {
    let ring = copies.first().map_or(1, |copy| u64::from(copy.blocks));
    let key = |found: &Found| (found.block.header.start, found.block.header.epoch, found.block.header.index);
    let raw: BTreeMap<_, &Bytes> =
        found.iter().filter(|found| !found.is_again).map(|found| (key(found), &found.raw)).collect();
    let there: BTreeSet<_> = found.iter().map(|found| (found.place, key(found))).collect();
    let mut lacking = Vec::new();
    for &(start, epoch, count) in &chain.at {
        for index in 0..count {
            let key = (start, epoch, index);
            let places = copies.iter().map(|copy| copy.start.plus((start + u64::from(index)) % ring));
            let missing = places.filter(|place| !there.contains(&(*place, key)));
            lacking.extend(missing.filter_map(|place| Some((place, Bytes::clone(raw.get(&key)?)))));
        }
    }
    lacking
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::{self, Entry, Header};

    const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(10), 4), Extent::new(Pba::disk(50), 4)];

    /// An entry of one block, found in a copy.
    fn found(copy: usize, start: u64, epoch: u32) -> Found {
        let header = Header { identity: 1, start, epoch, ..Header::default() };
        let raw = journal::encode(&Entry::default(), header, 512).remove(0);
        let block = journal::decode_block(&raw, Some(1)).unwrap();
        Found { place: COPIES[copy].start.plus(start % 4), raw, block, is_again: false }
    }

    #[test]
    fn what_a_copy_lacks_is_taken_from_the_other() {
        let chain = Chain { at: vec![(3, 1, 1), (4, 2, 1)], ..Chain::default() };
        let both: Vec<Found> = [0, 1].iter().flat_map(|copy| [found(*copy, 3, 1), found(*copy, 4, 2)]).collect();
        assert!(lacking(&both, &chain, &COPIES).is_empty());
        // The second copy holds an older entry where the first has number 4.
        let torn = [found(0, 3, 1), found(0, 4, 2), found(1, 3, 1), found(1, 0, 1)];
        assert_eq!(lacking(&torn, &chain, &COPIES), [(Pba::disk(50), torn[1].raw.clone())]);
        assert_eq!(lacking(&torn[..2], &chain, &COPIES).len(), 2);
    }
}
