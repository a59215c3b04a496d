//! Pictures in SVG: what lies on bands, tracks and zones, and what all pictures have in common.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bands;
mod tracks;
mod zones;

use anyhow::{Result, anyhow};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

pub use bands::bands;
pub use tracks::tracks;
pub use zones::zones;

/// The width of a picture, in pixels.
pub const WIDTH: u32 = 1100;
/// The width of what is right of the drawing in it.
pub const LEGEND: u32 = 190;
/// The height of a title.
const TITLE: u32 = 36;
/// The font of all text.
pub const FONT: &str = "sans-serif";
/// Where the first name beside a drawing stands.
pub const FIRST_NAME: i32 = 60;
/// How far the next one is below it.
pub const NAME_HEIGHT: i32 = 22;
/// Colours that are told apart without seeing all colours.
pub const COLOURS: [RGBColor; 6] = [
    RGBColor(0, 114, 178),
    RGBColor(230, 159, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(213, 94, 0),
];

/// What lies where at a moment, as a picture shows it.
pub struct Panel<'a, T> {
    /// What stands above it.
    pub caption: String,
    /// What each band, track or zone holds.
    pub units: &'a [T],
}

/// The colour of a number; colours repeat.
pub fn colour(at: usize) -> RGBColor {
    COLOURS[at % COLOURS.len()]
}

/// The end of an axis on which all of `values` lie.
pub fn highest(values: impl Iterator<Item = f64>) -> f64 {
    let highest = values.fold(0.0, f64::max);
    if highest > 0.0 { highest * 1.05 } else { 1.0 }
}

/// Panels that are `height` pixels high, one below the other, beside names and their colours, as SVG. `what` they show
/// says an error.
fn stacked<T>(
    title: &str,
    what: &str,
    panels: &[T],
    height: u32,
    names: impl IntoIterator<Item = (&'static str, RGBColor)>,
    draw: impl Fn(&T, &DrawingArea<SVGBackend, Shift>) -> Result<()>,
) -> Result<Vec<u8>> {
    let mut text = String::new();
    let drawn = || -> Result<()> {
        let size = (WIDTH, TITLE + height * panels.len() as u32);
        let whole = SVGBackend::with_string(&mut text, size).into_drawing_area();
        whole.fill(&WHITE)?;
        let area = whole.titled(title, (FONT, 16))?;
        for (panel, part) in panels.iter().zip(area.split_evenly((panels.len().max(1), 1))) {
            draw(panel, &part)?;
        }
        legend(&whole, names)?;
        whole.present()?;
        Ok(())
    };
    drawn().map_err(|e| anyhow!("cannot draw the {what}: {e}"))?;
    Ok(text.into_bytes())
}

/// Names and their colours, right of what is drawn.
pub fn legend<'a>(
    area: &DrawingArea<SVGBackend, Shift>,
    names: impl IntoIterator<Item = (&'a str, RGBColor)>,
) -> Result<()> {
    let style = TextStyle::from((FONT, 13)).pos(Pos::new(HPos::Left, VPos::Center));
    let left = (WIDTH - LEGEND) as i32 + 12;
    for (at, (name, colour)) in (0..).zip(names) {
        let middle = FIRST_NAME + NAME_HEIGHT * at;
        let square = [(left, middle - 6), (left + 12, middle + 6)];
        area.draw(&Rectangle::new(square, colour.filled()))?;
        area.draw(&Text::new(name.to_owned(), (left + 18, middle), &style))?;
    }
    Ok(())
}
