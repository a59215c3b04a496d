//! The configurations that take part.

use crate::paper::{Load, Variant};

pub const ZONE_ALLOY: &str = "zone-alloy";
pub const LOOP_BACK: &str = "loop-back";
pub const FIFO: &str = "fifo";
pub const LRU: &str = "improved-lru";

/// Zone-Swap by other rules, on a volume that is mostly read.
pub const VETO: &str = "read zones stay";
pub const NEAREST: &str = "nearest partner";

/// A scheme on the disk of §4: 99.9 % used, which leaves 4 of 1239 realms conventional.
macro_rules! used {
    ($($own:literal),*) => { &["zone-alloy.converted=0.997" $(, $own)*] };
}

/// The log without Zone-Swap and with it, where another share of the realms is converted.
macro_rules! converted {
    ($zones:literal, $share:literal) => {
        [
            own(concat!("loop-back, ", $zones), &[concat!("zone-alloy.converted=", $share), "zone-alloy.swap=false"]),
            own(concat!("zone-alloy, ", $zones), &[concat!("zone-alloy.converted=", $share)]),
        ]
    };
}

/// The first is what the paper proposes.
pub const VARIANTS: &[Variant] = &{
    let [l2, z2] = converted!("2 zones", "0.999");
    let [l4, z4] = converted!("4 zones", "0.998");
    let [l12, z12] = converted!("12 zones", "0.995");
    let [l24, z24] = converted!("24 zones", "0.99");
    let [l50, z50] = converted!("50 zones", "0.98");
    let [l124, z124] = converted!("124 zones", "0.95");
    let [l248, z248] = converted!("248 zones", "0.9");
    [
        own(ZONE_ALLOY, used!()),
        own(LOOP_BACK, used!("zone-alloy.swap=false")),
        own(FIFO, used!("zone-alloy.policy=fifo")),
        own(LRU, used!("zone-alloy.policy=lru")),
        l2,
        z2,
        l4,
        z4,
        l12,
        z12,
        l24,
        z24,
        l50,
        z50,
        l124,
        z124,
        l248,
        z248,
        own(VETO, used!("zone-alloy.veto_reads=true")),
        own(NEAREST, used!("zone-alloy.partner=nearest")),
        own("both", used!("zone-alloy.veto_reads=true", "zone-alloy.partner=nearest")),
        own("partners stay", used!("zone-alloy.keep_partners=true")),
        own("candidates stay", used!("zone-alloy.keep_candidates=true")),
        own("above 2 %", used!("zone-alloy.swap_above=0.02")),
        own("above 5 %", used!("zone-alloy.swap_above=0.05")),
        own("above 20 %", used!("zone-alloy.swap_above=0.2")),
        own("above 40 %", used!("zone-alloy.swap_above=0.4")),
    ]
};

const fn own(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant {
        name,
        layer: ZONE_ALLOY,
        settings,
        sized: &[],
        buffer: None,
        disk: None,
        load: Load::TraceTime,
        reaches: None,
    }
}
