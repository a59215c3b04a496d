//! Which physical zone holds each native zone, with spare zones to rewrite into.
//!
//! A native zone is a run of `zone_blocks` logical blocks; the blocks lie in order in one physical zone. At first
//! native zone `n` lies in physical zone `n` and the last zones are spare. A rewrite fills a spare zone and then
//! switches the map with one record, [`Record::Unit`]`{ unit: physical, is: native }`, so a crash finds the old zone or
//! the new one. The write pointers are the drive's; this part mirrors them.
//!
//! On a hybrid disk ([`ZoneMap::hybrid`]) a native zone may lie in a conventional zone too, the physical zones are those
//! of both domains, of which not all are active, and native zones may be added at the end.

mod durable;

use std::collections::BTreeSet;
use std::ops::Range;

use crate::parts::lost::LostBlocks;
use imbrex_core::block::{Extent, Lba, Pba, unit_and_offset};
use imbrex_core::memory::Memory;
use imbrex_core::plan::{Plan, Record, Unit};
use imbrex_core::space::{Realms, Zones};

const NOBODY: u32 = u32::MAX;

/// Where native zones lie at first: each in the physical zone of its number, and from `split` on `shift` later.
#[derive(Clone, Debug)]
struct AtFirst {
    natives: u32,
    split: u32,
    shift: u32,
}

impl AtFirst {
    fn place(&self, native: u32) -> u32 {
        if native < self.split { native } else { native + self.shift }
    }
}

/// The native zones and where they lie.
#[derive(Clone, Debug)]
pub struct ZoneMap {
    zones: Zones,
    /// How many physical zones, from the first on, are conventional.
    conventional: u32,
    at_first: AtFirst,
    /// How many native zones there can be.
    most: u32,
    /// Native zone → physical zone, or [`NOBODY`] while records of a growth are being applied.
    place: Vec<u32>,
    /// Physical zone → native zone, or [`NOBODY`].
    owner: Vec<u32>,
    /// Write pointers of the physical zones, in blocks.
    pointer: Vec<u32>,
    /// Whether the physical zone can be written.
    writable: Vec<bool>,
    /// Empty sequential zones without an owner; taken from the back.
    spare: Vec<u32>,
    /// Sequential zones that have been given up, which has not taken effect.
    given_up: BTreeSet<u32>,
    /// Sequential zones whose activation has not.
    activating: u32,
    /// Conventional zones that have no owner any more.
    vacant: Vec<u32>,
}

impl ZoneMap {
    /// The memory that it takes.
    #[must_use]
    pub fn memory(&self) -> Memory {
        let zones = u64::from(self.zones.count);
        let lists = Memory::of::<u32>(2 * zones) + Memory::growing::<u32>(self.most.into()) + Memory::of::<bool>(zones);
        lists + Memory::growing::<u32>(2 * zones) + Memory::tree::<u32>(zones)
    }

    /// `zones` of which the last `spare` are spare.
    #[must_use]
    pub fn new(zones: Zones, spare: u32) -> Self {
        debug_assert!(spare < zones.count);
        let natives = zones.count - spare;
        Self::with(zones, 0, AtFirst { natives, split: natives, shift: 0 }, natives)
    }

    /// The zones of a hybrid disk whose innermost `sequential` realms are sequential at first: `natives` native zones,
    /// which fill the conventional spans from the outer edge inwards and then the sequential ones. There can be `most`.
    #[must_use]
    pub fn hybrid(realms: &Realms, sequential: u32, natives: u32, most: u32) -> Self {
        let outer = realms.count - sequential;
        let split = outer * realms.conventional_zones;
        let at_first = AtFirst { natives, split, shift: realms.sequential_of(outer).start - split };
        Self::with(realms.zones(), realms.all_conventional(), at_first, most)
    }

    fn with(zones: Zones, conventional: u32, at_first: AtFirst, most: u32) -> Self {
        let place: Vec<u32> = (0..at_first.natives).map(|native| at_first.place(native)).collect();
        let mut owner = vec![NOBODY; zones.count as usize];
        for (native, &physical) in (0..).zip(&place) {
            owner[physical as usize] = native;
        }
        let pointer = (0..zones.count).map(|z| if z < conventional { zones.zone_blocks } else { 0 }).collect();
        Self {
            zones,
            conventional,
            at_first,
            most,
            place,
            owner,
            pointer,
            writable: vec![true; zones.count as usize],
            spare: Vec::new(),
            given_up: BTreeSet::new(),
            activating: 0,
            vacant: Vec::new(),
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

    /// How many native zones there can be.
    #[must_use]
    pub fn most_natives(&self) -> u32 {
        self.most
    }

    /// Logical blocks of the most native zones that there can be.
    #[must_use]
    pub fn most_capacity(&self) -> u64 {
        u64::from(self.most) * u64::from(self.zones.zone_blocks)
    }

    /// Whether a physical zone is conventional, and so written in place.
    #[inline]
    #[must_use]
    pub fn is_conventional(&self, physical: u32) -> bool {
        physical < self.conventional
    }

    /// The native zone that lies in a physical zone, if one does.
    #[must_use]
    pub fn owner(&self, physical: u32) -> Option<u32> {
        Some(self.owner[physical as usize]).filter(|native| *native != NOBODY)
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
        if self.is_conventional(physical) {
            return;
        }
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

    /// How many empty zones there are to rewrite into.
    #[must_use]
    pub fn spares(&self) -> u32 {
        self.spare.len() as u32
    }

    /// Whether a zone has been given up or is being activated, and will be spare once that has taken effect.
    #[must_use]
    pub fn spare_is_coming(&self) -> bool {
        !self.given_up.is_empty() || self.activating > 0
    }

    /// Takes a conventional zone that has no owner any more.
    pub fn take_vacant(&mut self) -> Option<u32> {
        self.vacant.pop()
    }

    /// Whether there is one.
    #[must_use]
    pub fn has_vacant(&self) -> bool {
        !self.vacant.is_empty()
    }

    /// Plans that `native`, one of those there are or the next one, lies in `to`. The zone where it lay has no owner
    /// then.
    pub fn put(&mut self, native: u32, to: u32, plan: &mut Plan) {
        plan.record(Record::Unit { unit: self.zones.unit(to), is: native });
        self.assign(native, to);
    }

    /// Whether the native zone to be added next would lie in a conventional zone that has not been used.
    #[must_use]
    pub fn next_is_conventional(&self) -> bool {
        self.natives() < self.at_first.split
    }

    /// Plans the switch: `native` now lies in `to`, and its former zone is emptied.
    pub fn switch(&mut self, native: u32, to: u32, plan: &mut Plan) {
        let from = self.place[native as usize];
        self.put(native, to, plan);
        self.abandon(from, plan);
    }

    /// Gives up a zone without an owner: it is spare, or vacant, once that has taken effect. An empty one waits as
    /// well, because durable records may still put a native zone there.
    pub fn abandon(&mut self, physical: u32, plan: &mut Plan) {
        debug_assert!(self.owner[physical as usize] == NOBODY);
        if self.is_conventional(physical) {
            return plan.free(self.zones.extent(physical));
        }
        if self.pointer(physical) == 0 {
            plan.free(self.zones.extent(physical));
        } else if self.writable[physical as usize] {
            plan.reset(self.zones.unit(physical));
        } else {
            return;
        }
        self.given_up.insert(physical);
    }

    /// The zones of a conventional span, which have no owner, are inactive from now on, and those of a sequential span
    /// will be active.
    pub fn activate(&mut self, conventional: Range<u32>, sequential: Range<u32>) {
        self.vacant.retain(|zone| !conventional.contains(zone));
        self.activating += sequential.len() as u32;
        for zone in conventional {
            debug_assert!(self.owner[zone as usize] == NOBODY);
            self.writable[zone as usize] = false;
        }
    }

    /// The zones of a sequential span are active and empty. One that was given up meanwhile may still have an owner by
    /// the durable records.
    pub fn activated(&mut self, span: Range<u32>) {
        self.activating -= span.len() as u32;
        for zone in span.rev() {
            self.writable[zone as usize] = true;
            self.pointer[zone as usize] = 0;
            if self.owner[zone as usize] == NOBODY && !self.given_up.contains(&zone) {
                self.spare.push(zone);
            }
        }
    }

    fn assign(&mut self, native: u32, to: u32) {
        if native >= self.natives() {
            self.place.resize(native as usize + 1, NOBODY);
        }
        let from = self.place[native as usize];
        if from != NOBODY && self.owner[from as usize] == native {
            self.owner[from as usize] = NOBODY;
        }
        self.owner[to as usize] = native;
        self.place[native as usize] = to;
    }

    /// A zone without an owner has been reset, or given up.
    pub fn freed(&mut self, space: Extent<Pba>) {
        let Some((physical, 0)) = self.zones.locate(space.start) else { return };
        let was_given_up = self.given_up.remove(&physical);
        if self.owner[physical as usize] != NOBODY || !self.writable[physical as usize] {
            return;
        }
        if self.is_conventional(physical) {
            self.vacant.push(physical);
        } else if was_given_up {
            self.pointer[physical as usize] = 0;
            self.spare.push(physical);
        }
    }

    /// Plans a read of blocks at their native places; what lies past a write pointer reads as zeros, what is lost as an
    /// error. The first block goes to `host`.
    pub fn read(&self, at: Extent<Lba>, host: u32, lost: &LostBlocks, plan: &mut Plan) {
        let mut rest = at;
        while !rest.is_empty() {
            let (native, offset) = self.native_of(rest.start);
            let run = rest.first(self.zones.zone_blocks - offset);
            let physical = self.physical(native);
            let (place, written) = (self.block(physical, offset), self.pointer(physical).saturating_sub(offset));
            lost.read(run, place, written, host + (run.start.0 - at.start.0) as u32, plan);
            rest = rest.skip(run.blocks);
        }
    }

    /// Whether the blocks from the front of `at` lie behind their zone's write pointer and are not lost, and of how many
    /// of them that is said.
    pub fn known_zeros(&self, at: Extent<Lba>, lost: &LostBlocks) -> (bool, u32) {
        let (native, offset) = self.native_of(at.start);
        let run = at.first(self.zones.zone_blocks - offset);
        match self.pointer(self.physical(native)).saturating_sub(offset) {
            0 => lost.none_from(run),
            written => (false, written.min(run.blocks)),
        }
    }
}
