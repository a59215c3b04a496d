//! The bands of a drive-managed disk, from the order in which it cleans them.
//!
//! Single blocks are written at equal distances, and their order in the cache is that of their addresses. When the cache
//! is full, a write that finds no room has to wait until all cached blocks of the band of the oldest one have left it.
//! As many writes then go by without a wait as blocks have left: so many of them lay in that band. From one wait to the
//! next is a band. All places of the disk share one filling of the cache, and what else fills it lies apart.

use serde::Serialize;

use crate::cache::{Cached, Full, apart};
use crate::course::{Course, median};
use crate::disk::ProbeError;

/// Places of the disk at which bands are looked for.
const MOST_PLACES: u64 = 9;
/// Blocks that are written at a place.
const MOST_POINTS: u64 = 2000;
const LEAST_POINTS: u64 = 150;
/// Blocks between them at first.
const STRIDE: u64 = 64;
/// How often another distance is tried.
const ATTEMPTS: u32 = 6;
/// Blocks that are written after all those of the pattern have left.
const SPARE: u64 = 32;
/// Ends of bands that are enough at a place.
const LEAST_ENDS: usize = 4;

/// The bands of a drive-managed disk.
#[derive(Clone, Debug, Serialize)]
pub struct Bands {
    /// Bands at places from the first block to the last.
    pub places: Vec<BandPlace>,
    /// How long a write waited for a band that had to be rewritten, in ms: the median.
    pub rewrite_ms: f64,
}

/// Bands around a place.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct BandPlace {
    /// Where the place begins, in bytes.
    pub offset: u64,
    /// Mean length of a band there, in bytes.
    pub band_bytes: f64,
    /// How many bands that is the mean of.
    pub bands: u32,
}

/// What is written where.
struct Pattern {
    places: u64,
    points: u64,
    stride: u64,
    /// Blocks from the beginning of a place to that of the next.
    apart: u64,
    /// Where that begins which only fills the cache, and how much of it there is.
    rest: u64,
    filling: u64,
}

impl Pattern {
    /// A pattern for a cache of `writes` single blocks on a disk of `room` blocks, with this distance if there is room.
    fn new(writes: u64, room: u64, stride: u64) -> Option<Self> {
        // Half of the cache; what else is written fills it, and then pushes that out.
        let half = writes / 2;
        let places = (half / (2 * LEAST_POINTS)).clamp(2, MOST_PLACES);
        let points = (half / places).min(MOST_POINTS);
        let filling = writes + SPARE;
        let rest = room.checked_sub(filling)?;
        let apart = rest / places;
        let stride = stride.min(apart * 9 / 10 / points.max(1)).max(2);
        (points >= 8 && stride * points <= apart).then_some(Self { places, points, stride, apart, rest, filling })
    }

    fn all(&self) -> u64 {
        self.places * self.points
    }

    /// The block that is written as number `number`.
    fn block(&self, number: u64) -> u64 {
        match number.checked_sub(self.all()) {
            None => number / self.points * self.apart + number % self.points * self.stride,
            Some(filling) => self.rest + apart(filling, self.filling),
        }
    }

    /// The first wait of a full cache: before that, the disk may have done something else. It is where the cache was full
    /// before, or else where waits begin to be regular.
    fn first_wait(&self, waits: &[u64]) -> Option<u64> {
        let full = self.filling - SPARE;
        let after = |at: u64| &waits[waits.partition_point(|wait| *wait < at)..];
        let nearest = waits.iter().copied().min_by_key(|at| at.abs_diff(full));
        let expected = nearest.filter(|at| at.abs_diff(full) <= full / 128 + 2);
        let late = after(full - full / 16);
        let regular = || (0..late.len()).find_map(|end| Full::of(&late[..end], &mut 0).filter(|full| full.certain));
        let any = || after(full - full / 32).first().copied();
        expected.or_else(|| regular().map(|full| full.writes)).or_else(any)
    }

    /// From the waits of a full cache, the bands at each place.
    fn bands(&self, waits: &[(u64, u64)], block_bytes: f64) -> Vec<BandPlace> {
        let waits: Vec<u64> = waits.iter().map(|(at, _)| *at).collect();
        let Some(first) = self.first_wait(&waits) else { return Vec::new() };
        let waits = &waits[waits.partition_point(|at| *at < first)..];
        // What left before a wait was written first; the oldest block that was there then begins a band.
        let ends: Vec<u64> = waits.iter().map(|at| at - first).filter(|left| *left < self.all()).collect();
        let mut places = Vec::new();
        for place in 0..self.places {
            let of_place = |left: &&u64| **left / self.points == place && !left.is_multiple_of(self.points);
            let ends = without_strays(&ends.iter().filter(of_place).map(|left| left % self.points).collect::<Vec<_>>());
            let (Some(begin), Some(end)) = (ends.first(), ends.last()) else { continue };
            if ends.len() >= 2 {
                let bands = ends.len() as u32 - 1;
                let band_bytes = ((end - begin) * self.stride) as f64 * block_bytes / f64::from(bands);
                let offset = (place * self.apart) as f64 * block_bytes;
                places.push(BandPlace { offset: offset as u64, band_bytes, bands });
            }
        }
        places
    }
}

/// The ends of bands without what lies between two of them: the disk did something else then.
fn without_strays(ends: &[u64]) -> Vec<u64> {
    let mut lengths: Vec<u64> = ends.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = if lengths.is_empty() { 0 } else { median(&mut lengths) };
    let mut kept: Vec<u64> = Vec::new();
    for end in ends.iter().copied() {
        if kept.last().is_none_or(|last| (end - last) * 5 >= usual * 3) {
            kept.push(end);
        }
    }
    kept
}

/// Finds the bands of a disk whose cache takes `writes` single blocks.
pub(crate) fn find(cached: &mut Cached<'_>, writes: u64, course: &mut Course<'_>) -> Result<Option<Bands>, ProbeError> {
    let block_bytes = f64::from(cached.disk.facts().block_bytes);
    let (mut stride, mut best) = (STRIDE, None);
    for _ in 0..ATTEMPTS {
        let Some(pattern) = Pattern::new(writes, cached.room, stride) else { break };
        if !cached.empty(course)? {
            break;
        }
        let count = pattern.all() + pattern.filling;
        let waits = cached.waits(&mut (0..count).map(|number| pattern.block(number)), course)?;
        let places = pattern.bands(&waits, block_bytes);
        // Where each block is in a band of its own, or nearly so, the distance is what is measured.
        let is_coarse = |place: &&BandPlace| place.band_bytes < 3.0 * pattern.stride as f64 * block_bytes;
        let coarse = places.iter().filter(is_coarse).count() * 2 > places.len();
        let few = places.iter().filter(|place| (place.bands as usize) < LEAST_ENDS - 1).count() * 2 >= places.len();
        if !coarse && !places.is_empty() {
            let rewrite_ms = median(&mut waits.iter().map(|(_, ns)| *ns).collect::<Vec<_>>()) as f64 / 1e6;
            best = Some(Bands { places, rewrite_ms });
        }
        let next = match (coarse, few) {
            (true, _) => (pattern.stride / 8).max(2),
            (false, true) => pattern.stride * 8,
            (false, false) => break,
        };
        let is_same = Pattern::new(writes, cached.room, next).is_none_or(|other| other.stride == pattern.stride);
        if is_same {
            break;
        }
        stride = next;
    }
    Ok(best)
}
