//! Figures 2 to 11: the bands at the end, with Empty and with the best weight.

use anyhow::Result;
#[cfg(feature = "pictures")]
use imbrex_pictures::Panel;
use imbrex_runs::bands::{At, Band, Of};
#[cfg(feature = "pictures")]
use imbrex_runs::row::called;
use imbrex_terminal::new_folder::NewFolder;
use imbrex_terminal::output::csv;
#[cfg(feature = "pictures")]
use imbrex_terminal::table::count;

use super::paper::{Table, WORKLOADS};
use super::results::{Aged, Cell, Counted, End, Results};

/// Writes the data of every figure and draws it.
pub fn write(results: &Results, folder: &NewFolder) -> Result<()> {
    for aged in results.aged() {
        let Some(table) = Table::of(aged.level) else { continue };
        let (number, workload) = (table.figures[aged.workload], &WORKLOADS[aged.workload]);
        let file = format!("figure-{number}-{}-{}", workload.volume, aged.level);
        let pair = pair(results, aged);
        let rows: Vec<_> = pair.iter().flat_map(|(_, end)| bands(end)).collect();
        folder.write(&format!("{file}.csv"), &csv(&rows)?)?;
        #[cfg(feature = "pictures")]
        folder.write(&format!("{file}.svg"), &picture(number, aged, &pair)?)?;
    }
    Ok(())
}

/// Empty and the best weight; where nothing was compacted, the smallest weight.
fn pair(results: &Results, aged: Aged) -> Vec<(&Cell, &End)> {
    let cells = results.variants(aged);
    let best = results.best(aged, Counted::All).map(|(best, _)| best).or(cells.get(1));
    let both = cells.first().into_iter().chain(best);
    both.filter_map(|cell| Some((cell, cell.end.as_ref()?))).collect()
}

fn bands(end: &End) -> Vec<Band<'_>> {
    let row = &end.row;
    let requests = row.outcome.requests;
    let of = Of { trace: &row.trace, synthetic: row.synthetic, layer: row.layer, block_bytes: row.block_bytes };
    Band::all(of, At { requests, is_end: true }, &end.bands).collect()
}

#[cfg(feature = "pictures")]
fn picture(number: &str, aged: Aged, pair: &[(&Cell, &End)]) -> Result<Vec<u8>> {
    let synthetic = pair.first().is_some_and(|(_, end)| end.row.synthetic);
    let workload = called(WORKLOADS[aged.workload].volume, synthetic);
    let title = format!("Figure {number}: bands at the end, {workload}, {} % prepopulation", aged.level);
    let panels = pair.iter().map(|(cell, end)| {
        let name = cell.weight().map_or("Empty".to_owned(), |weight| format!("cold-weight 0.{}", weight / 10));
        let moved = count(cell.moved(Counted::All));
        Panel { caption: format!("{name}, {moved} blocks moved"), units: &end.bands[..] }
    });
    imbrex_pictures::bands(&title, &panels.collect::<Vec<_>>())
}
