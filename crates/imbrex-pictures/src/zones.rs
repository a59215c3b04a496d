//! Where the blocks of zones lie: a bar for each zone, or the mean of several.

use anyhow::Result;
use imbrex::contents::ZoneContent;
use imbrex_terminal::table::count;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{COLOURS, FONT, LEGEND, Panel, stacked};

/// The height of a panel.
const PANEL: u32 = 240;
/// More bars than these would be thinner than a pixel.
const MOST_BARS: usize = 800;

/// A part of the blocks of a zone.
type Part = (&'static str, RGBColor, fn(&ZoneContent) -> u32);

/// From below.
const PARTS: [Part; 2] = [("at home", COLOURS[0], |zone| zone.home), ("buffered", COLOURS[1], |zone| zone.buffered)];

/// A panel with a caption for each moment, one below the other, as SVG.
pub fn zones(title: &str, panels: &[Panel<'_, ZoneContent>]) -> Result<Vec<u8>> {
    let names = PARTS.map(|(name, colour, _)| (name, colour));
    stacked(title, "zones", panels, PANEL, names, draw_panel)
}

fn draw_panel(panel: &Panel<'_, ZoneContent>, area: &DrawingArea<SVGBackend, Shift>) -> Result<()> {
    let Panel { caption, units: all } = panel;
    let tallest = all.iter().map(|zone| zone.blocks).max().unwrap_or(1);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{caption}: {} zones", count(all.len() as u64)), (FONT, 13))
        .margin(8)
        .margin_right(LEGEND)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..all.len().max(1) as f64, 0.0..f64::from(tallest))?;
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc("zones").y_desc("blocks").y_labels(6).draw()?;
    let bars = bars(all).into_iter();
    chart.draw_series(bars.map(|(corners, colour)| Rectangle::new(corners, colour.filled())))?;
    Ok(())
}

/// The corners and colours of all bars.
fn bars(all: &[ZoneContent]) -> Vec<([(f64, f64); 2], RGBColor)> {
    let joined = all.len().div_ceil(MOST_BARS).max(1);
    let mut bars = Vec::new();
    for (at, some) in all.chunks(joined).enumerate() {
        let (from, mut low) = ((at * joined) as f64, 0.0);
        for (_, colour, part) in PARTS {
            let mean = some.iter().map(|zone| f64::from(part(zone))).sum::<f64>() / some.len() as f64;
            if mean > 0.0 {
                bars.push(([(from, low), (from + some.len() as f64, low + mean)], colour));
            }
            low += mean;
        }
    }
    bars
}
