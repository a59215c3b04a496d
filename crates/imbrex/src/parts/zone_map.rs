//! Which physical zone holds each native zone, with spare zones to rewrite into.
//!
//! A native zone is a run of `zone_blocks` logical blocks; the blocks lie in order in one physical zone. At first
//! native zone `n` lies in physical zone `n` and the last zones are spare. A rewrite fills a spare zone and then
//! switches the map with one record, [`Record::Unit`]`{ unit: physical, is: native }`, so a crash finds the old zone or
//! the new one. The write pointers are the drive's; this part mirrors them.

use std::ops::ControlFlow;

use crate::block::{Extent, Lba, Pba, unit_and_offset};
use crate::layer::{Condition, Corrupt, REGION_RECORDS, UnitReport, Violation};
use crate::parts::lost::LostBlocks;
use crate::plan::{Place, Plan, Record, Unit, Why};
use crate::space::Zones;

const NOBODY: u32 = u32::MAX;

/// The native zones and where they lie.
#[derive(Clone, Debug)]
pub struct ZoneMap {
    zones: Zones,
    /// Native zone → physical zone.
    place: Vec<u32>,
    /// Physical zone → native zone, or [`NOBODY`].
    owner: Vec<u32>,
    /// Write pointers of the physical zones, in blocks.
    pointer: Vec<u32>,
    /// Whether the physical zone can be written.
    writable: Vec<bool>,
    /// Empty zones that nobody owns; taken from the back.
    spare: Vec<u32>,
}

impl ZoneMap {
    /// `zones` of which the last `spare` are spare.
    #[must_use]
    pub fn new(zones: Zones, spare: u32) -> Self {
        debug_assert!(spare < zones.count);
        let natives = zones.count - spare;
        let owner = (0..zones.count).map(|z| if z < natives { z } else { NOBODY }).collect();
        Self {
            zones,
            place: (0..natives).collect(),
            owner,
            pointer: vec![0; zones.count as usize],
            writable: vec![true; zones.count as usize],
            spare: Vec::new(),
        }
    }

    /// How many native zones there are.
    #[must_use]
    pub fn natives(&self) -> u32 {
        self.place.len() as u32
    }

    /// Blocks of a zone.
    #[must_use]
    pub fn zone_blocks(&self) -> u32 {
        self.zones.zone_blocks
    }

    /// Logical blocks of all native zones.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        u64::from(self.natives()) * u64::from(self.zones.zone_blocks)
    }

    /// The native zone of a logical block and the block's offset in it.
    #[inline]
    #[must_use]
    pub fn native_of(&self, lba: Lba) -> (u32, u32) {
        unit_and_offset(lba.0, self.zones.zone_blocks)
    }

    /// The logical blocks of a native zone.
    #[must_use]
    pub fn blocks_of(&self, native: u32) -> Extent<Lba> {
        let blocks = self.zones.zone_blocks;
        Extent::new(Lba(u64::from(native) * u64::from(blocks)), blocks)
    }

    /// The physical zone that holds a native zone.
    #[inline]
    #[must_use]
    pub fn physical(&self, native: u32) -> u32 {
        self.place[native as usize]
    }

    /// A block of a physical zone.
    #[inline]
    #[must_use]
    pub fn block(&self, physical: u32, offset: u32) -> Pba {
        self.zones.block(physical, offset)
    }

    /// The write pointer of a physical zone, in blocks.
    #[inline]
    #[must_use]
    pub fn pointer(&self, physical: u32) -> u32 {
        self.pointer[physical as usize]
    }

    /// The offset at which a native zone takes a write directly, if it does.
    #[inline]
    #[must_use]
    pub fn writable_at(&self, native: u32) -> Option<u32> {
        let physical = self.place[native as usize] as usize;
        (self.writable[physical] && self.pointer[physical] < self.zones.zone_blocks).then(|| self.pointer[physical])
    }

    /// Whether a physical zone can be written and reset.
    #[must_use]
    pub fn is_writable(&self, physical: u32) -> bool {
        self.writable[physical as usize]
    }

    /// The unit of a physical zone.
    #[must_use]
    pub fn unit(&self, physical: u32) -> Unit {
        self.zones.unit(physical)
    }

    /// Notes that `blocks` blocks were planned at the write pointer of a physical zone.
    #[inline]
    pub fn advance(&mut self, physical: u32, blocks: u32) {
        self.pointer[physical as usize] += blocks;
        debug_assert!(self.pointer[physical as usize] <= self.zones.zone_blocks);
    }

    /// Notes that a reset of a physical zone was planned that takes effect before the zone's next write (the papers'
    /// order, read–reset–write).
    pub fn emptied(&mut self, physical: u32) {
        self.pointer[physical as usize] = 0;
    }

    /// Takes an empty zone to rewrite into.
    pub fn take_spare(&mut self) -> Option<u32> {
        self.spare.pop()
    }

    /// Whether a zone nobody owns has been given up and will be spare once that has taken effect. To be asked while no
    /// rewrite holds a spare zone.
    #[must_use]
    pub fn spare_is_coming(&self) -> bool {
        let unowned = (0..self.zones.count as usize).filter(|&z| self.owner[z] == NOBODY && self.writable[z]).count();
        unowned > self.spare.len()
    }

    /// Plans the switch: `native` now lies in `to`, and its former zone is emptied.
    pub fn switch(&mut self, native: u32, to: u32, plan: &mut Plan) {
        let from = self.place[native as usize];
        plan.record(Record::Unit { unit: self.zones.unit(to), is: native });
        self.assign(native, to);
        self.abandon(from, plan);
    }

    /// Gives up a zone that nobody owns: it is spare once that has taken effect. An empty one waits as well, because
    /// durable records may still put a native zone there.
    pub fn abandon(&mut self, physical: u32, plan: &mut Plan) {
        debug_assert!(self.owner[physical as usize] == NOBODY);
        if self.pointer(physical) == 0 {
            plan.free(self.zones.extent(physical));
        } else if self.writable[physical as usize] {
            plan.reset(self.zones.unit(physical));
        }
    }

    fn assign(&mut self, native: u32, to: u32) {
        let from = self.place[native as usize];
        if self.owner[from as usize] == native {
            self.owner[from as usize] = NOBODY;
        }
        self.owner[to as usize] = native;
        self.place[native as usize] = to;
    }

    /// Applies a [`Record::Unit`].
    ///
    /// # Errors
    /// [`Corrupt`] when it names a zone that does not exist.
    pub fn apply(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        match self.zones.index(unit) {
            Some(physical) if is < self.natives() => {
                self.assign(is, physical);
                Ok(())
            }
            _ => Err(Corrupt(format!("a record puts native zone {is} in {unit:?}; one of the two does not exist"))),
        }
    }

    /// A zone nobody owns has been reset.
    pub fn freed(&mut self, space: Extent<Pba>) {
        if let Some((physical, 0)) = self.zones.locate(space.start)
            && self.owner[physical as usize] == NOBODY
            && self.writable[physical as usize]
            && !self.spare.contains(&physical)
        {
            self.pointer[physical as usize] = 0;
            self.spare.push(physical);
        }
    }

    /// Mirrors what the drive reports, and plans the reset of zones that a crash left behind.
    ///
    /// # Errors
    /// [`Corrupt`] when two native zones claim a physical zone or the report lacks a zone.
    pub fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        for (native, &physical) in self.place.iter().enumerate() {
            if self.owner[physical as usize] != native as u32 {
                return Err(Corrupt(format!(
                    "native zone {native} lies in {:?}, which holds another",
                    self.zones.unit(physical)
                )));
            }
        }
        self.spare.clear();
        for z in 0..self.zones.count {
            let unit = self.zones.unit(z);
            let state = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            self.pointer[z as usize] = state.pointer;
            self.writable[z as usize] = state.condition == Condition::Sequential;
        }
        for z in (0..self.zones.count).rev() {
            if self.owner[z as usize] != NOBODY || !self.writable[z as usize] {
                continue;
            }
            if self.pointer(z) == 0 {
                self.spare.push(z);
            } else {
                self.abandon(z, plan);
            }
        }
        Ok(())
    }

    /// Plans a read of blocks at their native places; what lies past a write pointer reads as zeros, what is lost as an
    /// error. The first block goes to `host`.
    pub fn read(&self, at: Extent<Lba>, host: u32, lost: &LostBlocks, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks - offset);
            let base = host + (run.start.0 - at.start.0) as u32;
            if lost.any(run) {
                lost.runs(run, |part, lost| {
                    let base = base + (part.start.0 - run.start.0) as u32;
                    if lost {
                        plan.copy(Place::Lost, Place::Host(base), part.blocks, Why::Host);
                    } else {
                        self.read_run(part, base, plan);
                    }
                });
            } else {
                self.read_run(run, base, plan);
            }
            debug_assert!(native < self.natives());
            rest = rest.skip(run.blocks);
        }
    }

    fn read_run(&self, run: Extent<Lba>, host: u32, plan: &mut Plan) {
        let (native, offset) = self.native_of(run.start);
        let physical = self.physical(native);
        let written = self.pointer(physical).saturating_sub(offset).min(run.blocks);
        if written > 0 {
            plan.copy(Place::At(self.block(physical, offset)), Place::Host(host), written, Why::Host);
        }
        if written < run.blocks {
            plan.copy(Place::Zero, Place::Host(host + written), run.blocks - written, Why::Host);
        }
    }

    /// Restates a region of zones, if the cursor `from` is among them: breaks with the next cursor. Cursors of regions
    /// of logical blocks follow; there it continues with the region's first block.
    pub fn restate(&self, from: u64, plan: &mut Plan) -> ControlFlow<u64, Lba> {
        let natives = u64::from(self.natives());
        if from >= natives {
            return ControlFlow::Continue(Lba(from - natives));
        }
        let end = natives.min(from + REGION_RECORDS as u64);
        for native in from as u32..end as u32 {
            let physical = self.physical(native);
            if physical != native {
                plan.record(Record::Unit { unit: self.zones.unit(physical), is: native });
            }
        }
        ControlFlow::Break(end)
    }

    /// The cursor after that of the region of logical blocks that ends with `end`.
    #[must_use]
    pub fn cursor_after(&self, end: Lba) -> Option<u64> {
        (end.0 < self.capacity()).then_some(u64::from(self.natives()) + end.0)
    }

    /// Verifies the invariants.
    ///
    /// # Errors
    /// The first [`Violation`] found.
    pub fn check(&self) -> Result<(), Violation> {
        for (native, &physical) in self.place.iter().enumerate() {
            if self.owner[physical as usize] != native as u32 {
                return Err(Violation(format!("native zone {native} and physical zone {physical} disagree")));
            }
        }
        for &z in &self.spare {
            if self.owner[z as usize] != NOBODY || self.pointer(z) != 0 || !self.writable[z as usize] {
                return Err(Violation(format!("spare zone {z} is owned, written or bad")));
            }
        }
        Ok(())
    }
}
