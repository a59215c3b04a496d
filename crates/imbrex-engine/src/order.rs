//! The operations under way, and which of them wait for others: ordering rule 2.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::RangeInclusive;

use foldhash::fast::FixedState;
use imbrex_core::block::{Extent, Pba};
use imbrex_core::footprint::Footprint;
use imbrex_core::plan::Unit;
use smallvec::SmallVec;

use super::numbered::Numbered;

/// Blocks of a stretch, as a power of two.
const STRETCH: u32 = 6;
/// Runs that may lie in more stretches are long.
const MOST_STRETCHES: u32 = 128;

/// The most lists of stretches whose memory is kept.
const SPARE_LISTS: usize = 64;

/// Numbers of a few operations.
type Few = SmallVec<[u64; 2]>;

struct Node<T> {
    what: T,
    footprint: Footprint,
    blockers: u32,
    dependents: Few,
}

/// The operations that have been planned and not yet completed, by number.
pub(super) struct Order<T> {
    nodes: Numbered<Node<T>>,
    touched: Touched,
}

impl<T> Default for Order<T> {
    fn default() -> Self {
        Self { nodes: Numbered::default(), touched: Touched::default() }
    }
}

impl<T> Order<T> {
    /// The number that the next operation gets.
    pub fn next_number(&self) -> u64 {
        self.nodes.next()
    }

    /// Adds an operation that touches what `footprint` says. Its number, if it may start at once.
    pub fn add(&mut self, what: T, footprint: Footprint) -> Option<u64> {
        let (seq, mut blockers) = (self.nodes.next(), 0);
        for earlier in self.touched.earlier(&footprint, &self.nodes) {
            if let Some(node) = self.nodes.get_mut(earlier) {
                node.dependents.push(seq);
                blockers += 1;
            }
        }
        self.touched.add(seq, &footprint);
        self.nodes.add(Node { what, footprint, blockers, dependents: Few::new() });
        (blockers == 0).then_some(seq)
    }

    /// Completes an operation; `ready` is told which ones may start now.
    pub fn complete(&mut self, seq: u64, mut ready: impl FnMut(u64)) -> Option<T> {
        let node = self.nodes.remove(seq)?;
        self.touched.remove(seq, &node.footprint);
        for dependent in node.dependents {
            if let Some(node) = self.nodes.get_mut(dependent) {
                node.blockers -= 1;
                if node.blockers == 0 {
                    ready(dependent);
                }
            }
        }
        Some(node.what)
    }

    pub fn get(&self, number: u64) -> Option<&T> {
        self.nodes.get(number).map(|node| &node.what)
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut T> {
        self.nodes.get_mut(number).map(|node| &mut node.what)
    }

    /// The numbers that have not completed, in order.
    pub fn numbers(&self) -> impl Iterator<Item = u64> {
        self.nodes.numbers()
    }

    /// Adds those that wait for some of `numbers`, or for one that does.
    pub fn add_waiting_for(&self, numbers: &[u64], waiting: &mut BTreeSet<u64>) {
        let mut next = numbers.to_vec();
        while let Some(number) = next.pop() {
            let dependents = self.nodes.get(number).into_iter().flat_map(|node| &node.dependents);
            next.extend(dependents.filter(|dependent| waiting.insert(**dependent)));
        }
    }

    /// Those that wait for `number` and for no other.
    pub fn waiting_for_alone(&self, number: u64) -> impl Iterator<Item = u64> {
        let dependents = self.nodes.get(number).into_iter().flat_map(|node| &node.dependents);
        dependents.copied().filter(|other| self.nodes.get(*other).is_some_and(|node| node.blockers == 1))
    }

    /// How many have not completed.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }
}

/// Where operations are to be found that may conflict with a new one. A step of cleaning has thousands of them, and each
/// compared with all others would keep clients waiting.
#[derive(Default)]
struct Touched {
    /// Operations that touch a stretch of blocks, by its number, and the runs that they touch there.
    stretches: HashMap<u64, Vec<(Extent<Pba>, u64)>, FixedState>,
    /// Lists of stretches that nothing touches any more: their memory is for the next ones.
    spare: Vec<Vec<(Extent<Pba>, u64)>>,
    /// Operations that touch long runs, which are in no stretch.
    long: BTreeSet<u64>,
    /// The last one that moves a write pointer: it waits for those before it that do.
    pointers: BTreeMap<Unit, u64>,
}

impl Touched {
    /// Operations that conflict with what touches `footprint`, each once. Of those that move a pointer the last is enough,
    /// since it comes after the others.
    fn earlier<T>(&self, footprint: &Footprint, nodes: &Numbered<Node<T>>) -> Few {
        if footprint.runs().any(|run| is_long(&run)) {
            return nodes.iter().filter(|(_, node)| node.footprint.conflicts(footprint)).map(|(seq, _)| seq).collect();
        }
        let near = footprint.runs().flat_map(|run| {
            let there = stretches(&run).filter_map(|stretch| self.stretches.get(&stretch)).flatten();
            there.filter(move |(other, _)| other.overlaps(&run)).map(|(_, seq)| seq)
        });
        let shares_blocks = |seq: &&u64| nodes.get(**seq).is_some_and(|node| node.footprint.shares_blocks(footprint));
        let pointers = footprint.pointers().filter_map(|unit| self.pointers.get(&unit));
        let mut earlier: Few = near.chain(&self.long).filter(shares_blocks).chain(pointers).copied().collect();
        earlier.sort_unstable();
        earlier.dedup();
        earlier
    }

    fn add(&mut self, seq: u64, footprint: &Footprint) {
        for run in footprint.runs() {
            if is_long(&run) {
                self.long.insert(seq);
                continue;
            }
            for stretch in stretches(&run) {
                let new = || self.spare.pop().unwrap_or_default();
                self.stretches.entry(stretch).or_insert_with(new).push((run, seq));
            }
        }
        self.pointers.extend(footprint.pointers().map(|unit| (unit, seq)));
    }

    fn remove(&mut self, seq: u64, footprint: &Footprint) {
        self.long.remove(&seq);
        for stretch in footprint.runs().filter(|run| !is_long(run)).flat_map(|run| stretches(&run)) {
            if let Entry::Occupied(mut there) = self.stretches.entry(stretch) {
                there.get_mut().retain(|(_, other)| *other != seq);
                if there.get().is_empty() {
                    let list = there.remove();
                    if self.spare.len() < SPARE_LISTS {
                        self.spare.push(list);
                    }
                }
            }
        }
        for unit in footprint.pointers() {
            if self.pointers.get(&unit) == Some(&seq) {
                self.pointers.remove(&unit);
            }
        }
    }
}

fn is_long(run: &Extent<Pba>) -> bool {
    run.blocks > MOST_STRETCHES << STRETCH
}

/// The stretches that a run lies in.
fn stretches(run: &Extent<Pba>) -> RangeInclusive<u64> {
    let first = run.start.to_raw();
    first >> STRETCH..=(first + u64::from(run.blocks).saturating_sub(1)) >> STRETCH
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::media::{Shingled, ZonedSpec};
    use imbrex_core::plan::Place;
    use proptest::prelude::*;

    #[test]
    fn conflicting_operations_wait_and_others_do_not() {
        let spec = ZonedSpec { zones: 4, zone_blocks: 10, conventional_zones: 1, max_open: 0, max_active: 0 };
        let media = Shingled::new(1, spec);
        let mv = |from, to| Footprint::of_move(from, to, 2, &media);
        let at = |block| Place::At(Pba::disk(block));
        let mut order = Order::default();
        assert_eq!(order.add((), mv(Place::Host(0), at(10))), Some(0), "nothing before it");
        assert_eq!(order.add((), mv(Place::Host(0), at(12))), None, "same write pointer");
        assert_eq!(order.add((), mv(Place::Host(0), at(20))), Some(2), "another zone");
        assert_eq!(order.add((), mv(at(10), Place::Host(0))), None, "reads what 0 writes");
        assert_eq!(order.add((), mv(at(11), Place::Host(0))), None, "reads what 0 writes");
        assert_eq!(order.add((), Footprint::of_reset(Unit::disk(1), &media)), None);
        let mut waiting = BTreeSet::new();
        order.add_waiting_for(&[0, 2], &mut waiting);
        assert_eq!(Vec::from_iter(waiting), [1, 3, 4, 5], "4 and 5 wait for 1 too");
        let mut ready = Vec::new();
        order.complete(0, |seq| ready.push(seq));
        assert_eq!(ready, [1, 3], "4 overlaps what 1 writes");
        let done = [1, 3, 4].map(|seq| order.complete(seq, |seq| ready.push(seq)));
        assert_eq!(done, [Some(()); 3]);
        assert_eq!(ready, [1, 3, 4, 5]);
        assert_eq!((order.numbers().next(), order.len()), (Some(2), 2));
    }

    /// An operation of a kind at a place of a small drive.
    fn touching(kind: u8, block: u64, blocks: u32, media: &Shingled) -> Footprint {
        let at = |block| Place::At(Pba::disk(block));
        match kind {
            0 => Footprint::of_move(at(block), Place::At(Pba::ram(block % 97)), blocks, media),
            1 => Footprint::of_move(Place::At(Pba::ram(block % 97)), at(block), blocks, media),
            2 => Footprint::of_move(at(block), Place::Host(0), blocks, media),
            _ => Footprint::of_reset(Unit::disk((block / 20_000) as u32), media),
        }
    }

    proptest! {
        #[test]
        fn an_operation_starts_as_soon_as_all_it_conflicts_with_have_ended(
            planned in prop::collection::vec((0..4_u8, 0..60_000_u64, 1..40_u32), 1..120),
            ends in prop::collection::vec(any::<prop::sample::Index>(), 240),
        ) {
            let spec = ZonedSpec { zones: 4, zone_blocks: 20_000, conventional_zones: 1, max_open: 0, max_active: 0 };
            let media = Shingled::new(1, spec);
            let (mut order, mut left, mut started) = (Order::default(), BTreeMap::new(), BTreeSet::new());
            let (mut planned, mut next) = (planned.into_iter(), 0);
            for end in ends {
                // Close to each other, so that they meet.
                if let Some((kind, block, blocks)) = planned.next() {
                    let footprint = touching(kind, block / 20_000 * 20_000 + block % 300, blocks, &media);
                    left.insert(next, footprint.clone());
                    started.extend(order.add((), footprint));
                    next += 1;
                }
                if next % 3 == 0 && !started.is_empty() {
                    let ended = *end.get(&Vec::from_iter(started.clone()));
                    started.remove(&ended);
                    left.remove(&ended);
                    order.complete(ended, |seq| assert!(started.insert(seq)));
                }
                let may = |(seq, own): (&u64, &Footprint)| {
                    !left.range(..*seq).any(|(_, earlier): (_, &Footprint)| earlier.conflicts(own))
                };
                let may_start: BTreeSet<u64> = left.iter().filter(|(seq, own)| may((*seq, *own))).map(|(seq, _)| *seq).collect();
                prop_assert_eq!(&started, &may_start);
            }
            while let Some(ended) = started.pop_first() {
                order.complete(ended, |seq| assert!(started.insert(seq)));
            }
            prop_assert_eq!(order.len(), 0);
            prop_assert!(order.touched.stretches.is_empty() && order.touched.long.is_empty() && order.touched.pointers.is_empty());
        }
    }
}
