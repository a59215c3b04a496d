//! A small paper, some of whose claims are false.

use std::collections::HashSet;

use imbrex_runs::case::Fit;

use super::claim::{Bound, Claim, Data, Finding, Verdict};
use super::measure::{Measure, Scope, Taken};
use super::metric::Metric;
use super::paper::{Figure, Load, LocalityFigures, Paper, Requests, Search, Study, Turnover, Variant};
use super::replaying::configured;
use super::sweep::{Axis, Curve, Sizes, Sweep};
use super::*;

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
    Variant { name, layer, settings, sized: &[], buffer: None, disk: None, load: Load::TraceTime, reaches: None }
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
    claim("a few fewer", 10.0, Bound::About, SAVED),
    claim("a little fewer", 10.0, Bound::Gain, SAVED),
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
    claim("against, mean", 50.0, Bound::AtLeast, against(Taken::Mean)),
    claim("against, most", 50.0, Bound::AtLeast, against(Taken::Most)),
    claim("against, count", 2.0, Bound::AtLeast, against(Taken::Count)),
    claim("a tie is no win", 0.0, Bound::AtMost, tie(Taken::Count)),
    claim("a tie is no loss", 2.0, Bound::AtLeast, tie(Taken::NoWorse)),
    claim("periods", 0.0, Bound::AtLeast, Measure::Periods { is_long: true }),
    claim("hits lost", 0.0, Bound::AtMost, lost("log", "in place")),
    claim("hits lost by none", 0.0, Bound::AtMost, lost("in place", "log")),
];

const fn against(taken: Taken) -> Measure {
    Measure::Against { metric: Metric::Rmw, variant: "log", against: "in place", taken }
}

const fn tie(taken: Taken) -> Measure {
    Measure::Against { metric: Metric::Rmw, variant: "in place", against: "in place", taken }
}

const fn lost(variant: &'static str, against: &'static str) -> Measure {
    Measure::MostLost { metric: Metric::Hits, variant, against }
}

/// A disk of some 75 bands, of which 2000 blocks reach every one.
const SWEEPS: &[Sweep] = &[Sweep {
    name: "periods",
    title: "Periods",
    axis: Axis::Period,
    values: &[0.5, 1.0, 4.0],
    shared: Sizes {
        range_bytes: 2 << 30,
        disk_buffer: 2000,
        cache: 8.0,
        period: 1.0,
        region: 20.0,
        fit: Fit::Workload,
    },
    curves: &[
        Curve { name: "pore", layer: "pore", has_regions: true },
        Curve { name: "lru", layer: "lru-cache", has_regions: false },
    ],
}];

const SEARCH: Search = Search {
    study: "main",
    title: "All",
    metrics: &[Metric::Rmw, Metric::ChunkUse],
    columns: &["log", "itself"],
    rows: &[("in place", &["log", "in place"])],
};

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
    locality: Some(LocalityFigures { periods: "2", ranges: "3" }),
    requests: None,
    search: Some(&SEARCH),
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
    growth: None,
    sweeps: &[],
    claims: CLAIMS,
};

/// A paper that shows nothing else.
const SWEPT: Paper = Paper {
    sweeps: SWEEPS,
    claims: &[
        claim("over", 3.0, Bound::AtLeast, Measure::Rewritten { sweep: "periods", curve: "lru", over: "pore" }),
        claim("least", 1.0, Bound::AtMost, Measure::AtLeast { sweep: "periods", curve: "pore", at: 4.0 }),
        claim("level", 1.0, Bound::AtMost, Measure::Level { sweep: "periods", curve: "pore", up_to: 1.0 }),
    ],
    ..PAPER
};

fn replaying<'a>(requests: u64, only: &'a [&'static str]) -> Replaying<'a> {
    Replaying { paper: &PAPER, traces: None, requests: NonZeroU64::new(requests), only, jobs: 2 }
}

fn results(requests: u64) -> Results {
    replaying(requests, PAPER.workloads).first(1).unwrap()
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
    let verdicts = ["fewer", "a few fewer", "a little fewer", "more", "fewest", "a tie", "steady", "rises", "falls"]
        .map(|id| of(id).verdict);
    use Verdict::{Exceeded, Met, NotMeasured, NotMet};
    assert_eq!(verdicts, [Met, NotMet, Exceeded, NotMet, Met, NotMet, Met, NotMet, Met]);
    let zipf_saves_more = log / in_place < log_uniform / in_place_uniform;
    assert_eq!(of("first").measured, Some(if zipf_saves_more { 1.0 } else { 2.0 }));
    assert_eq!((of("no chunks").verdict, of("no chunks").measured), (NotMeasured, None));
    let saved = [(log, in_place), (log_uniform, in_place_uniform)].map(|(one, other)| 100.0 * (1.0 - one / other));
    let expected = [(saved[0] + saved[1]) / 2.0, saved[0].max(saved[1]), 2.0];
    for (id, expected) in ["against, mean", "against, most", "against, count"].into_iter().zip(expected) {
        assert!((of(id).measured.unwrap() - expected).abs() < 1e-9, "{id}: {:?}", of(id).measured);
    }
    let hits = ["zipf", "uniform"].map(|workload| results.row(workload, "log").unwrap().outcome.write_hit_ratio);
    assert!((of("hits lost").measured.unwrap() + 100.0 * hits[0].min(hits[1])).abs() < 1e-9);
    assert!((of("hits lost by none").measured.unwrap() - 100.0 * hits[0].max(hits[1])).abs() < 1e-9);
    assert_eq!((of("hits lost").verdict, of("hits lost by none").verdict), (Met, NotMet));
    assert_eq!((of("fewer").data, of("fewer").requests), (Data::Synthetic, 6000));
    assert_eq!(of("rises").requests, 3000, "of the workloads it is about");
}

/// One counter-example refutes what is said of all, though another workload does not tell; it proves nothing.
#[test]
fn what_is_said_of_all_needs_all_or_one_counter_example() {
    use Verdict::{Met, NotMeasured, NotMet};
    let findings = replaying(3000, &["zipf"]).first(1).unwrap().findings();
    let of = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap();
    let verdicts = ["fewest", "fewer", "against, count", "a tie", "falls"].map(|id| of(id).verdict);
    assert_eq!(verdicts, [NotMeasured, NotMeasured, NotMeasured, NotMeasured, Met]);
    let bounds = |id: &str| (of(id).measured, of(id).low, of(id).high);
    assert_eq!(bounds("fewest"), (None, Some(1.0), Some(2.0)));
    assert_eq!(bounds("a tie"), (None, Some(0.0), Some(1.0)));
    assert!(matches!(bounds("periods"), (None, Some(_), None)), "the other may have more");
    assert!(of("fewest").note.contains("no number from uniform"), "{}", of("fewest").note);
    let counter = claim(
        "",
        2.0,
        Bound::AtLeast,
        Measure::Peaks { metric: Metric::Rmw, study: "spare", at: "log", on: Scope::All },
    );
    let results = replaying(3000, &["zipf"]).first(1).unwrap();
    assert_eq!(counter.verdict(&results.measured(&counter.measure)), NotMet);
}

/// With further seeds only what claims look at is run, and its numbers are those of a first run with that seed.
#[test]
fn further_seeds_run_what_claims_look_at() {
    let replaying = replaying(3000, PAPER.workloads);
    let (first, again) = (replaying.first(1).unwrap(), replaying.first(2).unwrap());
    let second = replaying.again(&first, 2).unwrap();
    assert!(replaying.has_seeds(1).unwrap());
    let rmw = |results: &Results| results.row("zipf", "log").map(|row| row.outcome.rmw);
    assert_eq!(rmw(&second), rmw(&again));
    assert_ne!(rmw(&second), rmw(&first));
    assert!(first.row("zipf", "loans").is_some() && second.row("zipf", "loans").is_none(), "no claim speaks of it");
    assert!(first.turnover.len() == 2 && second.turnover.is_empty());
    for (second, again) in second.findings().into_iter().zip(again.findings()) {
        assert_eq!((second.measured, second.verdict, second.note), (again.measured, again.verdict, again.note));
    }
}

/// A claim for which nothing was replayed rests on no data, whatever the others do.
#[test]
fn what_was_not_replayed_is_of_no_kind() {
    let mut findings = results(300).findings();
    let said = |findings: &[Finding]| {
        let mut report = report::Report::default();
        report.claims(findings);
        (report::summary(findings), report.into_text())
    };
    (findings[0].requests, findings[0].data) = (0, Data::Real);
    let (summary, table) = said(&findings);
    assert!(summary.contains("on synthetic data") && !table.contains("synthetic"), "{summary} {table}");
    findings[1].data = Data::Real;
    let (summary, table) = said(&findings);
    assert!(summary.contains("on mixed data") && table.contains("synthetic"), "{summary} {table}");
}

#[test]
fn the_report_says_what_is_not_met() {
    let results = results(3000);
    let findings = results.findings();
    let text = report::of(&results, &findings).into_text();
    let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
    assert!(line("more ").ends_with("NOT MET") && line("fewer ").ends_with(" met"));
    let rmw = imbrex_terminal::table::count(results.row("zipf", "in place").unwrap().outcome.rmw);
    assert!(line("zipf (synthetic)").ends_with(&rmw), "{text}");
    assert!(text.contains("The paper: fewer"));
    let not_met = findings.iter().filter(|finding| finding.verdict == Verdict::NotMet).count();
    assert!(
        report::summary(&findings)
            .contains(&format!(", {not_met} not met, 0 met with some seeds only, 1 not measured"))
    );
}

/// A rule about chunks that go back makes no difference where none does, and must not be shown as if it had none.
#[test]
fn a_variant_whose_rule_was_never_applied_has_no_numbers() {
    let results = results(3000);
    let rmw = |variant| results.value("zipf", variant, Metric::Rmw);
    assert!(results.row("zipf", "no loans").unwrap().outcome.rmw > 0 && rmw("no loans").is_none());
    assert!(rmw("loans").is_some() && results.value("zipf", "loans", Metric::ToCold) > Some(0.0));
    assert!(results.row("uniform", "loans").is_none(), "its study does not show it there");
    let text = report::of(&results, &results.findings()).into_text();
    assert!(text.lines().any(|line| line.starts_with("zipf") && line.contains("not reached")), "{text}");
}

/// The other layer goes by no regions, and its form is met: every fill of the disk's buffer reaches every band. Sixteen
/// fills are counted, of which the last may not be cleaned.
#[test]
fn sweeps_are_beside_their_closed_forms() {
    let sweeps = sweep::points(SWEEPS, "st8000as0002", None, 1, 2).unwrap();
    assert_eq!(sweeps.len(), 6);
    for point in &sweeps {
        let times = point.rewritten.unwrap() / point.closed_form;
        // A unit that was not open for long has up to twice its share, and reaches into bands of up to 28 MiB.
        let (low, high) = if point.curve == "lru" { (0.94, 1.02) } else { (0.5, 48.0 / 20.0) };
        assert!((low..high).contains(&times), "{} at {}: {times} of the form", point.curve, point.value);
    }
    let of = |curve: &str, at: f64| {
        sweeps.iter().find(|point| (point.curve, point.value) == (curve, at)).unwrap().rewritten.unwrap()
    };
    let [short, whole, long] = [0.5, 1.0, 4.0].map(|at| of("pore", at));
    let least = [0.5, 1.0, 4.0].map(|at| of("lru", at) / of("pore", at)).into_iter().fold(f64::INFINITY, f64::min);
    assert!(long > 2.0 * whole, "a long period: {long} instead of {whole}");
    let mut results = Results::new(&SWEPT, []);
    results.sweeps = sweeps;
    let findings = results.findings();
    let measured = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap().measured.unwrap();
    assert!((measured("level") - short.max(whole) / short.min(whole)).abs() < 1e-9);
    assert!((measured("least") - long / short.min(whole)).abs() < 1e-9);
    assert!((measured("over") - least).abs() < 1e-9);
}

#[test]
fn a_search_shows_what_every_setting_saves() {
    let results = results(3000);
    let saved = |workload| {
        let [log, in_place] = ["log", "in place"].map(|name| results.row(workload, name).unwrap().outcome.rmw as f64);
        100.0 * (1.0 - log / in_place)
    };
    let mean = (saved("zipf") + saved("uniform")) / 2.0;
    assert!(mean > 10.0);
    let cells = search::table(&SEARCH, Metric::Rmw, &results).markdown();
    assert_eq!(cells.lines().last().unwrap(), format!("| in place | {mean:.0} | 0 (0 of 2) |"));
    let unknown = search::table(&SEARCH, Metric::ChunkUse, &results).markdown();
    assert_eq!(unknown.lines().last().unwrap(), "| in place | - | - |");
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
        volumes::find(paper.workloads, None, None, 1).unwrap();
        let named = paper.requests.map_or(&[][..], |requests| requests.but);
        assert!(named.iter().all(|(name, _)| paper.workloads.contains(name)), "{}", paper.name);
    }
}

/// Where nobody says how many, profiles are shortened, some less than others.
#[test]
fn a_paper_says_how_many_requests_profiles_have() {
    static SHORTENED: Paper = Paper { requests: Some(&Requests { each: 1000, but: &[("hm_0", 2000)] }), ..PAPER };
    let requests = |replaying: &Replaying<'_>| -> Vec<_> {
        let of = |workload| match workload {
            Workload::Profile(profile) => profile.shortened,
            _ => unreachable!("both are profiles"),
        };
        replaying.volumes(&["hm_0", "web_0"], 1).unwrap().into_iter().map(of).collect()
    };
    let silent = Replaying { paper: &SHORTENED, requests: None, ..replaying(1, PAPER.workloads) };
    assert_eq!(requests(&silent), [Some(2000), Some(1000)]);
    assert_eq!(requests(&Replaying { requests: NonZeroU64::new(300), ..silent }), [Some(300); 2]);
}
