//! The configurations that take part.
//!
//! Those with a plain name are on bare bands, as the report's simulator has them.

use super::{BUFFER, CACHE, FILL};
use crate::metric::Metric;
use crate::paper::{Disk, Load, Variant};

pub const PORE: &str = "pore";
pub const LONG: &str = "pore, longer period";
pub const STATIC_SETS: &str = "static-sets";
pub const SAC: &str = "sac";
pub const MOST: &str = "MOST";
pub const ACROSS: &str = "static-sets, 30 MiB";
pub const MERGED: [&str; 2] = ["static-sets, merged", "pore, merged"];
pub const MANAGED: &str = "pore, managed";
pub const BY_REGION: &str = "pore by region, managed";
pub const MANAGED_SETS: &str = "static-sets, managed";
pub const LRU: &str = "lru-cache, managed";
pub const TOGETHER: &str = "pore, 1024 at a time";
pub const NO_BANDS: &str = "pore, no bands";

/// The cache before the drive-managed disk: four times the disk's buffer.
const MANAGED_BUFFER: &str = "1%";

/// Bands as long as a region unit, each of which is rewritten whole.
const BANDS: Disk = Disk::Zones { drive: "exos-x18z", bytes: 20 << 20 };

/// The fields of a layer that are as in the report's simulator, and others.
macro_rules! simulated {
    ($layer:literal $(, $field:expr)*) => {
        &[
            concat!($layer, ".read_allocate=false"),
            concat!($layer, ".flash_layer=conventional"),
            $(concat!($layer, ".", $field)),*
        ]
    };
}

/// The same on bare bands. What leaves for a band at a time has it rewritten once, however soon it is written again.
macro_rules! bare {
    ($layer:literal $(, $field:expr)*) => {
        merged!($layer, "flush_home=true" $(, $field)*)
    };
}

/// The same, where times that follow each other share a rewrite.
macro_rules! merged {
    ($layer:literal $(, $field:expr)*) => {
        simulated!($layer, "disk_layer=in-place", "disk_config={gather='zone'}" $(, $field)*)
    };
}

/// Both layers with a cache of that many percent of the range: the sets that it is cut into, or the part of it that a
/// period takes.
macro_rules! searched {
    ($name:literal, $cache:literal) => {
        searched!($name, $cache, [16, 64, 128], [8, 16, 24, 48, 128])
    };
    ($name:literal, $cache:literal, [$($sets:literal),*], [$($part:literal),*]) => {
        [
            $(bare(
                concat!("static-sets, ", $name, " %, ", $sets, " sets"),
                STATIC_SETS,
                bare!("static-sets", "band_blocks=5120", concat!("sets=", $sets)),
                &[],
                concat!($name, "%"),
            ),)*
            $(bare(
                concat!("pore, ", $name, " %, 1/", $part),
                PORE,
                bare!("pore", "evict=region"),
                &[("pore.period_blocks", $cache / $part as f64)],
                concat!($name, "%"),
            ),)*
        ]
    };
}

/// What the search runs, cache by cache.
const SEARCHED: [[Variant; 8]; 3] = [searched!("0.03", 0.03), searched!("0.1", 0.1), searched!("1", 1.0)];

/// A period as long as a set, and one of another part of the cache.
const AS_A_SET: &[(&str, f64)] = &[("pore.period_blocks", CACHE / 128.0)];
const LONGER: &[(&str, f64)] = &[("pore.period_blocks", CACHE / 48.0)];

/// What is held against each other on bare bands. The first is what the paper proposes.
const BARE: [Variant; 8] = [
    bare(PORE, "pore", bare!("pore", "evict=region"), AS_A_SET, BUFFER),
    bare(STATIC_SETS, "static-sets", bare!("static-sets", "band_blocks=5120", "sets=128"), &[], BUFFER),
    bare(LONG, "pore", bare!("pore", "evict=region"), LONGER, BUFFER),
    bare(SAC, "sac", bare!("sac"), &[], BUFFER),
    bare(MOST, "pore", bare!("pore", "select=most-dirty", "evict=region", "period_blocks=1"), &[], BUFFER),
    bare(ACROSS, "static-sets", bare!("static-sets", "sets=128"), &[], BUFFER),
    bare(MERGED[0], "static-sets", merged!("static-sets", "band_blocks=5120", "sets=128"), &[], BUFFER),
    bare(MERGED[1], "pore", merged!("pore", "evict=region"), AS_A_SET, BUFFER),
];

/// A cache before a drive-managed disk in the three ways in which it is compared: as in the report's simulator, where
/// reads take no copies, flash is written where it lies, and one request is outstanding; the same with requests when
/// the trace says; and as the layer is by default, where reads take copies and flash is collected.
macro_rules! managed {
    ($name:literal, $layer:literal $(, $field:expr)*) => {
        [
            managed(concat!($name, ", managed"), $layer, simulated!($layer $(, $field)*), Load::OneOutstanding),
            managed(concat!($name, ", timed"), $layer, simulated!($layer $(, $field)*), Load::TraceTime),
            managed(
                concat!($name, ", by default"),
                $layer,
                &[$(concat!($layer, ".", $field)),*],
                Load::OneOutstanding,
            ),
        ]
    };
}

/// Those that are held against each other; a line each, the baseline first.
const COMPETITORS: [[Variant; 3]; 4] = [
    managed!("static-sets", "static-sets"),
    managed!("pore", "pore"),
    managed!("pore by region", "pore", "evict=region"),
    managed!("lru-cache", "lru-cache"),
];

/// What is studied on `pore` before that disk, as in the report's simulator unless a name says otherwise.
const STUDIED: [Variant; 31] = [
    pore(TOGETHER, simulated!("pore", "evict_blocks=1024")),
    pore(NO_BANDS, simulated!("pore", "evict_blocks=1024", "disk_layer=conventional", "disk_config={}")),
    pore("pore, ARC", simulated!("pore", "replacement=arc")),
    pore("pore, S3-FIFO", simulated!("pore", "replacement=s3-fifo")),
    pore("pore, LIRS", simulated!("pore", "replacement=lirs")),
    pore("pore, CLOCK", simulated!("pore", "replacement=clock")),
    pore("pore, SIEVE", simulated!("pore", "replacement=sieve")),
    managed("ARC", "lru-cache", simulated!("lru-cache", "replacement=arc"), Load::OneOutstanding),
    managed("S3-FIFO", "lru-cache", simulated!("lru-cache", "replacement=s3-fifo"), Load::OneOutstanding),
    managed("LIRS", "lru-cache", simulated!("lru-cache", "replacement=lirs"), Load::OneOutstanding),
    managed("CLOCK", "lru-cache", simulated!("lru-cache", "replacement=clock"), Load::OneOutstanding),
    managed("SIEVE", "lru-cache", simulated!("lru-cache", "replacement=sieve"), Load::OneOutstanding),
    pore("mean popularity", simulated!("pore", "select=mean-popularity")),
    pore("cold blocks", simulated!("pore", "select=cold-blocks")),
    pore("most dirty", simulated!("pore", "select=most-dirty")),
    pore("periods of written", simulated!("pore", "period_counts=written")),
    pore("reads allocate", &["pore.flash_layer=conventional"]),
    pore("64 at a time", simulated!("pore", "evict_blocks=64")),
    pore("flash collected", &["pore.read_allocate=false"]),
    pore("collected, 28 % spare", &["pore.read_allocate=false", "pore.flash_config={over_provisioning=0.28}"]),
    period("1/8 fill", &[("pore.period_blocks", FILL / 8.0)]),
    period("1/4 fill", &[("pore.period_blocks", FILL / 4.0)]),
    period("1/2 fill", &[("pore.period_blocks", FILL / 2.0)]),
    period("2 fills", &[("pore.period_blocks", FILL * 2.0)]),
    period("4 fills", &[("pore.period_blocks", FILL * 4.0)]),
    period("8 fills", &[("pore.period_blocks", FILL * 8.0)]),
    pore("2 MiB", simulated!("pore", "region_blocks=512")),
    pore("10 MiB", simulated!("pore", "region_blocks=2560")),
    pore("30 MiB", simulated!("pore", "region_blocks=7680")),
    pore("50 MiB", simulated!("pore", "region_blocks=12800")),
    pore("100 MiB", simulated!("pore", "region_blocks=25600")),
];

const ALL: usize = BARE.len() + SEARCHED.len() * SEARCHED[0].len() + COMPETITORS.len() * 3 + STUDIED.len();

/// All of them.
pub const VARIANTS: &[Variant] = &all();

/// The names of the competitors before a drive-managed disk, when the trace says and by default; the baseline first.
pub const TIMED: &[&str] = &names(1);
pub const BY_DEFAULT: &[&str] = &names(2);

const fn all() -> [Variant; ALL] {
    let mut all = [BARE[0]; ALL];
    let mut at = put(&mut all, 0, &BARE);
    let mut list = 0;
    while list < SEARCHED.len() {
        at = put(&mut all, at, &SEARCHED[list]);
        list += 1;
    }
    list = 0;
    while list < COMPETITORS.len() {
        at = put(&mut all, at, &COMPETITORS[list]);
        list += 1;
    }
    put(&mut all, at, &STUDIED);
    all
}

/// Puts `more` behind the first `at`; how many there are then.
const fn put(all: &mut [Variant; ALL], at: usize, more: &[Variant]) -> usize {
    let mut next = 0;
    while next < more.len() {
        all[at + next] = more[next];
        next += 1;
    }
    at + next
}

/// All but LRU.
const fn names(way: usize) -> [&'static str; COMPETITORS.len() - 1] {
    let mut names = [""; COMPETITORS.len() - 1];
    let mut at = 0;
    while at < names.len() {
        names[at] = COMPETITORS[at][way].name;
        at += 1;
    }
    names
}

/// The names of what the search runs.
pub const fn searched() -> [&'static str; SEARCHED.len() * SEARCHED[0].len()] {
    let mut names = [""; SEARCHED.len() * SEARCHED[0].len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = SEARCHED[at / SEARCHED[0].len()][at % SEARCHED[0].len()].name;
        at += 1;
    }
    names
}

/// A layer that does nothing before its cache is full.
const fn variant(
    name: &'static str,
    layer: &'static str,
    settings: &'static [&'static str],
    sized: &'static [(&'static str, f64)],
    buffer: &'static str,
) -> Variant {
    let (disk, load, reaches) = (None, Load::OneOutstanding, Some(Metric::Reclaims));
    Variant { name, layer, settings, sized, buffer: Some(buffer), disk, load, reaches }
}

/// A layer on bare bands.
const fn bare(
    name: &'static str,
    layer: &'static str,
    settings: &'static [&'static str],
    sized: &'static [(&'static str, f64)],
    buffer: &'static str,
) -> Variant {
    Variant { disk: Some(BANDS), ..variant(name, layer, settings, sized, buffer) }
}

/// A layer before the drive-managed disk. The period of `pore` is a fill of that disk's buffer.
const fn managed(name: &'static str, layer: &'static str, settings: &'static [&'static str], load: Load) -> Variant {
    // What no regions have has no period either: the other layers know no such field.
    let sized: &[(&str, f64)] = if is_pore(layer) { &[("pore.period_blocks", FILL)] } else { &[] };
    Variant { load, ..variant(name, layer, settings, sized, MANAGED_BUFFER) }
}

const fn is_pore(layer: &str) -> bool {
    matches!(layer.as_bytes(), b"pore")
}

const fn pore(name: &'static str, settings: &'static [&'static str]) -> Variant {
    managed(name, PORE, settings, Load::OneOutstanding)
}

const fn period(name: &'static str, sized: &'static [(&'static str, f64)]) -> Variant {
    Variant { sized, ..pore(name, simulated!("pore")) }
}
