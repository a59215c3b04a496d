//! Disks that are simulated are found out, by nothing but their times.
#![allow(clippy::unwrap_used, reason = "tests")]

use imbrex::bands::BandRun;
use imbrex::drive::{DrivePreset, MediaSpec, TimingSpec};
use imbrex::explore::Dice;
use imbrex::mechanics::RecordingSpec;
use imbrex_probe::disk::{Disk, Facts, ProbeError};
use imbrex_probe::found::{Found, Kind};
use imbrex_probe::simulated::Simulated;
use imbrex_probe::{probe, steps};
use imbrex_terminal::progress::Progress;
use test_material::cases;
use toml::Table;

const GIB: u64 = 1 << 30;

fn named(name: &str, bytes: Option<u64>) -> DrivePreset {
    let drive = DrivePreset::named(name).unwrap();
    bytes.map_or(drive.clone(), |bytes| drive.with_capacity(bytes).unwrap())
}

fn probed(drive: &DrivePreset, fields: &str, write: bool) -> Found {
    let config: Table = fields.parse().unwrap();
    let mut disk = Simulated::new(drive, &config).unwrap();
    probe(&mut disk, write, &Progress::of_pieces("probing", steps(write))).unwrap()
}

/// Whether a value that was found is the true one, to ten per cent.
fn assert_near(what: &str, found: f64, is: f64) {
    assert!((found - is).abs() <= is / 10.0, "{what}: {found} was found, and it is {is}");
}

/// The length of the bands around a block, as the preset has it.
fn band_bytes(drive: &DrivePreset, offset: u64) -> f64 {
    let MediaSpec::Banded { bands, .. } = &drive.media else { panic!("no bands") };
    let mut end = 0;
    let length = bands.iter().find(|run| {
        end += u64::from(run.bands) * u64::from(run.band_blocks) * 4096;
        end > offset
    });
    f64::from(length.unwrap().band_blocks) * 4096.0
}

/// Holds what was found of a drive-managed disk against what it is.
fn assert_inside(name: &str, drive: &DrivePreset, found: &Found, entries: Option<u64>, idle_ms: f64) {
    assert_eq!(found.kind, Kind::DriveManaged, "{name}");
    let MediaSpec::Banded { cache_blocks, .. } = drive.media else { panic!("no bands") };
    let cache = found.cache.as_ref().unwrap();
    assert_near(&format!("{name}: cache"), cache.bytes.unwrap() as f64, f64::from(cache_blocks) * 4096.0);
    match (cache.extents, entries) {
        (Some(found), Some(is)) => assert_near(&format!("{name}: extents"), found as f64, is as f64),
        (found, is) => assert_eq!(found, is, "{name}: extents"),
    }
    assert!((cache.idle_ms.unwrap() - idle_ms).abs() <= idle_ms / 10.0 + 10.0, "{name}: idle {:?}", cache.idle_ms);
    // Tracks of one cylinder are a tenth of a small disk apart, and more.
    let outer = f64::from(cache_blocks) / drive.blocks() as f64 + 0.3;
    assert!(cache.near.unwrap() < outer, "{name}: the cache is at the outer edge, not at {:?}", cache.near);
    let bands = found.bands.as_ref().unwrap_or_else(|| panic!("{name}: no bands"));
    assert!(bands.places.len() >= 2, "{name}: {bands:?}");
    let MediaSpec::Banded { bands: runs, .. } = &drive.media else { panic!("no bands") };
    for place in &bands.places {
        // At the end of a run two lengths meet.
        let reach = (place.band_bytes * f64::from(place.bands + 2)) as u64;
        let [begin, end] =
            [place.offset, place.offset + reach].map(|at| band_bytes(drive, at.min(found.facts.bytes - 1)));
        assert!(runs.len() > 1 || begin == end);
        let (least, most) = (begin.min(end) * 0.9, begin.max(end) * 1.1);
        assert!((least..most).contains(&place.band_bytes), "{name}: {place:?}, and it is {begin} to {end}");
    }
}

#[test]
fn a_conventional_disk_is_found_and_its_times_are() {
    let drive = named("conventional-7200", None);
    let found = probed(&drive, "", true);
    assert_eq!(found.kind, Kind::Conventional);
    assert_near("turn", found.reads.turn_ms.unwrap(), 60_000.0 / 7200.0);
    assert_near("seek", found.reads.seek_ms.unwrap(), 7.4);
    assert_near("full stroke", found.reads.seeks.last().unwrap().ms, 14.0);
    let places = &found.reads.places;
    assert_near("outer track", places[0].track_bytes.unwrap(), 3560.0 * 512.0);
    assert_near("inner track", places.last().unwrap().track_bytes.unwrap(), 1780.0 * 512.0);
    assert_near("rate", places[0].bytes_per_second, 206e6);
    // Without writing that is all that can be said.
    let found = probed(&drive, "", false);
    assert_eq!(found.kind, Kind::Anywhere);
    assert!(matches!(found.preset("x"), Err(ProbeError::Preset(why)) if why.contains("--write")));
}

#[test]
fn zones_are_those_that_the_disk_reports() {
    let found = probed(&named("exos-x18z", None), "", true);
    assert_eq!((found.kind, found.writes.is_none()), (Kind::HostManaged, true), "zones are not written at random");
    let zones = found.facts.zones.unwrap();
    assert_eq!((zones.zone_bytes, zones.conventional, zones.sequential), (256 << 20, 720, 67_056 - 720));
    assert_near("rate", found.reads.places[0].bytes_per_second, 270e6);
    let found = probed(&named("zonealloy", None), "", false);
    assert_eq!((found.kind, found.facts.zones.unwrap().inactive), (Kind::Hybrid, 3 * 1239));
}

#[test]
fn flash_turns_nothing_and_interlaced_tracks_are_rewritten() {
    assert_eq!(probed(&named("ssd-sata", None), "", true).kind, Kind::Flash);
    assert_eq!(probed(&named("ssd-pore", None), "", false).kind, Kind::Flash);
    assert_eq!(probed(&named("imr-tracklace", Some(64 * GIB)), "", true).kind, Kind::Interlaced);
    assert_eq!(probed(&named("hp97560", None), "", true).kind, Kind::Conventional);
}

#[test]
fn the_inside_of_drive_managed_presets_is_found() {
    let drive = named("st8000as0002", None);
    let found = probed(&drive, "", true);
    assert_inside("st8000as0002", &drive, &found, Some(250_000), 1200.0);
    let small = named("small-banded", None);
    assert_inside("small-banded", &small, &probed(&small, "", true), None, 1200.0);
}

/// A drive-managed disk that is drawn, the fields of the layer inside, the extents that its map holds if these run out
/// first, and how long it is idle before it cleans, in ms.
fn drawn(dice: &mut Dice) -> (DrivePreset, String, Option<u64>, u64) {
    let mut any = |least: u64, most: u64| least + dice.below(most - least);
    let (cache, outer) = (any(2000, 300_000) as u32, any(100, 12_000) as u32);
    let inner = (u64::from(outer) * any(30, 101) / 100) as u32;
    // So many that the cache is at most a third of the disk.
    let least = u64::from(cache) * 3 / (3 * u64::from(inner)) + 20;
    let lengths = [outer, outer.midpoint(inner), inner];
    let bands = lengths.map(|band_blocks| BandRun { bands: any(least, 2 * least) as u32, band_blocks });
    let media = MediaSpec::Banded { cache_blocks: cache, bands: bands.into() };
    let base = named(["st8000as0002", "small-banded"][any(0, 2) as usize], None);
    let mut drive = DrivePreset { media, ..base };
    if let TimingSpec::Disk(mechanics) = &mut drive.timing {
        mechanics.rpm = Some(any(4000, 10_000) as f64);
        mechanics.heads = any(1, 12) as u32;
        let (outer_sectors_per_track, inner_sectors_per_track) = (any(1000, 4000) as u32, any(300, 1000) as u32);
        mechanics.recording = RecordingSpec::Linear { outer_sectors_per_track, inner_sectors_per_track, zones: 8 };
    }
    let entries = (any(0, 2) == 0).then(|| u64::from(cache) / any(2, 30));
    let idle_ms = any(10, 6000);
    let fields = format!(
        "idle_ms = {idle_ms}\nmap_entries = {}\nentries = \"{}\"\ngather = \"{}\"\nscratch = {}\nstep_blocks = {}",
        entries.unwrap_or(10_000_000),
        ["extents", "writes"][any(0, 2) as usize],
        ["log", "band"][any(0, 2) as usize],
        any(0, 3) > 0,
        [64, 512, 4096][any(0, 3) as usize],
    );
    (drive, fields, entries, idle_ms)
}

#[test]
fn the_inside_of_disks_that_nobody_has_seen_is_found() {
    for seed in 1..=cases(16, 400) as u64 {
        let (drive, fields, entries, idle_ms) = drawn(&mut Dice::new(seed));
        let name = format!("seed {seed}: {:?}, {}", drive.media, fields.replace('\n', ", "));
        assert_inside(&name, &drive, &probed(&drive, &fields, true), entries, idle_ms as f64);
    }
}

/// A disk whose times are never twice the same, and that sometimes does something else for a while.
struct Noisy(Simulated, Dice);

impl Noisy {
    fn later(&mut self, ns: u64) -> u64 {
        let busy = if self.1.below(50_000) == 0 { 200_000_000 } else { 0 };
        ns + self.1.below(60_000) + busy
    }
}

impl Disk for Noisy {
    fn facts(&self) -> &Facts {
        self.0.facts()
    }

    fn read(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        let ns = self.0.read(at, blocks)?;
        Ok(self.later(ns))
    }

    fn write(&mut self, at: u64, blocks: u32) -> Result<u64, ProbeError> {
        let ns = self.0.write(at, blocks)?;
        Ok(self.later(ns))
    }

    fn rest(&mut self, ns: u64) -> Result<(), ProbeError> {
        self.0.rest(ns)
    }

    fn clock_ns(&self) -> u64 {
        self.0.clock_ns()
    }
}

#[test]
fn noise_hides_neither_mechanics_nor_bands() {
    let drive = named("st8000as0002", None);
    for seed in 1..=cases(3, 12) as u64 {
        let mut disk = Noisy(Simulated::new(&drive, &Table::new()).unwrap(), Dice::new(seed));
        let found = probe(&mut disk, true, &Progress::of_pieces("probing", steps(true))).unwrap();
        assert_inside(&format!("seed {seed}"), &drive, &found, Some(250_000), 1200.0);
        assert_near("turn", found.reads.turn_ms.unwrap(), 60_000.0 / 5980.0);
        assert_near("outer track", found.reads.places[0].track_bytes.unwrap(), 3890.0 * 512.0);
    }
}

#[test]
fn a_disk_that_never_cleans_in_idle_time_is_not_guessed_at() {
    let drive = named("small-banded", None);
    // Longer than any rest that is tried.
    let found = probed(&drive, "idle_ms = 1000000", true);
    let cache = found.cache.as_ref().unwrap();
    assert_eq!((found.kind, cache.bytes, cache.idle_ms), (Kind::DriveManaged, None, None));
    assert!(matches!(found.preset("x"), Err(ProbeError::Preset(_))));
}

#[test]
fn a_preset_of_what_was_found_is_found_again() {
    for name in ["conventional-7200", "st8000as0002", "exos-x18z", "ssd-sata", "zn540"] {
        let found = probed(&named(name, None), "", true);
        let written = toml::to_string(&found.preset("again").unwrap()).unwrap();
        let again = probed(&DrivePreset::parse("again", &written).unwrap(), "", true);
        assert_eq!(again.kind, found.kind, "{name}");
        assert_near("random reads", again.reads.random_ms, found.reads.random_ms);
        for (new, old) in again.reads.places.iter().zip(&found.reads.places) {
            assert_near(&format!("{name}: rate at {}", old.offset), new.bytes_per_second, old.bytes_per_second);
        }
        let cache = |found: &Found| found.cache.as_ref().map_or(0.0, |cache| cache.bytes.unwrap() as f64);
        assert_near("cache", cache(&again), cache(&found));
        let rewrite = |found: &Found| found.bands.as_ref().map_or(0.0, |bands| bands.rewrite_ms);
        assert!((rewrite(&again) - rewrite(&found)).abs() <= rewrite(&found) * 0.25, "{name}: {again:?}");
    }
}

#[test]
fn what_is_too_small_is_refused() {
    let drive = named("small-zoned", None);
    let MediaSpec::Zoned { .. } = drive.media else { panic!("no zones") };
    let media = MediaSpec::Conventional { blocks: 64 };
    let mut disk = Simulated::new(&DrivePreset { media, ..drive }, &Table::new()).unwrap();
    let refused = probe(&mut disk, false, &Progress::of_pieces("probing", steps(false)));
    assert!(matches!(refused, Err(ProbeError::Small(262_144))));
}
