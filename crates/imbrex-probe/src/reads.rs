//! What reads tell: whether something turns, how fast, how long tracks are, how long the arm takes, and how fast blocks
//! come one after the other.

use imbrex::random::Random;
use serde::Serialize;

use crate::course::{Course, median, quantile};
use crate::disk::{Disk, ProbeError};

/// Places at which tracks are measured, from the first block to the last.
const PLACES: u64 = 9;
/// Reads of which each wait is the median: some cross the end of a track.
const SAMPLES: u64 = 15;
/// How many blocks back the second read of a pair lies.
const BACK: [u64; 12] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64];
/// Reads at random places.
const RANDOM: u64 = 400;
/// Random reads of a disk spread over its turn; those of flash, by less than this, in ns.
const LEAST_SPREAD_NS: u64 = 1_500_000;
/// Blocks of a piece of a sequential read.
const PIECE: u64 = 256;
/// Tracks and bytes that a sequential read has at least, if the disk is large enough.
const RUN_TRACKS: u64 = 8;
const RUN_BYTES: u64 = 16 << 20;
/// Pairs of reads of which the shortest has to wait for the platter least.
const PAIRS: u64 = 64;
/// Distances that the arm is timed over, as shares of the disk.
const DISTANCES: [f64; 6] = [1.0 / 256.0, 1.0 / 64.0, 1.0 / 16.0, 0.25, 0.5, 0.98];

/// What reads tell.
#[derive(Clone, Debug, Serialize)]
pub struct Reads {
    /// How long a turn takes, in ms; nothing if nothing turns.
    pub turn_ms: Option<f64>,
    /// How long a block takes at a random place, in ms.
    pub random_ms: f64,
    /// The longest of these, in ms.
    pub longest_ms: f64,
    /// Mean time of the arm between random places, in ms, if something turns.
    pub seek_ms: Option<f64>,
    /// Time of the arm over shares of the disk's addresses, in ms, if something turns.
    pub seeks: Vec<Seek>,
    /// Tracks and rates at places from the first block to the last.
    pub places: Vec<Place>,
}

/// How long the arm takes over a distance.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Seek {
    /// The distance, as a share of the disk's addresses.
    pub share: f64,
    /// The shortest time that was seen, in ms: the arm's, and a little of the platter's.
    pub ms: f64,
}

/// A place of a disk.
#[derive(Copy, Clone, Debug, Serialize)]
pub struct Place {
    /// Where it is, in bytes.
    pub offset: u64,
    /// How fast blocks come one after the other, in bytes a second.
    pub bytes_per_second: f64,
    /// Bytes of a track, if something turns.
    pub track_bytes: Option<f64>,
}

/// Times reads at random places, pairs of reads, and sequential ones.
pub(crate) fn look(disk: &mut dyn Disk, random: &mut Random, course: &mut Course<'_>) -> Result<Reads, ProbeError> {
    let blocks = disk.facts().blocks();
    let mut times = Vec::new();
    for turn in 0..RANDOM {
        times.push(disk.read(random.below(blocks), 1)?);
        course.reach(0.2 * turn as f64 / RANDOM as f64)?;
    }
    let mean = times.iter().sum::<u64>() as f64 / times.len() as f64;
    let longest = quantile(&mut times, 1.0);
    let turns = quantile(&mut times, 0.9) - quantile(&mut times, 0.1) > LEAST_SPREAD_NS;
    let (mut places, mut turned) = (Vec::new(), Vec::new());
    for number in 0..PLACES {
        let at = (blocks - 1) * number / (PLACES - 1);
        let track = if turns { track(disk, random, at)? } else { None };
        turned.extend(track.map(|track| track.turn_ns));
        let track_blocks = track.map(|track| track.turn_ns / track.block_ns);
        let rate = sequential(disk, at, track_blocks.unwrap_or(0.0) as u64)?;
        let bytes = f64::from(disk.facts().block_bytes);
        places.push(Place {
            offset: at * u64::from(disk.facts().block_bytes),
            bytes_per_second: rate * bytes,
            track_bytes: track_blocks.map(|blocks| blocks * bytes),
        });
        course.reach(0.2 + 0.5 * (number + 1) as f64 / PLACES as f64)?;
    }
    turned.sort_unstable_by(f64::total_cmp);
    let turn_ns = turned.get(turned.len() / 2).copied();
    let mut seeks = Vec::new();
    if turn_ns.is_some() {
        for (number, share) in DISTANCES.into_iter().enumerate() {
            seeks.push(Seek { share, ms: seek(disk, random, share)? / 1e6 });
            course.reach(0.7 + 0.3 * (number + 1) as f64 / DISTANCES.len() as f64)?;
        }
    }
    // On average a read waits for half a turn.
    let seek_ms = turn_ns.map(|turn| ((mean - turn / 2.0) / 1e6).max(0.0));
    let turn_ms = turn_ns.map(|turn| turn / 1e6);
    Ok(Reads { turn_ms, random_ms: mean / 1e6, longest_ms: longest as f64 / 1e6, seek_ms, seeks, places })
}

/// A track: how long a turn takes, and one of its blocks.
#[derive(Copy, Clone)]
struct Track {
    turn_ns: f64,
    block_ns: f64,
}

/// After a block, one that lies `back` blocks before it takes a turn less the time of `back` blocks: from several of
/// these times follow both. A disk's cache, which reads ahead, does not help.
fn track(disk: &mut dyn Disk, random: &mut Random, at: u64) -> Result<Option<Track>, ProbeError> {
    let blocks = disk.facts().blocks();
    let span = (blocks / 16).clamp(1, 1 << 14);
    let first = at.min(blocks - span).max(BACK[BACK.len() - 1]).min(blocks - 1);
    let mut waits: Vec<(u64, u64)> = Vec::new();
    for back in BACK {
        let mut times = Vec::new();
        for _ in 0..SAMPLES {
            let from = (first + random.below(span)).min(blocks - 1).max(back);
            disk.read(from, 1)?;
            times.push(disk.read(from - back, 1)?);
        }
        let wait = median(&mut times);
        let first = waits.first().map_or(wait, |first| first.1);
        // A wait that has become longer is that of another turn.
        if wait > first + first / 16 {
            break;
        }
        waits.push((back, wait));
        // Farther back more pairs lie on two tracks.
        if first.saturating_sub(wait) * 6 > first {
            break;
        }
    }
    Ok(line(&waits).map(|(turn_ns, slope)| Track { turn_ns, block_ns: -slope }).filter(|track| track.block_ns > 0.0))
}

/// The straight line that fits points best: its value at 0, and its slope.
fn line(points: &[(u64, u64)]) -> Option<(f64, f64)> {
    let count = points.len() as f64;
    let mean = |of: fn(&(u64, u64)) -> u64| points.iter().map(of).sum::<u64>() as f64 / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let sum = |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 as f64 - x, p.1 as f64 - y)).sum::<f64>();
    let slope = sum(&|x, y| x * y) / sum(&|x, _| x * x);
    (points.len() >= 2).then_some((y - slope * x, slope))
}

/// Blocks a second from `at` on, one after the other.
fn sequential(disk: &mut dyn Disk, at: u64, track_blocks: u64) -> Result<f64, ProbeError> {
    let (blocks, block_bytes) = (disk.facts().blocks(), u64::from(disk.facts().block_bytes));
    let run = (track_blocks * RUN_TRACKS).max(RUN_BYTES / block_bytes).min(blocks / 4);
    let piece = PIECE.min(run / 4).max(1);
    let mut next = at.min(blocks - run);
    let end = next + run;
    // The first one has to get there.
    disk.read(next, piece as u32)?;
    next += piece;
    let (begun, mut ns) = (next, 0);
    while next + piece <= end {
        ns += disk.read(next, piece as u32)?;
        next += piece;
    }
    Ok((next - begun) as f64 * 1e9 / ns.max(1) as f64)
}

/// The least time from a block to another one at this distance.
fn seek(disk: &mut dyn Disk, random: &mut Random, share: f64) -> Result<f64, ProbeError> {
    let blocks = disk.facts().blocks();
    let distance = (blocks as f64 * share) as u64;
    let room = (blocks - distance) / 2;
    let mut least = u64::MAX;
    for _ in 0..PAIRS {
        let from = random.below(room.max(1));
        disk.read(from, 1)?;
        least = least.min(disk.read(from + distance + random.below(room.clamp(1, 1 << 11)), 1)?);
    }
    Ok(least as f64)
}
