//! What is run: every layer with its defaults, other settings of each, and what a buyer may vary of the best.

use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::ptr;

use anyhow::{Result, anyhow};
use imbrex::layers;
use imbrex::replay::BufferSize;
use imbrex_runs::parallel;
use imbrex_runs::row::Row;
use imbrex_terminal::progress::Progress;

use crate::kinds::{Disk, Room};
use crate::prices::{Budget, Goods, most};
use crate::trial::{Baseline, Measure, Point, Ran, Trial};

/// The buffer of a layer that has none.
const BUFFER: BufferSize = BufferSize::Percent(1.0);
/// The part of a map in memory that is tried beside all of it.
const MAP_PART: u64 = 8;
/// Layers of a disk whose settings are looked at most closely.
pub const LEADERS: usize = 2;
/// How many times as fast requests arrive to see what that breaks.
pub const FASTER: NonZeroU64 = NonZeroU64::new(2).unwrap();

/// How much is run.
pub struct Stages<'a> {
    /// What there is to choose from.
    pub disks: &'a [Disk],
    /// What it is held against.
    pub measure: &'a Measure<'a>,
    /// What may be bought.
    pub budgets: &'a [Budget],
    /// Settings of each layer that are tried, if that was said.
    pub trials: Option<u32>,
    /// Of the search.
    pub seed: u64,
    /// Runs at a time.
    pub jobs: usize,
}

/// Everything that was measured.
pub struct Measured<'a> {
    /// Each layer of each disk at its best.
    pub layers: Vec<Point<'a>>,
    /// The best of each disk with more or less of what a buyer may vary.
    pub varied: Vec<Point<'a>>,
    /// Layers that take so long with their defaults that nobody waited for the end.
    pub late: Vec<(&'a Disk, &'static str)>,
    /// Layers that cannot be made on a disk for these workloads, and why.
    pub refused: Vec<(&'a Disk, &'static str, String)>,
}

impl<'a> Measured<'a> {
    /// Everything that may be recommended.
    pub fn points(&self) -> impl Iterator<Item = &Point<'a>> {
        self.layers.iter().chain(&self.varied)
    }
}

/// The conventional disks by drive and speed.
pub struct Baselines(BTreeMap<(String, u64), Vec<Row>>);

impl<'a> Stages<'a> {
    /// The conventional disks that others are held against.
    ///
    /// # Errors
    /// When a workload cannot be read, or the work was to stop.
    pub fn baselines(&self) -> Result<Baselines> {
        let layer = layers::find("conventional")?;
        let mut names: Vec<_> = self.disks.iter().map(Disk::yardstick).collect();
        names.sort_unstable();
        names.dedup();
        let disks = names.into_iter().map(Disk::conventional).collect::<Result<Vec<_>>>()?;
        let each = |disk| [NonZeroU64::MIN, FASTER].map(|speed| (disk, speed));
        let all: Vec<(&Disk, _)> = disks.iter().flat_map(each).collect();
        let progress = self.progress("conventional disks", all.len() as u64);
        let rows = parallel::each(self.jobs, &all, |(disk, speed)| {
            let trial = Trial { speed: *speed, ..Trial::new(disk, layer, BUFFER) };
            match trial.run(self.measure.known, None, &progress)? {
                Ran::Done { rows, .. } => Ok(((disk.named.clone(), speed.get()), rows)),
                Ran::Refused(why) => Err(anyhow!("{why}")),
                Ran::Late => Err(anyhow!("{}: nobody waited for a conventional disk", disk.named)),
            }
        })?;
        Ok(Baselines(rows.into_iter().collect()))
    }

    /// Runs everything.
    ///
    /// # Errors
    /// When a workload cannot be read, a layer fails, or the work was to stop.
    pub fn run(&self, baselines: &Baselines) -> Result<Measured<'a>> {
        let entrants = self.entrants();
        let progress = self.progress("trying layers", entrants.len() as u64);
        let ran = parallel::each(self.jobs, &entrants, |trial| {
            let baseline = baselines.of(trial.disk, trial.speed);
            trial.run(self.measure.known, Some(baseline), &progress)
        })?;
        drop(progress);
        let (mut layers, mut late, mut refused) = (Vec::new(), Vec::new(), Vec::new());
        for (trial, ran) in entrants.into_iter().zip(ran) {
            let (disk, name) = (trial.disk, trial.layer.name);
            match ran {
                Ran::Late => late.push((disk, name)),
                Ran::Refused(why) => refused.push((disk, name, why)),
                Ran::Done { .. } => {
                    let baseline = baselines.of(disk, trial.speed);
                    layers.extend(Point::of(trial, ran, baseline, self.measure));
                }
            }
        }
        self.settle(&mut layers, LEADERS, baselines)?;
        let mut varied = self.varied(&layers, baselines)?;
        layers.iter_mut().chain(&mut varied).try_for_each(|point| point.price(self.measure))?;
        Ok(Measured { layers, varied, late, refused })
    }

    /// Looks for better layers and settings at the size that would be recommended: those that were found are the best
    /// with the usual one. What is recommended then may have another size, which is looked at too.
    ///
    /// # Errors
    /// As those of [`Stages::run`].
    pub fn refine(
        &self,
        measured: &mut Measured<'a>,
        recommended: impl Fn(&Measured<'a>) -> Option<Trial<'a>>,
        baselines: &Baselines,
    ) -> Result<()> {
        let mut looked_at: Vec<Trial<'a>> = Vec::new();
        while let Some(best) = recommended(measured) {
            let is_usual = measured.layers.iter().any(|point| point.trial.is_sized_as(&best));
            if is_usual || looked_at.iter().any(|trial| trial.is_sized_as(&best)) {
                break;
            }
            let mut own: Vec<_> = measured.layers.iter().filter(|point| ptr::eq(point.trial.disk, best.disk)).collect();
            own.sort_by(|one, other| one.score().total_cmp(&other.score()));
            let trials: Vec<_> = own.iter().take(LEADERS).map(|point| point.trial.sized_as(&best)).collect();
            let mut points = self.points(&trials, "trying layers of that size", baselines)?;
            self.settle(&mut points, 1, baselines)?;
            points.iter_mut().try_for_each(|point| point.price(self.measure))?;
            let found = points.into_iter().min_by(|one, other| one.score().total_cmp(&other.score()));
            let known = measured.varied.iter_mut().find(|point| point.trial.is_sized_as(&best));
            if let (Some(known), Some(found)) = (known, found)
                && found.score() < known.score()
            {
                *known = found;
            }
            looked_at.push(best);
        }
        Ok(())
    }

    /// A point as it is, but with requests that arrive faster; nothing if the layer refuses them.
    ///
    /// # Errors
    /// As those of [`Stages::run`].
    pub fn hastened(&self, points: &[&Point<'a>], baselines: &Baselines) -> Result<Vec<Point<'a>>> {
        let trials: Vec<_> = points.iter().map(|point| Trial { speed: FASTER, ..point.trial.clone() }).collect();
        let mut faster = self.points(&trials, "looking what breaks it", baselines)?;
        for own in &mut faster {
            let same = points.iter().find(|point| ptr::eq(point.trial.disk, own.trial.disk));
            own.cost = same.map_or(own.cost, |same| same.cost);
        }
        Ok(faster)
    }

    /// Every layer of every disk with its defaults.
    fn entrants(&self) -> Vec<Trial<'a>> {
        let of = |disk: &'a Disk| disk.kind.layers().into_iter().map(move |layer| (disk, layer));
        self.disks
            .iter()
            .flat_map(of)
            .map(|(disk, layer)| Trial { map_memory: None, ..Trial::new(disk, layer, self.buffer(disk)) })
            .collect()
    }

    /// The buffer that a disk has at first: the usual one, or as much of it as may be bought.
    fn buffer(&self, disk: &Disk) -> BufferSize {
        let usual = usual(disk);
        self.budget(disk).filter(|most| self.blocks(usual, disk) > self.blocks(*most, disk)).unwrap_or(usual)
    }

    /// How much of what the buffer of a disk lies on may be bought, in whole blocks, if that was said.
    fn budget(&self, disk: &Disk) -> Option<BufferSize> {
        let bytes = most(self.budgets, disk.kind.buffer?)?;
        Some(BufferSize::Bytes(bytes - bytes % u64::from(disk.drive.block_bytes)))
    }

    /// Blocks of a buffer at most, on the disks of all workloads.
    fn blocks(&self, size: BufferSize, disk: &Disk) -> u64 {
        let each = self.measure.known.iter().map(|known| size.blocks(known.range.range_bytes, disk.drive.block_bytes));
        each.max().unwrap_or(0)
    }

    /// The sizes of a buffer beside the first one that may be bought, and as much as that where more would be tried.
    fn sizes(&self, disk: &Disk, factors: &[f64]) -> Vec<BufferSize> {
        let (first, most) = (self.blocks(self.buffer(disk), disk), self.budget(disk));
        let most_blocks = most.map_or(u64::MAX, |most| self.blocks(most, disk));
        let sizes = factors.iter().map(|factor| times(usual(disk), *factor));
        let (within, beyond): (Vec<_>, Vec<_>) = sizes.partition(|size| self.blocks(*size, disk) <= most_blocks);
        let largest = most.filter(|_| !beyond.is_empty() && most_blocks != first);
        within.into_iter().chain(largest).collect()
    }

    /// The best of each disk with more and less of what a buyer may vary.
    fn varied(&self, layers: &[Point<'a>], baselines: &Baselines) -> Result<Vec<Point<'a>>> {
        let best = self.disks.iter().filter_map(|disk| best_of(layers, disk));
        let trials: Vec<_> = best.flat_map(|point| self.variations(point)).collect();
        self.points(&trials, "varying sizes", baselines)
    }

    fn variations(&self, point: &Point<'a>) -> Vec<Trial<'a>> {
        let trial = &point.trial;
        let mut all = Vec::new();
        match trial.disk.kind.room {
            Room::Buffer(_, factors) if trial.layer.buffered => {
                let sizes = self.sizes(trial.disk, factors).into_iter();
                all.extend(sizes.map(|buffer| Trial { buffer, ..trial.clone() }));
            }
            Room::Field(field, values) if trial.layer.fields.iter().any(|known| known.key == field) => {
                let sizes = values.iter().map(|value| Some(format!("{field}={value}")));
                all.extend(sizes.map(|size| Trial { size, ..trial.clone() }));
            }
            _ => {}
        }
        let part = most(self.budgets, Goods::Memory).unwrap_or(point.memory_bytes / MAP_PART);
        if trial.disk.kind.takes_memory && trial.map_memory.is_none() && part < point.memory_bytes {
            all.push(Trial { map_memory: Some(part.max(1)), ..trial.clone() });
        }
        all
    }

    /// What comes of these, as far as they come to their end.
    fn points(&self, trials: &[Trial<'a>], doing: &'static str, baselines: &Baselines) -> Result<Vec<Point<'a>>> {
        Ok(self.tried(trials, doing, baselines)?.into_iter().flatten().collect())
    }

    /// What comes of each of these; nothing of those that do not come to their end.
    ///
    /// # Errors
    /// As those of [`Stages::run`].
    pub fn tried(
        &self,
        trials: &[Trial<'a>],
        doing: &'static str,
        baselines: &Baselines,
    ) -> Result<Vec<Option<Point<'a>>>> {
        let progress = self.progress(doing, trials.len() as u64);
        let seconds = |trial: &Trial<'_>| trial.replay_seconds;
        parallel::longest_first(self.jobs, trials, seconds, |trial| {
            let baseline = baselines.of(trial.disk, trial.speed);
            let ran = trial.run(self.measure.known, Some(baseline), &progress)?;
            Ok(Point::of(trial.clone(), ran, baseline, self.measure))
        })
    }

    /// A bar for so many runs.
    fn progress(&self, doing: &'static str, runs: u64) -> Progress {
        let requests: u64 = self.measure.known.iter().map(|known| known.range.requests).sum();
        Progress::new(doing, requests * runs)
    }
}

impl Baselines {
    /// What the conventional disk does that a disk is held against.
    pub fn of(&self, disk: &Disk, speed: NonZeroU64) -> &Baseline {
        self.0.get(&(disk.yardstick().to_owned(), speed.get())).map_or(&[], Vec::as_slice)
    }

    /// The bytes that all workloads read and write.
    pub fn bytes(&self) -> u64 {
        let outcomes = self.0.values().next().into_iter().flatten().map(|row| &row.outcome);
        outcomes.map(|outcome| outcome.host_read_bytes + outcome.host_write_bytes).sum()
    }
}

/// The best point of a disk.
pub fn best_of<'p, 'a>(points: &'p [Point<'a>], disk: &Disk) -> Option<&'p Point<'a>> {
    let own = points.iter().filter(|point| ptr::eq(point.trial.disk, disk));
    own.min_by(|one, other| one.score().total_cmp(&other.score()))
}

/// The buffer of a disk where nobody says how much may be bought.
fn usual(disk: &Disk) -> BufferSize {
    match disk.kind.room {
        Room::Buffer(percent, _) => BufferSize::Percent(percent),
        _ => BUFFER,
    }
}

fn times(size: BufferSize, factor: f64) -> BufferSize {
    match size {
        BufferSize::Percent(percent) => BufferSize::Percent(percent * factor),
        BufferSize::Bytes(bytes) => BufferSize::Bytes((bytes as f64 * factor) as u64),
        BufferSize::Blocks(blocks) => BufferSize::Blocks((blocks as f64 * factor) as u64),
    }
}
