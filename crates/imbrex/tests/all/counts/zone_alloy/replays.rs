//! Replays: quanta come when the runner makes them, with no bound all at once, and in a closed loop, which has no idle
//! time, one at first and the others at the end.

use imbrex::block::Access;
use imbrex::drive::DrivePreset;
use imbrex::layers;
use imbrex::plan::Why;
use imbrex::recording::Recording;
use imbrex::replay::{BufferSize, Configured, Device, Extension, Outcome, ReplayOptions, Setup, TraceMoment, replay};
use imbrex::space::Realms;
use imbrex::trace::{TraceRequest, Workload};
use test_material::{beside, cases};

use super::model::{Seen, Shape, ZoneAlloy};
use super::{Random, TIMES, add, assert_much_happened, begun, drawn, hybrid, modelled};
use crate::counts::{counted, hot_zones, requests};
use crate::fixture::{Flat, Listed, request};

fn shape_of(realms: &Realms) -> Shape {
    Shape {
        realms: realms.count.into(),
        conventional: realms.conventional_zones.into(),
        sequential: realms.sequential_zones.into(),
        zone_blocks: realms.zone_blocks.into(),
    }
}

/// What a replay with one request outstanding counts, and what the model does.
fn run_replay(seed: u64) -> [Seen; 2] {
    let mut random = Random(seed);
    random.below(1);
    let (shape, slots) = begun(&mut random);
    let config = drawn(&mut random);
    let capacity = modelled(shape, &TIMES, slots, &config).zones() * shape.zone_blocks;
    let most = (shape.realms - 1) * shape.sequential * shape.zone_blocks;
    let trace: Vec<TraceRequest> = (0..500).map(|_| any_request(&mut random, capacity)).collect();
    // Each of two parts is rounded up to whole zones.
    let blocks =
        random.below((most - capacity + 1).saturating_sub(shape.zone_blocks).max(1)).min(5 * shape.zone_blocks);
    // Space is asked for twice, the second time while the first is made or after that.
    let asked = [blocks / 2, blocks - blocks / 2].into_iter().filter(|blocks| *blocks > 0);
    let extend = asked.map(|blocks| Extension { bytes: blocks * 4096, at: TraceMoment::Requests(random.below(500)) });
    let extend = extend.collect();
    let options = ReplayOptions {
        prefill: [1.0, 0.4, 0.0][random.below(3) as usize],
        queue_depth: Some(1),
        extend,
        verify: true,
        check_every: 1,
        ..ReplayOptions::default()
    };
    both(shape, slots, &config, &trace, &options)
}

/// What the layer and the model count of a trace.
fn both(shape: Shape, slots: u64, config: &toml::Table, trace: &[TraceRequest], options: &ReplayOptions) -> [Seen; 2] {
    let model = modelled(shape, &TIMES, slots, config);
    let capacity = model.zones() * shape.zone_blocks;
    let disk = Device::new(Box::new(hybrid(shape)), Box::new(Flat::default()), 4096);
    let info = layers::find("zone-alloy").expect("a layer");
    let simulation =
        Configured { layer: info, config, buffer_blocks: slots as u32 }.simulation(disk, options).expect("it fits");
    let outcome = simulation.run(&mut Listed::new(trace.to_vec()), &mut ()).expect("it replays");
    [outcome_seen(&outcome, capacity), replayed(model, shape, trace, options, config)]
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

/// On eight conventional zones and as many sequential ones as it takes, full at first. Four of the swaps are of a zone
/// that is being written, and the rest of that write is in place.
#[test]
fn counts_agree_on_a_real_trace() {
    let Some(path) = beside("the counts of zone-alloy on a real trace", "traces/msr-hm_1-writes.csv.zst") else {
        return;
    };
    let trace = requests(&Workload::File(path.into()));
    let shape = Shape { realms: 560, conventional: 2, sequential: 3, zone_blocks: 4096 };
    let options = ReplayOptions { queue_depth: Some(1), ..ReplayOptions::default() };
    for readings in ["", "first_epoch = 'disk'", "keep_partners = true\nkeep_candidates = true"] {
        let converted = 1.0 - 4.0 / 560.0;
        let config = format!("converted = {converted}\nbound_ms = 0.0\n{readings}").parse().expect("TOML");
        let [layer, model] = both(shape, 1024, &config, &trace, &options);
        println!("{} rewrites, {} swaps: {config}", layer.counts.rmw, layer.swaps);
        assert_eq!(layer, model, "{config}");
        assert!(layer.swaps > 10 && layer.counts.rmw > 100, "{layer:?}");
    }
}
