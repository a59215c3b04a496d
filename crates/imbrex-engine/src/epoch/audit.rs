//! Every record of an epoch, kept to be held against what the layer knows.

use crate::Setup;
use imbrex_core::layer::{TranslationLayer, Violation};
use imbrex_core::plan::{Op, Plan, Record};

/// The records that were folded to begin an epoch, and all planned since; none unless that is asked for.
pub(super) struct Audit {
    records: Option<Vec<Record>>,
}

impl Audit {
    pub fn new(is_asked: bool, records: Vec<Record>) -> Self {
        Self { records: is_asked.then_some(records) }
    }

    pub fn remember(&mut self, record: Record) {
        if let Some(records) = &mut self.records {
            records.push(record);
        }
    }

    /// Verifies that folding the records gives the state of `layer`.
    pub fn check(&self, setup: &Setup, layer: &dyn TranslationLayer) -> Result<(), Violation> {
        let Some(records) = &self.records else { return Ok(()) };
        let mut folded = (setup.make)();
        for record in records {
            folded.apply(record).map_err(|e| Violation(format!("a record does not fold: {e}")))?;
        }
        let (folded, planned) = (checkpoint(folded.as_ref()), checkpoint(layer));
        if folded != planned {
            return Err(Violation(format!("the fold of the records is {folded:?}, the layer's state {planned:?}")));
        }
        Ok(())
    }
}

/// The records that describe a layer's whole durable state.
fn checkpoint(layer: &dyn TranslationLayer) -> Vec<Op> {
    let mut plan = Plan::new();
    let mut next = Some(0);
    while let Some(from) = next {
        next = layer.checkpoint(from, &mut plan);
    }
    // Beside pages, what is counted is recorded when a commit begins, and which copies count a page says.
    let is_settled = |op: &&Op| {
        let waits = matches!(op, Op::Record { record: Record::Note { .. } | Record::Copy { .. }, .. });
        !waits || layer.cached_map().is_none()
    };
    plan.ops().iter().filter(is_settled).copied().collect()
}
