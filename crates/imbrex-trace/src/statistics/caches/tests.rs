//! The policies by hand, against their definitions written down with queues, and LRU against stack distances.

use std::collections::VecDeque;

use proptest::prelude::*;

use super::super::recency::Recency;
use super::*;

fn sequence(accesses: &[u32]) -> Sequence {
    let mut seen: Vec<u32> = Vec::new();
    let numbers = accesses.iter().map(|access| {
        let at = seen.iter().position(|other| other == access).unwrap_or(seen.len());
        if at == seen.len() {
            seen.push(*access);
        }
        at as u32
    });
    let numbers = numbers.collect();
    Sequence { numbers, distinct: seen.len() as u32 }
}

fn hits(accesses: &[u32], mut policy: impl Policy) -> String {
    let sequence = sequence(accesses);
    sequence.numbers.iter().map(|&number| if policy.access(number) { 'h' } else { '.' }).collect()
}

#[test]
fn lru_by_hand() {
    let accesses = [1, 2, 3, 1, 4, 2, 1, 1];
    assert_eq!(hits(&accesses, Lru::new(&sequence(&accesses), 3)), "...h..hh");
}

/// The queue, oldest first and visited marked, before the accesses 4 and on: 1' 2 3; the hand spares 1 and drops 2: 1
/// [3] 4; 5 drops 3: 1 [4] 5; a hit on 1 and a visit of 4: 1' [4'] 5; 6 spares 4, drops 5 and begins anew: [1'] 4 6; 7
/// spares 1 and drops 4: 1 [6] 7.
#[test]
fn sieve_by_hand() {
    let accesses = [1, 2, 3, 1, 4, 5, 1, 4, 6, 7, 1, 6, 4];
    assert_eq!(hits(&accesses, Sieve::new(&sequence(&accesses), 3)), "...h..hh..hh.");
}

/// c = 2. 1 1: T2 1. 2: T1 2. 3: REPLACE with p = 0 drops 2 to B1; T1 3. 2 is a hit in B1: p = 1, T1 is not over p, so
/// T2 drops 1 to B2; T2 2. 1 is a hit in B2: p = 0, T1 drops 3 to B1; T2 2 1. 2 and 1 hit, 3 is a ghost.
#[test]
fn arc_by_hand() {
    let accesses = [1, 1, 2, 3, 2, 1, 2, 1, 3];
    assert_eq!(hits(&accesses, Arc::new(&sequence(&accesses), 2)), ".h....hh.");
}

#[test]
fn a_scan_does_not_flush_arc_and_sieve() {
    let mut accesses: Vec<u32> = (0..10).chain(0..10).collect();
    accesses.extend(100..200);
    accesses.extend(0..10);
    let sequence = sequence(&accesses);
    let last = |hits: String| hits[120..].matches('h').count();
    assert_eq!(last(hits(&accesses, Lru::new(&sequence, 20))), 0);
    assert_eq!(last(hits(&accesses, Arc::new(&sequence, 20))), 10);
    assert_eq!(last(hits(&accesses, Sieve::new(&sequence, 20))), 10);
}

#[test]
fn sizes_are_rounded_down() {
    let sizes = [(10.0, 99), (10.0, 100), (7.0, 100), (0.1, 100), (100.0, 5), (29.0, 100), (10.0, 0)];
    assert_eq!(sizes.map(|(percent, of)| entries(percent, of)), [9, 10, 7, 1, 5, 29, 1]);
}

#[test]
fn the_watch_can_stop_it() {
    let sequence = sequence(&[1, 2, 1]);
    let mut seen = 0;
    let mut count = |more| {
        seen += more;
        Ok::<_, ()>(())
    };
    assert!(MissRatios::of(&sequence, 10.0, &mut count).is_ok());
    assert_eq!(seen, 9);
    assert_eq!(MissRatios::of(&sequence, 10.0, &mut |_| Err("stopped")), Err("stopped"));
}

/// Takes a number out of a list.
fn take(list: &mut VecDeque<u32>, number: u32) -> bool {
    let at = list.iter().position(|&other| other == number);
    at.is_some_and(|at| list.remove(at).is_some())
}

struct PlainLru(VecDeque<u32>, usize);

impl Policy for PlainLru {
    fn access(&mut self, number: u32) -> bool {
        let hit = take(&mut self.0, number);
        self.0.push_front(number);
        self.0.truncate(self.1);
        hit
    }
}

/// Most recent first.
#[derive(Default)]
struct PlainArc {
    c: usize,
    p: usize,
    t1: VecDeque<u32>,
    b1: VecDeque<u32>,
    t2: VecDeque<u32>,
    b2: VecDeque<u32>,
}

impl PlainArc {
    fn replace(&mut self, in_b2: bool) {
        let from_t1 = !self.t1.is_empty() && (self.t1.len() > self.p || in_b2 && self.t1.len() == self.p);
        let (data, ghosts) = if from_t1 { (&mut self.t1, &mut self.b1) } else { (&mut self.t2, &mut self.b2) };
        ghosts.push_front(data.pop_back().unwrap());
    }
}

impl Policy for PlainArc {
    fn access(&mut self, x: u32) -> bool {
        let (b1, b2) = (self.b1.len(), self.b2.len());
        let hit = take(&mut self.t1, x) || take(&mut self.t2, x);
        if hit {
            self.t2.push_front(x);
        } else if self.b1.contains(&x) {
            self.p = self.c.min(self.p + 1.max(b2 / b1));
            self.replace(false);
            take(&mut self.b1, x);
            self.t2.push_front(x);
        } else if self.b2.contains(&x) {
            self.p = self.p.saturating_sub(1.max(b1 / b2));
            self.replace(true);
            take(&mut self.b2, x);
            self.t2.push_front(x);
        } else {
            let l1 = self.t1.len() + b1;
            let all = l1 + self.t2.len() + b2;
            if l1 == self.c && self.t1.len() < self.c {
                self.b1.pop_back();
                self.replace(false);
            } else if l1 == self.c {
                self.t1.pop_back();
            } else if all >= self.c {
                if all == 2 * self.c {
                    self.b2.pop_back();
                }
                self.replace(false);
            }
            self.t1.push_front(x);
        }
        assert!(self.t1.len() + self.t2.len() <= self.c && self.t1.len() + self.b1.len() <= self.c);
        hit
    }
}

/// Newest first; the hand is the number it points at.
struct PlainSieve {
    queue: VecDeque<(u32, bool)>,
    hand: Option<u32>,
    size: usize,
}

impl Policy for PlainSieve {
    fn access(&mut self, number: u32) -> bool {
        if let Some(member) = self.queue.iter_mut().find(|member| member.0 == number) {
            member.1 = true;
            return true;
        }
        if self.queue.len() == self.size {
            let place = |queue: &VecDeque<(u32, bool)>, hand| queue.iter().position(|member| member.0 == hand);
            let oldest = self.queue.len() - 1;
            let mut at = self.hand.map_or(oldest, |hand| place(&self.queue, hand).unwrap());
            while self.queue[at].1 {
                self.queue[at].1 = false;
                at = at.checked_sub(1).unwrap_or(oldest);
            }
            self.hand = at.checked_sub(1).map(|newer| self.queue[newer].0);
            self.queue.remove(at);
        }
        self.queue.push_front((number, false));
        false
    }
}

/// What was accessed at most `size` distinct others ago.
fn hits_by_distance(sequence: &Sequence, size: u32) -> String {
    let mut recency = Recency::default();
    let mut slots = vec![None; sequence.distinct as usize];
    let mut hit = |&number: &u32| {
        if recency.is_used_up() {
            recency.renumber(slots.iter_mut().flatten());
        }
        let slot = &mut slots[number as usize];
        let distance = slot.map(|slot| recency.give_up(slot));
        *slot = Some(recency.take());
        distance.is_some_and(|distance| distance < size)
    };
    sequence.numbers.iter().map(|number| if hit(number) { 'h' } else { '.' }).collect()
}

fn check(accesses: &[u32], size: u32) {
    let sequence = sequence(accesses);
    let plain = size as usize;
    let lru = hits(accesses, Lru::new(&sequence, size));
    assert_eq!(lru, hits(accesses, PlainLru(VecDeque::new(), plain)));
    assert_eq!(lru, hits_by_distance(&sequence, size));
    let arc = PlainArc { c: plain, ..PlainArc::default() };
    assert_eq!(hits(accesses, Arc::new(&sequence, size)), hits(accesses, arc));
    let sieve = PlainSieve { queue: VecDeque::new(), hand: None, size: plain };
    assert_eq!(hits(accesses, Sieve::new(&sequence, size)), hits(accesses, sieve));
}

proptest! {
    #[test]
    fn policies_do_as_they_are_defined(
        accesses in prop::collection::vec((0u32..4, 0u32..60).prop_map(|(hot, n)| if hot > 0 { n / 5 } else { n }), 1..800),
        size in 1u32..30,
    ) {
        check(&accesses, size);
    }

    #[test]
    fn policies_do_as_they_are_defined_on_loops(length in 1u32..40, scan in 1u32..60, size in 1u32..30) {
        let accesses: Vec<u32> = (0..600).map(|i| if i / scan % 3 == 2 { 100 + i } else { i % length }).collect();
        check(&accesses, size);
    }
}
