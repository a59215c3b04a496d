//! The configurations that take part.

use super::FILL;
use crate::paper::{Load, Variant};

pub const PORE: &str = "pore";
pub const BY_REGION: &str = "pore, by region";
pub const STATIC_SETS: &str = "static-sets";
pub const LRU: &str = "lru-cache";
pub const TOGETHER: &str = "pore, 1024 at a time";
pub const NO_BANDS: &str = "pore, no bands";

/// A cache in the three ways in which all are compared: as in the report's simulator, where reads take no copies, flash
/// is written where it lies, and one request is outstanding; the same with requests when the trace says; and as the
/// layer is by default, where reads take copies and flash is collected.
type Competitor = [Variant; 3];

/// A layer, by the name given to it, with the fields that make it what it is.
macro_rules! competitor {
    ($name:expr, $layer:literal $(, $field:literal)*) => {
        [
            variant($name, $layer, simulated!($layer $(, $field)*), Load::OneOutstanding),
            variant(concat!($name, ", timed"), $layer, simulated!($layer $(, $field)*), Load::TraceTime),
            variant(
                concat!($name, ", by default"),
                $layer,
                &[$(concat!($layer, ".", $field)),*],
                Load::OneOutstanding,
            ),
        ]
    };
}

/// The fields of a layer that are as in the report's simulator, and others.
macro_rules! simulated {
    ($layer:literal $(, $field:literal)*) => {
        &[
            concat!($layer, ".read_allocate=false"),
            concat!($layer, ".flash_layer=conventional"),
            $(concat!($layer, ".", $field)),*
        ]
    };
}

/// Everything that is held against everything; a line each. The first is what the paper proposes, the second what it is
/// held against.
const COMPETITORS: [Competitor; 6] = [
    competitor!("pore", "pore"),
    competitor!("static-sets", "static-sets"),
    competitor!("pore, by region", "pore", "evict=region"),
    competitor!("lru-cache", "lru-cache"),
    competitor!("sac", "sac"),
    competitor!("MOST", "pore", "select=most-dirty", "evict=region", "period_blocks=1", "read_allocate=false"),
];

/// What is studied on `pore` alone, as in the report's simulator unless a name says otherwise.
const STUDIED: [Variant; 38] = [
    pore(TOGETHER, simulated!("pore", "evict_blocks=1024")),
    pore(NO_BANDS, simulated!("pore", "evict_blocks=1024", "disk_layer=conventional", "disk_config={}")),
    pore("pore, ARC", simulated!("pore", "replacement=arc")),
    pore("pore, S3-FIFO", simulated!("pore", "replacement=s3-fifo")),
    pore("pore, LIRS", simulated!("pore", "replacement=lirs")),
    pore("pore, CLOCK", simulated!("pore", "replacement=clock")),
    pore("pore, SIEVE", simulated!("pore", "replacement=sieve")),
    variant("ARC", LRU, simulated!("lru-cache", "replacement=arc"), Load::OneOutstanding),
    variant("S3-FIFO", LRU, simulated!("lru-cache", "replacement=s3-fifo"), Load::OneOutstanding),
    variant("LIRS", LRU, simulated!("lru-cache", "replacement=lirs"), Load::OneOutstanding),
    variant("CLOCK", LRU, simulated!("lru-cache", "replacement=clock"), Load::OneOutstanding),
    variant("SIEVE", LRU, simulated!("lru-cache", "replacement=sieve"), Load::OneOutstanding),
    pore("mean popularity", simulated!("pore", "select=mean-popularity")),
    pore("cold blocks", simulated!("pore", "select=cold-blocks")),
    pore("most dirty", simulated!("pore", "select=most-dirty")),
    pore("periods of written", simulated!("pore", "period_counts=written")),
    pore("reads allocate", &["pore.flash_layer=conventional"]),
    pore("reads do not count", simulated!("pore", "reads_count=false")),
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
    cache("pore, 0.5 %", PORE, simulated!("pore"), "0.5%"),
    cache("pore, 2 %", PORE, simulated!("pore"), "2%"),
    cache("pore, 4 %", PORE, simulated!("pore"), "4%"),
    cache("static-sets, 0.5 %", STATIC_SETS, simulated!("static-sets"), "0.5%"),
    cache("static-sets, 2 %", STATIC_SETS, simulated!("static-sets"), "2%"),
    cache("static-sets, 4 %", STATIC_SETS, simulated!("static-sets"), "4%"),
];

const ALL: usize = 3 * COMPETITORS.len() + STUDIED.len();

/// All of them. A period is a fill of the disk's buffer unless a name says otherwise.
pub const VARIANTS: &[Variant] = &all();

/// The names of the competitors in one of the three ways, the baseline first.
pub const SIMULATED: &[&str] = &names(0);
pub const TIMED: &[&str] = &names(1);
pub const BY_DEFAULT: &[&str] = &names(2);

const fn all() -> [Variant; ALL] {
    let mut all = [COMPETITORS[0][0]; ALL];
    let mut at = 0;
    while at < ALL {
        let (competitor, way) = (at % COMPETITORS.len(), at / COMPETITORS.len());
        all[at] = if way < 3 { COMPETITORS[competitor][way] } else { STUDIED[at - 3 * COMPETITORS.len()] };
        at += 1;
    }
    all
}

const fn names(way: usize) -> [&'static str; COMPETITORS.len()] {
    let mut names = [""; COMPETITORS.len()];
    let mut at = 0;
    while at < names.len() {
        let shown = match at {
            0 => 1,
            1 => 0,
            other => other,
        };
        names[at] = COMPETITORS[shown][way].name;
        at += 1;
    }
    names
}

/// A layer; the period of `pore` is a fill of the disk's buffer unless its settings say otherwise.
const fn variant(name: &'static str, layer: &'static str, settings: &'static [&'static str], load: Load) -> Variant {
    // What no regions have has no period either: the other layers know no such field.
    let sized: &[(&str, f64)] = if is_pore(layer) { &[("pore.period_blocks", FILL)] } else { &[] };
    Variant { name, layer, settings, sized, buffer: None, disk: None, load, reaches: None }
}

const fn is_pore(layer: &str) -> bool {
    matches!(layer.as_bytes(), b"pore")
}

const fn pore(name: &'static str, settings: &'static [&'static str]) -> Variant {
    variant(name, PORE, settings, Load::OneOutstanding)
}

const fn period(name: &'static str, sized: &'static [(&'static str, f64)]) -> Variant {
    Variant { sized, ..pore(name, simulated!("pore")) }
}

const fn cache(
    name: &'static str,
    layer: &'static str,
    settings: &'static [&'static str],
    buffer: &'static str,
) -> Variant {
    Variant { buffer: Some(buffer), ..variant(name, layer, settings, Load::OneOutstanding) }
}
