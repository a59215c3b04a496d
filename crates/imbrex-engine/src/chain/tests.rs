//! Chains of journals that were written by hand, and of random ones beside those that a model finds entry by entry.

mod model;

use proptest::prelude::*;

use super::*;
use crate::journal::Header;
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::random::Random;

const RING: u64 = 96;
/// Zones of the ring, where it lies in any.
const ZONE: u64 = 12;
const COPIES: [Extent<Pba>; 2] = [Extent::new(Pba::disk(10), RING as u32), Extent::new(Pba::disk(500), RING as u32)];

/// An entry of so many blocks.
fn entry(start: u64, count: u32, epoch: u32, tail: u64, durable: u64) -> Vec<Header> {
    let header = Header { start, epoch, count, tail, durable, redone: durable, closes: true, ..Header::default() };
    (0..count).map(|index| Header { index, ..header }).collect()
}

fn runs(blocks: impl IntoIterator<Item = (usize, Header)>) -> Runs {
    let mut runs = Runs::new(&COPIES);
    for (copy, header) in blocks {
        runs.add(COPIES[copy].start.plus(header.number() % RING), &header);
    }
    runs
}

/// The head, and how many blocks lie before it.
fn head(blocks: &[Vec<Header>]) -> Result<(u64, u64), Fatal> {
    let chain = find(&runs(blocks.concat().into_iter().map(|header| (0, header))))?;
    Ok((chain.head, chain.segments.iter().map(|segment| segment.end - segment.start).sum()))
}

#[test]
fn a_torn_last_entry_is_as_if_never_written() {
    let (a, b, mut c) = (entry(0, 1, 1, 0, 0), entry(1, 3, 1, 0, 1), entry(4, 3, 1, 0, 4));
    assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((7, 7)));
    c.remove(1);
    assert_eq!(head(&[a, b, c]), Ok((4, 4)));
}

#[test]
fn a_hole_before_what_was_durable_is_damage() {
    let (a, b, c) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(2, 1, 1, 0, 2));
    assert!(head(&[a.clone(), c.clone()]).unwrap_err().to_string().contains("block 2"));
    assert!(head(&[b.clone(), c]).unwrap_err().to_string().contains("block 0"));
    let mut long = entry(2, 4, 1, 0, 2);
    long.remove(2);
    let after = entry(6, 1, 1, 0, 6);
    let why = head(&[a.clone(), b, long, after]).unwrap_err().to_string();
    assert!(why.contains("begins with block 2 "), "{why}");
    assert!(head(&[]).unwrap_err().to_string().contains("format"));
    assert_eq!(head(&[a]), Ok((1, 1)));
}

#[test]
fn an_entry_of_an_earlier_epoch_does_not_follow_a_later_one() {
    // In epoch 1 entries 1 and 2 were under way and only 2 arrived; epoch 2 then wrote another entry 1.
    let (a, stale, b) = (entry(0, 1, 1, 0, 0), entry(2, 1, 1, 0, 1), entry(1, 1, 2, 0, 1));
    assert_eq!(head(&[a.clone(), stale.clone()]), Ok((1, 1)));
    assert_eq!(head(&[a, stale, b]), Ok((2, 2)));
}

fn changed(headers: Vec<Header>, change: impl Fn(&mut Header)) -> Vec<Header> {
    let change = |mut header| {
        change(&mut header);
        header
    };
    headers.into_iter().map(change).collect()
}

#[test]
fn a_commit_counts_whole_or_not_at_all() {
    let (a, b, c) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(2, 1, 1, 0, 1));
    let b = changed(b, |header| header.closes = false);
    assert_eq!(head(&[a.clone(), b.clone()]), Ok((1, 1)));
    assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((3, 3)));
    // The end of a commit of another epoch, which wrote another entry 1 that did not arrive.
    let other = changed(c, |header| header.epoch = 2);
    assert_eq!(head(&[a, b, other]), Ok((1, 1)));
}

#[test]
fn blocks_may_be_left_out_before_a_new_epoch() {
    let (a, stale, b) = (entry(0, 1, 1, 0, 0), entry(1, 1, 1, 0, 1), entry(8, 1, 2, 0, 1));
    let b = changed(b, |header| header.gap = 7);
    let c = entry(9, 1, 2, 0, 9);
    assert_eq!(head(&[a.clone(), b.clone(), c.clone()]), Ok((10, 3)));
    assert_eq!(
        head(&[a.clone(), stale, b.clone(), c.clone()]),
        Ok((10, 3)),
        "the later epoch knew where the other ended"
    );
    assert!(head(&[a.clone(), c]).unwrap_err().to_string().contains("block 9"));
    assert_eq!(head(&[a, b]), Ok((9, 2)));
}

#[test]
fn a_journal_does_not_begin_after_its_end() {
    let begins_at = |tail| head(&[entry(0, 1, 1, 0, 0), entry(1, 1, 1, tail, 1)]);
    assert_eq!((begins_at(0), begins_at(1)), (Ok((2, 2)), Ok((2, 1))));
    for tail in [2, 3] {
        assert!(begins_at(tail).unwrap_err().to_string().contains("ends before block 2 is damaged"));
    }
}

/// A journal in two copies, which epochs write that end when the power fails.
struct Written {
    copies: [BTreeMap<u64, Header>; 2],
    in_zones: bool,
}

impl Written {
    fn blocks(&self) -> impl Iterator<Item = (usize, Header)> {
        self.copies.iter().enumerate().flat_map(|(copy, blocks)| blocks.values().map(move |header| (copy, *header)))
    }

    /// A tail that a scan may know: one of an entry of the chain that is known to be durable.
    fn known_tail(&self) -> u64 {
        let all: Vec<Header> = self.blocks().map(|(_, header)| header).collect();
        let durable = all.iter().map(|header| header.durable).max().unwrap_or(0);
        let Ok(chain) = model::find(all.clone()) else { return 0 };
        let counts = |header: &&Header| chain.blocks.contains(&(header.number(), header.epoch));
        let trusted = all.iter().filter(|header| header.number() < durable).filter(counts);
        trusted.map(|header| header.tail).max().unwrap_or(0)
    }

    /// The blocks that a scan keeps.
    fn scanned(&self, tail: u64) -> Vec<(usize, Header)> {
        self.blocks().filter(|(_, header)| header.number() >= tail).collect()
    }

    /// An epoch of some commits, of which the last arrives in part.
    fn live(&mut self, (found, end, mut tail, epoch): (u64, u64, u64, u32), random: &mut Random) {
        let (mut head, mut durable) = (found, end);
        let commits = 1 + random.below(4);
        for commit in 0..commits {
            let begins = head;
            let mut blocks = Vec::new();
            let entries = 1 + random.below(3);
            for i in 0..entries {
                let count = 1 + random.below(4) as u32;
                let closes = i + 1 == entries;
                // A checkpoint that began with this commit, or with one before.
                if closes && (begins - tail > RING / 4 || random.below(6) == 0) {
                    tail = begins;
                }
                let gap = if head == found { (found - end) as u32 } else { 0 };
                let header = Header { start: head, epoch, count, gap, tail, durable, closes, ..Header::default() };
                blocks.extend((0..count).map(|index| Header { index, redone: durable, ..header }));
                head += u64::from(count);
            }
            let is_torn = commit + 1 == commits && random.below(4) > 0;
            for copy in &mut self.copies {
                let arrives = if self.in_zones { random.below(blocks.len() as u64 + 1) as usize } else { blocks.len() };
                for header in &blocks[..if is_torn { arrives } else { blocks.len() }] {
                    if !is_torn || self.in_zones || random.below(3) > 0 {
                        copy.insert(header.number() % RING, *header);
                    }
                }
                if self.in_zones {
                    // What a zone held is gone when it is written again.
                    let last = head - 1;
                    copy.retain(|slot, header| header.number() + RING > last || slot / ZONE != last % RING / ZONE);
                }
            }
            durable = head;
        }
    }

    /// Recovery writes again what one copy lacks, unless it would have to empty a zone for it.
    fn mend(&mut self, whole: &[(u64, u32)]) {
        let found: Vec<Header> = self.blocks().map(|(_, header)| header).collect();
        let counts = |header: &&Header| !self.in_zones && whole.contains(&(header.number(), header.epoch));
        let mended: Vec<(u64, Header)> =
            found.iter().filter(counts).map(|header| (header.number() % RING, *header)).collect();
        self.copies.iter_mut().for_each(|copy| copy.extend(mended.iter().copied()));
    }

    /// Some blocks are damaged in both copies, or in one where the other holds the same.
    fn lose(&mut self, in_both: bool, random: &mut Random) {
        let copy = random.below(2) as usize;
        for _ in 0..random.below(4) {
            let slot = random.below(RING);
            if in_both || self.copies[0].get(&slot) == self.copies[1].get(&slot) {
                self.copies[copy].remove(&slot);
            }
            if in_both {
                self.copies[1 - copy].remove(&slot);
            }
        }
    }
}

/// Numbers and epochs of the blocks of a chain.
fn blocks(chain: &Chain) -> Vec<(u64, u32)> {
    let numbers = |segment: &Segment| (segment.start..segment.end).zip(std::iter::repeat(segment.epoch));
    chain.segments.iter().flat_map(numbers).collect()
}

/// The chain that is found is the model's. Where damage leaves the model none, because of an entry before the tail, the
/// rest may count.
fn holds(found: &[(usize, Header)]) -> Result<(), TestCaseError> {
    let headers: Vec<Header> = found.iter().map(|(_, header)| *header).collect();
    let chain = find(&runs(found.iter().copied()));
    match model::find(headers.clone()) {
        Ok(model) => {
            let chain = chain.map_err(|why| TestCaseError::fail(format!("{why}: {model:?}")))?;
            prop_assert_eq!(blocks(&chain), model.blocks);
            let Chain { head, tail, epoch, redone, .. } = chain;
            prop_assert_eq!((head, tail, epoch, redone), (model.head, model.tail, model.epoch, model.redone));
        }
        Err(why) => {
            let Ok(chain) = chain else { return Ok(()) };
            let is_there = |block: &(u64, u32)| headers.iter().any(|header| (header.number(), header.epoch) == *block);
            prop_assert!(blocks(&chain).iter().all(is_there), "{chain:?} has been found, though {why}");
            let durable = headers.iter().map(|header| header.durable).max();
            prop_assert!(Some(chain.tail) >= durable, "{chain:?} has been found, though {why}");
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]
    #[test]
    fn runs_amount_to_what_entries_do(seed in any::<u64>(), in_zones in any::<bool>(), loses_both in any::<bool>()) {
        let mut random = Random::new(seed);
        let mut written = Written { copies: Default::default(), in_zones };
        let mut now = (0, 0, 0, 1);
        for _ in 0..12 {
            written.live(now, &mut random);
            let tail = written.known_tail();
            let scanned = written.scanned(tail);
            holds(&scanned)?;
            let mut damaged = Written { copies: written.copies.clone(), in_zones };
            damaged.lose(loses_both, &mut random);
            holds(&damaged.scanned(tail))?;
            match model::find(scanned.into_iter().map(|(_, header)| header).collect()) {
                Ok(whole) => {
                    written.mend(&whole.blocks);
                    let goes_on = if in_zones { whole.head.next_multiple_of(ZONE) } else { whole.head };
                    now = (goes_on, whole.head, whole.tail, whole.epoch);
                }
                // It is formatted again.
                Err(Fatal::JournalNeverBegun | Fatal::NoJournal) => written.copies = Default::default(),
                Err(why) => prop_assert!(false, "{:?}", why),
            }
        }
    }
}
