//! The first stages of recovery: from a drive to what its journal says.

use std::collections::BTreeSet;

use super::found::Journal;
use super::probe::Probe;
use super::stage::{Asked, DURABLE, Next, Single, Stage, ZONES, block_write};
use crate::chain;
use crate::copies;
use crate::core::Core;
use crate::fatal::Fatal;
use crate::ring::Slots;
use crate::scan::{self, Scan};
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

/// Reads whatever can be read of the journal.
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
        self.scan.next().into_iter().map(|part| (part.start.to_raw(), IoKind::Read(part))).collect()
    }

    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        let start = Pba::from_raw(number);
        let IoResult::Data(data) = result else { return self.scan.failed(start) };
        self.scan.read(start, &data, core.setup.identity, core.setup.block_bytes);
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let setup = &core.setup;
        let found = self.scan.finish()?;
        let chain = chain::find(scan::blocks(&found), setup.block_bytes)?;
        let lacking = copies::lacking(&found, &chain, &setup.journal);
        let is_sequential = slots(setup).are_sequential();
        let journal = Journal { chain, is_thin: is_sequential && !lacking.is_empty() };
        let writes = if is_sequential {
            Asked::new()
        } else {
            lacking.into_iter().map(|(at, content)| block_write(at, content)).collect()
        };
        Ok(Next::stage(Mend { suspects: self.suspects, journal, writes }))
    }
}

/// Writes again what a copy of the journal lacks.
struct Mend {
    suspects: BTreeSet<Pba>,
    journal: Journal,
    /// Until they are asked for.
    writes: Asked,
}

impl Stage for Mend {
    fn ask(&mut self, _: &Setup) -> Asked {
        std::mem::take(&mut self.writes)
    }

    /// A block that cannot be written is as it was: the other copy holds it.
    fn answered(&mut self, _: &mut Core, _: u64, _: IoResult) {}

    fn next(self: Box<Self>, _: &mut Core) -> Result<Next, Fatal> {
        Ok(Next::stage(Probe::new(self.journal, self.suspects)))
    }
}
