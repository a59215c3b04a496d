//! Hits, rewrites, evictions and filler of `fifo-log` against a count that shares nothing with it.
//!
//! The model below keeps a list, a set and a write pointer for each zone; it knows no plan, no drive and no time. The two
//! must agree on every count for every reading that the layer offers.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::Path;

use imbrex::block::Access;
use imbrex::drive::{DrivePreset, MediaSpec};
use imbrex::layers;
use imbrex::replay::{BufferSize, Outcome, ReplayOptions, Setup, replay};
use imbrex::trace::{TraceRequest, Workload};

#[derive(Debug, Default, PartialEq)]
struct Counts {
    hits: u64,
    direct: u64,
    rmw: u64,
    rmw_free: u64,
    evicted: u64,
    padding: u64,
}

impl Counts {
    fn of(outcome: &Outcome, write_blocks: u64) -> Self {
        Self {
            hits: (outcome.write_hit_ratio * write_blocks as f64).round() as u64,
            direct: outcome.direct_blocks,
            rmw: outcome.rmw,
            rmw_free: outcome.rmw_free,
            evicted: outcome.evicted_blocks,
            padding: outcome.padding_blocks,
        }
    }
}

struct Model {
    zone_blocks: u64,
    slots: usize,
    /// Blocks in order of arrival; evicted ones leave a hole that is passed later.
    log: VecDeque<Option<u64>>,
    place: HashMap<u64, usize>,
    passed: usize,
    buffered: BTreeSet<u64>,
    pointer: Vec<u64>,
    direct_first: bool,
    for_request: bool,
    counts: Counts,
}

impl Model {
    fn evict(&mut self, zone: u64) {
        let range = zone * self.zone_blocks..(zone + 1) * self.zone_blocks;
        let blocks: Vec<u64> = self.buffered.range(range.clone()).copied().collect();
        let pointer = &mut self.pointer[zone as usize];
        let from = if blocks[0] - range.start >= *pointer { *pointer } else { 0 };
        let end = (blocks[blocks.len() - 1] - range.start + 1).max(*pointer);
        let behind = blocks.iter().filter(|b| **b - range.start >= *pointer).count() as u64;
        self.counts.padding += end - *pointer - behind;
        if from == *pointer && blocks[0] - range.start >= *pointer {
            self.counts.rmw_free += 1;
        } else {
            self.counts.rmw += 1;
        }
        *pointer = end;
        self.counts.evicted += blocks.len() as u64;
        blocks.into_iter().for_each(|block| self.drop_block(block));
    }

    fn drop_block(&mut self, block: u64) {
        self.buffered.remove(&block);
        if let Some(at) = self.place.remove(&block) {
            self.log[at - self.passed] = None;
        }
    }

    fn pass_holes(&mut self) {
        while let Some(None) = self.log.front() {
            self.log.pop_front();
            self.passed += 1;
        }
    }

    fn make_room(&mut self, want: usize) {
        self.pass_holes();
        while self.slots - self.log.len() < want {
            let oldest = self.log.front().copied().flatten().expect("holes were passed");
            self.evict(oldest / self.zone_blocks);
            self.pass_holes();
        }
    }

    fn is_direct(&self, block: u64) -> bool {
        self.pointer[(block / self.zone_blocks) as usize] == block % self.zone_blocks
    }

    fn write(&mut self, first: u64, blocks: u64) {
        if self.for_request {
            let mut ahead: HashMap<u64, u64> = HashMap::new();
            let mut new = 0;
            for block in first..first + blocks {
                let zone = block / self.zone_blocks;
                let pointer = ahead.entry(zone).or_insert(self.pointer[zone as usize]);
                if *pointer == block % self.zone_blocks {
                    *pointer += 1;
                } else if !self.buffered.contains(&block) {
                    new += 1;
                }
            }
            if self.slots - self.log.len() < new {
                self.make_room(new.min(self.slots));
            }
        }
        (first..first + blocks).for_each(|block| self.write_block(block));
    }

    fn write_block(&mut self, block: u64) {
        let buffered = self.buffered.contains(&block);
        if self.is_direct(block) && (self.direct_first || !buffered) {
            self.pointer[(block / self.zone_blocks) as usize] += 1;
            self.counts.direct += 1;
            self.drop_block(block);
        } else if buffered {
            self.counts.hits += 1;
        } else {
            if self.log.len() == self.slots {
                self.make_room(1);
            }
            // Cleaning may have moved the write pointer to this very block.
            if self.is_direct(block) {
                return self.write_block(block);
            }
            self.place.insert(block, self.passed + self.log.len());
            self.log.push_back(Some(block));
            self.buffered.insert(block);
        }
    }
}

fn requests(workload: &Workload) -> Vec<TraceRequest> {
    let mut source = workload.open().expect("the workload opens");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, 4096).expect("the workload decodes");
        if batch.is_empty() {
            return all;
        }
        all.extend_from_slice(&batch);
    }
}

fn compare(workload: &Workload, drive: &DrivePreset, buffer: BufferSize, prefill: f64, config: &str) -> Counts {
    let config: toml::Table = config.parse().expect("a TOML table");
    let layer = layers::find("fifo-log").expect("a layer");
    let options = ReplayOptions { prefill, queue_depth: Some(1), ..ReplayOptions::default() };
    let setup = Setup { drive, layer, config: &config, buffer, workload };
    let capacity = setup.simulation(&options).expect("it fits").capacity();
    let outcome = replay(&setup, &options, &mut ()).expect("it replays");
    let MediaSpec::Zoned { zone_blocks, .. } = drive.media else { panic!("a zoned drive") };
    let zone_blocks = u64::from(zone_blocks);
    let filled = (capacity as f64 * prefill) as u64;
    let pointer =
        (0..capacity / zone_blocks).map(|z| filled.saturating_sub(z * zone_blocks).min(zone_blocks)).collect();
    let text = |key: &str| config.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    let mut model = Model {
        zone_blocks,
        slots: buffer.blocks(workload.range().expect("a range").range_bytes, drive.block_bytes) as usize,
        log: VecDeque::new(),
        place: HashMap::new(),
        passed: 0,
        buffered: BTreeSet::new(),
        pointer,
        direct_first: text("at_pointer").as_deref() != Some("buffered"),
        for_request: text("clean_for").as_deref() == Some("request"),
        counts: Counts::default(),
    };
    let mut written = 0;
    for request in requests(workload).iter().filter(|r| r.access == Access::Write) {
        let at = request.blocks(drive.block_bytes);
        written += u64::from(at.blocks);
        model.write(at.start.0, u64::from(at.blocks));
    }
    assert_eq!(outcome.host_write_blocks, written);
    let counts = Counts::of(&outcome, written);
    assert_eq!(counts, model.counts, "{config:?} at {prefill}");
    counts
}

#[test]
fn counts_agree_on_synthetic_workloads() {
    let spec = r#"
        name = "mixed"
        description = "small and large, scattered and sequential"
        seed = 3
        requests = 20000
        range_bytes = 40000000
        write_ratio = 0.9
        sizes = [{ kib = 4, weight = 3 }, { kib = 28, weight = 1 }]
        arrivals.mean_rate = 100.0
        streams = [
            { weight = 1, pattern = "uniform" },
            { weight = 1, pattern.sequential = { run_requests = 30.0 } },
        ]
    "#;
    let workload = Workload::Synthetic(imbrex::trace::synthetic::SyntheticSpec::parse("mixed", spec).unwrap());
    let drive = DrivePreset::named("small-zoned").unwrap();
    let mut seen = Counts::default();
    for prefill in [1.0, 0.4, 0.0] {
        for config in ["", "clean_for = 'request'", "at_pointer = 'buffered'", "spare_zones = 0", "step_blocks = 7"] {
            let counts = compare(&workload, &drive, BufferSize::Bytes(1 << 20), prefill, config);
            seen.rmw += counts.rmw;
            seen.rmw_free += counts.rmw_free;
            seen.padding += counts.padding;
            seen.hits += counts.hits;
            seen.direct += counts.direct;
        }
    }
    assert!([seen.rmw, seen.rmw_free, seen.padding, seen.hits, seen.direct].into_iter().all(|n| n > 20), "{seen:?}");
}

#[test]
fn counts_agree_on_real_traces() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces");
    if !folder.exists() {
        println!("skipped: there are no traces in {}", folder.display());
        return;
    }
    let drive = DrivePreset::named("exos-x18z").unwrap();
    for (name, buffer) in
        [("cloudphysics.vscsi.zst", "1%"), ("msr-rsrch_1.csv.zst", "16MiB"), ("msr-hm_1-writes.csv.zst", "4MiB")]
    {
        let workload = Workload::File(folder.join(name).into());
        for config in ["", "clean_for = 'request'"] {
            let counts = compare(&workload, &drive, buffer.parse().unwrap(), 1.0, config);
            println!("{name}, buffer {buffer}, {config:?}: {counts:?}");
        }
    }
}
