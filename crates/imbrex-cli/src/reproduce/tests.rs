//! A small paper, some of whose claims are false.

use std::collections::HashSet;

use super::claim::{Bound, Claim, Data, Verdict};
use super::measure::{Measure, Scope};
use super::metric::Metric;
use super::paper::{Figure, Load, Paper, Study, Turnover, Variant};
use super::*;
use crate::setup::Fit;

const VARIANTS: &[Variant] = &[
    variant("log", "fifo-log", &[]),
    variant("in place", "in-place", &[]),
    variant("two spare", "fifo-log", &["fifo-log.spare_zones=2"]),
    Variant { reaches: Some(Metric::ToCold), ..variant("no loans", "amphisbaena", &["amphisbaena.hot_most=0.0"]) },
    Variant { reaches: Some(Metric::ToCold), ..variant("loans", "amphisbaena", LOANS) },
];

/// Chunks of a block are lent and go back after nearly every period.
const LOANS: &[&str] = &["amphisbaena.chunk_blocks=1", "amphisbaena.period=50", "amphisbaena.return_when=always"];

const fn variant(name: &'static str, layer: &'static str, settings: &'static [&'static str]) -> Variant {
    Variant { name, layer, settings, sized: &[], buffer: None, load: Load::TraceTime, reaches: None }
}

const TURNOVER: Turnover = Turnover {
    title: "By turnovers",
    layer: "in-place",
    settings: &[],
    against: "fifo-log",
    workloads: &["zipf", "uniform"],
    written_for_each: &[4, 1_000_000],
    further: &[],
};

const fn claim(id: &'static str, value: f64, bound: Bound, measure: Measure) -> Claim {
    Claim { id, says: "", value, tolerance: 0.5, bound, unit: "", measure }
}

const SAVED: Measure = Measure::MeanReduction(Metric::Rmw);
const CLAIMS: &[Claim] = &[
    claim("fewer", 50.0, Bound::AtLeast, SAVED),
    claim("a little fewer", 10.0, Bound::About, SAVED),
    claim("more", -50.0, Bound::AtMost, SAVED),
    claim("fewest", 2.0, Bound::AtLeast, Measure::Best { metric: Metric::Rmw, on: Scope::All }),
    claim(
        "a tie",
        1.0,
        Bound::AtLeast,
        Measure::Peaks { metric: Metric::Rmw, study: "spare", at: "log", on: Scope::All },
    ),
    claim(
        "steady",
        2.0,
        Bound::AtLeast,
        Measure::Steady { metric: Metric::Rmw, study: "spare", within: 0.0, on: Scope::All },
    ),
    claim("rises", 1.0, Bound::AtLeast, Measure::Rises { metric: Metric::Rmw, study: "all", on: Scope::One("zipf") }),
    claim("falls", 1.0, Bound::AtLeast, Measure::Falls { metric: Metric::Rmw, study: "all", on: Scope::One("zipf") }),
    claim("first", 1.0, Bound::AtMost, Measure::Rank { metric: Metric::Rmw, workload: "zipf", against: "in place" }),
    claim("no chunks", 1.0, Bound::AtLeast, Measure::Best { metric: Metric::ChunkUse, on: Scope::All }),
];

const FIGURES: &[Figure] =
    &[Figure { number: "1", name: "rmw", metrics: &[Metric::Rmw], is_relative: false, says: "fewer" }];

const PAPER: Paper = Paper {
    name: "small",
    title: "A small paper",
    drive: "exos-x18z",
    fit: Fit::Own,
    disk_buffer: None,
    buffer: "1MiB",
    prefill: 1.0,
    readings: None,
    workloads: &["zipf", "uniform"],
    locality: None,
    variants: VARIANTS,
    studies: &[
        Study { name: "main", title: "Main", workloads: &[], variants: &["log", "in place"], figures: FIGURES },
        Study { name: "spare", title: "Spare zones", workloads: &[], variants: &["log", "two spare"], figures: &[] },
        Study { name: "all", title: "All", workloads: &[], variants: &["in place", "log"], figures: &[] },
        Study {
            name: "loans",
            title: "Loans",
            workloads: &["zipf"],
            variants: &["no loans", "loans"],
            figures: FIGURES,
        },
    ],
    turnover: Some(&TURNOVER),
    mix: None,
    sweeps: &[],
    claims: CLAIMS,
};

fn results(requests: u64) -> Results {
    let command = Reproduce {
        paper: Reproduced::Studies(&PAPER),
        traces: None,
        requests: NonZeroU64::new(requests),
        seed: None,
        jobs: None,
        format: Format::Table,
        output: None,
        cold_weight: ColdWeightArguments::default(),
    };
    command.replay(&PAPER).unwrap()
}

#[test]
fn verdicts_follow_the_runs() {
    let results = results(3000);
    let rmw = |variant| ["zipf", "uniform"].map(|workload| results.row(workload, variant).unwrap().outcome.rmw as f64);
    let ([log, log_uniform], [in_place, in_place_uniform]) = (rmw("log"), rmw("in place"));
    assert!(log < 0.4 * in_place, "a buffer saves rewrites: {log} of {in_place}");
    let expected = 100.0 * ((1.0 - log / in_place) + (1.0 - log_uniform / in_place_uniform)) / 2.0;
    let findings = results.findings();
    let of = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap();
    assert!((of("fewer").measured.unwrap() - expected).abs() < 1e-9);
    let verdicts =
        ["fewer", "a little fewer", "more", "fewest", "a tie", "steady", "rises", "falls"].map(|id| of(id).verdict);
    use Verdict::{Exceeded, Met, NotMeasured, NotMet};
    assert_eq!(verdicts, [Met, Exceeded, NotMet, Met, NotMet, Met, NotMet, Met]);
    let zipf_saves_more = log / in_place < log_uniform / in_place_uniform;
    assert_eq!(of("first").measured, Some(if zipf_saves_more { 1.0 } else { 2.0 }));
    assert_eq!((of("no chunks").verdict, of("no chunks").measured), (NotMeasured, None));
    assert_eq!((of("fewer").data, of("fewer").requests), (Data::Synthetic, 6000));
    assert_eq!(of("rises").requests, 3000, "of the workloads it is about");
}

#[test]
fn the_report_says_what_is_not_met() {
    let results = results(3000);
    let findings = results.findings();
    let text = report::shown(&results, &findings);
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("more ").contains("NOT MET") && line("fewer ").contains(" met "));
    let rmw = crate::table::count(results.row("zipf", "in place").unwrap().outcome.rmw);
    assert!(line("zipf (synthetic)").ends_with(&rmw), "{text}");
    assert!(text.contains("The paper: fewer"));
    let not_met = findings.iter().filter(|finding| finding.verdict == Verdict::NotMet).count();
    assert!(report::summary(&findings).contains(&format!(", {not_met} not met, 1 not measured")));
}

/// A rule about chunks that go back makes no difference where none does, and must not be shown as if it had none.
#[test]
fn a_variant_whose_rule_was_never_applied_has_no_numbers() {
    let results = results(3000);
    let rmw = |variant| results.value("zipf", variant, Metric::Rmw);
    assert!(results.row("zipf", "no loans").unwrap().outcome.rmw > 0 && rmw("no loans").is_none());
    assert!(rmw("loans").is_some() && results.value("zipf", "loans", Metric::ToCold) > Some(0.0));
    assert!(results.row("uniform", "loans").is_none(), "its study does not show it there");
    let text = report::shown(&results, &results.findings());
    assert!(text.lines().any(|line| line.starts_with("zipf") && line.contains("not reached")), "{text}");
}

#[test]
fn turnovers_are_of_the_other_layers_buffer() {
    let results = results(3000);
    let [zipf, uniform] = &results.turnover[..] else { panic!("one size each: the other is too small") };
    assert_eq!((zipf.workload, uniform.workload), ("zipf", "uniform"));
    // Four blocks are written for each of the buffer, of which more are hits the more popular some are.
    assert!(zipf.turnovers < uniform.turnovers && uniform.turnovers < 4.0, "{} {}", zipf.turnovers, uniform.turnovers);
    assert!(zipf.ratio > Some(1.0) && uniform.ratio > Some(1.0), "nothing is saved without a buffer");
    let documented = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md")).unwrap();
    let table = String::from_utf8(csv(&results.turnover).unwrap()).unwrap();
    for name in table.lines().next().unwrap().split(',') {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/json.md");
    }
}

#[test]
fn papers_speak_of_what_they_have() {
    for paper in PAPERS {
        let Reproduced::Studies(paper) = paper else { continue };
        for variant in paper.variants {
            configured(paper, variant, 1 << 30).unwrap();
        }
        let names: HashSet<_> = paper.variants.iter().map(|variant| variant.name).collect();
        assert_eq!(names.len(), paper.variants.len(), "variants have names of their own");
        for study in paper.studies {
            assert!(study.variants.iter().all(|name| names.contains(name)), "{}", study.name);
        }
        let files: Vec<_> =
            paper.studies.iter().flat_map(|study| study.figures.iter().map(|figure| figure.file(study))).collect();
        assert_eq!(files.iter().collect::<HashSet<_>>().len(), files.len(), "figures have files of their own");
        let ids: HashSet<_> = paper.claims.iter().map(|claim| claim.id).collect();
        assert_eq!(ids.len(), paper.claims.len(), "claims have names of their own");
        for claim in paper.claims {
            assert!(paper.workloads.iter().any(|workload| claim.measure.scope().has(workload)), "{}", claim.id);
        }
        volumes::find(paper.workloads, None, None, None).unwrap();
    }
}
