//! The crash explorer finds the loss when an ordering rule is not kept, and layers made for it survive. The library's
//! layers are explored in `every_layer`.

use crate::swapper::Breaks;
use crate::{notes, swapper, two_places};
use imbrex::explore::{Finding, Options, Subject, Tally, explore, explore_bytes};
use imbrex::layer::MapCache;
use imbrex::layers;
use imbrex::perform::rules::{Rule, Rules};

/// Cuts for each layer.
const CUTS: u64 = 3000;
/// Cuts within which a rule that is switched off must show.
const CAUGHT_WITHIN: u64 = 20_000;

fn go(subject: &Subject, cuts: u64, rules: Rules) -> Result<Tally, Finding> {
    explore(subject, &Options { cuts, seed: 1, rules }, |_| true)
}

#[test]
fn redo_moves_and_ram_survive() {
    let tally = go(&swapper::subject(None), CUTS, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
    println!("swapper: {tally:?}");
    assert!(tally.replayed > 0 && tally.checkpoints > 0, "{tally:?}");
}

#[test]
fn pages_of_a_map_survive() {
    for pages in [3, 5] {
        let tally = go(&two_places::subject(pages), CUTS, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
        println!("{pages} pages: {tally:?}");
        assert!(tally.checkpoints > 0 && tally.met_all_bad_luck(), "{tally:?}");
    }
}

/// Of the map as few pages are in memory as can be, so that one leaves for nearly every request.
#[test]
fn logs_survive_with_pages_of_their_maps() {
    for layer in ["log-greedy", "sepbit", "log-lifetimes", "cold-weight", "log-cost-benefit"] {
        let subject = Subject::with_map_pages(layers::find(layer).unwrap(), MapCache::LEAST);
        let tally = go(&subject, CUTS / 5, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
        assert!(tally.checkpoints > 0 && tally.met_all_bad_luck(), "{tally:?}");
    }
}

#[test]
fn the_records_of_a_plan_are_durable_together() {
    // Of redo records an entry holds all; others may lie in several, of which a commit that is cut short leaves none.
    for redo in [true, false] {
        go(&notes::subject(redo), CUTS, Rules::all()).unwrap_or_else(|finding| panic!("{finding}"));
    }
}

#[test]
fn a_promise_that_is_not_kept_ends_the_service() {
    let finding = go(&swapper::subject(Some(Breaks::Promise)), 100, Rules::all()).unwrap_err();
    assert!(finding.what.contains("fits, and took none of it"), "{finding}");
}

/// A layer that moves what nobody has written keeps the promise about it, and one that confuses it is caught: in every
/// run, before long by what is wrong with it, while at first a block that it lost by that may be found.
#[test]
fn what_was_never_written_is_checked() {
    for (breaks, message) in
        [(Breaks::Unwritten, "holds version "), (Breaks::Zeros, "holds what was on the drive before, version ")]
    {
        let (mut seed, mut found) = (1, Vec::new());
        while found.last().is_none_or(|what: &String| !what.contains(message)) {
            assert!(found.len() < 20, "{found:?}");
            let options = Options { cuts: CAUGHT_WITHIN, seed, rules: Rules::all() };
            let finding = explore(&swapper::subject(Some(breaks)), &options, |_| true).unwrap_err();
            seed = finding.seed + 1;
            found.push(finding.what);
        }
    }
}

/// Zeros that were asked for and flushed stay zeros: a layer that trims for them and forgets that is caught.
#[test]
fn zeros_are_kept_like_any_content() {
    let finding = go(&swapper::subject(Some(Breaks::Trims)), CAUGHT_WITHIN, Rules::all()).unwrap_err();
    assert!(finding.what.contains("holds"), "{finding}");
}

/// A flush that a worn-out disk refuses does not say that an earlier life lost something; the next one does.
#[test]
fn the_answer_of_a_full_disk_reports_no_loss() {
    let subject = Subject::layer(layers::find("in-place").unwrap());
    // What has to come together is rare: this seed is one of a thousand that had it.
    let options = Options { cuts: 1, seed: 595, rules: Rules::all() };
    explore(&subject, &options, |_| true).unwrap_or_else(|finding| panic!("{finding}"));
}

/// A zone that clients gave up whole moves, empty, to the first physical zone: a request may end in the last slots and go
/// on there, and that is two writes.
#[test]
fn the_last_slots_and_the_first_zone_are_written_apart() {
    let subject = Subject::layer(layers::find("fifo-log").unwrap());
    let options = Options { cuts: 1, seed: 8670, rules: Rules::all() };
    explore(&subject, &options, |_| true).unwrap_or_else(|finding| panic!("{finding}"));
}

/// A zone that was given up while it was inactive is not spare as soon as it is activated; an eviction under way may have
/// its target in the realm that is converted next; and while the last zone of a realm moves, none may be left to rewrite
/// into.
#[test]
fn what_growing_and_cleaning_take_from_each_other() {
    let subject = Subject::layer(layers::find("zone-alloy").unwrap());
    for seed in [769, 4228, 6448, 7409] {
        explore(&subject, &Options { cuts: 1, seed, rules: Rules::all() }, |_| true).unwrap();
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let info = layers::find("fifo-log").unwrap();
    let run = || go(&Subject::layer(info), 200, Rules::all()).unwrap();
    assert_eq!(run(), run());
}

#[test]
fn a_string_decides_what_happens() {
    let subject = Subject::layer(layers::find("fifo-log").unwrap());
    let run = |byte| explore_bytes(&subject, &vec![byte; 3000]).unwrap();
    assert_eq!(run(1), run(1));
    assert_ne!(run(1).operations, run(200).operations);
}

fn caught(rule: Rule, subject: &Subject) {
    match go(subject, CAUGHT_WITHIN, Rules::without(rule).unwrap()) {
        Ok(tally) => panic!("without rule {} nothing was found: {tally:?}", rule.number()),
        Err(finding) => println!("without rule {} ({}): {finding}", rule.number(), rule.text()),
    }
}

#[test]
fn each_rule_that_is_switched_off_is_caught() {
    for rule in Rule::ALL {
        let layer = |name| Subject::layer(layers::find(name).unwrap());
        let subject = match rule {
            Rule::RedoFirst => layer("seagate"),
            Rule::NoRecordOfRam | Rule::NoOverwrite => swapper::subject(Some(Breaks::Rule(rule))),
            Rule::WholeSectors | Rule::FlushWaits => layer("conventional"),
            Rule::PagesAfterRecords | Rule::PagesBeforeTail | Rule::OtherBlock => {
                caught(rule, &Subject::with_map_pages(layers::find("log-greedy").unwrap(), MapCache::LEAST));
                two_places::subject(MapCache::LEAST)
            }
            Rule::PlansInOrder
            | Rule::ConflictsInOrder
            | Rule::RecordsAfterMoves
            | Rule::ReuseAfterRecords
            | Rule::FailuresEnd => layer("fifo-log"),
        };
        caught(rule, &subject);
    }
}
