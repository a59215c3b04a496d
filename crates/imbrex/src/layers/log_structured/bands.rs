//! The bands: what lies where, how far each is written, what may be done with it, and which is compacted next.

use super::ages::{Ages, Written};
use super::score::{Closed, Score};
use super::temperatures::Temperatures;
use crate::block::{Address, Extent, Lba, Pba};
use crate::layer::{Condition, Corrupt, UnitReport, Violation};
use crate::parts::full_map::FullMap;
use crate::parts::unit_pool::{Reuse, UnitPool};
use crate::plan::{Plan, Unit};
use crate::space::Zones;

/// What a band is to the compaction under way. Durable: a fold must tell copies from blocks.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    /// The blocks the map puts there.
    Data,
    /// Its blocks are being copied; they move when a copying band becomes data.
    Victim,
    /// It holds copies that count only when it becomes data.
    Copying,
}

#[derive(Copy, Clone, Debug)]
struct Band {
    written: u32,
    role: Role,
}

pub(super) struct Bands {
    zones: Zones,
    score: Score,
    bands: Vec<Band>,
    /// Where each logical block lies. A place is called slot here: the block's number on the bands.
    pub map: FullMap,
    pool: UnitPool,
    /// Bands by role, in the order in which they took it.
    pub copying: Vec<u32>,
    pub victims: Vec<u32>,
    /// Kept where the score asks for them.
    ages: Option<Ages>,
    /// Kept where something depends on them.
    temperatures: Option<Temperatures>,
}

impl Bands {
    /// Bands for `capacity` logical blocks, of which at most `roles` are victims or copying. What is on them is to be
    /// said. Heat is kept if the score asks for it or somebody else does.
    pub fn new(zones: Zones, (score, heat): (Score, bool), roles: usize, capacity: u64) -> Self {
        let (count, blocks) = (zones.count, zones.zone_blocks);
        let counted = if score.counts_hot() { count } else { 0 };
        Self {
            bands: vec![Band { written: 0, role: Role::Data }; count as usize],
            map: FullMap::new(capacity, count, blocks),
            pool: UnitPool::new(count, blocks, Reuse::Lowest, score.keeps()),
            zones,
            ages: score.reads().map(|age| Ages::new(age, count, capacity)),
            temperatures: (heat || counted > 0).then(|| Temperatures::new(capacity, counted)),
            score,
            copying: Vec::with_capacity(roles),
            victims: Vec::with_capacity(roles),
        }
    }

    pub fn zones(&self) -> &Zones {
        &self.zones
    }

    /// Blocks of a band.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.zones.zone_blocks
    }

    pub fn unit(&self, band: u32) -> Unit {
        self.zones.unit(band)
    }

    pub fn band_of(&self, unit: Unit) -> Option<u32> {
        self.zones.index(unit)
    }

    /// The physical block of a slot. Bands follow each other, and so do their blocks.
    #[inline]
    pub fn block(&self, slot: u64) -> Pba {
        self.zones.block(0, 0).plus(slot)
    }

    /// The slot of a physical block, if it is on a band.
    pub fn slot_of(&self, block: Pba) -> Option<u64> {
        let (band, offset) = self.zones.locate(block)?;
        Some(self.map.place(band, offset))
    }

    /// Reads what a write of the block will look up, for its effect on the cache.
    #[inline]
    pub fn prefetch(&self, lba: Lba) -> u64 {
        let age = self.ages.as_ref().map_or(0, |ages| ages.prefetch(lba));
        let heat = self.temperatures.as_ref().map_or(0, |temperatures| temperatures.prefetch(lba));
        self.map.prefetch(lba) ^ age ^ heat
    }

    pub fn live(&self, band: u32) -> u32 {
        self.map.live(band)
    }

    pub fn written(&self, band: u32) -> u32 {
        self.bands[band as usize].written
    }

    pub fn role(&self, band: u32) -> Role {
        self.bands[band as usize].role
    }

    /// The time of the youngest block that counts of a band that has just been the best; of no meaning without ages.
    pub fn youngest(&self, band: u32) -> u64 {
        self.ages.as_ref().map_or(0, |ages| ages.youngest(band))
    }

    /// The host has written so many blocks.
    #[inline]
    pub fn pass(&mut self, blocks: u32) {
        if let Some(ages) = &mut self.ages {
            ages.pass(blocks);
        }
    }

    /// When the host writes the last of so many blocks more; of no meaning without ages.
    #[inline]
    pub fn after(&self, blocks: u32) -> u64 {
        self.ages.as_ref().map_or(0, |ages| ages.after(blocks))
    }

    pub fn empties(&self) -> u32 {
        self.pool.free()
    }

    pub fn emptying(&self) -> u32 {
        self.pool.pending()
    }

    /// Opens the empty band of the lowest number.
    pub fn open(&mut self) -> Option<u32> {
        let band = self.pool.open()?;
        if let Some(ages) = &mut self.ages {
            ages.opened(band);
        }
        Some(band)
    }

    /// The slot at the pointer of an open band, and how many follow.
    #[inline]
    pub fn room(&self, band: u32) -> (u64, u32) {
        let written = self.bands[band as usize].written;
        (self.map.place(band, written), self.zones.zone_blocks - written)
    }

    /// The slots from `slot` on, of one band, have been written with `at`; whether they count is another matter.
    #[inline]
    pub fn wrote(&mut self, at: Extent<Lba>, slot: u64) {
        self.map.wrote(at, slot);
        let (band, offset) = self.map.locate(slot);
        let written = &mut self.bands[band as usize].written;
        *written = (*written).max(offset + at.blocks);
    }

    /// The blocks of `at` lie in the slots from `slot` on, of one band, which were written with them.
    #[inline]
    pub fn adopt(&mut self, at: Extent<Lba>, slot: u64, written: Written) {
        if let Some(ages) = &mut self.ages {
            ages.leave(at, &self.map);
            ages.enter(at, self.map.locate(slot).0, written);
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.relocate(at, &self.map, Some(self.map.locate(slot).0));
        }
        self.map.assign(at, slot, |band, live| self.pool.changed(band, live));
    }

    /// The blocks of `at` lie on no band.
    pub fn remove(&mut self, at: Extent<Lba>) {
        if let Some(ages) = &mut self.ages {
            ages.leave(at, &self.map);
        }
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.relocate(at, &self.map, None);
        }
        self.map.remove(at, |band, live| self.pool.changed(band, live));
    }

    /// How often the block was overwritten since it was last compacted, where something depends on that.
    pub fn heat(&self, lba: Lba) -> u32 {
        self.temperatures.as_ref().map_or(0, |temperatures| temperatures.of(lba))
    }

    /// The block has been overwritten.
    pub fn raise(&mut self, lba: Lba) {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.raise(lba, &self.map);
        }
    }

    /// Those of the blocks of `at` that lie on bands have been overwritten.
    #[inline]
    pub fn overwrite(&mut self, at: Extent<Lba>) {
        if let Some(temperatures) = &mut self.temperatures {
            at.iter().filter(|&lba| self.map.get(lba).is_some()).for_each(|lba| temperatures.raise(lba, &self.map));
        }
    }

    /// The blocks of `at` are cold.
    pub fn cool(&mut self, at: Extent<Lba>) {
        if let Some(temperatures) = &mut self.temperatures {
            temperatures.cool(at, &self.map);
        }
    }

    /// Makes an open band a candidate.
    pub fn close(&mut self, band: u32) {
        self.pool.close(band, self.map.live(band));
    }

    /// Makes a candidate a victim.
    pub fn leave(&mut self, band: u32) {
        self.score.took(self.map.live(band) < self.zones.zone_blocks);
        self.pool.reopen(band);
    }

    /// Plans the reset of a band without live blocks.
    pub fn abandon(&mut self, band: u32, plan: &mut Plan) {
        debug_assert!(self.live(band) == 0);
        plan.reset(self.unit(band));
        self.pool.give_up(band);
    }

    /// A reset has taken effect.
    pub fn freed(&mut self, block: Pba) {
        if let Some((band, 0)) = self.zones.locate(block)
            && self.pool.freed(band)
        {
            self.bands[band as usize].written = 0;
        }
    }

    /// The candidate to compact next, if compacting candidates can gain a slot at all; if it `must_gain`, one whose
    /// compaction does, where the score looks at that.
    pub fn best(&mut self, must_gain: bool) -> Option<u32> {
        let (pool, map, full) = (&self.pool, &self.map, self.zones.zone_blocks);
        if let Some(ages) = &mut self.ages {
            pool.by_age().for_each(|band| ages.refresh(band, full, map));
        }
        let (ages, temperatures) = (self.ages.as_ref(), self.temperatures.as_ref());
        self.score.best(&Closed { pool, map, ages, temperatures, full, must_gain })
    }

    /// The effect of a change of role; nothing is adopted here.
    pub fn set_role(&mut self, band: u32, role: Role) {
        self.copying.retain(|&other| other != band);
        self.victims.retain(|&other| other != band);
        self.bands[band as usize].role = role;
        match role {
            Role::Data => {}
            Role::Victim => self.victims.push(band),
            Role::Copying => {
                self.copying.push(band);
                self.bands[band as usize].written = 0;
                self.map.forget_writes(band);
            }
        }
    }

    /// Takes over what the drive reports, plans the reset of bands without live blocks, and returns the band to go on
    /// with: of those begun, the one with the most room.
    pub fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<Option<u32>, Corrupt> {
        let mut begun: Option<u32> = None;
        self.pool.clear();
        for band in 0..self.zones.count {
            let unit = self.zones.unit(band);
            let report = units.unit(unit).ok_or_else(|| Corrupt(format!("the drive does not report {unit:?}")))?;
            let live = self.live(band);
            self.bands[band as usize].written = report.pointer;
            if report.condition != Condition::Sequential {
                continue;
            }
            if live == 0 && report.pointer == 0 {
                self.pool.put(band);
            } else if live == 0 {
                self.abandon(band, plan);
            } else {
                self.close(band);
                let has_more_room = begun.is_none_or(|begun| report.pointer < self.written(begun));
                if report.pointer < self.zones.zone_blocks && has_more_room {
                    begun = Some(band);
                }
            }
        }
        if let Some(band) = begun {
            self.pool.reopen(band);
        }
        Ok(begun)
    }

    /// Verifies that map, bands and what was written agree.
    pub fn check(&self) -> Result<(), Violation> {
        self.map.check()?;
        self.pool.check(&self.map)?;
        self.ages.as_ref().map_or(Ok(()), |ages| ages.check(&self.map))?;
        self.temperatures.as_ref().map_or(Ok(()), |temperatures| temperatures.check(&self.map))?;
        let mut beyond = None;
        self.map.all_runs(|at, slot| {
            let (band, offset) = self.map.locate(slot);
            beyond = (offset + at.blocks > self.written(band)).then_some((at, band));
            beyond.is_none()
        });
        match beyond {
            Some((at, band)) => Err(Violation(format!("{at:?} lies on band {band}, which is not written so far"))),
            None => Ok(()),
        }
    }
}
