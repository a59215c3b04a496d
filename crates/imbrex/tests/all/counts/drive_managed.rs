//! The drive-managed disk as lists and sets: a log of blocks, the extents they came in, and a length for each band.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BufferSize, ReplayOptions, Setup, replay};
use imbrex::trace::Workload;
use test_material::cases;

use super::{mixed, requests, synthetic};

#[derive(Clone, Debug, Default, PartialEq)]
struct Counts {
    hits: u64,
    direct: u64,
    rmw: u64,
    evicted: u64,
    in_place: u64,
    scratch: u64,
}

struct Limits {
    slots: u64,
    entries: usize,
    /// Whether an entry is an extent as it was written, or else one that lies in the log as on the disk.
    writes_are_entries: bool,
    stream: u64,
    has_scratch: bool,
}

struct Band {
    start: u64,
    length: u64,
    written: u64,
}

/// What has come of a stream that a band gathers: how many blocks, and which were written again behind its back.
#[derive(Default)]
struct Gathered {
    band: usize,
    blocks: u64,
    newer: BTreeSet<u64>,
}

struct Drive {
    limits: Limits,
    bands: Vec<Band>,
    /// Slots between tail and head, and how many were ever taken.
    log: VecDeque<Option<u64>>,
    taken: u64,
    entries: VecDeque<u64>,
    /// The newest copy of each cached block, by its number among all ever taken.
    cached: BTreeMap<u64, u64>,
    gathering: Option<Gathered>,
    waiting: Option<Gathered>,
    run: (u64, u64),
    counts: Counts,
}

impl Drive {
    fn new(lengths: impl Iterator<Item = u64>, limits: Limits) -> Self {
        let mut start = 0;
        let bands = lengths.map(|length| {
            start += length;
            Band { start: start - length, length, written: 0 }
        });
        Self {
            limits,
            bands: bands.collect(),
            log: VecDeque::new(),
            taken: 0,
            entries: VecDeque::new(),
            cached: BTreeMap::new(),
            gathering: None,
            waiting: None,
            run: (0, 0),
            counts: Counts::default(),
        }
    }

    fn band(&self, block: u64) -> usize {
        self.bands.iter().rposition(|band| band.start <= block).expect("there is a band")
    }

    fn reserved(&self) -> u64 {
        [&self.gathering, &self.waiting].into_iter().flatten().map(|gathered| gathered.blocks).sum()
    }

    fn free(&self) -> u64 {
        self.limits.slots - self.log.len() as u64 - self.reserved()
    }

    fn has_room(&self) -> bool {
        let kept = if self.gathering.is_some() { 2 } else { 0 };
        let is_below = |used: usize| used + kept < self.limits.entries;
        let has_entry = if self.limits.writes_are_entries {
            is_below(self.entries.len())
        } else {
            // Counting takes long, and there cannot be more of them than blocks.
            is_below(self.cached.len()) || is_below(self.extents())
        };
        self.free() > 0 && has_entry
    }

    /// Cached blocks that do not go on, on the disk, from what lies in the slot before theirs.
    fn extents(&self) -> usize {
        let in_slot: BTreeMap<u64, u64> =
            self.cached.iter().map(|(&block, number)| (number % self.limits.slots, block)).collect();
        let before = |slot: u64| slot.checked_sub(1).and_then(|slot| in_slot.get(&slot));
        let goes_on = |slot: u64, block: u64| before(slot).is_some_and(|before| before + 1 == block);
        in_slot.iter().filter(|&(&slot, &block)| !goes_on(slot, block)).count()
    }

    /// Puts blocks into the log as one extent, which the log's end parts; says how many were cached.
    fn append(&mut self, first: u64, blocks: u64) -> u64 {
        let mut hits = 0;
        for (i, block) in (first..first + blocks).enumerate() {
            if i == 0 || self.taken.is_multiple_of(self.limits.slots) {
                self.entries.push_back(0);
            }
            *self.entries.back_mut().expect("an extent") += 1;
            if let Some(old) = self.cached.insert(block, self.taken) {
                self.kill(old);
                hits += 1;
            }
            self.log.push_back(Some(block));
            self.taken += 1;
            let band = self.band(block);
            self.waiting.iter_mut().filter(|waiting| waiting.band == band).for_each(|waiting| {
                waiting.newer.insert(block);
            });
        }
        hits
    }

    fn kill(&mut self, number: u64) {
        let passed = self.taken - self.log.len() as u64;
        if number >= passed {
            let at = (number - passed) as usize;
            if at < self.log.len() {
                self.log[at] = None;
            }
        }
    }

    fn uncache(&mut self, block: u64) -> bool {
        let Some(number) = self.cached.remove(&block) else { return false };
        self.kill(number);
        true
    }

    fn spill(&mut self) {
        if let Some(gathered) = self.gathering.take() {
            self.append(self.bands[gathered.band].start, gathered.blocks);
        }
    }

    fn promote(&mut self) {
        if self.waiting.is_none() && self.gathering.as_ref().is_some_and(|g| g.blocks == self.bands[g.band].length) {
            self.waiting = self.gathering.take();
        }
    }

    fn gather(&mut self, most: u64) -> u64 {
        let room = self.free().min(most);
        self.gathering.as_mut().expect("a stream").blocks += room;
        self.promote();
        room
    }

    /// How many blocks of one band, from the first, are taken.
    fn take(&mut self, first: u64, blocks: u64, is_stream: bool) -> u64 {
        let band = self.band(first);
        let Band { start, length, written } = self.bands[band];
        let offset = first - start;
        if let Some(gathered) = self.gathering.as_ref().filter(|gathered| gathered.band == band) {
            if gathered.blocks == offset {
                return self.gather(blocks);
            }
            self.spill();
        }
        let is_waiting = self.waiting.as_ref().is_some_and(|waiting| waiting.band == band);
        if is_stream && !is_waiting {
            if offset == written {
                self.bands[band].written += blocks;
                for block in first..first + blocks {
                    self.uncache(block);
                }
                self.counts.direct += blocks;
                return blocks;
            }
            if offset == 0 && 4 * length <= self.limits.slots {
                if self.gathering.as_ref().is_some_and(|g| g.blocks == self.bands[g.band].length) {
                    return 0;
                }
                self.spill();
                self.gathering = Some(Gathered { band, ..Gathered::default() });
                return self.gather(blocks);
            }
        }
        if !self.has_room() {
            return 0;
        }
        let to_the_end = self.limits.slots - self.taken % self.limits.slots;
        let taken = blocks.min(self.free()).min(to_the_end);
        self.counts.hits += self.append(first, taken);
        taken
    }

    fn write(&mut self, first: u64, blocks: u64) {
        let before = if self.run.0 == first { self.run.1 } else { 0 };
        let is_stream = before + blocks >= self.limits.stream;
        self.run = (first + blocks, before + blocks);
        let mut at = first;
        while at < first + blocks {
            let band = &self.bands[self.band(at)];
            let end = (first + blocks).min(band.start + band.length);
            match self.take(at, end - at, is_stream) {
                0 => self.clean(),
                taken => at += taken,
            }
        }
    }

    fn clean(&mut self) {
        loop {
            if let Some(waiting) = self.waiting.take() {
                let Band { start, length, .. } = self.bands[waiting.band];
                self.rewrite(start, length, &waiting.newer);
                self.bands[waiting.band].written = length;
                self.counts.direct += length;
            } else {
                while let Some(None) = self.log.front() {
                    self.log.pop_front();
                    let entry = self.entries.front_mut().expect("an extent");
                    *entry -= 1;
                    if *entry == 0 {
                        self.entries.pop_front();
                    }
                }
                if self.has_room() {
                    return;
                }
                let oldest = self.log[0].expect("a live block");
                let band = self.band(oldest);
                let Band { start, length, written } = self.bands[band];
                let last = *self.cached.range(start..start + length).next_back().expect("a block").0;
                let end = written.max(last - start + 1);
                self.rewrite(start, end, &BTreeSet::new());
                self.bands[band].written = end;
                self.counts.rmw += 1;
            }
            self.promote();
        }
    }

    fn rewrite(&mut self, start: u64, blocks: u64, newer: &BTreeSet<u64>) {
        for block in (start..start + blocks).filter(|block| !newer.contains(block)) {
            self.counts.evicted += u64::from(self.uncache(block));
        }
        self.counts.in_place += blocks;
        self.counts.scratch += if self.limits.has_scratch { blocks } else { 0 };
    }
}

/// What `skylight` and its model count on a drive.
fn compare_drive_managed(workload: &Workload, drive: &DrivePreset, prefill: f64, config: &str) -> Counts {
    let config: toml::Table = config.parse().expect("a TOML table");
    let layer = layers::find("skylight").expect("a layer");
    let options = ReplayOptions { prefill, queue_depth: Some(1), ..ReplayOptions::default() };
    let setup = Setup { drive, layer, config: &config, buffer: BufferSize::Bytes(1), workload };
    let outcome = replay(&setup, &options, &mut ()).expect("it replays");
    let counted = Counts {
        hits: outcome.write_hit_blocks,
        direct: outcome.direct_blocks,
        rmw: outcome.rmw,
        evicted: outcome.evicted_blocks,
        in_place: outcome.media_write_blocks.get(Why::Destage),
        scratch: outcome.media_write_blocks.get(Why::Migrate),
    };
    let MediaSpec::Banded { cache_blocks, bands } = &drive.media else { panic!("a drive-managed drive") };
    let number = |key: &str, default| config.get(key).and_then(toml::Value::as_integer).map_or(default, |n| n as u64);
    let limits = Limits {
        slots: number("cache_blocks", u64::from(*cache_blocks)),
        entries: number("map_entries", 250_000) as usize,
        writes_are_entries: config.get("entries").is_some(),
        stream: number("stream_blocks", 4096),
        has_scratch: config.get("scratch").is_none(),
    };
    // One of the longest bands, which come first, is the scratch band.
    let lengths = bands.iter().flat_map(|run| (0..run.bands).map(|_| u64::from(run.band_blocks)));
    let mut model = Drive::new(lengths.skip(usize::from(limits.has_scratch)), limits);
    let capacity = setup.simulation(&options).expect("it fits").capacity();
    let wanted = (capacity as f64 * prefill) as u64;
    let longest = u64::from(bands.iter().map(|run| run.band_blocks).max().expect("it has bands"));
    let filled = if wanted < capacity { wanted / longest * longest } else { capacity };
    (0..filled.div_ceil(1 << 16)).for_each(|i| model.write(i << 16, (filled - (i << 16)).min(1 << 16)));
    model.counts = Counts::default();
    for request in requests(workload).iter().filter(|request| request.access == Access::Write) {
        let at = request.blocks(drive.block_bytes);
        model.write(at.start.0, u64::from(at.blocks));
    }
    assert_eq!(counted, model.counts, "{config:?} at {prefill}");
    counted
}

/// Long sequential writes with a few others between them.
fn streams() -> Workload {
    synthetic(
        r#"
        seed = 4
        range_bytes = 60000000
        write_ratio = 0.95
        sizes = [{ kib = 64, weight = 3 }, { kib = 4, weight = 1 }]
        streams = [
            { weight = 1, pattern = "uniform" },
            { weight = 60, pattern.sequential = { run_requests = 200.0 } },
        ]
    "#,
    )
}

#[test]
fn counts_of_a_drive_managed_disk_agree() {
    let drive = DrivePreset::named("small-banded").unwrap();
    let configs = [
        "",
        "map_entries = 700",
        "map_entries = 700\nentries = \"writes\"\ngather = \"band\"",
        "map_entries = 60\nstream_blocks = 100",
        "cache_blocks = 900\nstep_blocks = 7",
        "stream_blocks = 1",
        "stream_blocks = 20\ncache_blocks = 1100\nmap_entries = 150",
        "stream_blocks = 20\ncache_blocks = 1100\nmap_entries = 150\nentries = \"writes\"",
        "stream_blocks = 100\nscratch = false",
        "stream_blocks = 1000000000\nscratch = false",
    ];
    for workload in [mixed(), streams()] {
        let mut seen = Counts::default();
        let of = |prefill: f64, count| configs.iter().take(count).map(move |config| (prefill, *config));
        let few = cases(2, configs.len());
        for (prefill, config) in of(1.0, few).chain(of(0.4, few)).chain(of(0.0, configs.len())) {
            let counts = compare_drive_managed(&workload, &drive, prefill, config);
            println!("{prefill} {config:?}: {counts:?}");
            seen.hits += counts.hits;
            seen.direct += counts.direct;
            seen.rmw += counts.rmw;
            seen.evicted += counts.evicted;
        }
        assert!([seen.hits, seen.direct, seen.rmw, seen.evicted].into_iter().all(|n| n > 500), "{seen:?}");
    }
}
