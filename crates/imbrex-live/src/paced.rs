//! A drive at its own pace: a store that answers when the drive that it emulates would.
//!
//! An operation is carried out at once, and is complete no earlier than the drive's arm is done with it. There is one
//! arm, which does one operation after the other in the order in which they come, and they are priced by what times the
//! simulator: see `imbrex::replay::timing`. What is priced is what the store is asked for, so journals, checkpoints
//! and cleaning take their time as they do on a disk. A flush takes none of its own: it waits for the arm.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use imbrex::block::{Extent, Pba};
use imbrex::drive::{DriveError, DrivePreset};
use imbrex::layer::UnitReport;
use imbrex::mechanics::SECTOR_BYTES;
use imbrex::media::Media;
use imbrex::plan::Unit;
use imbrex::recording::Recording;
use imbrex::replay::{Timing, timing};

use crate::store::{Store, StoreError, Summed, Written};

/// Tells the time and lets it pass.
pub trait Clock: Send + Sync {
    /// Nanoseconds since some moment.
    fn now_ns(&self) -> u64;

    /// Returns at that moment, or at once if it has passed.
    fn wait_until(&self, ns: u64);
}

/// The clock of this machine.
pub struct Monotonic(Instant);

impl Default for Monotonic {
    fn default() -> Self {
        Self(Instant::now())
    }
}

impl Clock for Monotonic {
    fn now_ns(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn wait_until(&self, ns: u64) {
        thread::sleep(Duration::from_nanos(ns).saturating_sub(self.0.elapsed()));
    }
}

/// What an arm is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Task {
    /// Reading blocks.
    Read(Extent<Pba>),
    /// Writing blocks.
    Write(Extent<Pba>),
    /// Emptying a unit, or activating a span of a realm.
    Reset(Unit),
    /// Waiting for everything before.
    Flush,
}

/// The arm of a drive, and when it is free.
pub struct Arm {
    timing: Box<dyn Timing>,
    media: Box<dyn Media>,
    units: usize,
    sectors_per_block: u64,
    free_ns: u64,
}

impl Arm {
    /// The arm of a drive that has been idle.
    ///
    /// # Errors
    /// When the preset describes no possible drive.
    pub fn of(drive: &DrivePreset) -> Result<Self, DriveError> {
        let media = drive.media(drive.recording())?;
        Ok(Self {
            timing: timing(drive)?,
            units: media.report().len(),
            media,
            sectors_per_block: u64::from(drive.block_bytes / SECTOR_BYTES),
            free_ns: 0,
        })
    }

    /// When a task is done that comes at `now_ns`, behind all that came before it. What the drive has not, it refuses
    /// at once.
    pub fn done_ns(&mut self, task: Task, now_ns: u64) -> u64 {
        let begins = now_ns.max(self.free_ns);
        self.free_ns = match task {
            Task::Read(at) => self.access(at, begins, false),
            Task::Write(at) => self.access(at, begins, true),
            Task::Reset(unit) => self.reset(unit, begins),
            Task::Flush => begins,
        };
        self.free_ns
    }

    fn access(&mut self, at: Extent<Pba>, begins: u64, write: bool) -> u64 {
        let is_there = at.start.device() == Pba::DISK && at.end().block() <= self.media.blocks();
        if !is_there {
            return begins;
        }
        let (first, sectors) = self.sectors(at);
        self.timing.access(begins, first, sectors, write)
    }

    fn reset(&mut self, unit: Unit, begins: u64) -> u64 {
        let realms = self.media.realms().filter(|realms| realms.activated_by(unit).is_some());
        if let Some(realms) = realms {
            return self.timing.activate(begins, realms.times.activation_ns);
        }
        if unit.index as usize >= self.units {
            return begins;
        }
        let (first, sectors) = self.sectors(self.media.extent_of(unit));
        self.timing.reset(begins, first, sectors)
    }

    fn sectors(&self, at: Extent<Pba>) -> (u64, u64) {
        (at.start.block() * self.sectors_per_block, u64::from(at.blocks) * self.sectors_per_block)
    }
}

/// A store that emulates a drive, and the drive's pace.
pub struct Paced<C> {
    below: Arc<dyn Store>,
    arm: Mutex<Arm>,
    clock: C,
}

impl<C: Clock> Paced<C> {
    /// `below` at the pace of `drive`, which it emulates.
    ///
    /// # Errors
    /// When the preset describes no possible drive.
    pub fn new(below: Arc<dyn Store>, drive: &DrivePreset, clock: C) -> Result<Self, DriveError> {
        Ok(Self { below, arm: Mutex::new(Arm::of(drive)?), clock })
    }

    /// Carries out what a task stands for, and returns when the arm is done with it. What fails does so at once.
    fn pace<T>(&self, task: Task, carry_out: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
        let done_ns = {
            let mut arm = self.arm.lock().unwrap_or_else(PoisonError::into_inner);
            // The clock is read while the arm is held, so that operations come in the order of their times.
            arm.done_ns(task, self.clock.now_ns())
        };
        let result = carry_out()?;
        self.clock.wait_until(done_ns);
        Ok(result)
    }
}

impl<C: Clock> Store for Paced<C> {
    fn block_bytes(&self) -> u32 {
        self.below.block_bytes()
    }

    fn recording(&self) -> Recording {
        self.below.recording()
    }

    fn media(&self) -> Box<dyn Media> {
        self.below.media()
    }

    fn drive(&self) -> Option<&DrivePreset> {
        self.below.drive()
    }

    fn read(&self, at: Extent<Pba>) -> Result<Bytes, StoreError> {
        self.pace(Task::Read(at), || self.below.read(at))
    }

    fn write(&self, at: Extent<Pba>, content: &Bytes) -> Result<(), StoreError> {
        self.pace(Task::Write(at), || self.below.write(at, content))
    }

    fn reset(&self, unit: Unit) -> Result<(), StoreError> {
        self.pace(Task::Reset(unit), || self.below.reset(unit))
    }

    fn flush(&self) -> Result<(), StoreError> {
        self.pace(Task::Flush, || self.below.flush())
    }

    fn report(&self) -> Result<UnitReport, StoreError> {
        self.below.report()
    }

    fn reserve(&self, at: Extent<Pba>) -> Result<(), StoreError> {
        self.below.reserve(at)
    }

    fn written(&self, at: Extent<Pba>) -> Vec<Written> {
        self.below.written(at)
    }

    fn forget(&self, blocks: &[Written]) {
        self.below.forget(blocks);
    }

    fn available(&self) -> Option<u64> {
        self.below.available()
    }

    fn stale(&self) -> Vec<String> {
        self.below.stale()
    }

    fn mend(&self) -> Result<(), StoreError> {
        self.below.mend()
    }

    fn rest(&self) -> Result<(), StoreError> {
        self.below.rest()
    }

    fn summed(&self) -> Option<&dyn Summed> {
        self.below.summed()
    }
}
