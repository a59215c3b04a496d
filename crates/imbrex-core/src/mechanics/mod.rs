//! How long a disk drive takes: seek, settling, rotation and transfer from the positions of the head and the platter.
//!
//! The state is the head's place and, through the clock, the platter's angle: the platter keeps turning while the drive
//! is idle, the head stays where the last access ended. An access is split at the ends of tracks. For each piece
//!
//! 1. the arm seeks; if the head changes, a head switch runs meanwhile, and the longer of the two counts;
//! 2. a write that had to seek or to switch waits until the head has settled;
//! 3. the platter turns until the first sector comes under the head: a wait from the actual angle, not half a turn;
//! 4. the sectors pass at the rate of their recording zone.
//!
//! Tracks are skewed so that steps 1 and 2 fit in the gap between two pieces. Caches, read-ahead and the bus are not
//! modelled: what a host sees of a drive without them is this and nothing else. The mechanism is that of DiskSim's
//! detailed disk model, against whose numbers `imbrex-simulation` holds it.
//!
//! Flash has no moving parts; its times are in [`FlashTimes`].
//!
//! Times are ns, sectors 512 bytes. Nothing here knows what the media allow or what a layer does.

mod build;
mod flash;
mod hybrid;
mod interlaced;
mod linear;
mod reciprocal;
mod seek;
mod spec;
mod spindle;
mod surface;

use std::fmt;

pub use flash::{FlashSpec, FlashTimes};
use hybrid::HybridSurface;
pub use hybrid::{Bounds, Density, Domains};
use interlaced::InterlacedSurface;
use seek::SeekCurve;
pub use spec::{LayoutSpec, MechanicsSpec, RecordingSpec, RecordingZone, SeekSpec};
pub use spindle::Angle;
use spindle::Spindle;
pub use surface::Location;
use surface::Surface;

/// Bytes of a sector, the unit of [`Mechanics`].
pub const SECTOR_BYTES: u32 = 512;

/// A drive description that no drive can have.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{field}: {problem}; {remedy}")]
pub struct GeometryError {
    /// The field at fault, as the preset names it.
    pub field: &'static str,
    /// What is wrong with it.
    pub problem: String,
    /// What to do about it.
    pub remedy: &'static str,
}

impl GeometryError {
    pub(crate) const fn new(field: &'static str, problem: String, remedy: &'static str) -> Self {
        Self { field, problem, remedy }
    }

    /// An error about `value` unless `holds`.
    pub(crate) fn check(
        field: &'static str,
        holds: bool,
        value: impl fmt::Display,
        remedy: &'static str,
    ) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self::new(field, format!("{value} is impossible"), remedy)) }
    }
}

/// The moving parts of one drive and where they are. A clone shares the tables.
#[derive(Clone, Debug)]
pub struct Mechanics {
    platters: Platters,
    seek: SeekCurve,
    spindle: Spindle,
    head_switch_ns: u64,
    write_settle_ns: u64,
    cylinder: u32,
    head: u32,
    /// Cylinders that the head has travelled.
    travelled: u64,
}

/// All surfaces of a drive.
#[derive(Clone, Debug)]
enum Platters {
    Zoned(Surface),
    Interlaced(Box<InterlacedSurface>),
    Hybrid(Box<HybridSurface>),
}

impl Platters {
    const fn sectors(&self) -> u64 {
        match self {
            Self::Zoned(surface) => surface.sectors(),
            Self::Interlaced(surface) => surface.sectors(),
            Self::Hybrid(surface) => surface.sectors(),
        }
    }

    const fn cylinders(&self) -> u32 {
        match self {
            Self::Zoned(surface) => surface.cylinders(),
            Self::Interlaced(surface) => surface.cylinders(),
            Self::Hybrid(surface) => surface.cylinders(),
        }
    }

    #[inline(always)]
    fn locate(&self, sector: u64) -> Location {
        match self {
            Self::Zoned(surface) => surface.locate(sector),
            Self::Interlaced(surface) => surface.locate(sector),
            Self::Hybrid(surface) => surface.locate(sector),
        }
    }
}

impl Mechanics {
    fn new(platters: Platters, seek: SeekCurve, spindle: Spindle, head_switch_ms: f64, write_settle_ms: f64) -> Self {
        let ns = |ms: f64| (ms * 1e6 + 0.5) as u64;
        let (head_switch_ns, write_settle_ns) = (ns(head_switch_ms), ns(write_settle_ms));
        Self { platters, seek, spindle, head_switch_ns, write_settle_ns, cylinder: 0, head: 0, travelled: 0 }
    }

    /// How many sectors the drive has.
    #[must_use]
    pub const fn sectors(&self) -> u64 {
        self.platters.sectors()
    }

    /// How many cylinders the drive has.
    #[must_use]
    pub const fn cylinders(&self) -> u32 {
        self.platters.cylinders()
    }

    /// Where a sector lies.
    ///
    /// # Panics
    /// When the drive has no such sector.
    #[must_use]
    pub fn locate(&self, sector: u64) -> Location {
        assert!(sector < self.sectors(), "sector {sector} of a drive of {}", self.sectors());
        self.platters.locate(sector)
    }

    /// The time a seek over `distance` cylinders takes, at most as many as the drive has.
    #[must_use]
    pub fn seek_ns(&self, distance: u32) -> u64 {
        self.seek.ns(distance)
    }

    /// The time in which the head comes to a sector anywhere, on average: a seek over a third of the cylinders, and half a
    /// turn.
    #[must_use]
    pub fn mean_access_ns(&self) -> u64 {
        self.seek_ns(self.cylinders() / 3) + self.spindle.turn_ns() / 2
    }

    /// How many cylinders the head has travelled between accesses.
    #[must_use]
    pub const fn travelled(&self) -> u64 {
        self.travelled
    }

    /// Puts the head back to cylinder 0, head 0, where a new drive has it.
    pub fn reset(&mut self) {
        (self.cylinder, self.head) = (0, 0);
    }

    /// Reads or writes `sectors` sectors from `first_sector` on, beginning at `now_ns`, and returns when that is done.
    ///
    /// # Panics
    /// When the drive ends before the access does.
    #[inline]
    pub fn access(&mut self, now_ns: u64, first_sector: u64, sectors: u64, write: bool) -> u64 {
        assert!(
            first_sector.checked_add(sectors).is_some_and(|end| end <= self.sectors()),
            "{sectors} sectors at {first_sector} of a drive of {}",
            self.sectors()
        );
        let end = first_sector + sectors;
        if sectors == 0 {
            return now_ns;
        }
        let (now_ns, next) = self.pass_track(now_ns, first_sector, end, write);
        if next < end { self.pass_rest(now_ns, next, end, write) } else { now_ns }
    }

    /// Goes on with an access that is more than one piece, as few are.
    #[inline(never)]
    fn pass_rest(&mut self, mut now_ns: u64, mut next: u64, end: u64, write: bool) -> u64 {
        while next < end {
            (now_ns, next) = self.pass_track(now_ns, next, end, write);
        }
        now_ns
    }

    /// Reads or writes from sector `next` to `end` or to the end of its track, and returns when and where that ends.
    #[inline(always)]
    fn pass_track(&mut self, now_ns: u64, next: u64, end: u64, write: bool) -> (u64, u64) {
        let at = self.platters.locate(next);
        let piece = u64::from(at.sectors_per_track - at.sector).min(end - next);
        let ready_ns = now_ns + self.arm_ns(&at, write);
        self.travelled += u64::from(self.cylinder.abs_diff(at.cylinder));
        (self.cylinder, self.head) = (at.cylinder, at.head);
        (self.spindle.pass(ready_ns, at.angle, piece * at.sector_angle), next + piece)
    }

    /// How long after `now_ns` an access to `first_sector` would begin to transfer: seek, settling and rotation. The
    /// head stays; a scheduler that serves the shortest positioning time first asks this of every request.
    ///
    /// # Panics
    /// When the drive has no such sector.
    #[must_use]
    pub fn positioning_ns(&self, now_ns: u64, first_sector: u64, write: bool) -> u64 {
        let at = self.locate(first_sector);
        let arm_ns = self.arm_ns(&at, write);
        arm_ns + self.spindle.wait(now_ns + arm_ns, at.angle)
    }

    /// Time to bring the right head over the right cylinder, steady enough for the access.
    #[inline]
    fn arm_ns(&self, to: &Location, write: bool) -> u64 {
        let seek_ns = self.seek.ns(self.cylinder.abs_diff(to.cylinder));
        let switch_ns = if to.head == self.head { 0 } else { self.head_switch_ns };
        let moved_ns = seek_ns.max(switch_ns);
        let settle_ns = if write && moved_ns > 0 { self.write_settle_ns } else { 0 };
        moved_ns + settle_ns
    }
}

#[cfg(test)]
mod tests;
