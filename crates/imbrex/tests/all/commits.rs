//! How many commits the live engine makes for writes of several clients, and how often it writes what they bring:
//! what a served volume waits for most.

use imbrex::layers::{self, live_defaults};

use crate::fixture::served::{DEPTH, INTERLACED, SMALL_ZONED, Served};

const WRITES: u64 = 1000;
/// Blocks of the bottom tracks of a drive, in no order.
fn scattered() -> impl Iterator<Item = u64> {
    (0..WRITES).map(|write| write.wrapping_mul(2_654_435_761) % (1 << 18))
}

#[test]
fn bottom_updates_that_have_nothing_in_common_share_commits() {
    for layer in ["seagate", "seagate-two-phase"] {
        let flushes = |updates: &str| {
            let config = format!("updates = \"{updates}\"").parse().unwrap();
            Served::new(layer, &config, &INTERLACED).write(scattered(), 1).0
        };
        assert!(flushes("one") >= WRITES, "{layer}: one flush at least for each update");
        let many = flushes("many");
        assert!(many <= WRITES / 6, "{layer}: {many} flushes for {WRITES} writes, {DEPTH} at a time");
    }
}

#[test]
fn updates_of_the_same_block_come_one_after_the_other() {
    let config = "updates = \"many\"".parse().unwrap();
    let (flushes, _) = Served::new("seagate", &config, &INTERLACED).write((0..50).map(|_| 5), 1);
    assert!(flushes >= 50, "{flushes} flushes: each reads what the one before wrote back");
}

#[test]
fn what_a_log_writes_of_many_clients_goes_to_the_drive_together() {
    // Where a write pointer rules, and where it does not.
    for layer in ["log-greedy", "fifo-log"] {
        let mut served = Served::new(layer, &toml::Table::new(), &SMALL_ZONED);
        let (_, written) = served.write(scattered().map(|block| block % 16_384), 1);
        let writes = served.writes;
        assert!(written >= WRITES, "{layer}: {written} blocks");
        assert!(writes <= WRITES / 8, "{layer}: {writes} operations of the drive for {WRITES} writes");
    }
}

/// Runs of 1 MiB, one behind the other.
fn in_sequence(runs: u64) -> impl Iterator<Item = u64> {
    (0..runs).map(|run| run * 256)
}

#[test]
fn a_new_volume_that_is_written_in_sequence_writes_little_more_than_that() {
    // One of each family that updates or buffers, on as much of its drive as is written.
    let drives = [
        (INTERLACED, vec!["seagate", "seagate-two-phase", "track-flipping", "track-caching", "track-mapping"]),
        (SMALL_ZONED, vec!["fifo-log", "block-lru", "loop-back", "amphisbaena", "zone-ages"]),
    ];
    for (drive, names) in drives {
        for name in names {
            let layer = layers::find(name).unwrap();
            let mut served = Served::new(name, &live_defaults::config(layer, &toml::Table::new()), &drive);
            let (_, written) = served.write(in_sequence(100), 256);
            assert!(written <= 25_600 * 11 / 10, "{name} wrote {written} blocks for 25600");
        }
    }
}

#[test]
fn as_the_papers_have_it_the_same_is_written_more_than_once() {
    for (name, drive) in [("seagate", INTERLACED), ("amphisbaena", SMALL_ZONED)] {
        let (_, written) = Served::new(name, &toml::Table::new(), &drive).write(in_sequence(100), 256);
        assert!(written >= 25_600 * 3 / 2, "{name} wrote {written} blocks for 25600");
    }
}
