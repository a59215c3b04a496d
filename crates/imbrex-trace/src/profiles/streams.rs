//! Which way requests go on: reading or writing, and in which zone.

use super::Model;
use super::allocator::Area;
use super::pool::Pool;
use super::recent::Recent;
use crate::synthetic::random::Random;
use imbrex_core::block::Access;

/// Probability that a request is of the access of the last one without being drawn. Where it was looked at, 4 and 30 of
/// a hundred requests change the access where independent ones would 28 and 48.
const SAME_ACCESS: f64 = 0.7;

/// The zone that a stream of requests stays in for a while.
#[derive(Default)]
struct Stay {
    /// Where new extents come to.
    zone: u32,
    /// Where old ones are touched: the same zone, or while that has none the one before.
    old: u32,
    requests: u64,
    /// The zone that the last stay which goes on in order came to.
    scanned: u32,
    /// The zones of the last stays, of a stream that goes back to them.
    recent: Option<Recent<u32>>,
}

/// Writes, reads of written extents, and other reads.
const WRITES: usize = 0;
const OF_WRITTEN: usize = 1;
const OTHERS: usize = 2;

/// The state of all streams.
pub(super) struct Streams {
    access: Access,
    stays: [Stay; 3],
    /// The stream of the last read.
    reading: usize,
    /// Reads so far, and those of written extents.
    reads: u64,
    of_written: u64,
    write_ratio: f64,
    reads_of_written: f64,
    /// Probability that a request leaves its zone for good.
    leaving: f64,
    /// A stay is no longer than its zone has extents, so that none is touched again only because zones are small, and
    /// no shorter than a run of new ones.
    least: u64,
    distant: f64,
    /// Share of the distant stays that go on to the next zone in order.
    scan: f64,
    excursions: f64,
}

/// Where a request goes.
pub(super) struct Course {
    pub access: Access,
    /// Whether to the written zones.
    pub written: bool,
    /// The zone's rank if it touches a new extent.
    pub zone: u32,
    /// If it touches an old one.
    pub old: u32,
}

impl Streams {
    /// Other reads go back to near zones, those where they touched about the last `near` extents.
    pub(super) fn new(write_ratio: f64, near: f64, extents_of_zone: f64, model: &Model) -> Self {
        let leaving = (1.0 - model.zone_persistence) / model.rewrite_run;
        let stay = (1.0 / leaving).min(extents_of_zone).max(model.run_extents);
        let mut stays: [Stay; 3] = Default::default();
        stays[OTHERS].recent = Some(Recent::new((near / stay) as usize));
        Self {
            access: if write_ratio > 0.0 { Access::Write } else { Access::Read },
            stays,
            reading: OTHERS,
            reads: 0,
            of_written: 0,
            write_ratio,
            reads_of_written: model.reads_of_written,
            leaving,
            least: model.run_extents as u64,
            distant: model.distant,
            scan: model.scan,
            excursions: model.excursions,
        }
    }

    /// Where the next request goes. Areas and pools are those of written extents, and of the others.
    #[inline]
    pub(super) fn next(&mut self, areas: &[Area; 2], pools: [&Pool; 2], random: &mut Random) -> Course {
        if !random.chance(SAME_ACCESS) {
            self.access = if random.chance(self.write_ratio) { Access::Write } else { Access::Read };
        }
        let mut stream = if self.access == Access::Write { WRITES } else { self.reading };
        let stay = &self.stays[stream];
        let all = pools[usize::from(stream == OTHERS)].extents_in(stay.old);
        if random.chance(self.leaving) || stay.requests >= all.max(self.least) {
            stream = self.turn();
            let others = usize::from(stream == OTHERS);
            self.stays[stream].move_on(&areas[others], pools[others], [self.distant, self.scan], random);
        }
        if self.access == Access::Read {
            self.reads += 1;
            self.of_written += u64::from(stream == OF_WRITTEN);
        }
        let stay = &mut self.stays[stream];
        stay.requests += 1;
        let (mut zone, mut old) = (stay.zone, stay.old);
        let others = usize::from(stream == OTHERS);
        if random.chance(self.excursions) {
            zone = areas[others].draw(random);
            old = if pools[others].extents_in(zone) > 0 { zone } else { old };
        }
        Course { access: self.access, written: stream != OTHERS, zone, old }
    }

    /// The stream that moves on: of reads, the one that lags behind its share.
    fn turn(&mut self) -> usize {
        if self.access == Access::Write {
            return WRITES;
        }
        let due = self.reads_of_written * (self.reads + 1) as f64;
        self.reading = if (self.of_written as f64) < due { OF_WRITTEN } else { OTHERS };
        self.reading
    }
}

impl Stay {
    fn move_on(&mut self, area: &Area, pool: &Pool, [distant, scan]: [f64; 2], random: &mut Random) {
        self.requests = 0;
        self.zone = area.draw(random);
        let far = random.chance(distant);
        let near = self.recent.as_ref().filter(|_| !far).and_then(|recent| recent.near(random));
        if let Some(near) = near {
            self.old = near;
        } else if far
            && random.chance(scan)
            && let Some(next) = pool.next_zone(self.scanned)
        {
            (self.scanned, self.zone, self.old) = (next, next, next);
        } else if pool.extents_in(self.zone) > 0 {
            self.old = self.zone;
        }
        if let Some(recent) = &mut self.recent {
            recent.add(self.old);
        }
    }
}
