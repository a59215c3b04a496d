//! Power cuts and failing operations on tiny disks in memory.

use imbrex::explore::{Options, Subject, Tally, explore, explore_bytes};
use imbrex::layers::LayerInfo;
use imbrex::perform::rules::Rules;
use imbrex::samples::ample_space;
use libtest_mimic::Failed;
use proptest::prelude::*;

use crate::for_any;

/// Cuts for each layer, or more until every kind of bad luck has struck. `make soak` goes on with other seeds.
const CUTS: u64 = 250;
/// Cuts within which it must.
const STRUCK_WITHIN: u64 = 5000;
/// Strings of decisions for each layer.
const STRINGS: u32 = 8;

pub fn survives_power_cuts(info: &'static LayerInfo) -> Result<(), Failed> {
    let keeps_map = info.build(&ample_space(), &toml::Table::new())?.facts().journal.records > 0;
    let struck = |tally: &Tally| tally.met_all_bad_luck() && (tally.checkpoints > 0 || !keeps_map);
    let options = Options { cuts: STRUCK_WITHIN, seed: 1, rules: Rules::all() };
    let tally = explore(&Subject::layer(info), &options, |tally| tally.cuts < CUTS || !struck(tally))?;
    assert!(struck(&tally), "{tally:?}");
    Ok(())
}

pub fn survives_what_a_string_decides(info: &'static LayerInfo) -> Result<(), Failed> {
    for_any(STRINGS, prop::collection::vec(any::<u8>(), 0..4000), |decisions| {
        let found = explore_bytes(&Subject::layer(info), &decisions);
        found.map(drop).map_err(|finding| TestCaseError::fail(finding.to_string()))
    })
}
