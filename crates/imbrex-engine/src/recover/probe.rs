//! The stage of recovery that finds out which blocks cannot be read, whatever failed to read them before.

use std::collections::BTreeSet;

use super::found::Journal;
use super::images::Replay;
use super::stage::{Asked, Next, Stage};
use crate::core::Core;
use crate::fatal::Fatal;
use crate::{IoKind, IoResult, Setup};
use imbrex_core::block::{Extent, Pba};

/// How often a block is tried before it counts as unreadable.
const TRIES: u32 = 5;

/// Reads suspects, one by one.
pub(super) struct Probe {
    journal: Journal,
    suspects: BTreeSet<Pba>,
    /// The blocks among them that have not been read.
    unreadable: BTreeSet<Pba>,
    /// How often they were tried.
    tries: u32,
    /// Whether a device has ended an epoch of its own since they were first tried: what it failed to read it may be
    /// able to read.
    restarted: bool,
}

impl Probe {
    pub fn new(journal: Journal, suspects: BTreeSet<Pba>) -> Self {
        Self { journal, unreadable: suspects.clone(), suspects, tries: 0, restarted: false }
    }

    /// Takes back what has been found out.
    fn begin_again(&mut self) {
        self.unreadable.clone_from(&self.suspects);
        self.tries = 0;
    }
}

impl Stage for Probe {
    fn ask(&mut self, _: &Setup) -> Asked {
        if std::mem::take(&mut self.restarted) {
            self.begin_again();
        }
        if self.tries == TRIES {
            return Asked::new();
        }
        self.tries += 1;
        self.unreadable.iter().map(|block| (block.to_raw(), IoKind::Read(Extent::new(*block, 1)))).collect()
    }

    fn answered(&mut self, _: &mut Core, number: u64, result: IoResult) {
        if matches!(result, IoResult::Data(_)) {
            self.unreadable.remove(&Pba::from_raw(number));
        }
    }

    fn next(self: Box<Self>, _: &mut Core) -> Result<Next, Fatal> {
        Ok(Next::stage(Replay::new(self.journal, self.unreadable)))
    }

    fn device_restarted(&mut self) {
        self.restarted = true;
    }
}
