//! The configurations that take part: those of Fig. 6 on the disks of §6.2 and §6.4, and what the other figures vary.

use crate::paper::{Disk, Load, Variant};

pub const OUR: &str = "our";
pub const SEAGATE: &str = "seagate";
pub const CONVENTIONAL: &str = "no overlap";
pub const DEFAULTS: &str = "by default";

/// The group of §6.4 that is larger than the traces need.
const LARGE: u64 = 5_000_000_000_000;

/// What makes `tracklace` the layer that a name of Fig. 6 stands for, and further settings.
macro_rules! element {
    ("z-a" $(, $own:literal)*) => {
        paper!("tracklace.phases=3", "tracklace.frame_tracks=0", "tracklace.buffer_percent=0" $(, $own)*)
    };
    ("+bf" $(, $own:literal)*) => {
        paper!("tracklace.phases=3", "tracklace.frame_tracks=0", "tracklace.swap=false", "tracklace.slowest=1" $(, $own)*)
    };
    ("+ab" $(, $own:literal)*) => {
        paper!("tracklace.phases=3", "tracklace.frame_tracks=0", "tracklace.swap=false" $(, $own)*)
    };
    ("+sw" $(, $own:literal)*) => { paper!("tracklace.phases=3", "tracklace.frame_tracks=0" $(, $own)*) };
    ("+vf" $(, $own:literal)*) => { paper!("tracklace.phases=3" $(, $own)*) };
    ("our" $(, $own:literal)*) => { paper!($($own),*) };
}

/// The paper's settings, and others beside them.
macro_rules! paper {
    ($($own:literal),*) => { &["tracklace.preset=paper" $(, $own)*] };
}

/// Both at a utilisation.
macro_rules! pair {
    ($percent:literal, $part:literal) => {
        [
            seagate(concat!("seagate, ", $percent), &[concat!("seagate.utilisation=", $part)]),
            own(concat!("our, ", $percent), &["tracklace.preset=paper", concat!("tracklace.utilisation=", $part)]),
        ]
    };
}

/// The first is what the paper proposes.
pub const VARIANTS: &[Variant] = &{
    let [s20, o20] = pair!("20 %", "0.2");
    let [s40, o40] = pair!("40 %", "0.4");
    let [s60, o60] = pair!("60 %", "0.6");
    let [s80, o80] = pair!("80 %", "0.8");
    let [s90, o90] = pair!("90 %", "0.9");
    let [s95, o95] = pair!("95 %", "0.95");
    let [s98, o98] = pair!("98 %", "0.98");
    let [s9999, o9999] = pair!("99.99 %", "0.9999");
    [
        own(OUR, paper!()),
        seagate(SEAGATE, &[]),
        Variant { layer: "conventional", ..own(CONVENTIONAL, &[]) },
        own("z-a", element!("z-a")),
        own("+bf", element!("+bf")),
        own("+ab", element!("+ab")),
        own("+sw", element!("+sw")),
        own("+vf", element!("+vf")),
        s20,
        o20,
        s40,
        o40,
        s60,
        o60,
        s80,
        o80,
        s90,
        o90,
        s95,
        o95,
        s98,
        o98,
        s9999,
        o9999,
        large("5 TB, sg", "seagate", &["seagate.utilisation=0.8"]),
        large("5 TB, z-a", TRACKLACE, element!("z-a", "tracklace.utilisation=0.8")),
        large("5 TB, +bf", TRACKLACE, element!("+bf", "tracklace.utilisation=0.8")),
        large("5 TB, +ab", TRACKLACE, element!("+ab", "tracklace.utilisation=0.8")),
        large("5 TB, +sw", TRACKLACE, element!("+sw", "tracklace.utilisation=0.8")),
        large("5 TB, +vf", TRACKLACE, element!("+vf", "tracklace.utilisation=0.8")),
        large("5 TB, our", TRACKLACE, element!("our", "tracklace.utilisation=0.8")),
        stretched("stretched, sg", "seagate", &["seagate.utilisation=0.8"]),
        stretched("stretched, z-a", TRACKLACE, element!("z-a", "tracklace.utilisation=0.8")),
        stretched("stretched, +bf", TRACKLACE, element!("+bf", "tracklace.utilisation=0.8")),
        stretched("stretched, +ab", TRACKLACE, element!("+ab", "tracklace.utilisation=0.8")),
        stretched("stretched, +sw", TRACKLACE, element!("+sw", "tracklace.utilisation=0.8")),
        stretched("stretched, +vf", TRACKLACE, element!("+vf", "tracklace.utilisation=0.8")),
        stretched("stretched, our", TRACKLACE, element!("our", "tracklace.utilisation=0.8")),
        own("2K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=2000")),
        own("4K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=4000")),
        own("8K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=8000")),
        own("16K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=16000")),
        own("32K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=32000")),
        own("64K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=64000")),
        own("128K tracks", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=128000")),
        own("no frames", paper!("tracklace.utilisation=0.95", "tracklace.frame_tracks=0")),
        own(DEFAULTS, &[]),
        own("swaps replaced", paper!("tracklace.when_full=replace")),
        own("swaps for gain", paper!("tracklace.when_full=gain")),
        own("appended hits", paper!("tracklace.hits=append")),
        outstanding("seagate, outstanding", "seagate", &[]),
        outstanding("z-a, outstanding", TRACKLACE, element!("z-a")),
        outstanding("+bf, outstanding", TRACKLACE, element!("+bf")),
        outstanding("+ab, outstanding", TRACKLACE, element!("+ab")),
        outstanding("+sw, outstanding", TRACKLACE, element!("+sw")),
        outstanding("+vf, outstanding", TRACKLACE, element!("+vf")),
        outstanding("our, outstanding", TRACKLACE, element!("our")),
    ]
};

/// Those of Fig. 8.
pub const MIXED: &[Variant] = &[
    own(ADAPT, element!("+ab", "tracklace.utilisation=0.8")),
    own(NO_ADAPT, element!("+bf", "tracklace.utilisation=0.8")),
    own(Z_ALLOC, element!("z-a", "tracklace.utilisation=0.8")),
];
pub const ADAPT: &str = "buffer-adapt";
pub const NO_ADAPT: &str = "buffer-no-adapt";
pub const Z_ALLOC: &str = "z-alloc";

const TRACKLACE: &str = "tracklace";

const fn own(name: &'static str, settings: &'static [&'static str]) -> Variant {
    let (sized, load) = (&[], Load::TraceTime);
    Variant { name, layer: TRACKLACE, settings, sized, buffer: None, disk: None, load, reaches: None }
}

const fn seagate(name: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { layer: "seagate", ..own(name, settings) }
}

const fn large(name: &'static str, layer: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { layer, disk: Some(Disk::Sized { bytes: LARGE, is_stretched_over: false }), ..own(name, settings) }
}

const fn stretched(name: &'static str, layer: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { layer, disk: Some(Disk::Sized { bytes: LARGE, is_stretched_over: true }), ..own(name, settings) }
}

/// With a request as soon as the one before is complete.
const fn outstanding(name: &'static str, layer: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { layer, load: Load::OneOutstanding, ..own(name, settings) }
}
