//! A growth over time: the latency of requests, and the zones that are left to convert.

use anyhow::Result;
use imbrex_pictures::{FONT, WIDTH, colour, highest};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::growth::{self, Run};
use crate::paper::Growth;

const PANEL: u32 = 230;
const TITLE: u32 = 36;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A panel for each run on the disk that the workload fills, one below the other, over the same time.
pub fn draw(growth: &Growth, runs: &[Run], text: &mut String) -> Result<()> {
    let runs = &runs[..growth.runs.iter().take_while(|asked| asked.disk.is_none()).count().min(runs.len())];
    let whole = SVGBackend::with_string(text, (WIDTH, TITLE + PANEL * runs.len() as u32)).into_drawing_area();
    whole.fill(&WHITE)?;
    let data = growth::replayed(runs).data.name();
    let title = format!("Figure {}: {} – {} – {data} data", growth.number, growth.workload, growth.title);
    let area = whole.titled(&title, (FONT, 16))?;
    let panels = area.split_evenly((runs.len(), 1));
    let arrivals = || runs.iter().flat_map(|run| &run.dots).map(|dot| dot.arrival_s);
    let across = (arrivals().fold(f64::INFINITY, f64::min), arrivals().fold(0.0, f64::max));
    if across.0 < across.1 {
        for (panel, run) in panels.iter().zip(runs) {
            draw_panel(run, across, panel)?;
        }
    }
    whole.present()?;
    Ok(())
}

fn draw_panel(run: &Run, across: (f64, f64), panel: &Panel) -> Result<()> {
    let top = highest(run.dots.iter().map(|dot| dot.latency_ms));
    let zones = highest(run.dots.iter().map(|dot| f64::from(dot.zones_left)));
    let mut chart = ChartBuilder::on(panel)
        .caption(run.name, (FONT, 13))
        .margin(8)
        .x_label_area_size(36)
        .y_label_area_size(80)
        .right_y_label_area_size(60)
        .build_cartesian_2d(across.0..across.1, 0.0..top)?
        .set_secondary_coord(across.0..across.1, 0.0..zones);
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc("seconds").y_desc("latency, ms").y_labels(5).draw()?;
    chart.configure_secondary_axes().label_style((FONT, 12)).y_desc("zones left").y_labels(5).draw()?;
    chart.draw_series(run.dots.iter().map(|dot| Circle::new((dot.arrival_s, dot.latency_ms), 1, BLACK.filled())))?;
    let left = run.dots.iter().map(|dot| (dot.arrival_s, f64::from(dot.zones_left)));
    chart.draw_secondary_series([PathElement::new(left.collect::<Vec<_>>(), colour(5).stroke_width(2))])?;
    Ok(())
}
