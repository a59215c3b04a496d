//! What the bands or tracks of a layer hold, looked at now and then during a replay and at its end.
//!
//! A look comes between two requests: what is planned by then counts, be it performed or in the disk's queue.

use super::Observer;
use super::error::ReplayError;
use super::lookahead::Pending;
use super::options::{ReplayOptions, TraceMoment};
use imbrex_core::contents::Contents;
use imbrex_core::layer::TranslationLayer;
use imbrex_layers::LayerInfo;

/// What the bands or tracks held at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BandsLook {
    /// The moment that was chosen; none at the end.
    pub at: Option<TraceMoment>,
    /// Requests of the trace that came before.
    pub requests: u64,
    /// The bands or tracks, in their order.
    pub contents: Contents,
}

/// The moments that are still to come.
pub(super) struct Looks {
    /// In the order in which they were chosen.
    left: Vec<TraceMoment>,
    /// The first of them after a number of requests, and the first at a time, in ns; `u64::MAX` without one.
    first: (u64, u64),
}

impl Looks {
    pub(super) fn new(chosen: &[TraceMoment]) -> Self {
        let mut looks = Self { left: chosen.to_vec(), first: (u64::MAX, u64::MAX) };
        looks.find_first();
        looks
    }

    fn find_first(&mut self) {
        self.first = self.left.iter().fold((u64::MAX, u64::MAX), |(requests, ns), at| match *at {
            TraceMoment::Requests(n) => (requests.min(n), ns),
            TraceMoment::Ns(n) => (requests, ns.min(n)),
        });
    }

    /// Looks if it is time to, before `next`.
    #[inline]
    pub(super) fn before(&mut self, next: &Pending, layer: &dyn TranslationLayer, observer: &mut dyn Observer) {
        if next.number > self.first.0 || next.arrival_ns >= self.first.1 {
            self.look(next, layer, observer);
        }
    }

    fn look(&mut self, next: &Pending, layer: &dyn TranslationLayer, observer: &mut dyn Observer) {
        for at in self.due(next) {
            let contents = seen(layer);
            observer.bands(&BandsLook { at: Some(at), requests: next.number - 1, contents });
        }
    }

    /// Looks at the end, after all `requests` requests.
    pub(super) fn end(
        &self,
        requests: u64,
        layer: &dyn TranslationLayer,
        observer: &mut dyn Observer,
    ) -> Result<Contents, ReplayError> {
        if !self.left.is_empty() {
            return Err(ReplayOptions::late_bands(requests));
        }
        let look = BandsLook { at: None, requests, contents: seen(layer) };
        observer.bands(&look);
        Ok(look.contents)
    }

    /// The moments that are over before `next`.
    fn due(&mut self, next: &Pending) -> Vec<TraceMoment> {
        let due = self.left.extract_if(.., |at| at.is_before(next.number, next.arrival_ns)).collect();
        self.find_first();
        due
    }
}

/// What it holds; whether it says so was asked before the run.
fn seen(layer: &dyn TranslationLayer) -> Contents {
    layer.contents().unwrap_or(Contents::Bands(Vec::new()))
}

/// Whether a layer has the bands or tracks that the options ask for.
pub(super) fn check(
    layer: &LayerInfo,
    built: &dyn TranslationLayer,
    options: &ReplayOptions,
) -> Result<(), ReplayError> {
    if options.bands.is_none() || built.contents().is_some() {
        return Ok(());
    }
    let reason = format!(
        "layer {} does not say what lies where; choose one with a buffer before zones, a log, or one for interlaced tracks",
        layer.name
    );
    Err(ReplayError::Option { option: "bands", reason })
}
