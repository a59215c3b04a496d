use super::*;
use crate::workloads::built_in;
use crate::{TraceSource, Workload};
use imbrex_core::block::Access;

/// A workload of one stream: 4 KiB requests over 1 GiB, a quarter of them reads.
fn spec(pattern: Pattern) -> SyntheticSpec {
    SyntheticSpec {
        name: "t".into(),
        description: String::new(),
        seed: 7,
        requests: 200_000,
        range_bytes: 1 << 30,
        grain_kib: 4,
        write_ratio: 0.75,
        sizes: vec![SizeShare { kib: 4, weight: 1 }],
        arrivals: ArrivalSpec { mean_rate: 100.0, bursts: None },
        streams: vec![StreamSpec::new(1, pattern)],
    }
}

impl StreamSpec {
    /// The same at a rate in place of a weight.
    fn at(self, per_second: f64) -> Self {
        Self { weight: 0, per_second: Some(per_second), ..self }
    }
}

fn generate(spec: &SyntheticSpec) -> Vec<TraceRequest> {
    let (mut requests, mut batch) = (Vec::new(), Vec::new());
    let mut generator = Generator::new(spec).unwrap();
    loop {
        generator.fill(&mut batch, 1000).unwrap();
        if batch.is_empty() {
            return requests;
        }
        requests.append(&mut batch);
    }
}

fn share(requests: &[TraceRequest], holds: impl Fn(&TraceRequest) -> bool) -> f64 {
    requests.iter().filter(|request| holds(request)).count() as f64 / requests.len() as f64
}

fn assert_near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, expected {expected} ± {tolerance}");
}

/// FNV-1a over every field of the first 10 000 requests.
fn hash(spec: &SyntheticSpec) -> u64 {
    let requests = generate(&SyntheticSpec { requests: 10_000, ..spec.clone() });
    let fields = requests
        .iter()
        .flat_map(|r| [r.arrival_ns, r.offset_bytes, u64::from(r.bytes), u64::from(r.access == Access::Write)]);
    fields
        .flat_map(u64::to_le_bytes)
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A change here changes every result that was ever published from a built-in workload.
#[test]
fn built_in_workloads_are_the_same_everywhere() {
    let hashes: Vec<_> = built_in().iter().map(|built_in| (built_in.name, hash(&built_in.spec().unwrap()))).collect();
    let golden = [
        ("default", 0xc622_e096_1e35_6e78),
        ("uniform", 0xa577_8a6a_37e3_19cd),
        ("hot-cold", 0x32bf_274f_073e_0dec),
        ("zipf", 0x9bea_83c4_b1af_c136),
        ("sequential", 0x0b9c_8788_f8a3_4202),
        ("raid-rebuild", 0x9af6_4ec6_b350_f290),
        ("resilver", 0xdf8c_2067_9ec0_6ad6),
        ("scrub", 0x07c2_863c_ee8f_9c29),
    ];
    assert_eq!(hashes, golden, "{hashes:#x?}");
}

#[test]
fn the_seed_and_nothing_else_changes_the_requests() {
    let one = spec(Pattern::Uniform);
    assert_eq!(generate(&one), generate(&one));
    assert_ne!(generate(&one), generate(&SyntheticSpec { seed: 8, ..one.clone() }));
    let shorter = generate(&SyntheticSpec { requests: 10, ..one.clone() });
    assert_eq!(shorter, generate(&one)[..10]);
}

#[test]
fn requests_are_counted_mixed_and_placed_as_specified() {
    let mut spec = spec(Pattern::Uniform);
    spec.sizes =
        vec![SizeShare { kib: 4, weight: 3 }, SizeShare { kib: 6, weight: 0 }, SizeShare { kib: 64, weight: 1 }];
    let requests = generate(&spec);
    assert_eq!(requests.len(), 200_000);
    assert_near(share(&requests, |r| r.access == Access::Write), 0.75, 0.005);
    assert_near(share(&requests, |r| r.bytes == 4096), 0.75, 0.005);
    assert!(requests.iter().all(|r| r.bytes != 6144 && r.offset_bytes % 4096 == 0 && r.end_bytes() <= 1 << 30));
    for quarter in 0..4 {
        assert_near(share(&requests, |r| r.offset_bytes >> 28 == quarter), 0.25, 0.005);
    }
}

#[test]
fn a_range_that_barely_holds_its_requests_is_enough() {
    let mut spec = spec(Pattern::Uniform);
    spec.streams.push(StreamSpec::new(1, Pattern::Sequential { run_requests: 8.0 }));
    spec.sizes = vec![SizeShare { kib: 7, weight: 1 }, SizeShare { kib: 13, weight: 1 }];
    spec.range_bytes = 13 << 10;
    assert!(generate(&spec).iter().all(|r| r.end_bytes() <= 13 << 10));
}

#[test]
fn arrivals_keep_their_mean_rate() {
    let mut spec = spec(Pattern::Uniform);
    let seconds = |spec: &SyntheticSpec| generate(spec).last().map(|r| r.arrival_ns as f64 / 1e9).unwrap();
    assert_eq!(generate(&spec)[0].arrival_ns, 0);
    assert_near(seconds(&spec), 2000.0, 20.0);
    spec.arrivals.bursts = Some(BurstSpec { burst_ms: 200.0, pause_ms: 800.0 });
    assert_near(seconds(&spec), 2000.0, 120.0);
}

#[test]
fn pauses_hold_no_requests() {
    let mut spec = spec(Pattern::Uniform);
    spec.arrivals.bursts = Some(BurstSpec { burst_ms: 2_000.0, pause_ms: 60_000.0 });
    let requests = generate(&spec);
    let gaps = requests.windows(2).map(|pair| pair[1].arrival_ns - pair[0].arrival_ns);
    let pauses = gaps.filter(|&gap_ns| gap_ns > 1_000_000_000).count() as f64;
    // 200 000 requests at 100/s, a burst and a pause every 62 s.
    assert_near(pauses, 2000.0 / 62.0, 15.0);
}

#[test]
fn the_hot_part_takes_its_share() {
    for scatter_kib in [None, Some(1024)] {
        let requests = generate(&spec(Pattern::HotCold { hot_space: 0.125, hot_accesses: 0.8, scatter_kib }));
        let mut chunks = vec![0u64; 1024];
        requests.iter().for_each(|r| chunks[(r.offset_bytes >> 20) as usize] += 1);
        let low: u64 = chunks[..128].iter().sum();
        chunks.sort_unstable();
        let hottest: u64 = chunks[1024 - 128..].iter().sum();
        assert_near(hottest as f64 / 200_000.0, 0.8, 0.005);
        assert_eq!(low == hottest, scatter_kib.is_none());
    }
}

#[test]
fn zipf_is_skewed_wherever_it_lies() {
    // The share of the most popular piece of n is one in the sum of k^-theta.
    let sum: f64 = (1..=1u64 << 18).map(|k| (k as f64).powf(-0.9)).sum();
    for scatter_kib in [None, Some(4), Some(256)] {
        let requests = generate(&spec(Pattern::Zipf { theta: 0.9, scatter_kib }));
        let mut pieces = vec![0u32; 1 << 18];
        requests.iter().for_each(|r| pieces[(r.offset_bytes >> 12) as usize] += 1);
        let first = pieces[0];
        let most = pieces.iter().copied().max().unwrap();
        assert_near(f64::from(most) / 200_000.0, 1.0 / sum, 0.002);
        assert_eq!(first == most, scatter_kib.is_none());
    }
}

#[test]
fn runs_are_adjacent_of_one_kind_and_as_long_as_specified() {
    let requests = generate(&spec(Pattern::Sequential { run_requests: 20.0 }));
    let continues = |pair: &[TraceRequest]| pair[0].end_bytes() == pair[1].offset_bytes;
    let breaks = requests.windows(2).filter(|pair| !continues(pair)).count();
    assert_near(200_000.0 / breaks as f64, 20.0, 0.6);
    assert!(requests.windows(2).filter(|pair| continues(pair)).all(|pair| pair[0].access == pair[1].access));
    assert_near(share(&requests, |r| r.access == Access::Write), 0.75, 0.03);
}

#[test]
fn a_sweep_goes_to_each_place_once() {
    for scatter_kib in [None, Some(64), Some(100)] {
        for sorted_requests in [1, 16] {
            let mut spec = spec(Pattern::Sweep { scatter_kib, sorted_requests });
            (spec.range_bytes, spec.requests) = (1 << 20, 500);
            spec.sizes = [4, 16, 28].map(|kib| SizeShare { kib, weight: 1 }).to_vec();
            let mut times = vec![0u32; 256];
            let requests = generate(&spec);
            for request in &requests {
                let first = request.offset_bytes >> 12;
                (first..first + u64::from(request.bytes >> 12)).for_each(|block| times[block as usize] += 1);
            }
            // It is somewhere in a round at the end; of a batch that is sorted, some may be in the next one.
            let (least, most) = (times.iter().min().unwrap(), times.iter().max().unwrap());
            assert!(*least > 5 && most - least <= 2, "{scatter_kib:?}, {sorted_requests}: {times:?}");
            let follows = |pair: &[TraceRequest]| pair[0].end_bytes() == pair[1].offset_bytes;
            let breaks = requests.windows(2).filter(|pair| !follows(pair)).count();
            let rounds = *most as usize;
            assert_eq!(breaks < 3 * rounds, scatter_kib.is_none(), "{breaks} breaks");
        }
    }
}

#[test]
fn requests_of_a_sweep_are_sorted_as_many_at_a_time_as_specified() {
    let spec = spec(Pattern::Sweep { scatter_kib: Some(4), sorted_requests: 1000 });
    let descents = generate(&spec).windows(2).filter(|pair| pair[0].offset_bytes > pair[1].offset_bytes).count();
    assert_eq!(descents, 199, "200 000 requests are 200 batches");
}

#[test]
fn streams_have_rates_sizes_and_writes_of_their_own() {
    let mut spec = spec(Pattern::Sweep { scatter_kib: None, sorted_requests: 1 });
    spec.arrivals.mean_rate = 0.0;
    spec.streams[0] = StreamSpec { weight: 0, mb_per_s: Some(4.096), ..spec.streams[0].clone() };
    let sizes = Some(vec![SizeShare { kib: 8, weight: 1 }]);
    let users = StreamSpec { write_ratio: Some(0.25), sizes, ..StreamSpec::new(0, Pattern::Uniform) };
    spec.streams.push(users.at(250.0));
    let requests = generate(&spec);
    let seconds = requests.last().unwrap().arrival_ns as f64 / 1e9;
    // 4.096 MB are 1000 requests of 4 KiB.
    assert_near(200_000.0 / seconds, 1250.0, 10.0);
    let of_users: Vec<_> = requests.iter().copied().filter(|r| r.bytes == 8192).collect();
    assert_near(of_users.len() as f64 / 200_000.0, 0.2, 0.005);
    assert_near(share(&of_users, |r| r.access == Access::Write), 0.25, 0.01);
    assert_near(share(&requests, |r| r.access == Access::Write), spec.mean_write_ratio(), 0.005);
    assert_near(spec.mean_write_ratio(), 0.8 * 0.75 + 0.2 * 0.25, 1e-9);
}

#[test]
fn streams_get_their_weights() {
    let mut spec = spec(Pattern::HotCold { hot_space: 1.0 / 1024.0, hot_accesses: 1.0, scatter_kib: None });
    spec.streams.push(StreamSpec::new(3, Pattern::Uniform));
    assert_near(share(&generate(&spec), |r| r.offset_bytes < 1 << 20), 0.25 + 0.75 / 1024.0, 0.005);
}

#[test]
fn a_synthetic_workload_has_the_range_it_was_given() {
    let spec = SyntheticSpec { requests: 10, ..spec(Pattern::Uniform) };
    let range = Workload::Synthetic(spec).range().unwrap();
    assert_eq!((range.requests, range.range_bytes), (10, 1 << 30));
}

#[test]
fn a_specification_survives_being_written() {
    for built_in in built_in() {
        let spec = built_in.spec().unwrap();
        let text = toml::to_string(&spec).unwrap();
        assert_eq!(SyntheticSpec::parse("t", &text).unwrap(), spec);
    }
}

#[test]
fn a_wrong_specification_is_named() {
    let refused = |change: fn(&mut SyntheticSpec)| {
        let mut spec = spec(Pattern::Uniform);
        change(&mut spec);
        Generator::new(&spec).err().unwrap().to_string()
    };
    assert_eq!(refused(|s| s.requests = 0), "synthetic workload t: requests must not be 0");
    assert_eq!(refused(|s| s.write_ratio = f64::NAN), "synthetic workload t: write_ratio must be between 0 and 1");
    assert!(refused(|s| s.range_bytes = 4096).contains("range_bytes must be between 8192 "));
    assert!(refused(|s| s.sizes.clear()).contains("sizes must have one"));
    assert!(refused(|s| s.sizes[0].kib = 1 << 22).contains("sizes must be between"));
    assert!(refused(|s| s.streams[0].weight = 0).contains("streams must have one"));
    assert!(refused(|s| s.arrivals.mean_rate = 0.0).contains("arrivals.mean_rate"));
    assert!(refused(|s| s.streams[0].per_second = Some(1.0)).contains("must all have a weight, or all"));
    assert!(refused(|s| s.streams.push(s.streams[0].clone().at(1.0))).contains("must all have a weight, or all"));
    assert!(refused(|s| s.streams[0] = s.streams[0].clone().at(1.0)).contains("arrivals.mean_rate must be left out"));
    assert!(refused(|s| s.streams[0] = s.streams[0].clone().at(f64::NAN)).contains("must have rates between"));
    assert!(refused(|s| s.streams[0].write_ratio = Some(2.0)).contains("write_ratio"));
    assert!(refused(|s| s.streams[0].sizes = Some(Vec::new())).contains("sizes must have one"));
    assert!(
        refused(|s| s.arrivals.bursts = Some(BurstSpec { burst_ms: 0.1, pause_ms: 0.1 }))
            .contains("a request on average")
    );
    for (pattern, field) in [
        (Pattern::Zipf { theta: 0.0, scatter_kib: None }, "streams[1].theta"),
        (Pattern::Zipf { theta: 1.0, scatter_kib: Some(6) }, "streams[1].scatter_kib"),
        (Pattern::HotCold { hot_space: 1.0, hot_accesses: 0.5, scatter_kib: None }, "streams[1].hot_space"),
        (Pattern::Sequential { run_requests: 0.5 }, "streams[1].run_requests"),
        (Pattern::Sweep { scatter_kib: None, sorted_requests: 0 }, "streams[1].sorted_requests"),
        (Pattern::Sweep { scatter_kib: Some(6), sorted_requests: 1 }, "streams[1].scatter_kib"),
    ] {
        let mut spec = spec(Pattern::Uniform);
        spec.streams.push(StreamSpec::new(1, pattern));
        let message = Generator::new(&spec).err().unwrap().to_string();
        assert!(message.contains(field), "{message}");
    }
    let typo = built_in()[0].text.replace("write_ratio", "write_ration");
    let message = SyntheticSpec::parse("mine.toml", &typo).unwrap_err().to_string();
    assert!(
        message.contains("mine.toml") && message.contains("line ") && message.contains("write_ration"),
        "{message}"
    );
    let typo = built_in()[0].text.replace("theta", "thета");
    assert!(SyntheticSpec::parse("mine.toml", &typo).is_err());
    let unknown = built_in()[0].text.replace("theta = 0.9,", "theta = 0.9, skew = 1,");
    assert!(SyntheticSpec::parse("mine.toml", &unknown).unwrap_err().to_string().contains("skew"));
}
