//! What tracks hold, from the outside inwards: those on top above the line, those below them under it.

use anyhow::Result;
use imbrex::contents::TrackContent;
use imbrex::tracks::Side;
use imbrex_terminal::table::count;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{COLOURS, FONT, LEGEND, Panel, stacked};

/// The height of a panel.
const PANEL: u32 = 300;
/// More bars than these would be thinner than a pixel: bars then show the mean of several tracks.
const MOST_BARS: usize = 800;

/// A part of what a track holds.
type Part = (&'static str, RGBColor, fn(&TrackContent) -> u32);

/// From the line outwards.
const PARTS: [Part; 5] = [
    ("at home", COLOURS[0], |track| track.home),
    ("exchanged", COLOURS[5], |track| track.swapped),
    ("buffered", COLOURS[1], |track| track.buffered),
    ("needed no more", COLOURS[3], |track| track.stale),
    ("not allocated", COLOURS[2], TrackContent::free),
];

/// A panel with a caption for each moment, one below the other, as SVG.
pub fn tracks(title: &str, panels: &[Panel<'_, TrackContent>]) -> Result<Vec<u8>> {
    let names = PARTS.map(|(name, colour, _)| (name, colour));
    stacked(title, "tracks", panels, PANEL, names, draw_panel)
}

fn draw_panel(panel: &Panel<'_, TrackContent>, area: &DrawingArea<SVGBackend, Shift>) -> Result<()> {
    let Panel { caption, units: all } = panel;
    let longest = |side| all.iter().filter(|track| track.side == side).map(|track| track.blocks).max().unwrap_or(1);
    let (down, up) = (-f64::from(longest(Side::Bottom)), f64::from(longest(Side::Top)));
    let mut chart = ChartBuilder::on(area)
        .caption(format!("{caption}: {} tracks", count(all.len() as u64)), (FONT, 13))
        .margin(8)
        .margin_right(LEGEND)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..all.len().max(1) as f64, down..up)?;
    let (number, length) = (|value: &f64| format!("{value}"), |value: &f64| format!("{}", value.abs()));
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&length);
    mesh.x_desc("tracks, from the outside inwards").y_desc("blocks; top tracks above").y_labels(6).draw()?;
    for side in [Side::Top, Side::Bottom] {
        let parts = bars(all, side).into_iter();
        chart.draw_series(parts.map(|(corners, colour)| Rectangle::new(corners, colour.filled())))?;
    }
    Ok(())
}

/// The bars of one kind of track: their corners and colours.
fn bars(all: &[TrackContent], side: Side) -> Vec<([(f64, f64); 2], RGBColor)> {
    let joined = all.len().div_ceil(MOST_BARS).max(2);
    let sign = if side == Side::Top { 1.0 } else { -1.0 };
    let mut bars = Vec::new();
    for (at, some) in all.chunks(joined).enumerate() {
        let of_side = || some.iter().filter(|track| track.side == side);
        let tracks = of_side().count().max(1) as f64;
        let (from, mut low) = ((at * joined) as f64, 0.0);
        for (_, colour, part) in PARTS {
            let mean = of_side().map(|track| f64::from(part(track))).sum::<f64>() / tracks;
            if mean > 0.0 {
                bars.push(([(from, sign * low), (from + some.len() as f64, sign * (low + mean))], colour));
            }
            low += mean;
        }
    }
    bars
}
