//! `zone-alloy` against a model that follows from its page: what lies where, what is buffered, and what moves.
//!
//! By hand, quanta of a growth come between any two requests. In a replay they come when the runner makes them: with no
//! bound all at once, and in a closed loop, which has no idle time, one at first and the others at the end.

mod by_hand;
mod model;
mod moving;
mod swaps;

use imbrex::block::Access;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::media::Hybrid;
use imbrex::plan::{Unit, Why};
use imbrex::recording::Recording;
use imbrex::replay::{BufferSize, Configured, Device, Extension, Outcome, ReplayOptions, Setup, TraceMoment, replay};
use imbrex::space::{RealmTimes, Realms};
use imbrex::trace::TraceRequest;
use test_material::cases;

use crate::counts::buffers::{BlockLru, FifoLog, LoopBack};
use crate::counts::model::Buffer;
use crate::counts::{counted, hot_zones, requests};
use crate::fixture::{Flat, Listed, request};
use by_hand::ByHand;
use model::{Seen, Settings, Shape, ZoneAlloy};
use swaps::Choice;

/// A quantum of 10 blocks takes three turns with its two positionings, one of 30 five.
const TIMES: RealmTimes =
    RealmTimes { positioning_ns: 1_000_000, block_ns: 100_000, turn_ns: 1_000_000, activation_ns: 700_000 };

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len() as u64) as usize]
    }
}

/// Every field that moves a count, with the values to draw from. A drive too small for five zones refuses them.
const FIELDS: &[(&str, &[&str])] = &[
    ("converted", &["0.0", "0.4", "0.8", "1.0"]),
    ("first_zones", &["0", "0", "1", "4"]),
    ("bound_ms", &["0.0", "3.0", "5.9", "100.0"]),
    ("batch_blocks", &["1", "5", "16384"]),
    ("policy", &["'loop-back'", "'loop-back'", "'loop-back'", "'fifo'", "'lru'"]),
    ("requeue_blocks", &["0", "1", "3"]),
    ("reads_count", &["false", "true"]),
    ("swap", &["true", "true", "false"]),
    ("swap_above", &["0.0", "0.1", "0.3"]),
    ("partner", &["'oldest'", "'nearest'"]),
    ("veto_reads", &["false", "true"]),
    ("step_blocks", &["4096", "7"]),
    ("clean_for", &["'block'", "'request'"]),
    ("at_pointer", &["'direct'", "'buffered'"]),
];

fn drawn(random: &mut Random) -> toml::Table {
    let lines: Vec<String> = FIELDS.iter().map(|(key, values)| format!("{key} = {}", random.one(values))).collect();
    lines.join("\n").parse().expect("TOML")
}

fn hybrid(shape: Shape) -> Hybrid {
    Hybrid::new(Realms {
        first: Unit::disk(8),
        count: shape.realms as u32,
        conventional_zones: shape.conventional as u32,
        sequential_zones: shape.sequential as u32,
        zone_blocks: shape.zone_blocks as u32,
        times: TIMES,
    })
}

fn shape_of(realms: &Realms) -> Shape {
    Shape {
        realms: realms.count.into(),
        conventional: realms.conventional_zones.into(),
        sequential: realms.sequential_zones.into(),
        zone_blocks: realms.zone_blocks.into(),
    }
}

/// The model in a configuration, on realms that take so long.
fn modelled(shape: Shape, times: &RealmTimes, slots: u64, config: &toml::Table) -> ZoneAlloy {
    let number = |key: &str, default: f64| {
        let value = config.get(key).map(|value| value.as_float().or(value.as_integer().map(|n| n as f64)));
        value.map_or(default, |value| value.expect("a number"))
    };
    let is = |key: &str, text: &str| config.get(key).is_some_and(|value| value.as_str() == Some(text));
    let flag = |key: &str, default: bool| config.get(key).map_or(default, |value| value.as_bool() == Some(true));
    let bound_ns = (number("bound_ms", 100.0) * 1e6) as u64 / times.turn_ns * times.turn_ns;
    let choice = Choice {
        swap: flag("swap", true) && !is("policy", "fifo") && !is("policy", "lru"),
        above: number("swap_above", 0.1),
        nearest: is("partner", "nearest"),
        veto_reads: flag("veto_reads", false),
    };
    let settings = Settings {
        converted: number("converted", 0.0),
        first_zones: number("first_zones", 0.0) as u64,
        quantum: match bound_ns {
            0 => u64::MAX,
            bound => (bound - 2 * times.positioning_ns) / times.block_ns,
        },
        batch: number("batch_blocks", 16384.0) as u64,
        for_request: is("clean_for", "request"),
        direct_first: !is("at_pointer", "buffered"),
        reads_count: flag("reads_count", false),
        choice,
    };
    let buffer: Box<dyn Buffer> = match config.get("policy").and_then(|value| value.as_str()) {
        Some("fifo") => Box::new(FifoLog::new(slots)),
        Some("lru") => Box::new(BlockLru::new(slots)),
        _ => Box::new(LoopBack::new(slots, number("requeue_blocks", 0.0) as u64)),
    };
    ZoneAlloy::new(shape, slots, buffer, settings)
}

/// A layer and a model of what is asked of both.
struct Pair {
    layer: ByHand,
    model: ZoneAlloy,
    zone_blocks: u64,
    /// Where a sequential stream of writes has come to.
    stream: u64,
}

impl Pair {
    /// In two configurations.
    fn new(shape: Shape, slots: u64, layer: &toml::Table, model: &toml::Table) -> Self {
        let model = modelled(shape, &TIMES, slots, model);
        let layer = ByHand::new(hybrid(shape), slots as u32, layer);
        Self { layer, model, zone_blocks: shape.zone_blocks, stream: 0 }
    }

    /// Asks both for the same, and says what.
    fn step(&mut self, random: &mut Random) -> String {
        let capacity = self.layer.capacity();
        let what = random.below(100);
        let longest = if random.below(8) == 0 { 50 } else { 5 };
        let blocks = 1 + random.below(longest);
        let place = match random.below(5) {
            0 | 1 => random.below(capacity),
            2 => random.below(capacity / 8 + 1),
            // A corner of each zone, so that there are zones with more blocks in the buffer than others.
            3 => random.below(3) * capacity / 4 + random.below(self.zone_blocks / 2),
            _ => self.stream,
        };
        let first = place.min(capacity - blocks.min(capacity));
        let blocks = blocks.min(capacity - first) as u32;
        match what {
            0..60 => {
                self.stream = (first + u64::from(blocks)) % capacity;
                self.layer.write(first, blocks);
                self.model.write(first, blocks.into());
            }
            60..78 => {
                self.layer.read(first, blocks);
                self.model.read(first, blocks.into());
            }
            78..85 => {
                self.layer.trim(first, blocks);
                self.model.trim(first, blocks.into());
            }
            85 => {
                let blocks = random.below(3 * self.zone_blocks);
                assert_eq!(self.layer.grow(blocks), self.model.grow(blocks), "a growth by {blocks}");
            }
            _ if self.layer.is_growing() => {
                self.layer.grow_on();
                self.model.grow_on();
            }
            _ => {}
        }
        format!("{what}: {blocks} at {first}")
    }

    /// Both, as far as the plans say it.
    fn seen(&self) -> [Seen; 2] {
        let mut model = self.model.seen();
        model.counts.padding_again = 0;
        [self.layer.seen(), model]
    }
}

/// What a run draws before it begins: its disk and its buffer.
fn begun(random: &mut Random) -> (Shape, u64) {
    let (realms, conventional, sequential, zone_blocks) =
        [(8, 2, 3, 32), (8, 2, 3, 32), (5, 3, 5, 16), (6, 1, 2, 24)][random.below(4) as usize];
    (Shape { realms, conventional, sequential, zone_blocks }, 10 + random.below(100))
}

/// Runs a layer and a model by hand from a seed, with `change` made to what the model is told; says what the two saw
/// where they first differed, or at the end.
fn run_by_hand(seed: u64, change: impl Fn(&mut toml::Table)) -> Result<Seen, String> {
    let mut random = Random(seed);
    random.below(1);
    let (shape, slots) = begun(&mut random);
    let config = drawn(&mut random);
    let mut told = config.clone();
    change(&mut told);
    let mut pair = Pair::new(shape, slots, &config, &told);
    for number in 0..400 {
        let what = if number > 0 { pair.step(&mut random) } else { "the beginning".to_owned() };
        let [layer, model] = pair.seen();
        if layer != model || pair.layer.is_growing() != pair.model.is_growing() {
            return Err(format!(
                "seed {seed}, {slots} slots, {shape:?}, step {number} ({what}):\n{config}\nlayer {layer:?}\nmodel {model:?}"
            ));
        }
    }
    Ok(pair.layer.seen())
}

#[test]
fn counts_agree_whenever_quanta_come() {
    let mut sum = Seen::default();
    let mut wrong = Vec::new();
    for seed in 0..cases(150, 1000) as u64 {
        match run_by_hand(seed, |_| {}) {
            Ok(seen) => add(&mut sum, &seen),
            Err(text) => wrong.push(text),
        }
    }
    assert!(wrong.is_empty(), "{} runs differ, the first at\n{}", wrong.len(), wrong[0]);
    println!("{sum:?}");
    assert_much_happened(&sum);
}

/// What a replay with one request outstanding counts, and what the model does.
fn run_replay(seed: u64) -> [Seen; 2] {
    let mut random = Random(seed);
    random.below(1);
    let (shape, slots) = begun(&mut random);
    let config = drawn(&mut random);
    let model = modelled(shape, &TIMES, slots, &config);
    let capacity = model.zones() * shape.zone_blocks;
    let most = (shape.realms - 1) * shape.sequential * shape.zone_blocks;
    let trace: Vec<TraceRequest> = (0..500).map(|_| any_request(&mut random, capacity)).collect();
    let blocks = random.below(most - capacity + 1).min(5 * shape.zone_blocks);
    let at = TraceMoment::Requests(random.below(500));
    let options = ReplayOptions {
        prefill: [1.0, 0.4, 0.0][random.below(3) as usize],
        queue_depth: Some(1),
        extend: (blocks > 0).then_some(Extension { bytes: blocks * 4096, at }).into_iter().collect(),
        verify: true,
        check_every: 1,
        ..ReplayOptions::default()
    };
    let disk = Device::new(Box::new(hybrid(shape)), Box::new(Flat::default()), 4096);
    let info = layers::find("zone-alloy").expect("a layer");
    let simulation = Configured { layer: info, config: &config, buffer_blocks: slots as u32 }
        .simulation(disk, &options)
        .expect("it fits");
    let outcome = simulation.run(&mut Listed::new(trace.clone()), &mut ()).expect("it replays");
    [outcome_seen(&outcome, capacity), replayed(model, shape, &trace, &options, &config)]
}

fn any_request(random: &mut Random, capacity: u64) -> TraceRequest {
    let access = [Access::Write, Access::Write, Access::Write, Access::Write, Access::Read, Access::Read, Access::Trim];
    let access = access[random.below(access.len() as u64) as usize];
    let longest = if random.below(6) == 0 { 60 } else { 6 };
    let blocks = 1 + random.below(longest);
    let reach = if random.below(2) == 0 { capacity } else { capacity / 6 + 1 };
    let first = random.below(reach).min(capacity - blocks.min(capacity));
    request(0, access, first, blocks.min(capacity - first) as u32)
}

/// What a replay counted of a host that saw so many blocks at first.
fn outcome_seen(outcome: &Outcome, capacity: u64) -> Seen {
    let growth = outcome.growth.as_ref();
    Seen {
        counts: counted(outcome),
        // What is read to have the head where it lies is not told from anything else that is done to the head.
        read: Why::ALL.map(|why| if why == Why::Migrate { 0 } else { outcome.media_read_blocks.get(why) }),
        written: Why::ALL.map(|why| outcome.media_write_blocks.get(why)),
        read_hits: outcome.read_hit_blocks,
        swaps: outcome.counters.get("zone_swaps").unwrap(),
        converted: growth.map_or(0, |growth| growth.converted_zones),
        capacity: capacity + growth.map_or(0, |growth| growth.gained_blocks),
    }
}

/// What the model counts when it is asked what a replay in a closed loop asks.
fn replayed(
    mut model: ZoneAlloy,
    shape: Shape,
    trace: &[TraceRequest],
    options: &ReplayOptions,
    config: &toml::Table,
) -> Seen {
    let is_blocking = config.get("bound_ms").is_some_and(|bound| bound.as_float() == Some(0.0));
    let capacity = model.zones() * shape.zone_blocks;
    let filled = (capacity as f64 * options.prefill) as u64 / shape.zone_blocks * shape.zone_blocks;
    model.write(0, filled);
    model.forget();
    for (number, request) in (0..).zip(trace) {
        for extension in options.extend.iter().filter(|extension| extension.at == TraceMoment::Requests(number)) {
            assert!(model.grow(extension.bytes.div_ceil(4096)), "there is room");
            let mut steps = if is_blocking { u64::MAX } else { 1 };
            while steps > 0 && model.is_growing() {
                model.grow_on();
                steps -= 1;
            }
        }
        let at = request.blocks(4096);
        match request.access {
            Access::Write => model.write(at.start.0, at.blocks.into()),
            Access::Read => model.read(at.start.0, at.blocks.into()),
            Access::Trim => model.trim(at.start.0, at.blocks.into()),
        }
    }
    while model.is_growing() {
        model.grow_on();
    }
    model.seen()
}

#[test]
fn counts_agree_in_replays() {
    let mut sum = Seen::default();
    for seed in 0..cases(60, 300) as u64 {
        let [layer, model] = run_replay(seed);
        assert_eq!(layer, model, "seed {seed}");
        add(&mut sum, &layer);
    }
    println!("{sum:?}");
    assert_much_happened(&sum);
    assert!(sum.counts.padding_again > 500, "{sum:?}");
}

/// With zones of 4 MiB, of which the outermost are conventional and idle.
#[test]
fn counts_agree_on_a_drive() {
    let (workload, drive) = (hot_zones(4), DrivePreset::named("small-hybrid").expect("a known drive"));
    let trace = requests(&workload);
    let media = drive.media(Recording::Hybrid).expect("it is hybrid");
    let realms = media.realms().expect("it has realms");
    let slots = 300;
    for (bound, more) in [("0.0", ""), ("100.0", "partner = 'nearest'"), ("60.0", "requeue_blocks = 20")] {
        let config = format!("converted = 0.85\nswap_above = 0.02\nbound_ms = {bound}\n{more}").parse().expect("TOML");
        let extension = Extension { bytes: 8 << 20, at: TraceMoment::Requests(100_000) };
        let options = ReplayOptions { queue_depth: Some(1), extend: vec![extension], ..ReplayOptions::default() };
        let layer = layers::find("zone-alloy").expect("a layer");
        let buffer = BufferSize::Blocks(slots);
        let setup = Setup { drive: &drive, layer, config: &config, buffer, workload: &workload };
        let capacity = setup.simulation(&options).expect("it fits").capacity();
        let seen = outcome_seen(&replay(&setup, &options, &mut ()).expect("it replays"), capacity);
        let shape = shape_of(&realms);
        let model = replayed(modelled(shape, &realms.times, slots, &config), shape, &trace, &options, &config);
        println!("{bound} ms, {more}: {seen:?}");
        assert_eq!(seen, model, "{config}");
        assert!(seen.swaps > 1 && seen.counts.rmw > 100 && seen.converted == 4, "{seen:?}");
    }
}

/// What the model is told otherwise than the layer shows, field by field and value by value: so the runs come to where
/// each matters, and a model that got it wrong would be found.
#[test]
fn a_model_that_is_told_otherwise_differs() {
    for (key, values) in FIELDS.iter().filter(|(key, _)| *key != "step_blocks") {
        for value in *values {
            let line: toml::Table = format!("{key} = {value}").parse().expect("TOML");
            let differs = |seed: &u64| run_by_hand(*seed, |told| told.extend(line.clone())).is_err();
            assert!((0..400).any(|seed| differs(&seed)), "{key} = {value} makes no difference");
        }
    }
}

/// Adds what is looked at over many runs.
fn add(sum: &mut Seen, more: &Seen) {
    sum.counts.add(&more.counts);
    for (sum, more) in sum.read.iter_mut().zip(more.read).chain(sum.written.iter_mut().zip(more.written)) {
        *sum += more;
    }
    sum.read_hits += more.read_hits;
    sum.swaps += more.swaps;
    sum.converted += more.converted;
}

fn assert_much_happened(sum: &Seen) {
    let counts = &sum.counts;
    let often = [counts.rmw, counts.rmw_free, counts.hits, counts.direct, counts.padding, counts.requeued];
    assert!(often.into_iter().all(|n| n > 100), "{sum:?}");
    let by_reason = [Why::Host, Why::Destage, Why::Migrate, Why::Pad].map(|why| sum.written[why as usize]);
    assert!(by_reason.into_iter().all(|n| n > 100), "{sum:?}");
    assert!(sum.read_hits > 100 && sum.swaps > 50 && sum.converted > 50, "{sum:?}");
}
