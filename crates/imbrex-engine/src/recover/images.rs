//! The last stages of recovery on the drive: the redo images are written again, made durable, and the drive reports how
//! that leaves it.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::build::build;
use super::found::{Found, Journal};
use super::stage::{Asked, DURABLE, Next, Single, Stage, ZONES, block_write};
use crate::core::Core;
use crate::fatal::Fatal;
use crate::{IoKind, IoResult, Setup};
use imbrex_core::block::{Extent, Pba};
use imbrex_core::layer::UnitReport;

/// Writes the images that may have to be written again.
pub(super) struct Replay {
    journal: Journal,
    unreadable: BTreeSet<Pba>,
    /// Images that have not been written.
    images: BTreeMap<Pba, Bytes>,
    failed: bool,
}

impl Replay {
    pub fn new(journal: Journal, unreadable: BTreeSet<Pba>) -> Self {
        Self { images: journal.folded.images.clone(), journal, unreadable, failed: false }
    }

    /// Takes the images that no other image's write destroys any more: they need no order among themselves.
    fn next_images(&mut self, setup: &Setup) -> BTreeMap<Pba, Bytes> {
        let mut destroyed = BTreeSet::new();
        for target in self.images.keys() {
            setup.media.destroys(Extent::new(*target, 1), &mut |at| destroyed.extend(at.iter()));
        }
        let images = std::mem::take(&mut self.images).into_iter();
        let (later, next) = images.partition(|(target, _)| destroyed.contains(target));
        self.images = later;
        next
    }
}

impl Stage for Replay {
    fn ask(&mut self, setup: &Setup) -> Asked {
        if self.failed {
            Asked::new()
        } else {
            self.next_images(setup).into_iter().map(|(at, content)| block_write(at, content)).collect()
        }
    }

    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        if matches!(result, IoResult::Failed) {
            self.failed = true;
            return;
        }
        core.counts.replayed += 1;
        // Whatever it was before, it can be read now.
        self.unreadable.remove(&Pba::from_raw(number));
    }

    fn next(self: Box<Self>, _: &mut Core) -> Result<Next, Fatal> {
        Ok(if self.failed {
            let again = Self::new(self.journal, self.unreadable);
            Next::retry(again, "to write what the journal holds of updates that were under way")
        } else {
            Next::stage(MakeDurable::new(self.journal, self.unreadable))
        })
    }
}

/// Makes the images durable.
struct MakeDurable {
    journal: Journal,
    unreadable: BTreeSet<Pba>,
    flush: Single,
}

impl MakeDurable {
    fn new(journal: Journal, unreadable: BTreeSet<Pba>) -> Self {
        Self { journal, unreadable, flush: Single::new(IoKind::Flush) }
    }
}

impl Stage for MakeDurable {
    fn ask(&mut self, _: &Setup) -> Asked {
        self.flush.ask()
    }

    fn answered(&mut self, _: &mut Core, _: u64, result: IoResult) {
        self.flush.answered(&result);
    }

    fn next(self: Box<Self>, _: &mut Core) -> Result<Next, Fatal> {
        Ok(if self.flush.has_failed() {
            // Images that were written need not be durable either.
            Next::retry(Replay::new(self.journal, self.unreadable), DURABLE)
        } else {
            Next::stage(Report::new(self.journal, self.unreadable))
        })
    }
}

/// Asks the drive to report.
struct Report {
    journal: Journal,
    unreadable: BTreeSet<Pba>,
    report: Single,
    units: UnitReport,
}

impl Report {
    fn new(journal: Journal, unreadable: BTreeSet<Pba>) -> Self {
        Self { journal, unreadable, report: Single::new(IoKind::Report), units: UnitReport::default() }
    }
}

impl Stage for Report {
    fn ask(&mut self, _: &Setup) -> Asked {
        self.report.ask()
    }

    fn answered(&mut self, _: &mut Core, _: u64, result: IoResult) {
        self.report.answered(&result);
        if let IoResult::Report(units) = result {
            self.units = units;
        }
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let Self { journal, unreadable, report, units } = *self;
        if report.has_failed() {
            return Ok(Next::retry(Self::new(journal, unreadable), ZONES));
        }
        build(core, Found { journal, unreadable, units })
    }
}
