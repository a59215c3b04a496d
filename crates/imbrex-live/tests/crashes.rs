//! The crash explorer on images: every layer survives, and the explorer finds the loss when an ordering rule is not
//! kept.
//!
//! One test for each layer and each rule, so that they run at a time. A failure names the seed, which
//! `imbrex explore LAYER --image --seed SEED --cuts 1` replays.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::process::ExitCode;

use imbrex::explore::{Defect, Finding, Options, Subject, Tally, explore};
use imbrex::layer::MapCache;
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::rules::{Rule, Rules};
use imbrex::samples::ample_space;
use imbrex_live::explore::{Sums, on_images, paged, with_sums};
use libtest_mimic::{Arguments, Failed, Trial};

/// Cuts for each layer, or more until every kind of bad luck has struck. `make soak` goes on with other seeds.
const CUTS: u64 = 150;
/// Cuts within which it must.
const STRUCK_WITHIN: u64 = 5000;
/// Cuts within which a rule that is switched off must show.
const CAUGHT_WITHIN: u64 = 20_000;
const FIRST_SEED: u64 = 1;

fn main() -> ExitCode {
    let layers = layers::ALL.iter().map(|info| Trial::test(format!("{}::survives", info.name), move || survives(info)));
    let rules = Rule::ALL.into_iter().filter_map(|rule| {
        let layer = breaker(rule)?;
        Some(Trial::test(format!("rule_{}::is_missed", rule.number()), move || is_missed(rule, layer)))
    });
    let repeated = Trial::test("the_same_seed_gives_the_same_run", || {
        let run = || go("lru-cache", 100, Rules::all());
        assert_eq!(run()?, run()?);
        Ok(())
    });
    let summed = layers::ALL
        .iter()
        .map(|info| Trial::test(format!("{}::survives_with_checksums", info.name), move || is_summed(info)));
    let unmarked = Trial::test("unmarked_regions::are_missed", || {
        let of = |layer| with_sums(layers::find(layer).unwrap(), Sums::WithoutIntents);
        let options = Options { cuts: CAUGHT_WITHIN, seed: FIRST_SEED, rules: Rules::all() };
        for layer in ["conventional", "fifo-log"] {
            let found = explore(&of(layer), &options, |_| true);
            let finding = found.err().ok_or(format!("nothing was found of {layer}"))?;
            assert!(matches!(finding.defect, Defect::Unreadable(_)), "{finding}");
        }
        Ok(())
    });
    let unsummed = Trial::test("bytes_that_change_without_checksums::are_missed", || {
        let options = Options { cuts: CAUGHT_WITHIN, seed: FIRST_SEED, rules: Rules::all() };
        let found = explore(&with_sums(layers::find("fifo-log").unwrap(), Sums::Missing), &options, |_| true);
        let finding = found.err().ok_or("nothing was found")?;
        assert!(matches!(finding.defect, Defect::Content { .. }), "{finding}");
        Ok(())
    });
    let paged = PAGED.into_iter().map(|layer| {
        Trial::test(format!("{layer}::survives_with_pages_of_its_map_on_the_drive"), move || survives_paged(layer))
    });
    // A flush reads what the disk below knows that it has lost, and has to fail.
    let at_once = Trial::test("an_epoch_that_a_request_ends_at_once::is_seen_before_its_answer", || {
        let options = Options { cuts: 1, seed: 1_167_000_000, rules: Rules::all() };
        Ok(explore(&on_images(layers::find("pore")?), &options, |_| true).map(drop)?)
    });
    let others = [repeated, unmarked, unsummed, at_once];
    let trials = layers.chain(rules).chain(others).chain(summed).chain(paged).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// Logs that can have pages of their map on the drive.
const PAGED: [&str; 4] = ["log-greedy", "sepbit", "log-lifetimes", "cold-weight"];

fn survives_paged(layer: &str) -> Result<(), Failed> {
    let info = layers::find(layer)?;
    for sums in [Sums::None, Sums::Kept] {
        goes_through(&paged(info, sums, Some(MapCache::LEAST)), Tally::met_all_bad_luck)?;
    }
    Ok(())
}

/// With checksums nothing is lost either, no block is taken for damaged that is not, and each that is, is found.
fn is_summed(info: &'static LayerInfo) -> Result<(), Failed> {
    goes_through(&with_sums(info, Sums::Kept), Tally::met_all_bad_luck)
}

fn go(layer: &str, cuts: u64, rules: Rules) -> Result<Tally, Finding> {
    explore(&on_images(layers::find(layer).unwrap()), &Options { cuts, seed: FIRST_SEED, rules }, |_| true)
}

fn survives(info: &'static LayerInfo) -> Result<(), Failed> {
    let keeps_map = info.build(&ample_space(), &toml::Table::new())?.facts().journal.records > 0;
    goes_through(&on_images(info), |tally| tally.met_all_bad_luck() && (tally.checkpoints > 0 || !keeps_map))
}

/// Nothing is found in as many cuts as there are for a layer, nor in more of them until all of it has `struck`.
fn goes_through(subject: &Subject, struck: impl Fn(&Tally) -> bool) -> Result<(), Failed> {
    let options = Options { cuts: STRUCK_WITHIN, seed: FIRST_SEED, rules: Rules::all() };
    let tally = explore(subject, &options, |tally| tally.cuts < CUTS || !struck(tally))?;
    assert!(struck(&tally), "{tally:?}");
    Ok(())
}

/// A layer that loses something without the rule, if there is one in the library.
fn breaker(rule: Rule) -> Option<&'static str> {
    match rule {
        Rule::RedoFirst => Some("seagate"),
        // They bind layers, and no layer of the library breaks them.
        Rule::NoRecordOfRam | Rule::NoOverwrite => None,
        // No map of these is divided.
        Rule::PagesAfterRecords | Rule::PagesBeforeTail | Rule::OtherBlock => None,
        Rule::WholeSectors | Rule::FlushWaits => Some("conventional"),
        _ => Some("fifo-log"),
    }
}

fn is_missed(rule: Rule, layer: &str) -> Result<(), Failed> {
    match go(layer, CAUGHT_WITHIN, Rules::without(rule).unwrap()) {
        Ok(tally) => Err(format!("without rule {} nothing was found: {tally:?}", rule.number()).into()),
        Err(_) => Ok(()),
    }
}
