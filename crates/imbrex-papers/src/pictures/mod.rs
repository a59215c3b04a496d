//! The figures as pictures: for each workload the variants of a study side by side.

mod curves;
mod growths;
mod mixes;
mod panels;
mod sweeps;

use anyhow::{Result, anyhow};
use imbrex_pictures::{FIRST_NAME, FONT, LEGEND, NAME_HEIGHT, WIDTH, colour, highest, legend};
use imbrex_terminal::new_folder::NewFolder;
use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::paper::{Figure, LocalityFigures, Study};
use super::results::Results;
use super::{mix, turnover};

const HEIGHT: u32 = 420;
/// Part of the space of a workload that is taken by bars.
const FILLED: f64 = 0.8;

type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// A rectangle in a picture.
struct Part {
    variant: usize,
    /// Whether it is the bar's lowest part.
    is_lowest: bool,
    across: (f64, f64),
    up: (f64, f64),
}

/// Draws every figure.
pub fn write(results: &Results, folder: &NewFolder) -> Result<()> {
    for study in results.paper.studies {
        for figure in study.figures {
            let mut text = String::new();
            draw(results, study, figure, &mut text).map_err(|e| anyhow!("cannot draw {}: {e}", figure.title()))?;
            folder.write(&format!("{}.svg", figure.file(study)), text.as_bytes())?;
        }
    }
    if let Some(figure) = results.paper.turnover {
        let mut text = String::new();
        curves::turnover(figure, &results.turnover, &mut text).map_err(|e| anyhow!("cannot draw turnovers: {e}"))?;
        folder.write(&format!("{}.svg", turnover::FILE), text.as_bytes())?;
    }
    if let Some(mix) = results.paper.mix {
        let mut text = String::new();
        mixes::draw(mix, &results.mix, &mut text).map_err(|e| anyhow!("cannot draw the mix: {e}"))?;
        folder.write(&format!("{}.svg", mix::FILE), text.as_bytes())?;
    }
    if let Some(growth) = results.paper.growth {
        let mut text = String::new();
        growths::draw(growth, &results.growth, &mut text).map_err(|e| anyhow!("cannot draw the growth: {e}"))?;
        folder.write(&format!("{}.svg", growth.file()), text.as_bytes())?;
    }
    for sweep in results.paper.sweeps {
        let mut text = String::new();
        sweeps::draw(sweep, &results.sweeps, &mut text)
            .map_err(|e| anyhow!("cannot draw sweep {}: {e}", sweep.name))?;
        folder.write(&format!("{}.svg", sweep.file()), text.as_bytes())?;
    }
    if let Some(LocalityFigures { periods, ranges }) = results.paper.locality {
        let mut text = String::new();
        panels::periods(&results.localities, &mut text).map_err(|e| anyhow!("cannot draw figure {periods}: {e}"))?;
        folder.write(&format!("figure-{periods}-update-periods.svg"), text.as_bytes())?;
        text.clear();
        panels::ranges(&results.localities, &mut text).map_err(|e| anyhow!("cannot draw figure {ranges}: {e}"))?;
        folder.write(&format!("figure-{ranges}-write-range.svg"), text.as_bytes())?;
    }
    Ok(())
}

fn draw(results: &Results, study: &Study, figure: &Figure, text: &mut String) -> Result<()> {
    let parts = parts(results, study, figure);
    let highest = highest(parts.iter().map(|part| part.up.1));
    let legend_height = 2 * FIRST_NAME + NAME_HEIGHT * study.variants.len() as i32;
    let size = (WIDTH, HEIGHT.max(legend_height as u32));
    let area = SVGBackend::with_string(text, size).into_drawing_area();
    area.fill(&WHITE)?;
    let workloads = study.workloads(results.paper);
    let mut chart = ChartBuilder::on(&area)
        .caption(caption(results, study, figure), (FONT, 16))
        .margin(12)
        .margin_right(LEGEND)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..workloads.len() as f64, 0.0..highest)?;
    let yardstick = study.variants.first().filter(|_| figure.is_relative);
    let unit = figure.metrics.first().map_or("", |metric| metric.unit());
    let unit = yardstick.map_or(unit.to_owned(), |name| format!("over {name}"));
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.disable_x_mesh().x_labels(0).light_line_style(TRANSPARENT).label_style((FONT, 12));
    mesh.y_labels(8).y_label_formatter(&number).y_desc(unit).draw()?;
    chart.draw_series(parts.iter().map(|part| {
        let opacity = if part.is_lowest { 1.0 } else { 0.45 };
        let corners = [(part.across.0, part.up.0), (part.across.1, part.up.1)];
        Rectangle::new(corners, colour(part.variant).mix(opacity).filled())
    }))?;
    label(&area, &chart, workloads)?;
    legend(&area, study.variants.iter().enumerate().map(|(at, name)| (*name, colour(at))))?;
    area.present()?;
    Ok(())
}

/// What the picture shows, and of what kind its data is.
fn caption(results: &Results, study: &Study, figure: &Figure) -> String {
    let synthetic = results.rows().filter(|row| row.synthetic).count();
    let data = super::claim::Data::of(synthetic, results.rows().count()).name();
    format!("{} – {} – {data} data", figure.title(), study.title)
}

/// Writes the names of the workloads below the bars.
fn label(area: &DrawingArea<SVGBackend, Shift>, chart: &Chart, workloads: &[&str]) -> Result<()> {
    let style = TextStyle::from((FONT, 13)).pos(Pos::new(HPos::Center, VPos::Top));
    for (at, workload) in workloads.iter().enumerate() {
        let (x, y) = chart.plotting_area().map_coordinate(&(at as f64 + 0.5, 0.0));
        area.draw(&Text::new((*workload).to_owned(), (x, y + 8), &style))?;
    }
    Ok(())
}

fn parts(results: &Results, study: &Study, figure: &Figure) -> Vec<Part> {
    let mut parts = Vec::new();
    let width = FILLED / study.variants.len() as f64;
    for (at, workload) in study.workloads(results.paper).iter().enumerate() {
        let value =
            |variant: &str| figure.metrics.iter().map(|metric| results.value(workload, variant, *metric)).collect();
        let sum = |values: Vec<Option<f64>>| values.into_iter().flatten().sum::<f64>();
        let unit = if figure.is_relative { study.variants.first().map_or(1.0, |first| sum(value(first))) } else { 1.0 };
        for (variant, name) in study.variants.iter().enumerate() {
            let left = at as f64 + (1.0 - FILLED) / 2.0 + variant as f64 * width;
            let mut low = 0.0;
            for (index, height) in value(name).into_iter().enumerate() {
                let high = low + height.unwrap_or(0.0) / unit;
                if high.is_finite() {
                    let across = (left, left + 0.9 * width);
                    parts.push(Part { variant, is_lowest: index == 0, across, up: (low, high) });
                    low = high;
                }
            }
        }
    }
    parts
}
