//! `zone-alloy` against a model that follows from its page: what lies where, what is buffered, and what moves.
//!
//! By hand, quanta of a growth come between any two requests.

mod by_hand;
mod model;
mod moving;
mod replays;
mod swaps;

use imbrex::media::Hybrid;
use imbrex::plan::{Unit, Why};
use imbrex::space::{RealmTimes, Realms};
use test_material::cases;

use crate::counts::buffers::{BlockLru, FifoLog, LoopBack};
use crate::counts::model::Buffer;
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
    ("first_epoch", &["'log'", "'disk'"]),
    ("keep_partners", &["false", "true"]),
    ("keep_candidates", &["false", "true"]),
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
        from_disk: is("first_epoch", "disk"),
        keep_partners: flag("keep_partners", false),
        keep_candidates: flag("keep_candidates", false),
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

    /// Writes all there is, from the front, and says so.
    fn fill(&mut self) -> String {
        let blocks = self.layer.capacity();
        self.layer.write(0, blocks as u32);
        self.model.write(0, blocks);
        "all is written".to_owned()
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
    let is_full = random.below(2) == 0;
    for number in 0..400 {
        let what = match number {
            0 => "the beginning".to_owned(),
            1 if is_full => pair.fill(),
            _ => pair.step(&mut random),
        };
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
