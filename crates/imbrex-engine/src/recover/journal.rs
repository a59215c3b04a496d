//! The first stages of recovery: from a drive to what its journal says.

use std::collections::BTreeSet;

use super::fold::Folding;
use super::found::Journal;
use super::probe::Probe;
use super::stage::{Asked, DURABLE, Next, Single, Stage, ZONES, block_write, content, reads};
use crate::again::Again;
use crate::chain::{self, Chain};
use crate::copies::{self, Lacking};
use crate::core::Core;
use crate::fatal::Fatal;
use crate::ring::Slots;
use crate::scan::Scan;
use crate::{IoKind, IoResult, Setup};
use imbrex_core::block::Pba;
use imbrex_core::layer::UnitReport;

fn slots(setup: &Setup) -> Slots {
    Slots::new(&setup.journal, setup.media.as_ref())
}

/// What is about to be read must be durable: after a failed write without a power cut, an entry may be in the drive's
/// cache only, and its redo images must not be written before it is safe (rule 5).
pub(super) struct Settle {
    suspects: BTreeSet<Pba>,
    flush: Single,
}

impl Settle {
    /// `suspects` are blocks that could not be read.
    pub fn new(suspects: BTreeSet<Pba>) -> Self {
        Self { suspects, flush: Single::new(IoKind::Flush) }
    }
}

impl Stage for Settle {
    fn ask(&mut self, _: &Setup) -> Asked {
        self.flush.ask()
    }

    fn answered(&mut self, _: &mut Core, _: u64, result: IoResult) {
        self.flush.answered(&result);
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let suspects = self.suspects;
        Ok(if self.flush.has_failed() {
            Next::retry(Self::new(suspects), DURABLE)
        } else if slots(&core.setup).are_sequential() {
            Next::stage(Zones::new(suspects))
        } else {
            Next::stage(Read::new(&core.setup, &UnitReport::default(), suspects))
        })
    }
}

/// Where the journal lies in sequential zones, nothing can be read above their write pointers.
struct Zones {
    suspects: BTreeSet<Pba>,
    report: Single,
    units: UnitReport,
}

impl Zones {
    fn new(suspects: BTreeSet<Pba>) -> Self {
        Self { suspects, report: Single::new(IoKind::Report), units: UnitReport::default() }
    }
}

impl Stage for Zones {
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
        Ok(if self.report.has_failed() {
            Next::retry(Self::new(self.suspects), ZONES)
        } else {
            Next::stage(Read::new(&core.setup, &self.units, self.suspects))
        })
    }
}

/// Reads whatever can be read of the journal, and keeps what it is made of.
struct Read {
    suspects: BTreeSet<Pba>,
    scan: Scan,
}

impl Read {
    fn new(setup: &Setup, units: &UnitReport, suspects: BTreeSet<Pba>) -> Self {
        Self { suspects, scan: slots(setup).scan(setup.media.as_ref(), units) }
    }
}

impl Stage for Read {
    fn ask(&mut self, _: &Setup) -> Asked {
        reads(self.scan.next())
    }

    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        let start = Pba::from_raw(number);
        match content(&result) {
            Some(data) => self.scan.read(start, data, core.setup.identity, core.setup.block_bytes),
            None => self.scan.failed(start),
        }
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let setup = &core.setup;
        let found = self.scan.finish()?;
        let chain = chain::find(&found)?;
        let lacking = copies::lacking(&found, &chain, &setup.journal);
        let folding = Folding::new(setup, &chain, &lacking);
        Ok(Next::stage(Fold { suspects: self.suspects, chain, lacking, folding }))
    }
}

/// Reads the entries again that count, for what they hold: nothing is written before all of it is known to be whole.
struct Fold {
    suspects: BTreeSet<Pba>,
    chain: Chain,
    lacking: Vec<Lacking>,
    folding: Folding,
}

impl Stage for Fold {
    fn ask(&mut self, setup: &Setup) -> Asked {
        reads(self.folding.next(setup))
    }

    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        self.folding.answered(&core.setup, Pba::from_raw(number), content(&result));
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let Self { suspects, chain, lacking, folding } = *self;
        let folded = folding.finish()?;
        core.counts.entries_read += folded.entries;
        let journal = Journal { chain, folded, lacking };
        Ok(Next::stage(Mend::new(suspects, journal, &slots(&core.setup))))
    }
}

/// Writes again what copies of the journal lack, some of it at a time.
struct Mend {
    suspects: BTreeSet<Pba>,
    journal: Journal,
    lacking: Vec<(Again, Lacking)>,
    failed: Option<Fatal>,
}

impl Mend {
    fn new(suspects: BTreeSet<Pba>, journal: Journal, slots: &Slots) -> Self {
        let all = &journal.lacking;
        let again = |of: &Lacking| (Again::new(slots.clone(), &of.segments, all), of.clone());
        // Nothing can be written into the middle of a sequential zone.
        let lacking = all.iter().filter(|_| !slots.are_sequential()).map(again).collect();
        Self { suspects, journal, lacking, failed: None }
    }
}

impl Stage for Mend {
    fn ask(&mut self, _: &Setup) -> Asked {
        while let Some((again, lacking)) = self.lacking.last_mut() {
            match again.take() {
                Ok(blocks) if blocks.is_empty() => {}
                Ok(blocks) => {
                    let write = |(number, (content, _))| block_write(lacking.place(number), content);
                    return blocks.into_iter().map(write).collect();
                }
                Err(why) => {
                    self.failed = Some(why);
                    return Asked::new();
                }
            }
            let parts = again.next();
            if !parts.is_empty() {
                return reads(parts);
            }
            self.lacking.pop();
        }
        Asked::new()
    }

    /// A block that cannot be written is as it was: the other copy holds it.
    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        let (Some((again, _)), start) = (self.lacking.last_mut(), Pba::from_raw(number)) else { return };
        match content(&result) {
            Some(data) => again.read(start, data, core.setup.identity, core.setup.block_bytes),
            None => again.failed(start),
        }
    }

    fn next(self: Box<Self>, _: &mut Core) -> Result<Next, Fatal> {
        self.failed.map_or(Ok(()), Err)?;
        Ok(Next::stage(Probe::new(self.journal, self.suspects)))
    }
}
