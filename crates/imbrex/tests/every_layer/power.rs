//! Power cuts and failing operations on tiny disks in memory.

use imbrex::explore::{Options, Subject, explore, explore_bytes};
use imbrex::layers::LayerInfo;
use imbrex::layers::samples::ample_space;
use imbrex::perform::rules::Rules;
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::for_any;

/// Cuts for each layer. `make soak` goes on with other seeds.
const CUTS: u64 = 250;
/// Strings of decisions for each layer.
const STRINGS: u32 = 8;

pub fn survives_power_cuts(info: &'static LayerInfo) -> Result<(), Failed> {
    let tally = explore(&Subject::layer(info), &Options { cuts: CUTS, seed: 1, rules: Rules::all() }, |_| true)?;
    assert!(tally.cuts_in_recovery > 0 && tally.rebuilds > 0 && tally.faults > 0, "{tally:?}");
    let layer = info.build(&ample_space(), &toml::Table::new())?;
    assert!(layer.most_records() == 0 || tally.checkpoints > 0, "{tally:?}");
    Ok(())
}

pub fn survives_what_a_string_decides(info: &'static LayerInfo) -> Result<(), Failed> {
    for_any(STRINGS, prop::collection::vec(any::<u8>(), 0..4000), |decisions| {
        let found = explore_bytes(&Subject::layer(info), &decisions);
        found.map(drop).map_err(|finding| TestCaseError::fail(finding.to_string()))
    })
}
