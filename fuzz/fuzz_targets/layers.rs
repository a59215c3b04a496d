#![no_main]
//! Any layer, driven by a string: the first byte chooses it, the rest its disk, its configuration, the requests, the
//! faults and the power cuts.

use imbrex::explore::{Subject, explore_bytes};
use imbrex::layers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    let Some((first, decisions)) = content.split_first() else { return };
    let info = &layers::ALL[usize::from(*first) % layers::ALL.len()];
    if let Err(finding) = explore_bytes(&Subject::layer(info), decisions) {
        panic!("{finding}");
    }
});
