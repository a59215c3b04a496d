//! What happens over time: a row for each window, handed out as soon as the window is over.

use serde::Serialize;

use super::Observer;
use super::metrics::{Counters, HostTotals, Served};
use super::options::Window;
use super::outcome::ByReason;
use crate::plan::Event;

/// One window. A request counts in the window in which it completes, together with all the disk did since the request
/// before it; a window in which none completed has no row.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct WindowOutcome {
    /// When the window begins, in seconds of simulated time.
    pub start_s: f64,
    /// Requests.
    pub requests: u64,
    /// Mean latency of reads in milliseconds; 0 without any.
    pub mean_read_ms: f64,
    /// Mean latency of writes in milliseconds; 0 without any.
    pub mean_write_ms: f64,
    /// Blocks the host wrote.
    pub host_write_blocks: u64,
    /// Blocks written to the media.
    pub media_write_blocks: ByReason,
    /// Zones that were read, merged and rewritten.
    pub rmw: u64,
}

/// Everything that is counted, at one time.
#[derive(Copy, Clone, Default, Debug)]
pub(super) struct Totals {
    pub media: Counters,
    pub host: HostTotals,
}

pub(super) struct Series {
    window: Window,
    /// The window's beginning, as a number of windows from 0, and in simulated time.
    index: u64,
    start_ns: u64,
    opened: Totals,
    seen: Totals,
    seen_ns: u64,
    /// Rows that nobody has been told of.
    rows: Vec<WindowOutcome>,
}

impl Series {
    pub(super) fn new(window: Window) -> Self {
        let (opened, seen) = (Totals::default(), Totals::default());
        Self { window, index: 0, start_ns: 0, opened, seen, seen_ns: 0, rows: Vec::new() }
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
        self.rows.push(WindowOutcome {
            start_s: self.start_ns as f64 / 1e9,
            requests,
            mean_read_ms: mean_ms(&from.host.read, &to.host.read),
            mean_write_ms: mean_ms(&from.host.write, &to.host.write),
            host_write_blocks: to.host.write.blocks - from.host.write.blocks,
            media_write_blocks: ByReason::between(&from.media.written, &to.media.written),
            rmw: to.media.event(Event::Rmw) - from.media.event(Event::Rmw),
        });
    }
}

fn mean_ms(from: &Served, to: &Served) -> f64 {
    let requests = to.requests - from.requests;
    if requests == 0 { 0.0 } else { (to.latency_ns - from.latency_ns) as f64 / requests as f64 / 1e6 }
}
