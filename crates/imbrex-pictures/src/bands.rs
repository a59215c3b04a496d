//! What bands hold: a bar for each, sorted by heat, as in figures 2 to 11 of Jones et al., ACM TOS 12(1), 2016.

use std::cmp::Reverse;

use anyhow::{Result, anyhow};
use imbrex::contents::BandContent;
use imbrex::replay::BandSums;
use imbrex_terminal::table::count;
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::{COLOURS, FONT, LEGEND, Panel, WIDTH, legend};

/// The height of a panel, and of the title above all.
const PANEL: u32 = 300;
const TITLE: u32 = 36;
/// More bars than these would be thinner than a pixel: bars then show the mean of several bands.
const MOST_BARS: usize = 800;

const HOT: (&str, RGBColor) = ("hot", COLOURS[5]);
const COLD: (&str, RGBColor) = ("cold", COLOURS[0]);
const LIVE: (&str, RGBColor) = ("live (heat is not kept)", COLOURS[4]);
const FREE: (&str, RGBColor) = ("free: dead or not written", COLOURS[2]);

/// A panel for each moment, one below the other, as SVG.
pub fn bands(title: &str, panels: &[Panel<'_, BandContent>]) -> Result<Vec<u8>> {
    let mut text = String::new();
    draw(title, panels, &mut text).map_err(|e| anyhow!("cannot draw the bands: {e}"))?;
    Ok(text.into_bytes())
}

fn draw(title: &str, panels: &[Panel<'_, BandContent>], text: &mut String) -> Result<()> {
    let height = TITLE + PANEL * panels.len() as u32;
    let whole = SVGBackend::with_string(text, (WIDTH, height)).into_drawing_area();
    whole.fill(&WHITE)?;
    let area = whole.titled(title, (FONT, 16))?;
    for (panel, part) in panels.iter().zip(area.split_evenly((panels.len().max(1), 1))) {
        draw_panel(panel, &part)?;
    }
    let is_told_apart = panels.iter().flat_map(|panel| panel.units).all(|band| band.hot.is_some());
    legend(&whole, if is_told_apart { vec![HOT, COLD, FREE] } else { vec![LIVE, FREE] })?;
    whole.present()?;
    Ok(())
}

fn draw_panel(panel: &Panel<'_, BandContent>, area: &DrawingArea<SVGBackend, Shift>) -> Result<()> {
    let bars = bars(panel.units);
    let blocks = panel.units.iter().map(|band| band.live + band.free()).max().unwrap_or(0);
    let sums = BandSums::of(panel.units);
    let mixed = sums.mixed.map_or(String::new(), |mixed| format!(", {} of them mixed", count(mixed)));
    let caption = format!("{}: {} bands{mixed}", panel.caption, count(sums.bands));
    let mut chart = ChartBuilder::on(area)
        .caption(caption, (FONT, 13))
        .margin(8)
        .margin_right(LEGEND)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..panel.units.len().max(1) as f64, 0.0..f64::from(blocks.max(1)))?;
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc("bands, sorted by heat").y_desc("blocks").y_labels(6).draw()?;
    chart.draw_series(
        bars.iter().flat_map(Bar::parts).map(|(corners, colour)| Rectangle::new(corners, colour.filled())),
    )?;
    Ok(())
}

/// A band, or several beside each other: how wide, and how high each part is from the bottom.
struct Bar {
    from: f64,
    to: f64,
    parts: Vec<(f64, RGBColor)>,
}

impl Bar {
    /// The corners of its parts, and their colours.
    fn parts(&self) -> Vec<([(f64, f64); 2], RGBColor)> {
        let mut low = 0.0;
        let part = |&(height, colour): &(f64, RGBColor)| {
            let corners = [(self.from, low), (self.to, low + height)];
            low += height;
            (corners, colour)
        };
        self.parts.iter().map(part).filter(|(corners, _)| corners[0].1 < corners[1].1).collect()
    }
}

/// The hottest bands first, and of equals the fullest.
fn bars(bands: &[BandContent]) -> Vec<Bar> {
    let mut sorted = bands.to_vec();
    sorted.sort_by_key(|band| Reverse((band.hot, band.live)));
    let joined = sorted.len().div_ceil(MOST_BARS).max(1);
    let mut from = 0;
    let bar = |some: &[BandContent]| {
        let mean = |part: fn(&BandContent) -> u32| {
            some.iter().map(|band| f64::from(part(band))).sum::<f64>() / some.len() as f64
        };
        let free = (mean(BandContent::free), FREE.1);
        let parts = if some.iter().all(|band| band.hot.is_some()) {
            let hot = |band: &BandContent| band.hot.unwrap_or(0);
            let cold = |band: &BandContent| band.cold().unwrap_or(0);
            vec![(mean(hot), HOT.1), (mean(cold), COLD.1), free]
        } else {
            vec![(mean(|band| band.live), LIVE.1), free]
        };
        let to = from + some.len();
        Bar { from: std::mem::replace(&mut from, to) as f64, to: to as f64, parts }
    };
    sorted.chunks(joined).map(bar).collect()
}
