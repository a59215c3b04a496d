//! Small runs, held against others that are made without what is new here.

use std::num::NonZeroU64;

use imbrex::layers;
use imbrex::plan::Why;
use imbrex::replay::{BandSums, BufferSize, ReplayOptions};
use imbrex::trace::Workload;
use imbrex::trace::derived::prepopulated::{Prepopulated, Prepopulation};
use imbrex_runs::case::{Case, Fit};
use imbrex_runs::chosen::Chosen;
use imbrex_runs::workload::{Known, Watched};
use imbrex_terminal::progress::Progress;

use super::paper::WEIGHTS;
use super::results::{Aged, Cell, Counted, Results};
use super::*;

const REQUESTS: Option<NonZeroU64> = NonZeroU64::new(200_000);
const LEVELS: [u32; 2] = [0, 100];

/// Bands of 32 blocks of 4 KiB, and what goes beyond the paper.
fn arguments() -> ColdWeightArguments {
    #[derive(clap::Parser)]
    struct Arguments {
        #[command(flatten)]
        chosen: ColdWeightArguments,
    }
    let arguments = ["", "--block-size", "4KiB", "--band-size", "128KiB", "--prepopulation", "0%,100%", "--beyond"];
    <Arguments as clap::Parser>::try_parse_from(arguments).unwrap().chosen
}

fn workload(volume: &str) -> Workload {
    let mut workload = Workload::named(volume).unwrap();
    workload.set_requests(REQUESTS.unwrap().get());
    workload
}

fn results() -> Results {
    let workloads: Vec<_> = volumes().into_iter().map(|volume| (place(volume), workload(volume))).collect();
    replay(&workloads, REQUESTS, &arguments(), 1, 2).unwrap()
}

/// Blocks moved and mixed bands in a run of the whole workload, reads included, that leaves nothing out of its figures.
fn moved_among_reads(cell: &Cell) -> (u64, Option<u64>) {
    let progress = Progress::of_pieces("", 1);
    let original = workload(volumes()[cell.workload]);
    let mut source = Watched::new(&original, None, &progress).unwrap();
    let before = Prepopulation::of(&mut source, f64::from(cell.level) / 100.0, 1).unwrap();
    let aged = Workload::Prepopulated(Box::new(Prepopulated::new(original, before)));
    let known = Known::survey(aged, None, Some(4096), &progress).unwrap();
    let weight = cell.weight().map_or(String::new(), |weight| format!("cold-weight.cold_weight=0.{}", weight / 10));
    let layer = if cell.variant == 0 { "log-greedy" } else { "cold-weight" };
    let set_up = ["spare_bands=0", "buffer_bands=2", "buffer_volatile=false", "sequence=heat"];
    let mut settings: Vec<_> = set_up.iter().map(|field| format!("{layer}.{field}")).collect();
    settings.extend((!weight.is_empty()).then_some(weight));
    let options = ReplayOptions { prefill: 0.0, flush: true, bands: Some(Vec::new()), ..ReplayOptions::default() };
    let settings: Vec<_> = settings.iter().map(String::as_str).collect();
    let chosen = Chosen::new(BufferSize::Blocks(0), options, &settings).unwrap();
    let case = Case { layer: layers::find(layer).unwrap(), drive: arguments().drive().unwrap(), fit: Fit::Workload };
    let outcome = chosen.replay(&known, &case, &progress, &mut ()).unwrap().outcome;
    (outcome.media_write_blocks.get(Why::Migrate), outcome.bands.unwrap().mixed)
}

#[test]
fn counts_are_those_of_whole_runs_with_their_reads() {
    let results = results();
    assert_eq!(results.cells().len(), 2 * LEVELS.len() * (1 + WEIGHTS.len()));
    for cell in results.cells().iter().filter(|cell| [0, 5].contains(&cell.variant)) {
        let counted = (cell.moved(Counted::All), cell.sums.mixed);
        assert_eq!(counted, moved_among_reads(cell), "{:?} at {} %", cell.weight(), cell.level);
        assert_eq!(cell.sums, BandSums::of(&cell.bands));
        assert_eq!(cell.moved(Counted::Trace), cell.row.outcome.media_write_blocks.get(Why::Migrate));
        assert_eq!(cell.level == 0, cell.row.options.warm_up.is_none());
        assert!(cell.level > 0 || cell.moved_before == 0);
    }
    let aged = results.variants(Aged { workload: 0, level: 100 });
    assert!(aged.iter().any(|cell| cell.moved_before > 0) && aged.iter().any(|cell| cell.moved > 0));
}

#[test]
fn savings_are_against_empty_and_what_was_not_run_is_not_measured() {
    let results = results();
    for aged in results.aged() {
        let cells = results.variants(aged);
        let moved: Vec<_> = cells.iter().map(|cell| cell.moved(Counted::All)).collect();
        let least = *moved[1..].iter().min().unwrap();
        let (best, saved) = results.best(aged, Counted::All).unwrap();
        assert_eq!((best.moved(Counted::All), moved.len()), (least, 10));
        assert!((saved - 100.0 * (moved[0] as f64 - least as f64) / moved[0] as f64).abs() < 1e-9);
    }
    let on = Aged { workload: 0, level: 25 };
    assert!(results.variants(on).is_empty() && results.best(on, Counted::All).is_none());
    let findings = findings(&results);
    let of = |id: &str| findings.iter().find(|finding| finding.id == id).unwrap();
    assert!(of("J3c").measured.is_none() && of("J2a").measured.is_none() && of("J6").measured.is_none());
    assert!(findings.iter().all(|finding| finding.data == crate::claim::Data::Synthetic));
    assert!(of("J3c").requests == 0 && of("J4a").requests > 0);
    assert!(of("J2a").note.contains("on proj_1 25 %"), "{}", of("J2a").note);
    let best = results.best(Aged { workload: 0, level: 100 }, Counted::All).unwrap().1;
    assert_eq!(of("J2.P100").measured, Some(best));
    assert_eq!(of("J4a").measured.unwrap() as u64, {
        let on = Aged { workload: 0, level: 0 };
        let best = results.best(on, Counted::All).unwrap().0;
        results.variants(on)[0].sums.mixed.max(best.sums.mixed).unwrap()
    });
    let beyond = beyond::lines(&results);
    assert_eq!((results.beyond().len(), beyond.len()), (4 * beyond::BEYOND.len(), 4 * beyond::BEYOND.len()));
    for cell in results.beyond() {
        let what = beyond::of(cell.variant).unwrap();
        assert_eq!((cell.row.layer, cell.weight()), (what.layer, None));
        for (field, value) in what.fields {
            assert_eq!(cell.row.config[*field].to_string().trim_matches('"'), *value, "{}", what.name);
        }
    }
    let text = report(&results, &findings).into_text();
    assert!(text.contains("Beyond the paper, src1_1") && text.contains("SepBIT"), "{text}");
    assert!(text.contains("Table VI, Project (proj_1 (synthetic)), 100 % prepopulation"), "{text}");
    for reading in ["blocks of 4096 bytes", "compact_bands = 2", "buffered_heat = true", "buffer_tie = cold"] {
        assert!(text.split_whitespace().collect::<Vec<_>>().join(" ").contains(reading), "{reading}");
    }
}
