//! Every reading of `amphisbaena` changes what is counted, on a workload that comes to where it matters, and the model
//! agrees there.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use imbrex::drive::DrivePreset;
use imbrex::replay::BufferSize;
use imbrex::trace::Workload;

use super::compare_at;
use super::model::Counts;

/// What readings are held against: each of a few chunks, a few hundred times in the workload.
const BASE: &str = "period = 100\nchunk_blocks = 4";

/// Readings, and with how many requests outstanding they matter.
const CHANGES: &[(&str, u32)] = &[
    ("sizes = 'blocks'", 1),
    ("hot_below = true", 1),
    ("cold_hits = false", 1),
    ("cold_known = false", 1),
    ("demote_to = 'mru'", 1),
    ("demote_when = 'hit'", 1),
    ("demote_when = 'literal'", 1),
    ("victims = 'lightest'", 1),
    ("density = 'none'", 1),
    ("density = 'printed'", 1),
    ("hot_most_is = 'nearest'", 1),
    ("round_up = true", 1),
    ("bypass = 'pointer'", 1),
    ("most_remembered = inf", 1),
    ("checkpoints = false", 4),
    ("checkpoint_for = 'rest'", 4),
    ("least_collected = 3", 4),
];

/// Readings of how chunks go back.
const RETURNS: &[&str] = &[
    "return_if = 'some'",
    "return_when = 'always'",
    "return_order = 'lowest'",
    "resize_when = 'after'",
    "used_by = 'hit'",
];

/// Writes of any number of sectors at any of them: most to a few places that move on, others anywhere.
fn uneven() -> Workload {
    // Tests that run at once must not write the file while another reads it.
    static WRITTEN: OnceLock<PathBuf> = OnceLock::new();
    Workload::File(WRITTEN.get_or_init(write_uneven).clone().into())
}

fn write_uneven() -> PathBuf {
    let mut random = 7u64;
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let mut lines = String::new();
    for time in 0..12_000u64 {
        // Every few thousand requests the working set is another, and larger or smaller.
        let longest = if below(4) == 0 { 60 } else { 12 };
        let (phase, sectors) = (time / 1500, 1 + below(longest));
        let set = [500, 3000, 200, 1200][(phase % 4) as usize];
        let sector = if below(5) == 0 { below(70_000) } else { phase * 5000 % 60_000 + below(set) };
        let line = writeln!(lines, "{},uneven,0,Write,{},{},0", 1000 * time, sector * 512, sectors * 512);
        line.expect("a string takes it");
    }
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("uneven.csv");
    std::fs::write(&path, lines).expect("a file can be written");
    path
}

/// What is counted with 310 blocks of buffer, of which 75 % are 57.75 chunks, on empty zones.
fn count(workload: &Workload, outstanding: u32, config: &str) -> Counts {
    let drive = DrivePreset::named("small-zoned").expect("a known drive");
    let config = format!("{BASE}\n{config}");
    compare_at("amphisbaena", workload, &drive, BufferSize::Blocks(310), 0.0, outstanding, &config)
}

/// Whether chunks went back often enough for a reading of that to show.
fn returns(counts: &Counts) -> bool {
    counts.hot_cold[5] >= 20
}

#[test]
fn every_reading_changes_a_count() {
    let workload = uneven();
    for &(change, outstanding) in CHANGES {
        let [default, changed] = ["", change].map(|config| count(&workload, outstanding, config));
        assert_ne!(default, changed, "{change} changes nothing");
    }
}

#[test]
fn every_reading_of_how_chunks_go_back_changes_a_count_where_they_do() {
    let workload = uneven();
    let default = count(&workload, 1, "");
    assert!(returns(&default), "{default:?}");
    for change in RETURNS {
        let changed = count(&workload, 1, change);
        println!("{change}: {changed:?}");
        assert!(returns(&changed), "{change}: {changed:?}");
        assert_ne!(default, changed, "{change} changes nothing");
    }
}

/// Where nothing goes back no reading of that can be seen, and the test above would say so.
#[test]
fn a_run_in_which_no_chunk_goes_back_is_told() {
    let workload = uneven();
    let [default, some] = ["", "return_if = 'some'"].map(|change| {
        let counts = count(&workload, 1, &format!("{change}\nhot_most = 0.0"));
        assert!(!returns(&counts), "{counts:?}");
        counts
    });
    assert_eq!(default, some);
}

/// With more requests outstanding collections are stopped more often.
#[test]
fn stopped_collections_agree_with_several_requests_outstanding() {
    let workload = uneven();
    for config in ["", "checkpoint_for = 'rest'", "least_collected = 3"] {
        let stopped = [1, 2, 8].map(|outstanding| count(&workload, outstanding, config).hot_cold[3]);
        println!("{config:?}: {stopped:?}");
        assert!(stopped[0] == 0 && stopped[1] > 20 && stopped[2] > stopped[1], "{config:?}: {stopped:?}");
    }
}
