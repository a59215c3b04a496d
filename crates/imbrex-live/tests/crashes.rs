//! The crash explorer on images: every layer survives, and the explorer finds the loss when an ordering rule is not
//! kept.
//!
//! One test for each group of layers, so that they run at a time. A failure names the seed, which
//! `imbrex explore LAYER --image --seed SEED --cuts 1` replays.
#![allow(clippy::unwrap_used, reason = "tests")]

use imbrex::explore::{Finding, Options, Tally, explore};
use imbrex::layers;
use imbrex::perform::rules::{Rule, Rules};
use imbrex_live::explore::on_images;

/// Cuts for each layer; `imbrex explore LAYER --image` goes on from there.
const CUTS: u64 = 20_000;
/// Cuts within which a rule that is switched off must show.
const CAUGHT_WITHIN: u64 = 20_000;
const FIRST_SEED: u64 = 1;

fn go(layer: &str, cuts: u64, rules: Rules) -> Result<Tally, Finding> {
    explore(&on_images(layers::find(layer).unwrap()), &Options { cuts, seed: FIRST_SEED, rules }, |_| true)
}

fn survive(names: &[&str]) {
    for name in names {
        let tally = go(name, CUTS, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
        println!("{name}, seeds {FIRST_SEED} to {}: {tally:?}", FIRST_SEED + tally.runs - 1);
        assert!(tally.cuts_in_recovery > 0 && tally.rebuilds > 0 && tally.faults > 0, "{tally:?}");
        assert!(*name == "conventional" || tally.checkpoints > 0, "{tally:?}");
    }
}

const IN_PLACE: &[&str] = &["conventional", "in-place", "seagate", "seagate-two-phase"];
const BUFFERS: &[&str] = &["fifo-log", "loop-back", "block-lru"];
const ZONES: &[&str] = &["skylight-zones", "amphisbaena", "dm-zoned", "skylight"];
const LOGS: &[&str] = &["log-greedy", "log-fifo", "log-cost-benefit", "page-ftl"];
const STACKS: [&[&str]; 2] = [&["lru-cache"], &["static-sets"]];

#[test]
fn layers_that_write_in_place_survive() {
    survive(IN_PLACE);
}

#[test]
fn buffers_before_zones_survive() {
    survive(BUFFERS);
}

#[test]
fn zones_and_bands_survive() {
    survive(ZONES);
}

#[test]
fn logs_survive() {
    survive(LOGS);
}

#[test]
fn caches_by_recency_survive() {
    survive(STACKS[0]);
}

#[test]
fn caches_in_sets_survive() {
    survive(STACKS[1]);
}

#[test]
fn no_layer_is_left_out() {
    let explored: Vec<&str> = [IN_PLACE, BUFFERS, ZONES, LOGS, STACKS[0], STACKS[1]].concat();
    assert!(layers::ALL.iter().all(|info| explored.contains(&info.name)));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let run = || go("lru-cache", 100, Rules::all()).unwrap();
    assert_eq!(run(), run());
}

#[test]
fn each_rule_that_is_switched_off_is_caught_on_images() {
    for rule in Rule::ALL {
        let layer = match rule {
            Rule::RedoFirst => "seagate",
            // They bind layers, and no layer of the library breaks them.
            Rule::NoRecordOfRam | Rule::NoOverwrite => continue,
            Rule::WholeSectors | Rule::FlushWaits => "conventional",
            _ => "fifo-log",
        };
        match go(layer, CAUGHT_WITHIN, Rules::without(rule)) {
            Ok(tally) => panic!("without rule {} nothing was found: {tally:?}", rule.number()),
            Err(finding) => println!("without rule {} ({}): {finding}", rule.number(), rule.text()),
        }
    }
}
