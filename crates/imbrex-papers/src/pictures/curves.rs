//! Curves over how often the buffer turns over, one for each workload.

use anyhow::Result;
use imbrex_pictures::{COLOURS, FONT, LEGEND, WIDTH, colour, legend};
use plotters::prelude::*;

use crate::claim::Data;
use crate::paper::Turnover;
use crate::turnover::Point;

/// The height of the picture, and half the side of the square at a point of a real trace.
const HEIGHT: u32 = 520;
const MARK: i32 = 3;

/// Both axes are logarithmic; the line at 1 is where the two layers do equally well.
pub fn turnover(figure: &Turnover, points: &[Point], text: &mut String) -> Result<()> {
    let area = SVGBackend::with_string(text, (WIDTH, HEIGHT)).into_drawing_area();
    area.fill(&WHITE)?;
    let shown: Vec<_> =
        points.iter().filter_map(|point| Some((point, point.ratio.filter(|ratio| *ratio > 0.0)?))).collect();
    // The line at 1 is shown, wherever the points lie.
    let with_one = |values: &mut dyn Iterator<Item = f64>| span(values.chain([1.0]).collect::<Vec<_>>().into_iter());
    let across = with_one(&mut shown.iter().map(|(point, _)| point.turnovers));
    let up = with_one(&mut shown.iter().map(|(_, ratio)| *ratio));
    let synthetic = points.iter().filter(|point| point.synthetic).count();
    let data = Data::of(synthetic, points.len()).name();
    let mut chart = ChartBuilder::on(&area)
        .caption(format!("{} – {data} data", figure.title), (FONT, 16))
        .margin(12)
        .margin_right(LEGEND)
        .x_label_area_size(44)
        .y_label_area_size(70)
        .build_cartesian_2d((across.0..across.1).log_scale(), (up.0..up.1).log_scale())?;
    let number = |value: &f64| format!("{value}");
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT).label_style((FONT, 12)).x_label_formatter(&number).y_label_formatter(&number);
    mesh.x_desc("turnovers of the buffer").y_desc(format!("RMW over those of {}", figure.against)).draw()?;
    chart.draw_series([PathElement::new([(across.0, 1.0), (across.1, 1.0)], BLACK.stroke_width(1))])?;
    let names = names(points);
    for (at, name) in names.iter().enumerate() {
        let own = shown.iter().filter(|(point, _)| point.workload == *name);
        let mut curve: Vec<_> = own.clone().map(|(point, ratio)| (point.turnovers, *ratio)).collect();
        curve.sort_by(|one, other| one.0.total_cmp(&other.0));
        // The second round of colours is drawn thinner.
        let width = if at < COLOURS.len() { 2 } else { 1 };
        chart.draw_series([PathElement::new(curve, colour(at).stroke_width(width))])?;
        for &(point, ratio) in own {
            let place = (point.turnovers, ratio);
            if point.synthetic {
                chart.draw_series([Circle::new(place, MARK, colour(at).filled())])?;
            } else {
                chart.draw_series([TriangleMarker::new(place, 2 * MARK, colour(at).filled())])?;
            }
        }
    }
    legend(&area, names.iter().enumerate().map(|(at, name)| (*name, colour(at))))?;
    area.present()?;
    Ok(())
}

/// The workloads in the order of their points.
fn names(points: &[Point]) -> Vec<&'static str> {
    let mut names: Vec<_> = points.iter().map(|point| point.workload).collect();
    names.dedup();
    names
}

/// The ends of a logarithmic axis on which all of `values` lie.
pub fn span(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let (low, high) = (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max));
    if low > high { (0.5, 2.0) } else { (low / 1.3, high * 1.3) }
}
