//! What happens over time: a row for each window, handed out as soon as the window is over.

use serde::Serialize;

use super::Observer;
use super::metrics::{Served, Totals};
use super::options::Window;
use super::outcome::{ByReason, ratio};
use crate::plan::Event;

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
    /// Of the others, those that a buffer let pass.
    pub direct_blocks: u64,
    /// And those that it let in, where it does not let in everything.
    pub admitted_blocks: u64,
    /// Blocks written to the media.
    pub media_write_blocks: ByReason,
    /// Blocks written to the media for each block the host wrote; 0 if it wrote none.
    pub write_amplification: f64,
    /// Zones that were read, merged and rewritten.
    pub rmw: u64,
    /// Whether it is part of the warm-up, which the outcome leaves out.
    pub warm_up: bool,
}

pub(super) struct Series {
    window: Window,
    /// The window's beginning, as a number of windows from 0, and in simulated time.
    index: u64,
    start_ns: u64,
    opened: Totals,
    seen: Totals,
    seen_ns: u64,
    is_warm_up: bool,
    /// Rows that nobody has been told of.
    rows: Vec<WindowOutcome>,
}

impl Series {
    /// In windows of this length; with a warm-up, until [`Series::end_warm_up`].
    pub(super) fn new(window: Window, is_warm_up: bool) -> Self {
        let (opened, seen) = (Totals::default(), Totals::default());
        Self { window, index: 0, start_ns: 0, opened, seen, seen_ns: 0, is_warm_up, rows: Vec::new() }
    }

    /// A request is complete and with it `totals` reached. Whatever was added since the last call belongs to the window
    /// of this moment.
    pub(super) fn advance(&mut self, now_ns: u64, totals: Totals) {
        let (index, start_ns) = match self.window {
            Window::Ns(ns) => (now_ns / ns.max(1), now_ns / ns.max(1) * ns.max(1)),
            Window::Requests(n) => ((totals.host.requests() - 1) / n.max(1), self.seen_ns),
        };
        if index != self.index {
            self.close();
            (self.index, self.start_ns, self.opened) = (index, start_ns, self.seen);
        }
        (self.seen, self.seen_ns) = (totals, now_ns);
    }

    /// The warm-up ends at `now_ns` with these totals; from here on they are counted from nothing.
    pub(super) fn end_warm_up(&mut self, now_ns: u64, totals: Totals) {
        self.seen = totals;
        self.close();
        (self.opened, self.seen) = (Totals::default(), Totals::default());
        (self.start_ns, self.seen_ns, self.is_warm_up) = (now_ns, now_ns, false);
        self.index = match self.window {
            Window::Ns(ns) => now_ns / ns.max(1),
            Window::Requests(_) => 0,
        };
    }

    /// Hands out the windows that are over.
    pub(super) fn hand_out(&mut self, observer: &mut dyn Observer) {
        self.rows.drain(..).for_each(|row| observer.row(&row));
    }

    /// Hands out what is left, the window that is open included.
    pub(super) fn finish(&mut self, observer: &mut dyn Observer) {
        self.close();
        self.hand_out(observer);
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
            warm_up: self.is_warm_up,
        });
    }
}

fn mean_ms(from: &Served, to: &Served) -> f64 {
    let requests = to.requests - from.requests;
    if requests == 0 { 0.0 } else { (to.latency_ns - from.latency_ns) as f64 / requests as f64 / 1e6 }
}
