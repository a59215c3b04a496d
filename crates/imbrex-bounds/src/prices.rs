//! The fewest rewrites of zones whose buffered blocks pay for their space. [`crate::zones`] has the claim and the proof.

use crate::accesses::{Accesses, NONE, Units};

/// Moments that are bounded together.
const MOMENTS: usize = 128;
/// What a rewrite costs: prices are whole parts of it.
const REWRITE: u64 = 1 << 32;
/// The lowest price that is tried; the step of the highest, which is a rewrite; and by how many steps, quarters of an octave,
/// prices differ in the search.
const LOWEST: u64 = 1 << 8;
const HIGHEST: u32 = 4 * 24;
const STRIDES: [u32; 3] = [8, 2, 1];

/// The fewest rewrites, with moments at these ends of pieces.
pub fn least_rewrites(writes: &Accesses, zones: &Units, buffer: u64, ends: &[usize]) -> u64 {
    let mut spans = Spans { last: vec![(0, 0); writes.blocks() as usize], slot: vec![NONE; zones.count() as usize] };
    let (mut from, mut step, mut sum) = (0, 0, 0);
    for (number, ends) in ends.chunks(MOMENTS).enumerate() {
        let span = spans.read(writes, zones, from, ends, number as u32 + 1);
        let (fewest, at) = span.best(buffer, step);
        (sum, step) = (sum + fewest, at);
        from = ends.last().copied().unwrap_or(from);
    }
    sum
}

/// When blocks were written last, while spans are read one after another.
struct Spans {
    /// Of each block the span, and the event of its zone there, from 1.
    last: Vec<(u32, u32)>,
    /// Where each zone stands in the span that is being read.
    slot: Vec<u32>,
}

/// Some pieces.
struct Span {
    moments: u64,
    zones: Vec<Zone>,
}

/// What a span writes in a zone: an event for each piece that writes some of it.
#[derive(Default)]
struct Zone {
    /// The pieces.
    pieces: Vec<usize>,
    /// For each event: how many of its different blocks were written before by no event, by the first one, and so on.
    before: Vec<Vec<u32>>,
}

impl Spans {
    /// Reads the pieces of a span, which begin at write `from` and end there.
    fn read(&mut self, writes: &Accesses, zones: &Units, from: usize, ends: &[usize], number: u32) -> Span {
        let mut span = Span { moments: ends.len() as u64, zones: Vec::new() };
        let (mut at, mut touched) = (from, Vec::new());
        for (piece, &end) in ends.iter().enumerate() {
            for &block in &writes.order()[at..end] {
                let name = zones.of(block);
                if name == NONE {
                    continue;
                }
                let slot = &mut self.slot[name as usize];
                if *slot == NONE {
                    *slot = span.zones.len() as u32;
                    span.zones.push(Zone::default());
                    touched.push(name);
                }
                let zone = &mut span.zones[*slot as usize];
                let event = zone.event(piece);
                let (last_span, last) = std::mem::replace(&mut self.last[block as usize], (number, event));
                let last = if last_span == number { last } else { 0 };
                if last < event {
                    zone.before[event as usize - 1][last as usize] += 1;
                }
            }
            at = end;
        }
        touched.into_iter().for_each(|name| self.slot[name as usize] = NONE);
        span
    }
}

impl Zone {
    /// The number of the event of this piece, from 1.
    fn event(&mut self, piece: usize) -> u32 {
        if self.pieces.last() != Some(&piece) {
            self.before.push(vec![0; self.pieces.len() + 1]);
            self.pieces.push(piece);
        }
        self.pieces.len() as u32
    }

    /// From how many blocks were written last by each event to how many were by that one or an earlier one.
    fn sum_up(&mut self) {
        for before in &mut self.before {
            let mut sum = 0;
            for count in before {
                sum += *count;
                *count = sum;
            }
        }
    }

    /// The least that rewrites and what blocks pay at the moments cost together.
    fn least_cost(&self, price: u64, moments: u64, costs: &mut Vec<u64>) -> u64 {
        let events = self.pieces.len();
        costs.clear();
        costs.resize(events + 1, u64::MAX);
        costs[0] = 0;
        let mut least = u64::MAX;
        for rewritten in 0..=events {
            // Nothing is buffered behind event `rewritten`. What comes is, until the zone is rewritten again or the end.
            let (mut held, mut cost) = (0u64, costs[rewritten]);
            for event in rewritten..events {
                costs[event + 1] = costs[event + 1].min(cost.saturating_add(REWRITE));
                held += u64::from(self.before[event][rewritten]);
                let next = self.pieces.get(event + 1).map_or(moments, |piece| *piece as u64);
                let paid = held.saturating_mul(next - self.pieces[event] as u64).saturating_mul(price);
                cost = cost.saturating_add(paid);
            }
            least = least.min(cost);
        }
        least
    }
}

impl Span {
    /// The best bound, and the step of its price; the search begins at `step`. The bound is concave in the price, so it
    /// goes up to the best and down again.
    fn best(mut self, buffer: u64, step: u32) -> (u64, u32) {
        self.zones.iter_mut().for_each(Zone::sum_up);
        let mut costs = Vec::new();
        let mut bound = |step| self.bound(buffer, step, &mut costs);
        let (mut at, mut best) = (step, bound(step));
        if best == 0 {
            // Far from the best price nothing says in which direction it lies.
            let far = (0..=HIGHEST).step_by(STRIDES[0] as usize).map(|step| (bound(step), step));
            (best, at) = far.max().unwrap_or((0, step));
        }
        for stride in if best > 0 { &STRIDES[..] } else { &[] } {
            for up in [true, false] {
                loop {
                    let to = if up { (at + stride).min(HIGHEST) } else { at.saturating_sub(*stride) };
                    let next = bound(to);
                    if next <= best {
                        break;
                    }
                    (at, best) = (to, next);
                }
            }
        }
        (best.div_ceil(u128::from(REWRITE)) as u64, at)
    }

    /// The bound at the price of a step, in parts of a rewrite; 0 if it says nothing.
    fn bound(&self, buffer: u64, step: u32, costs: &mut Vec<u64>) -> u128 {
        let price = price(step);
        let cost: u128 = self.zones.iter().map(|zone| u128::from(zone.least_cost(price, self.moments, costs))).sum();
        cost.saturating_sub(u128::from(price) * u128::from(buffer) * u128::from(self.moments))
    }
}

/// The price of a step: each is a quarter of an octave more than the one before, up to a rewrite.
fn price(step: u32) -> u64 {
    const QUARTERS: [u64; 4] = [256, 304, 362, 431];
    (LOWEST * QUARTERS[(step % 4) as usize] / 256) << (step / 4)
}
