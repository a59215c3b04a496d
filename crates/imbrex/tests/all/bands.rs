//! What the bands of a log hold, looked at during replays and held against a count of what the layer plans.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use crate::fixture::{Listed, ZONE_BLOCKS, disk, request, simulate, zoned};
use imbrex::block::{Access, Extent, Lba, Pba, Request};
use imbrex::contents::{BandContent, BandState, Contents};
use imbrex::layer::{Corrupt, Facts, Freed, Pressure, Step, TranslationLayer, UnitReport, Violation, Write};
use imbrex::layers::{self, Family};
use imbrex::plan::{Op, Place, Plan, Record, Unit, Why};
use imbrex::replay::{
    BandSums, BandsLook, Observer, Outcome, ReplayError, ReplayOptions, Simulation, TraceMoment, space,
};
use imbrex::trace::{TraceRange, TraceRequest};

/// Bands are the zones behind so many conventional ones.
const CONVENTIONAL: u32 = 4;
const BANDS: u32 = 12;
const BLOCKS: u64 = ZONE_BLOCKS as u64;
/// The layers that append to bands and keep a whole map.
const FAMILY: [&str; 8] = [
    "log-greedy",
    "log-fifo",
    "log-cost-benefit",
    "log-choices",
    "cold-weight",
    "tuned-weight",
    "sepbit",
    "log-lifetimes",
];

/// What follows from plans alone.
#[derive(Default)]
struct Count {
    written: [u32; BANDS as usize],
    places: HashMap<u64, u64>,
    /// Written at some time: another write of it is an overwrite, wherever it is.
    known: HashSet<u64>,
    heat: HashMap<u64, u32>,
    copying: HashMap<u32, Vec<(u64, u64)>>,
    victims: HashSet<u32>,
}

/// The band of a block and the block's number on it, if it is on one.
fn on_band(block: Pba) -> Option<(u32, u32)> {
    let zone = block.block() / BLOCKS;
    let is_band = block.device() == Pba::DISK && zone >= u64::from(CONVENTIONAL);
    is_band.then(|| (zone as u32 - CONVENTIONAL, (block.block() % BLOCKS) as u32))
}

fn band_of(unit: Unit) -> u32 {
    unit.index - CONVENTIONAL
}

impl Count {
    fn host_wrote(&mut self, at: Extent<Lba>) {
        for lba in at.iter().filter(|lba| !self.known.insert(lba.0)).collect::<Vec<_>>() {
            *self.heat.entry(lba.0).or_default() += 1;
        }
    }

    fn follow(&mut self, plan: &Plan) {
        let mut why = Why::Host;
        for op in plan.ops() {
            match *op {
                Op::Move { to: Place::At(to), blocks, why: moved_for, .. } => {
                    why = moved_for;
                    if let Some((band, offset)) = on_band(to) {
                        let written = &mut self.written[band as usize];
                        *written = (*written).max(offset + blocks);
                    }
                }
                Op::Record { record, .. } => self.record(record, why),
                Op::Reset(unit) => self.written[band_of(unit) as usize] = 0,
                _ => {}
            }
        }
    }

    fn record(&mut self, record: Record, why: Why) {
        match record {
            Record::Map { at, to } => {
                let (band, _) = on_band(to).unwrap();
                for (lba, place) in at.iter().zip(to.block()..) {
                    match self.copying.get_mut(&band) {
                        Some(copies) => copies.push((lba.0, place)),
                        None => self.put(lba.0, place, why == Why::Migrate),
                    }
                }
            }
            Record::Unmap(at) => at.iter().for_each(|lba| {
                self.places.remove(&lba.0);
            }),
            // As the layer numbers roles: data, victim, copying, and copying behind some blocks of data.
            Record::Unit { unit, is: 1 } => drop(self.victims.insert(band_of(unit))),
            Record::Unit { unit, is: 2 | 4.. } => drop(self.copying.insert(band_of(unit), Vec::new())),
            Record::Unit { unit, is: 0 } => self.becomes_data(band_of(unit)),
            _ => panic!("{record:?} is not expected"),
        }
    }

    fn becomes_data(&mut self, band: u32) {
        self.victims.remove(&band);
        for (lba, place) in self.copying.remove(&band).unwrap_or_default() {
            let from = self.places.get(&lba).map(|from| (from / BLOCKS) as u32 - CONVENTIONAL);
            if from.is_some_and(|band| self.victims.contains(&band)) {
                self.put(lba, place, true);
            }
        }
    }

    fn put(&mut self, lba: u64, place: u64, is_moved: bool) {
        self.places.insert(lba, place);
        if is_moved {
            self.heat.remove(&lba);
        }
    }

    /// Written, live and hot blocks of each band.
    fn bands(&self) -> Vec<[u32; 3]> {
        let mut bands: Vec<_> = self.written.iter().map(|&written| [written, 0, 0]).collect();
        for (lba, place) in &self.places {
            let band = &mut bands[(place / BLOCKS) as usize - CONVENTIONAL as usize];
            band[1] += 1;
            band[2] += u32::from(self.heat.get(lba).is_some_and(|&heat| heat > 0));
        }
        bands
    }
}

/// A layer whose plans are counted; whenever it is asked for its bands, the count is kept beside the answer.
struct Counted {
    layer: Box<dyn TranslationLayer>,
    count: Count,
    counts: Arc<Mutex<Vec<Vec<[u32; 3]>>>>,
}

impl TranslationLayer for Counted {
    fn facts(&self) -> Facts {
        self.layer.facts()
    }

    fn capacity(&self) -> u64 {
        self.layer.capacity()
    }

    fn contents(&self) -> Option<Contents> {
        self.counts.lock().unwrap().push(self.count.bands());
        self.layer.contents()
    }
    fn write(&mut self, write: Write, plan: &mut Plan) -> u32 {
        let took = self.layer.write(write, plan);
        self.count.host_wrote(write.at.first(took));
        self.count.follow(plan);
        took
    }
    fn flush(&mut self, plan: &mut Plan) -> Step {
        let step = self.layer.flush(plan);
        self.count.follow(plan);
        step
    }
    fn clean(&mut self, why: Pressure, waiting: &[Request], plan: &mut Plan) -> Step {
        let step = self.layer.clean(why, waiting, plan);
        self.count.follow(plan);
        step
    }
    fn locate(&self, at: Extent<Lba>, plan: &mut Plan) {
        self.layer.locate(at, plan);
    }
    fn read(&mut self, at: Extent<Lba>, plan: &mut Plan) {
        self.layer.read(at, plan);
    }
    fn trim(&mut self, at: Extent<Lba>, plan: &mut Plan) -> u32 {
        self.layer.trim(at, plan)
    }
    fn freed(&mut self, space: Extent<Pba>, why: Freed) {
        self.layer.freed(space, why);
    }
    fn apply(&mut self, record: &Record) -> Result<(), Corrupt> {
        self.layer.apply(record)
    }
    fn recovered(&mut self, units: &UnitReport, plan: &mut Plan) -> Result<(), Corrupt> {
        self.layer.recovered(units, plan)
    }
    fn checkpoint(&self, from: u64, plan: &mut Plan) -> Option<u64> {
        self.layer.checkpoint(from, plan)
    }
    fn check(&self) -> Result<(), Violation> {
        self.layer.check()
    }
}

#[derive(Default)]
struct Looked(Vec<BandsLook>);

impl Observer for Looked {
    fn bands(&mut self, look: &BandsLook) {
        self.0.push(look.clone());
    }
}

/// Writes of one to four blocks, three quarters of them to a tenth of `capacity`, a second apart.
fn writes(capacity: u64, requests: u64) -> Vec<TraceRequest> {
    let mut state = 1u64;
    let mut below = |most: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) % most
    };
    let write = |second: u64| {
        let range = if below(4) > 0 { capacity / 10 } else { capacity };
        let (blocks, second) = (1 + below(4), second * 1_000_000_000);
        request(second, Access::Write, below(range - blocks), blocks as u32)
    };
    (0..requests).map(write).collect()
}

/// The looks at a layer on the tiny disk, the count beside each, and the outcome.
fn looked(layer: &str, config: &str, at: &[TraceMoment]) -> (Vec<BandsLook>, Vec<Vec<[u32; 3]>>, Outcome) {
    let options = ReplayOptions { prefill: 0.0, flush: true, bands: Some(at.to_vec()), ..ReplayOptions::default() };
    let disk = disk(zoned());
    let space = space(&disk, 0, &options).unwrap();
    let (layer, config) = (layers::find(layer).unwrap(), config.parse().unwrap());
    let counts = Arc::default();
    let make = || {
        let layer = layer.build(&space, &config)?;
        Ok(Box::new(Counted { layer, count: Count::default(), counts: Arc::clone(&counts) }) as _)
    };
    let simulation = Simulation::new("counted", &make, disk, &options).unwrap();
    let requests = writes(simulation.capacity(), 1000);
    let mut looked = Looked::default();
    let outcome = simulation.run(&mut Listed::new(requests), &mut looked).unwrap();
    let counts = std::mem::take(&mut *counts.lock().unwrap());
    (looked.0, counts, outcome)
}

fn as_counted(bands: &[BandContent]) -> Vec<[u32; 3]> {
    bands.iter().map(|band| [ZONE_BLOCKS - band.unwritten, band.live, band.hot.unwrap()]).collect()
}

#[test]
fn looks_are_what_plans_add_up_to() {
    let moments = [40, 200, 201, 700].map(TraceMoment::Requests);
    for (layer, config) in [
        ("log-greedy", "spare_bands = 0\nbuffer_bands = 2\nbuffer_volatile = false\nsequence = 'heat'"),
        ("cold-weight", "spare_bands = 0\nbuffer_bands = 2\nsequence = 'heat'\ncold_weight = 0.5"),
        ("log-fifo", "spare_bands = 0\nsequence = 'heat'"),
        ("log-greedy", "spare_bands = 1\nsequence = 'heat'"),
        ("cold-weight", "spare_bands = 2\nspare_fraction = 0.3\nbuffer_bands = 1"),
        ("cold-weight", "spare_bands = 2\nspare_fraction = 0.3\nopen_bands = 3"),
    ] {
        let (looks, counts, outcome) = looked(layer, config, &moments);
        assert_eq!(looks.iter().map(|look| look.requests).collect::<Vec<_>>(), [40, 200, 201, 700, 1000]);
        assert_eq!(looks.last().unwrap().at, None);
        for (look, count) in looks.iter().zip(&counts) {
            assert_eq!(
                &as_counted(look.contents.bands()),
                count,
                "{layer}, {config}, after {} requests",
                look.requests
            );
            let fills = |band: &BandContent| band.free() + band.live == ZONE_BLOCKS;
            assert!(
                look.contents.bands().len() == BANDS as usize && look.contents.bands().iter().all(fills),
                "{look:?}"
            );
            let open = look.contents.bands().iter().filter(|band| band.state == BandState::Open).count();
            assert!(open <= if config.contains("open_bands") { 6 } else { 1 }, "{look:?}");
        }
        let last = looks.last().unwrap().contents.bands();
        let mut all = looks.iter().flat_map(|look| look.contents.bands());
        let is_apart = config.contains("open_bands");
        assert!(all.any(|band| band.is_mixed() == Some(true)) != is_apart, "{layer}, {config}: a mixed band or none");
        let some = |what: fn(&BandContent) -> bool| assert!(last.iter().any(what), "{layer}, {config}: {last:?}");
        some(|band| band.hot > Some(0));
        some(|band| band.cold() > Some(0));
        some(|band| band.dead > 0 && band.state == BandState::Closed);
        some(|band| band.unwritten > 0);
        let mixed =
            counts.last().unwrap().iter().filter(|[_, live, hot]| 0 < *hot && hot < live && *live < ZONE_BLOCKS);
        let sums = outcome.bands.unwrap();
        assert_eq!((sums, sums.mixed), (BandSums::of(last), Some(mixed.count() as u64)));
        assert_eq!(sums.unwritten_blocks + sums.dead_blocks + sums.live_blocks, u64::from(BANDS) * BLOCKS);
    }
}

#[test]
fn times_are_those_of_the_trace() {
    // Requests come on whole seconds from 0 on.
    let moments = [0, 99_000_000_001, 500_000_000_000].map(TraceMoment::Ns);
    let (looks, ..) = looked("log-greedy", "sequence = 'heat'", &moments);
    assert_eq!(looks.iter().map(|look| look.requests).collect::<Vec<_>>(), [0, 100, 500, 1000]);
    assert!(
        looks[0].contents.bands().iter().all(|band| band.state == BandState::Empty && band.unwritten == ZONE_BLOCKS)
    );
    assert_eq!(looks[1].at, Some(moments[1]));
}

#[test]
fn where_no_heat_is_kept_live_blocks_are_not_told_apart() {
    let options = ReplayOptions { bands: Some(Vec::new()), ..ReplayOptions::default() };
    let greedy = layers::find("log-greedy").unwrap();
    let simulation = simulate(greedy, "", 0, &options).unwrap();
    let filled = simulation.capacity();
    let mut looked = Looked::default();
    let outcome = simulation.run(&mut Listed::new(writes(filled, 10)), &mut looked).unwrap();
    let sums = outcome.bands.unwrap();
    assert_eq!((sums.live_blocks, sums.hot_blocks, sums.mixed), (filled, None, None));
    assert!(
        looked.0[0].contents.bands().iter().all(|band| (band.hot, band.cold(), band.is_mixed()) == (None, None, None))
    );
}

/// Layers that keep newer blocks of zones or bands in a buffer, and say so zone by zone.
const BUFFERED: [&str; 9] = [
    "fifo-log",
    "loop-back",
    "block-lru",
    "hashed-zones",
    "amphisbaena",
    "zone-ages",
    "dm-zoned",
    "skylight",
    "zone-alloy",
];

#[test]
fn zones_say_which_of_their_blocks_are_buffered() {
    // A hybrid disk before it has grown buffers nothing.
    for layer in BUFFERED.into_iter().filter(|layer| *layer != "zone-alloy") {
        let info = layers::find(layer).unwrap();
        let options = ReplayOptions { bands: Some(Vec::new()), prefill: 1.0, ..ReplayOptions::default() };
        let simulation = simulate(info, "", 64, &options).unwrap();
        let capacity = simulation.capacity();
        let mut looked = Looked::default();
        let scattered = (0..10).map(|n| n * capacity / 10 + 1);
        let requests = scattered.clone().map(|at| request(at * 1_000_000, Access::Write, at, 1)).collect();
        let outcome = simulation.run(&mut Listed::new(requests), &mut looked).unwrap();
        let zones = looked.0[0].contents.zones();
        let sums = outcome.zones.unwrap();
        assert_eq!(sums.home_blocks + sums.buffered_blocks, capacity, "{layer}: all is written");
        // The one buffers whole zones, the other what the prefill left of its shortest bands besides.
        if matches!(layer, "dm-zoned" | "skylight") {
            continue;
        }
        assert_eq!(sums.buffered_blocks, 10, "{layer}: {zones:?}");
        for at in scattered {
            let ends = zones.iter().scan(0, |end, zone| {
                *end += u64::from(zone.blocks);
                Some((*end, zone.buffered))
            });
            let (_, buffered) = ends.into_iter().find(|(end, _)| at < *end).unwrap();
            assert!(buffered > 0, "{layer}: block {at} is in no zone that has one");
        }
    }
}

/// Layers without a buffer before zones or bands of which each says what it holds.
const UNBUFFERED: [&str; 2] = ["in-place", "page-ftl"];

#[test]
fn without_a_buffer_all_that_is_written_lies_in_zones_or_erase_blocks() {
    for (layer, config, gathered) in [("in-place", "", 0), ("in-place", "gather = 'zone'", 1), ("page-ftl", "", 0)] {
        let options = ReplayOptions { bands: Some(Vec::new()), prefill: 1.0, ..ReplayOptions::default() };
        let simulation = simulate(layers::find(layer).unwrap(), config, 0, &options).unwrap();
        let capacity = simulation.capacity();
        let scattered = (0..10).map(|n| request(n * 1_000_000, Access::Write, n * capacity / 10 + 1, 1));
        let mut looked = Looked::default();
        let outcome = simulation.run(&mut Listed::new(scattered.collect()), &mut looked).unwrap();
        match outcome.bands {
            Some(sums) => {
                assert_eq!(sums.live_blocks, capacity, "{layer}");
                assert!(sums.dead_blocks > 0 && sums.mixed.is_none(), "{layer}: {sums:?}");
                let bands = looked.0[0].contents.bands();
                let is_sound = |band: &BandContent| band.free() + band.live == bands[0].free() + bands[0].live;
                assert!(bands.iter().all(is_sound), "{layer}: {bands:?}");
                assert!(bands.iter().any(|band| band.state == BandState::Closed), "{layer}: {bands:?}");
            }
            None => {
                let sums = outcome.zones.unwrap();
                let expected = (capacity - gathered, gathered, 0);
                assert_eq!((sums.home_blocks, sums.buffered_blocks, sums.unwritten_blocks), expected, "{config}");
            }
        }
    }
}

#[test]
fn what_cannot_be_looked_at_is_said_before_the_run() {
    let asked = |at: &[TraceMoment]| ReplayOptions { bands: Some(at.to_vec()), ..ReplayOptions::default() };
    for layer in layers::ALL {
        let said = simulate(layer, "", 64, &asked(&[])).err().map(|e| e.to_string());
        let said_so = [&FAMILY[..], &BUFFERED, &UNBUFFERED].concat();
        let has_bands = said_so.contains(&layer.name) || layer.family == Some(Family::Interlaced);
        let expected = format!("bands: layer {} does not say what lies where", layer.name);
        assert_eq!(said.is_none(), has_bands, "{said:?}");
        assert!(said.is_none_or(|said| said.starts_with(&expected)), "{}", layer.name);
    }
    let greedy = layers::find("log-greedy").unwrap();
    let closed = ReplayOptions { queue_depth: Some(1), ..asked(&[TraceMoment::Ns(5)]) };
    let refused = simulate(greedy, "", 0, &closed).err().unwrap().to_string();
    assert!(refused.contains("a closed loop ignores"), "{refused}");

    let range = TraceRange { requests: 10, duration_ns: 1000, ..TraceRange::default() };
    for at in [TraceMoment::Requests(10), TraceMoment::Ns(1001)] {
        let refused = asked(&[at]).check_bands(&range).unwrap_err().to_string();
        assert!(refused.contains("after the 10 requests of the trace"), "{refused}");
        let simulation = simulate(greedy, "", 0, &asked(&[TraceMoment::Requests(10)])).unwrap();
        let late = simulation.run(&mut Listed::new(writes(100, 10)), &mut ());
        assert!(matches!(late, Err(ReplayError::Option { option: "bands", .. })));
    }
    asked(&[TraceMoment::Requests(9), TraceMoment::Ns(1000)]).check_bands(&range).unwrap();
}
