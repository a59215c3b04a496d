//! What a search finds, and that layers take what it tries.
#![allow(clippy::unwrap_used, reason = "tests")]

use std::collections::HashSet;

use anyhow::bail;
use imbrex::layers;
use imbrex::samples::ample_space;

use super::*;
use crate::settings::{Setting, setting};

const SMALL: Space = &[("a", &["1", "2"]), ("b", &["x"])];
const LARGE: Space = &[
    ("a", &["1", "2", "3", "4", "5", "6", "7"]),
    ("b", &["1", "2", "3", "4", "5", "6", "7"]),
    ("c", &["1", "2", "3", "4", "5", "6", "7"]),
];

/// The sum of how far the values are from 3.
fn far(settings: &[String]) -> f64 {
    let value = |field: &str| {
        let set = settings.iter().find_map(|setting| setting.strip_prefix(field)?.strip_prefix('='));
        set.map_or(0.0, |value| value.parse::<f64>().unwrap())
    };
    ["a", "b", "c"].into_iter().map(|field| (value(field) - 3.0).abs()).sum()
}

fn searched(trials: u32, seed: u64) -> (Found<()>, Vec<Vec<String>>) {
    let mut asked = Vec::new();
    let found = search(LARGE, trials, seed, |settings| {
        asked.push(settings.to_vec());
        Ok(Some((far(settings), ())))
    });
    (found.unwrap().unwrap(), asked)
}

#[test]
fn few_settings_are_all_tried_and_none_twice() {
    let mut asked = Vec::new();
    let found = search(SMALL, 100, 1, |settings| {
        asked.push(settings.join(" "));
        // The layer refuses the setting that would be best.
        Ok((settings != ["a=2", "b=x"]).then_some((9.0 - settings.len() as f64, ())))
    });
    let found = found.unwrap().unwrap();
    assert_eq!((asked.len() as u64, found.trials), (size(SMALL), 6));
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 6, "{asked:?}");
    assert_eq!((asked[0].as_str(), found.by_default), ("", 9.0));
    assert_eq!((found.settings.join(" ").as_str(), found.best.0), ("a=1 b=x", 7.0));
}

#[test]
fn of_settings_that_are_known_the_best_is_taken() {
    let all = ["", "a=2", "a=3 b=3", "a=4"].map(|all| all.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let of = |all: &[Vec<String>], refused: &str| {
        let run = |settings: &[String]| Ok((settings.join(" ") != refused).then_some((far(settings), ())));
        best_of(all, run).unwrap()
    };
    let found = of(&all, "none").unwrap();
    assert_eq!((found.settings.join(" ").as_str(), found.best.0, found.by_default), ("a=3 b=3", 3.0, 9.0));
    assert_eq!(found.trials, 4);
    assert_eq!(of(&all, "a=3 b=3").unwrap().settings, ["a=2"]);
    assert_eq!(of(&all[..1], "none").unwrap().settings, [""; 0]);
    assert!(of(&all, "").is_none(), "the defaults have to be among them");
}

#[test]
fn a_search_draws_and_then_looks_around_the_best() {
    let (found, asked) = searched(60, 1);
    assert_eq!((asked.len(), found.by_default), (60, 9.0));
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 60, "none is tried twice");
    assert!(found.best.0 <= 1.0, "{:?}", found.settings);
    assert_eq!(far(&found.settings), found.best.0);
    assert_eq!(searched(60, 1).1, asked, "the seed decides");
    assert_ne!(searched(60, 2).1, asked);
}

#[test]
fn of_equal_settings_the_first_counts_and_errors_are_passed_on() {
    let equal = search(LARGE, 20, 1, |_| Ok(Some((1.0, ())))).unwrap().unwrap();
    assert!(equal.settings.is_empty(), "the defaults");
    assert!(search(LARGE, 20, 1, |_| Ok(None::<(f64, ())>)).unwrap().is_none());
    let failed = search(LARGE, 20, 1, |settings| match settings {
        [] => Ok(Some((1.0, ()))),
        _ => bail!("out of luck"),
    });
    assert_eq!(failed.err().unwrap().to_string(), "out of luck");
}

/// The values of a field differ from its default, and each is one that the layer takes.
#[test]
fn spaces_are_of_fields_and_values_that_layers_have() {
    for other in spaces::ALL.iter().copied().flatten() {
        let info = layers::find(other.layer).unwrap();
        for (field, values) in other.space {
            let default = info.fields.iter().find(|known| known.key == *field).unwrap().default;
            for value in *values {
                assert_ne!(default.trim_matches('"'), *value, "{}.{field}", other.layer);
                let set = setting(&format!("{}.{field}={value}", other.layer)).unwrap();
                let made = info.build(&ample_space(), &Setting::config(&[set], info));
                let too_large =
                    made.err().map(|e| e.to_string()).filter(|e| !e.contains("buffer") && !e.contains("bands"));
                assert_eq!(too_large, None, "{}.{field}={value}", other.layer);
            }
        }
    }
}

/// As somebody looks who tries `number` settings at a time: the best, and all that were tried.
fn proposed(rounds: u32, number: u32, begin: &[&str]) -> (f64, Vec<Vec<String>>) {
    let begin: Vec<_> = begin.iter().map(|&text| text.to_owned()).collect();
    let (mut best, mut asked) = (far(&begin), vec![begin.clone()]);
    let mut proposals = Proposals::beside(LARGE, &begin, best, 1);
    for round in 0..rounds {
        for proposal in proposals.next(number, round > 0) {
            asked.push(proposal.settings.clone());
            let score = far(&proposal.settings);
            best = best.min(score);
            proposals.note(proposal, score);
        }
    }
    (best, asked)
}

#[test]
fn settings_are_proposed_once_and_then_beside_the_best() {
    let (best, asked) = proposed(6, 10, &["b=3"]);
    assert_eq!(asked.len(), 61);
    assert_eq!(asked.iter().collect::<HashSet<_>>().len(), 61, "none is tried twice, nor what was known");
    assert!(best <= 1.0, "{best}");
    assert_eq!(proposed(6, 10, &["b=3"]).1, asked, "the seed decides");
    let mut few = Proposals::beside(SMALL, &[], 9.0, 1);
    let asked = few.next(2, false).len() + few.next(100, true).len();
    assert_eq!(asked as u64, size(SMALL) - 1, "there are no more");
}

#[test]
fn neighbours_of_the_best_differ_from_it_in_one_field() {
    let mut proposals = Proposals::beside(LARGE, &[], 9.0, 1);
    let first = proposals.next(1, false).remove(0);
    let best = first.settings.clone();
    proposals.note(first, 1.0);
    let value = |settings: &[String], field: &str| settings.iter().find(|set| set.starts_with(field)).cloned();
    for near in proposals.next(12, true) {
        let differs = ["a", "b", "c"].iter().filter(|field| value(&near.settings, field) != value(&best, field));
        assert_eq!(differs.count(), 1, "{:?} beside {best:?}", near.settings);
    }
}
