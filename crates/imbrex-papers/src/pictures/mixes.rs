//! A mix over its requests: how fast each variant writes, what it finds buffered and what it lets in.

use anyhow::Result;
use imbrex_pictures::{FONT, LEGEND, WIDTH, colour, highest, legend};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::mix::{self, Point};
use crate::paper::Mix;

const PANEL: u32 = 240;
const TITLE: u32 = 36;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// What a panel shows, and of each window.
type Shown = (&'static str, fn(&Point) -> Option<f64>);

/// Three panels, one below the other.
pub fn draw(mix: &Mix, points: &[Point], text: &mut String) -> Result<()> {
    let whole = SVGBackend::with_string(text, (WIDTH, TITLE + 3 * PANEL)).into_drawing_area();
    whole.fill(&WHITE)?;
    let data = mix::replayed(points).data.name();
    let area = whole.titled(&format!("{} – {data} data", mix.halves.join(", then ")), (FONT, 16))?;
    let panels = area.split_evenly((3, 1));
    let values: [Shown; 3] = [
        ("MB/s", |point| Some(point.megabytes_per_second)),
        ("written blocks that hit", |point| Some(point.hit_ratio)),
        ("blocks let in", |point| point.enter_ratio),
    ];
    for (panel, shown) in panels.iter().zip(values) {
        draw_panel(mix, points, shown, panel)?;
    }
    legend(&whole, mix.variants.iter().enumerate().map(|(at, variant)| (variant.name, colour(at))))?;
    whole.present()?;
    Ok(())
}

fn draw_panel(mix: &Mix, points: &[Point], (name, value): Shown, panel: &Panel) -> Result<()> {
    let right = points.iter().map(|point| point.from_request + point.requests).max().unwrap_or(1);
    let top = highest(points.iter().filter_map(value));
    let mut chart = ChartBuilder::on(panel)
        .margin(8)
        .margin_right(LEGEND)
        .x_label_area_size(36)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..right as f64, 0.0..top)?;
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc("writes").y_desc(name).y_labels(5).draw()?;
    for (at, variant) in mix.variants.iter().enumerate() {
        let own = points.iter().filter(|point| point.variant == variant.name);
        let middle = |point: &Point| point.from_request as f64 + point.requests as f64 / 2.0;
        let curve = own.filter_map(|point| Some((middle(point), value(point)?))).collect::<Vec<_>>();
        chart.draw_series([PathElement::new(curve, colour(at).stroke_width(2))])?;
    }
    Ok(())
}
