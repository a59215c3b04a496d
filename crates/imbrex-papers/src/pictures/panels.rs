//! Where and how soon the workloads write: a small picture for each.

use anyhow::Result;
use imbrex_pictures::{COLOURS, FONT, highest};
use plotters::coord::Shift;
use plotters::prelude::*;

use crate::claim::Data;
use crate::locality::{Locality, Write};

const SIZE: (u32, u32) = (1200, 560);
const COLUMNS: usize = 4;
const GB: f64 = 1e9;

type Panel<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The blocks of each workload by the mean period of their updates, up to the buffer's size and beyond.
pub fn periods(localities: &[Locality], text: &mut String) -> Result<()> {
    let title = "updated blocks by mean update period (x: log2 of other blocks; orange: longer than the buffer)";
    panels(localities, title, text, |panel, locality| {
        let classes = &locality.periods.distribution;
        let bars = classes.iter().enumerate().map(|(class, of)| (class as f64, of.blocks as f64));
        let top = highest(bars.clone().map(|(_, blocks)| blocks));
        let mut chart = ChartBuilder::on(panel)
            .caption(locality.workload, (FONT, 13))
            .margin(8)
            .x_label_area_size(20)
            .y_label_area_size(60)
            .build_cartesian_2d(0.0..classes.len().max(1) as f64, 0.0..top)?;
        let number = |value: &f64| format!("{value}");
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT).x_labels(8).y_labels(4);
        mesh.x_label_formatter(&number).y_label_formatter(&number).draw()?;
        // A class holds the periods from a power of two on.
        let is_long = |class: f64| 2f64.powf(class - 1.0) > locality.periods.buffer_blocks as f64;
        chart.draw_series(bars.map(|(class, blocks)| {
            let colour = COLOURS[usize::from(is_long(class))];
            Rectangle::new([(class + 0.05, 0.0), (class + 0.95, blocks)], colour.filled())
        }))?;
        Ok(())
    })
}

/// Which bytes each workload writes, in the order of its writes.
pub fn ranges(localities: &[Locality], text: &mut String) -> Result<()> {
    let title = "writes (x: million writes, y: GB from the start of the volume)";
    panels(localities, title, text, |panel, locality| {
        let point = |write: &Write| (write.number as f64 / 1e6, write.offset_bytes as f64 / GB);
        let points = locality.writes.iter().map(point);
        let right = highest(points.clone().map(|(number, _)| number));
        let top = highest(points.clone().map(|(_, offset)| offset));
        let mut chart = ChartBuilder::on(panel)
            .caption(locality.workload, (FONT, 13))
            .margin(8)
            .x_label_area_size(20)
            .y_label_area_size(40)
            .build_cartesian_2d(0.0..right, 0.0..top)?;
        chart.configure_mesh().light_line_style(TRANSPARENT).x_labels(5).y_labels(4).draw()?;
        chart.draw_series(points.map(|at| Circle::new(at, 1, COLOURS[0].filled())))?;
        Ok(())
    })
}

fn panels(
    localities: &[Locality],
    title: &str,
    text: &mut String,
    draw: impl Fn(&Panel, &Locality) -> Result<()>,
) -> Result<()> {
    let area = SVGBackend::with_string(text, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let synthetic = localities.iter().filter(|locality| locality.synthetic).count();
    let data = Data::of(synthetic, localities.len()).name();
    let area = area.titled(&format!("{title} – {data} data"), (FONT, 16))?;
    let panels = area.split_evenly((localities.len().div_ceil(COLUMNS), COLUMNS));
    for (panel, locality) in panels.iter().zip(localities) {
        draw(panel, locality)?;
    }
    area.present()?;
    Ok(())
}
