//! ARC, the adaptive replacement cache (Megiddo & Modha, FAST'03, Figure 4).
//!
//! Four lists: T1 holds what was accessed once of late and T2 what was accessed more often; B1 and B2 hold the numbers,
//! not the data, of what T1 and T2 dropped last. The target size `p` of T1 grows with hits in B1 and shrinks with hits
//! in B2.
//!
//! B1 continues T1, and B2 continues T2: what is dropped from T1 is less recent than all of T1 and more recent than all
//! of B1. So two recency lists with a mark in each are the four lists.
//!
//! Decisions. The paper leaves open how the quotient by which `p` moves is rounded; here it is rounded down, and `p` is
//! a whole number, as in libCacheSim. The quotient is taken before the hit leaves its ghost list, as the paper's order
//! says.

use super::window::Window;
use super::{Policy, Sequence};

pub struct Arc<'a> {
    numbers: &'a [u32],
    /// The paper's c.
    entries: u32,
    /// The position of each number's last access, doubled; plus one if it is in T2 or B2.
    last: Vec<u32>,
    position: u32,
    t1: Window,
    b1: Window,
    t2: Window,
    b2: Window,
    /// The paper's p.
    target: u32,
}

/// The list that a number is in.
#[derive(Copy, Clone, PartialEq, Eq)]
enum List {
    T1,
    B1,
    T2,
    B2,
    Neither,
}

impl<'a> Arc<'a> {
    pub fn new(sequence: &'a Sequence, entries: u32) -> Self {
        let (numbers, last) = (&sequence.numbers[..], vec![0; sequence.distinct as usize]);
        let [t1, b1, t2, b2] = [Window::EMPTY; 4];
        Self { numbers, entries, last, position: 0, t1, b1, t2, b2, target: 0 }
    }

    #[inline]
    fn list_of(&self, number: u32) -> List {
        let last = self.last[number as usize];
        let (at, often) = (last >> 1, last & 1 == 1);
        let (data, ghosts) = if often { (&self.t2, &self.b2) } else { (&self.t1, &self.b1) };
        match (at >= data.from, at >= ghosts.from, often) {
            (true, _, false) => List::T1,
            (true, _, true) => List::T2,
            (false, true, false) => List::B1,
            (false, true, true) => List::B2,
            (false, false, _) => List::Neither,
        }
    }

    /// The paper's REPLACE: drops one from T1 or T2 and remembers it in B1 or B2.
    #[inline]
    fn replace(&mut self, hit: List) {
        let Self { numbers, last, t1, t2, target, .. } = self;
        let over = t1.len > *target || (hit == List::B2 && t1.len == *target);
        if t1.len > 0 && over {
            t1.pop(numbers, |number, at| last[number as usize] == at << 1);
            self.b1.len += 1;
        } else {
            t2.pop(numbers, |number, at| last[number as usize] == at << 1 | 1);
            self.b2.len += 1;
        }
    }

    /// The paper's case IV: makes room for what is in no list.
    #[inline]
    fn make_room(&mut self) {
        let once = self.t1.len + self.b1.len;
        let all = once + self.t2.len + self.b2.len;
        let Self { numbers, last, entries, .. } = self;
        if once == *entries {
            let is_member = |number: u32, at: u32| last[number as usize] == at << 1;
            if self.b1.len == 0 {
                self.t1.pop(numbers, is_member);
                self.b1.from = self.t1.from;
                return;
            }
            self.b1.pop(numbers, is_member);
            self.replace(List::Neither);
        } else if all >= *entries {
            if all == 2 * *entries {
                self.b2.pop(numbers, |number, at| last[number as usize] == at << 1 | 1);
            }
            self.replace(List::Neither);
        }
    }
}

impl Policy for Arc<'_> {
    #[inline]
    fn access(&mut self, number: u32) -> bool {
        self.position += 1;
        let list = self.list_of(number);
        match list {
            List::T1 => self.t1.len -= 1,
            List::T2 => self.t2.len -= 1,
            List::B1 => {
                let more = (self.b2.len / self.b1.len).max(1);
                self.target = self.target.saturating_add(more).min(self.entries);
                self.replace(list);
                self.b1.len -= 1;
            }
            List::B2 => {
                let less = (self.b1.len / self.b2.len).max(1);
                self.target = self.target.saturating_sub(less);
                self.replace(list);
                self.b2.len -= 1;
            }
            List::Neither => self.make_room(),
        }
        let often = list != List::Neither;
        (if often { &mut self.t2 } else { &mut self.t1 }).len += 1;
        self.last[number as usize] = self.position << 1 | u32::from(often);
        matches!(list, List::T1 | List::T2)
    }
}
