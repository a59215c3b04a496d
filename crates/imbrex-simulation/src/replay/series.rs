//! What happens over time: a row for each window, handed out as soon as the window is over.

use serde::Serialize;

use super::Observer;
use super::lookahead::WAITING;
use super::metrics::{Served, Totals};
use super::options::Window;
use super::outcome::{ByReason, ratio};
use imbrex_core::layer::{Occupancy, TranslationLayer};
use imbrex_core::plan::Event;

/// One window. A request counts in the window in which it completes, together with all the disk did since the request
/// before it; a window in which none completed has no row. The window in which the warm-up ends is cut there: it has a
/// row up to then and another from then on, and windows of requests begin anew.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WindowOutcome {
    /// When the window begins, in seconds of simulated time.
    pub start_s: f64,
    /// When its last request was complete, in the same.
    pub end_s: f64,
    /// Requests.
    pub requests: u64,
    /// Mean latency of reads in milliseconds; 0 without any.
    pub mean_read_ms: f64,
    /// Mean latency of writes in milliseconds; 0 without any.
    pub mean_write_ms: f64,
    /// Blocks the host wrote.
    pub host_write_blocks: u64,
    /// Blocks of these that were buffered already.
    pub write_hit_blocks: u64,
    /// How many of the others a buffer let pass.
    pub direct_blocks: u64,
    /// And those that it let in, where it does not let in everything.
    pub admitted_blocks: u64,
    /// Blocks written to the media.
    pub media_write_blocks: ByReason,
    /// Blocks written to the media for each block the host wrote; 0 if it wrote none.
    pub write_amplification: f64,
    /// Zones that were read, merged and rewritten.
    pub rmw: u64,
    /// Zones that a growth under way has still to make into others, at its end.
    pub zones_left: u32,
    /// Blocks that are taken at its end of the space that the layer fills and cleans, if it has any.
    pub used_blocks: Option<u64>,
    /// Blocks of that space.
    pub space_blocks: Option<u64>,
    /// Whether it is part of the warm-up, which the outcome leaves out.
    pub warm_up: bool,
}

/// The most requests that are complete between two looks at the counters: a write, and the reads let past it.
const AT_ONCE: u64 = WAITING as u64 + 1;

/// What a layer says of itself as a request is complete.
#[derive(Copy, Clone, Default)]
pub(super) struct Standing {
    zones_left: u32,
    occupancy: Option<Occupancy>,
}

impl Standing {
    pub(super) fn of(layer: &dyn TranslationLayer) -> Self {
        let imbrex_core::layer::Standing { growth, occupancy, .. } = layer.standing();
        Self { zones_left: growth.map_or(0, |growth| growth.zones_left), occupancy }
    }
}

pub(super) struct Series {
    window: Window,
    /// The window's beginning, as a number of windows from 0, and in simulated time.
    index: u64,
    start_ns: u64,
    /// How many requests are complete when what comes after the next ones may belong to another window. Until then the
    /// counts need not be looked at.
    due: u64,
    opened: Totals,
    /// What was counted, and what the layer said, when that was last looked at.
    seen: Totals,
    standing: Standing,
    /// When a request was last complete.
    seen_ns: u64,
    is_warm_up: bool,
    /// Rows that the observer has not been told of.
    rows: Vec<WindowOutcome>,
}

impl Series {
    /// In windows of this length; with a warm-up, until [`Series::end_warm_up`].
    pub(super) fn new(window: Window, is_warm_up: bool) -> Self {
        let (opened, seen) = (Totals::default(), Totals::default());
        let mut series = Self {
            window,
            index: 0,
            start_ns: 0,
            due: 0,
            opened,
            seen,
            standing: Standing::default(),
            seen_ns: 0,
            is_warm_up,
            rows: Vec::new(),
        };
        series.begin(0, 0);
        series
    }

    /// A request is complete, the last of `requests`. Whatever was added since the last call belongs to the window of
    /// this moment. Says whether [`Series::see`] must be told what that comes to.
    #[inline]
    pub(super) fn advance(&mut self, now_ns: u64, requests: u64) -> bool {
        let is_due = requests >= self.due;
        if is_due {
            self.open(now_ns, requests);
        }
        self.seen_ns = now_ns;
        is_due
    }

    /// By the request that was last complete it came to these totals.
    pub(super) fn see(&mut self, totals: Totals, standing: Standing) {
        (self.seen, self.standing) = (totals, standing);
    }

    /// Goes on to the window of this moment, if it is another one.
    fn open(&mut self, now_ns: u64, requests: u64) {
        let (index, start_ns) = match self.window {
            Window::Ns(ns) => (now_ns / ns.max(1), now_ns / ns.max(1) * ns.max(1)),
            Window::Requests(n) => (requests.saturating_sub(1) / n.max(1), self.seen_ns),
        };
        if index != self.index {
            self.close();
            self.opened = self.seen;
            self.begin(index, start_ns);
        }
    }

    fn begin(&mut self, index: u64, start_ns: u64) {
        (self.index, self.start_ns) = (index, start_ns);
        self.due = match self.window {
            // The next request may be complete in another window, whenever the last one was.
            Window::Ns(_) => 0,
            Window::Requests(n) => (index + 1).saturating_mul(n.max(1)).saturating_sub(AT_ONCE - 1),
        };
    }

    /// The warm-up ends at `now_ns` with these totals; from here on they are counted from nothing.
    pub(super) fn end_warm_up(&mut self, now_ns: u64, totals: Totals) {
        self.seen = totals;
        self.close();
        (self.opened, self.seen) = (Totals::default(), Totals::default());
        (self.seen_ns, self.is_warm_up) = (now_ns, false);
        let index = match self.window {
            Window::Ns(ns) => now_ns / ns.max(1),
            Window::Requests(_) => 0,
        };
        self.begin(index, now_ns);
    }

    /// Hands out the windows that are over; whether there was one.
    #[inline]
    pub(super) fn hand_out(&mut self, observer: &mut dyn Observer) -> bool {
        // Almost always there is none, and to find that out by draining costs more.
        let has_some = !self.rows.is_empty();
        if has_some {
            self.rows.drain(..).for_each(|row| observer.row(&row));
        }
        has_some
    }

    /// Hands out what is left, the window that is open included.
    pub(super) fn finish(&mut self, observer: &mut dyn Observer) {
        self.close();
        let _ = self.hand_out(observer);
    }

    fn close(&mut self) {
        let (from, to) = (&self.opened, &self.seen);
        let requests = to.host.requests() - from.host.requests();
        if requests == 0 {
            return;
        }
        let host_write_blocks = to.host.write.blocks - from.host.write.blocks;
        let event = |event| to.media.event(event) - from.media.event(event);
        let media_write_blocks = ByReason::between(&from.media.written, &to.media.written);
        self.rows.push(WindowOutcome {
            start_s: self.start_ns as f64 / 1e9,
            end_s: self.seen_ns as f64 / 1e9,
            requests,
            mean_read_ms: mean_ms(&from.host.read, &to.host.read),
            mean_write_ms: mean_ms(&from.host.write, &to.host.write),
            host_write_blocks,
            write_hit_blocks: event(Event::WriteHit),
            direct_blocks: event(Event::Direct),
            admitted_blocks: event(Event::Admitted),
            media_write_blocks,
            write_amplification: ratio(media_write_blocks.total(), host_write_blocks),
            rmw: event(Event::Rmw),
            zones_left: self.standing.zones_left,
            used_blocks: self.standing.occupancy.map(|occupancy| occupancy.used),
            space_blocks: self.standing.occupancy.map(|occupancy| occupancy.blocks),
            warm_up: self.is_warm_up,
        });
    }
}

fn mean_ms(from: &Served, to: &Served) -> f64 {
    let requests = to.requests - from.requests;
    if requests == 0 { 0.0 } else { (to.latency_ns - from.latency_ns) as f64 / requests as f64 / 1e6 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::random::Random;

    /// The rows of requests of which 1 to [`AT_ONCE`] are complete at a time.
    fn rows(window: Window, is_always_shown: bool) -> Vec<WindowOutcome> {
        let mut series = Series::new(window, false);
        let (mut random, mut totals, mut now_ns) = (Random::new(7), Totals::default(), 0);
        for _ in 0..200 {
            let complete = 1 + random.below(AT_ONCE);
            now_ns += complete * 1_000;
            totals.host.write.requests += complete;
            totals.host.write.blocks += complete * 8;
            totals.media.events[Event::Rmw.index()] += random.below(9);
            if series.advance(now_ns, totals.host.requests()) || is_always_shown {
                series.see(totals, Standing::default());
            }
        }
        series.see(totals, Standing::default());
        series.close();
        series.rows
    }

    #[test]
    fn what_is_looked_at_only_when_due_makes_the_same_rows() {
        let lengths = [1, 2, AT_ONCE - 1, AT_ONCE, AT_ONCE + 1, 1_000].map(Window::Requests);
        for window in lengths.into_iter().chain([1, 50_000].map(Window::Ns)) {
            let (seldom, always) = (rows(window, false), rows(window, true));
            assert!(seldom.len() > 5, "{window:?}");
            assert_eq!(seldom, always, "{window:?}");
        }
    }
}
