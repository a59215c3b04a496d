//! What recovery finds out, and what it hands over.

use std::collections::BTreeSet;

use super::fold::Folded;
use crate::Setup;
use crate::chain::Chain;
use crate::copies::Lacking;
use crate::ring::Ring;
use imbrex_core::block::Pba;
use imbrex_core::layer::{TranslationLayer, UnitReport};
use imbrex_core::plan::{Plan, Record};

/// What a journal says.
pub(super) struct Journal {
    pub chain: Chain,
    /// What its entries hold.
    pub folded: Folded,
    /// What copies lacked of the chain. Where it cannot be written where it belongs, a checkpoint makes up for it.
    pub lacking: Vec<Lacking>,
}

impl Journal {
    /// The journal of a store that holds nothing.
    pub fn empty(setup: &Setup) -> Self {
        let chain = Chain { epoch: 1, ..Chain::default() };
        Self { chain, folded: Folded::nothing(setup), lacking: Vec::new() }
    }
}

/// What recovery has found out.
pub(super) struct Found {
    pub journal: Journal,
    /// Blocks that cannot be read.
    pub unreadable: BTreeSet<Pba>,
    pub units: UnitReport,
}

/// What an epoch of the layer begins with.
pub struct NewEpoch {
    /// The layer, as the records give it and with what the drive reports.
    pub layer: Box<dyn TranslationLayer>,
    /// The records that give it, if they are to be folded again.
    pub records: Vec<Record>,
    /// Records that are not in the journal yet: what has been found to be lost.
    pub lost: Vec<Record>,
    /// Pages of the map that records wait for.
    pub awaited: BTreeSet<u64>,
    /// Places that cannot be read and may hold blocks, if it takes pages of the map to find out which.
    pub unreadable: BTreeSet<Pba>,
    /// What the layer plans first.
    pub plan: Plan,
    pub ring: Ring,
}
