//! Log-structured bands as lists: what lies in each band, in the order in which it came, and where each block is.

#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use imbrex::block::{Access, Pba};
use imbrex::layers;
use imbrex::media::{Shingled, ZonedSpec};
use imbrex::parts::random::Random;
use imbrex::plan::Why;
use imbrex::replay::{Device, NoTime, ReplayOptions, Simulation};

use crate::{requests, synthetic};

const BANDS: usize = 40;
const BAND: usize = 24;

#[derive(Debug, Default, PartialEq)]
struct Counts {
    host: u64,
    moved: u64,
    resets: u64,
}

#[derive(Default)]
struct Band {
    /// What was written, the newest last.
    blocks: Vec<u64>,
    /// When the host last wrote a block of it, in blocks.
    youngest: u64,
    /// When it came to as many live blocks as it has.
    since: u64,
}

/// A log that compacts one band or more at a time into spare bands.
struct Log {
    layer: &'static str,
    /// The reading of `age`.
    age: String,
    /// When the host last wrote each block, or as the reading has it.
    times: BTreeMap<u64, u64>,
    bands: Vec<Band>,
    /// Band and offset of each block.
    places: BTreeMap<u64, (usize, usize)>,
    empty: BTreeSet<usize>,
    /// Bands to choose from, those closed first before the others, but the last takes the place of one that is drawn.
    closed: Vec<usize>,
    active: Option<usize>,
    spare: usize,
    together: usize,
    choices: u64,
    random: Random,
    last_gained: bool,
    written: u64,
    events: u64,
    counts: Counts,
}

impl Log {
    fn new(layer: &'static str, config: &toml::Table) -> Self {
        let number = |key: &str, default| config.get(key).map_or(default, |value| value.as_integer().unwrap() as u64);
        Self {
            layer,
            age: config.get("age").map_or("block", |value| value.as_str().unwrap()).to_owned(),
            times: BTreeMap::new(),
            bands: (0..BANDS).map(|_| Band::default()).collect(),
            places: BTreeMap::new(),
            empty: (0..BANDS).collect(),
            closed: Vec::new(),
            active: None,
            spare: number("spare_bands", 1) as usize,
            together: number("compact_bands", 2) as usize,
            choices: number("choices", 10),
            random: Random::new(number("seed", 1)),
            last_gained: true,
            written: 0,
            events: 0,
            counts: Counts::default(),
        }
    }

    fn live(&self, band: usize) -> usize {
        let blocks = self.bands[band].blocks.iter().enumerate();
        blocks.filter(|&(offset, lba)| self.places.get(lba) == Some(&(band, offset))).count()
    }

    /// Appends a block to a band that has room.
    fn put(&mut self, lba: u64, band: usize) {
        self.events += 1;
        let offset = self.bands[band].blocks.len();
        self.bands[band].blocks.push(lba);
        if let Some((old, _)) = self.places.insert(lba, (band, offset)) {
            self.bands[old].since = self.events;
        }
    }

    fn close(&mut self, band: usize) {
        self.events += 1;
        self.bands[band].since = self.events;
        self.closed.push(band);
    }

    fn write(&mut self, lba: u64) {
        while self.active.is_none() {
            if self.empty.len() > self.spare {
                self.active = self.empty.pop_first();
            } else {
                self.compact();
            }
        }
        let band = self.active.unwrap();
        self.put(lba, band);
        self.written += 1;
        self.counts.host += 1;
        self.bands[band].youngest = self.written;
        self.times.insert(lba, self.written);
        if self.bands[band].blocks.len() == BAND {
            self.close(band);
            self.active = None;
        }
    }

    fn compact(&mut self) {
        let room = self.empty.len().min(self.spare) * BAND;
        let (mut victims, mut live) = (Vec::new(), 0);
        while victims.len() < self.together {
            let victim = self.best();
            live += self.live(victim);
            if live > room {
                break;
            }
            self.last_gained = self.live(victim) < BAND;
            let place = self.closed.iter().position(|&band| band == victim).unwrap();
            if self.layer == "log-choices" {
                self.closed.swap_remove(place);
            } else {
                self.closed.remove(place);
            }
            victims.push(victim);
        }
        assert!(!victims.is_empty(), "one victim always fits");
        self.rewrite(&victims);
    }

    /// Moves what is live on the victims to empty bands, the last of which the host goes on in.
    fn rewrite(&mut self, victims: &[usize]) {
        let youngest = victims.iter().map(|&band| self.time(band)).max().unwrap();
        let mut targets: Vec<usize> = Vec::new();
        for &victim in victims {
            for (offset, lba) in std::mem::take(&mut self.bands[victim].blocks).into_iter().enumerate() {
                if self.places[&lba] != (victim, offset) {
                    continue;
                }
                if targets.last().is_none_or(|&band| self.bands[band].blocks.len() == BAND) {
                    let target = self.empty.pop_first().unwrap();
                    self.bands[target].youngest = youngest;
                    targets.push(target);
                }
                self.put(lba, *targets.last().unwrap());
                if self.age == "live" {
                    self.times.insert(lba, youngest);
                }
                self.counts.moved += 1;
            }
        }
        self.empty.extend(victims);
        self.counts.resets += victims.len() as u64;
        for target in targets {
            if self.bands[target].blocks.len() == BAND {
                self.close(target);
            } else {
                self.active = Some(target);
            }
        }
    }

    /// When a band was written, as the reading has it.
    fn time(&self, band: usize) -> u64 {
        let blocks = self.bands[band].blocks.iter().enumerate();
        let live = blocks.filter(|&(offset, lba)| self.places[lba] == (band, offset)).map(|(_, lba)| self.times[lba]);
        match self.age.as_str() {
            "band" => self.bands[band].youngest,
            "mean" => live.clone().sum::<u64>().checked_div(live.count() as u64).unwrap_or(0),
            _ => live.max().unwrap_or(0),
        }
    }

    fn best(&mut self) -> usize {
        let gains = |band: &usize| self.live(*band) < BAND;
        let closed = self.closed.clone();
        match self.layer {
            "log-fifo" => closed[0],
            "log-greedy" => closed.into_iter().min_by_key(|&band| (self.live(band), self.bands[band].since)).unwrap(),
            "log-cost-benefit" => {
                let value = |band: usize| {
                    let (live, age) = (self.live(band), self.written - self.time(band));
                    ((BAND - live) as f64) * age as f64 / ((BAND + live) as f64)
                };
                let candidates = closed.into_iter().filter(gains);
                candidates.max_by(|&a, &b| value(a).total_cmp(&value(b)).then(Reverse(a).cmp(&Reverse(b)))).unwrap()
            }
            _ => {
                let drawn: Vec<usize> =
                    (0..self.choices).map(|_| self.random.below(closed.len() as u64) as usize).collect();
                let fewest = drawn.iter().map(|&place| self.live(closed[place])).min().unwrap();
                let place = drawn.into_iter().find(|&place| self.live(closed[place]) == fewest).unwrap();
                let mut in_turn = closed[place..].iter().chain(&closed[..place]).copied();
                if fewest < BAND || self.last_gained {
                    closed[place]
                } else {
                    in_turn.find(|&band| self.live(band) < BAND).unwrap()
                }
            }
        }
    }
}

/// What a layer and its model count.
fn compare(layer: &'static str, config: &str) -> Counts {
    let config: toml::Table = config.parse().unwrap();
    let spec =
        ZonedSpec { zones: BANDS as u32, zone_blocks: BAND as u32, conventional_zones: 0, max_open: 0, max_active: 0 };
    let disk = Device::new(Box::new(Shingled::new(Pba::DISK, spec)), Box::new(NoTime), 4096);
    let options = ReplayOptions { verify: true, prefill: 1.0, ..ReplayOptions::default() };
    let simulation = Simulation::of((layers::find(layer).unwrap(), &config), 0, disk, &options).unwrap();
    let capacity = simulation.capacity();
    let workload = synthetic(&format!(
        r#"
        seed = 5
        range_bytes = {}
        write_ratio = 0.9
        sizes = [{{ kib = 4, weight = 3 }}, {{ kib = 20, weight = 1 }}]
        streams = [{{ weight = 2, pattern = "uniform" }}, {{ weight = 1, pattern.zipf = {{ theta = 0.99 }} }}]
    "#,
        capacity * 4096
    ));
    let mut model = Log::new(layer, &config);
    (0..capacity).for_each(|lba| model.write(lba));
    model.counts = Counts::default();
    let outcome = simulation.run(workload.open().unwrap().as_mut(), &mut ()).unwrap();
    for request in requests(&workload).iter().filter(|request| request.access == Access::Write) {
        request.blocks(4096).iter().for_each(|lba| model.write(lba.0));
    }
    let counted = Counts {
        host: outcome.host_write_blocks,
        moved: outcome.media_write_blocks.get(Why::Migrate),
        resets: outcome.resets,
    };
    assert_eq!(counted, model.counts, "{layer}, {config:?}");
    counted
}

#[test]
fn moved_blocks_of_log_structured_bands_agree() {
    let shared = ["", "compact_bands = 1", "spare_bands = 3\ncompact_bands = 4\nspare_fraction = 0.3"];
    for layer in ["log-fifo", "log-greedy", "log-cost-benefit", "log-choices"] {
        for config in shared {
            let counts = compare(layer, config);
            println!("{layer} {config:?}: {counts:?}");
            assert!(counts.moved > 10_000, "{counts:?}");
        }
    }
}

#[test]
fn every_reading_of_age_agrees() {
    for config in ["compact_bands = 1", "compact_bands = 3\nspare_bands = 2"] {
        let moved = |age: &str| compare("log-cost-benefit", &format!("age = '{age}'\n{config}")).moved;
        let by_age = ["block", "mean", "live", "band"].map(moved);
        println!("{config:?}: {by_age:?}");
        assert!(by_age[1] != by_age[0] && by_age[1] != by_age[3] && by_age[0] != by_age[3], "{by_age:?}");
        assert_eq!(moved("block"), compare("log-cost-benefit", config).moved);
    }
}

#[test]
fn draws_agree_for_every_number_of_choices_and_seed() {
    let moved = |choices: u32, seed: u32| {
        compare("log-choices", &format!("compact_bands = 1\nchoices = {choices}\nseed = {seed}")).moved
    };
    let by_choices = [1, 2, 10, 300].map(|choices| moved(choices, 1));
    println!("{by_choices:?}");
    assert!(by_choices.is_sorted_by(|fewer, more| fewer > more), "{by_choices:?}");
    assert_ne!(moved(2, 1), moved(2, 7));
}
