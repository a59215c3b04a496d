//! What the bands of a layer hold, looked at now and then during a replay and at its end.
//!
//! A look comes between two requests: what is planned by then counts, be it performed or in the disk's queue.

use super::Observer;
use super::error::ReplayError;
use super::lookahead::Pending;
use super::options::{BandsAt, ReplayOptions};
use super::outcome::BandSums;
use crate::layer::{BandContent, TranslationLayer};
use crate::layers::LayerInfo;

/// What the bands held at a moment.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BandsLook {
    /// The moment that was chosen; none at the end.
    pub at: Option<BandsAt>,
    /// Requests of the trace that came before.
    pub requests: u64,
    /// The bands, in their order.
    pub bands: Vec<BandContent>,
}

/// The moments that are still to come.
pub(super) struct Looks {
    /// In the order in which they were chosen.
    left: Vec<BandsAt>,
}

impl Looks {
    pub(super) fn new(chosen: &[BandsAt]) -> Self {
        Self { left: chosen.to_vec() }
    }

    /// Looks if it is time to, before `next`.
    pub(super) fn before(&mut self, next: &Pending, layer: &dyn TranslationLayer, observer: &mut dyn Observer) {
        for at in self.due(next) {
            let bands = layer.bands().unwrap_or_default();
            observer.bands(&BandsLook { at: Some(at), requests: next.number - 1, bands });
        }
    }

    /// Looks at the end, after all of so many requests.
    pub(super) fn end(
        &self,
        requests: u64,
        layer: &dyn TranslationLayer,
        observer: &mut dyn Observer,
    ) -> Result<BandSums, ReplayError> {
        if !self.left.is_empty() {
            return Err(ReplayOptions::late_bands(requests));
        }
        let bands = layer.bands().unwrap_or_default();
        let sums = BandSums::of(&bands);
        observer.bands(&BandsLook { at: None, requests, bands });
        Ok(sums)
    }

    /// The moments that are over before `next`.
    fn due(&mut self, next: &Pending) -> Vec<BandsAt> {
        let is_due = |at: &mut BandsAt| match *at {
            BandsAt::Requests(requests) => next.number > requests,
            BandsAt::Ns(ns) => next.arrival_ns >= ns,
        };
        self.left.extract_if(.., is_due).collect()
    }
}

/// Whether a layer has the bands that the options ask for.
pub(super) fn check(
    layer: &LayerInfo,
    built: &dyn TranslationLayer,
    options: &ReplayOptions,
) -> Result<(), ReplayError> {
    if options.bands.is_none() || built.bands().is_some() {
        return Ok(());
    }
    let reason = format!("layer {} does not append to bands; choose one that does, such as log-greedy", layer.name);
    Err(ReplayError::Option { option: "bands", reason })
}
