//! Curves over a size: what was measured, and the closed form beside it.

use anyhow::Result;
use imbrex_pictures::{FONT, LEGEND, WIDTH, colour, legend};
use plotters::prelude::*;

use super::curves::span;
use crate::sweep::{self, Point, Sweep};

/// The height of the picture, and half the side of a measured point.
const HEIGHT: u32 = 520;
const MARK: i32 = 4;

/// Both axes are logarithmic; points and thick lines are measured, thin lines the closed form.
pub fn draw(sweep: &Sweep, points: &[Point], text: &mut String) -> Result<()> {
    let area = SVGBackend::with_string(text, (WIDTH, HEIGHT)).into_drawing_area();
    area.fill(&WHITE)?;
    let shown: Vec<_> = points.iter().filter(|point| point.sweep == sweep.name).collect();
    let rewritten = shown.iter().filter_map(|point| point.rewritten);
    let up = span(rewritten.chain(shown.iter().map(|point| point.closed_form)));
    let (low, high) = span(sweep.values.iter().copied());
    let data = sweep::replayed(points, sweep.name).data.name();
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{} – {data} data", sweep.title), (FONT, 14))
        .margin(12)
        .margin_right(LEGEND)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d((low..high).log_scale(), (up.0..up.1).log_scale())?;
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc(sweep.axis.name()).y_desc("blocks rewritten for each written home; thin: closed form").draw()?;
    for (at, curve) in sweep.curves.iter().enumerate() {
        let own = shown.iter().filter(|point| point.curve == curve.name);
        let form = own.clone().map(|point| (point.value, point.closed_form));
        chart.draw_series([PathElement::new(form.collect::<Vec<_>>(), colour(at).stroke_width(1))])?;
        let measured: Vec<_> = own.filter_map(|point| Some((point.value, point.rewritten?))).collect();
        chart.draw_series([PathElement::new(measured.clone(), colour(at).stroke_width(2))])?;
        chart.draw_series(measured.into_iter().map(|place| Circle::new(place, MARK, colour(at).filled())))?;
    }
    legend(&area, sweep.curves.iter().enumerate().map(|(at, curve)| (curve.name, colour(at))))?;
    area.present()?;
    Ok(())
}
