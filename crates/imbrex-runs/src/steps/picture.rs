//! A story as one SVG that moves: a frame for each scene, of which one at a time is visible.
//!
//! The motion is CSS, which also works where a page shows the file as an image. All frames share three animations as
//! long as the whole story, each shifted by where its scene comes. Who wants nothing to move sees one frame.

use std::fmt::Write;

use imbrex_terminal::table::milliseconds;

use super::state::{Laid, State};
use super::{End, Kind, Row, Scene, Story};

/// Pixels: the picture, the names beside the rows, what is above the rows and below them.
const WIDTH: f64 = 800.0;
const NAMES: f64 = 128.0;
const HEAD: f64 = 82.0;
const LEGEND: f64 = 44.0;
/// The narrowest piece that can be seen.
const LEAST: f64 = 2.5;
/// Seconds that a scene is shown for.
const SECONDS: f64 = 2.6;
/// The part of them in which something moves.
const MOVING: f64 = 0.55;
/// Letters in a line of text.
const LETTERS: usize = 108;

const STYLE: &str = ".f,.s{visibility:hidden}.still{visibility:visible}text{font:13.5px sans-serif;fill:#1b1f24}\
.t{font-weight:bold}.q{fill:#59636e}.p{fill:#f5f6f8;stroke:#d0d7de}.w{fill:#d0d7de}.bottom{fill:#d0d7de}.top{fill:#fff;stroke:#59636e}\
.m{fill:#59636e}.l{fill-opacity:.6}.k{fill-opacity:.9}.b{fill:#0072b2;fill-opacity:.18}.d{fill:none;stroke-width:2;stroke-dasharray:4 3}.a{fill:none;stroke-width:2}\
.g{transform-box:fill-box;transform-origin:left}";

/// The picture.
pub fn picture(story: &Story, title: &str) -> String {
    let places = places(&story.rows);
    let height = places.last().map_or(HEAD, |last| last.y + last.height) + LEGEND;
    let scenes = story.scenes.len().max(1) as f64;
    let (whole, share) = (scenes * SECONDS, 100.0 / scenes);
    let moved = share * MOVING;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" role=\"img\">\
         <title>{0}: what the disk does, step by step</title>\n<style>{STYLE}\
         @keyframes f{{0%{{visibility:visible}}{share:.3}%,100%{{visibility:hidden}}}}\
         @keyframes g{{0%{{transform:scaleX(0)}}{moved:.3}%,100%{{transform:none}}}}\
         @keyframes h{{0%{{transform:translateX(var(--d))}}{moved:.3}%,100%{{transform:none}}}}\
         @media (prefers-reduced-motion:no-preference){{.still{{visibility:hidden}}.f{{animation:f {whole:.1}s step-end infinite}}\
         .g{{animation:g {whole:.1}s linear infinite}}.h{{animation:h {whole:.1}s linear infinite}}}}",
        escaped(title)
    );
    for at in 0..story.scenes.len() {
        let delay = at as f64 * SECONDS - whole;
        let _ = write!(svg, ".n{at},.n{at} .g,.n{at} .h{{animation-delay:{delay:.1}s}}");
    }
    let _ = write!(
        svg,
        "</style>\n<defs><pattern id=\"o\" width=\"8\" height=\"8\" patternUnits=\"userSpaceOnUse\" patternTransform=\"skewX(-14)\">\
         <path d=\"M0 0V8\" stroke=\"#59636e\" stroke-opacity=\".45\"/></pattern>\
         <pattern id=\"x\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\" patternTransform=\"rotate(45)\">\
         <path d=\"M0 0V4\" stroke=\"#1b1f24\" stroke-width=\"2\"/></pattern></defs>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"#fff\" stroke=\"#d0d7de\"/><text class=\"t\" x=\"12\" y=\"22\">{}</text>\n",
        escaped(title)
    );
    let frame = Frame { story, places: &places };
    frame.rows(&mut svg);
    frame.legend(&mut svg, height - 22.0);
    let mut state = State::new(&story.rows);
    let still = story.scenes.iter().position(|scene| scene.why == "destage").unwrap_or(story.start);
    for (at, scene) in story.scenes.iter().enumerate() {
        state.begin(story, at);
        let class = if at == still { " still" } else { "" };
        let _ = write!(svg, "<g class=\"f n{at}{class}\">");
        frame.text(&mut svg, at, scene);
        frame.filled(&mut svg, scene);
        frame.lying(&mut svg, &state);
        frame.moving(&mut svg, scene);
        svg += "</g>\n";
        state.play(&story.rows, scene);
    }
    svg + "</svg>\n"
}

/// Where a row stands.
struct At<'a> {
    row: &'a Row,
    y: f64,
    height: f64,
}

fn places<'a>(rows: &'a [Row]) -> Vec<At<'a>> {
    let mut y = HEAD;
    let place = |(number, row): (usize, &'a Row)| {
        let before = number.checked_sub(1).map(|before| &rows[before]);
        let is_over = before.is_some_and(|before| before.overlaps(row));
        let is_apart =
            row.kind == Kind::Elsewhere || before.is_some_and(|before| before.first.is_none() && row.first.is_some());
        y += if is_over { -4.0 } else { 8.0 } + if is_apart { 8.0 } else { 0.0 };
        let height = match row.kind {
            Kind::Top => 14.0,
            Kind::Host | Kind::Elsewhere => 16.0,
            _ => 24.0,
        };
        let at = At { row, y, height };
        y += height;
        at
    };
    rows.iter().enumerate().map(place).collect()
}

impl At<'_> {
    fn width(&self) -> f64 {
        if self.row.kind == Kind::Host { 60.0 } else { WIDTH - NAMES - 14.0 }
    }

    /// Where some blocks begin, and how wide they are.
    fn across(&self, at: u64, blocks: f64) -> (f64, f64) {
        if self.row.kind == Kind::Host {
            return (NAMES, self.width());
        }
        let scale = self.width() / self.row.blocks.max(1) as f64;
        let width = (blocks * scale).max(LEAST).min(self.width());
        (NAMES + (at as f64 * scale).min(self.width() - width), width)
    }
}

/// What frames have in common.
struct Frame<'a> {
    story: &'a Story,
    places: &'a [At<'a>],
}

impl Frame<'_> {
    fn rect(&self, svg: &mut String, end: End, blocks: f64, rest: &str) {
        let place = &self.places[end.0];
        let (x, width) = place.across(end.1, blocks);
        let (y, height) = (place.y, place.height);
        let _ = write!(svg, "<rect x=\"{x:.1}\" y=\"{y}\" width=\"{width:.1}\" height=\"{height}\" {rest}/>");
    }

    /// The rows and their names; all of the disk shows where the others lie on it.
    fn rows(&self, svg: &mut String) {
        let tops_last = |number: &usize| self.story.rows[*number].kind == Kind::Top;
        let mut order: Vec<_> = (0..self.places.len()).collect();
        order.sort_by_key(tops_last);
        for number in order {
            let At { row, y, height } = &self.places[number];
            let class = match row.kind {
                Kind::Bottom => "p bottom",
                Kind::Top => "p top",
                _ => "p",
            };
            self.rect(svg, End(number, 0), row.blocks as f64, &format!("rx=\"3\" class=\"{class}\""));
            let _ = write!(svg, "<text x=\"12\" y=\"{}\">{}</text>", y + height / 2.0 + 4.5, row.name);
        }
        let whole = self.places.len() - 1;
        if self.story.rows[whole].kind == Kind::Elsewhere {
            let others = self.story.rows[..whole].iter().filter_map(|row| Some((row.first?, row.blocks)));
            others.for_each(|(first, blocks)| self.rect(svg, End(whole, first), blocks as f64, "class=\"m\""));
        }
    }

    fn text(&self, svg: &mut String, at: usize, scene: &Scene) {
        let number = format!("step {} of {}", at + 1, self.story.scenes.len());
        let took = if scene.took_ms > 0.0 { milliseconds(scene.took_ms) } else { "no time".to_owned() };
        let _ = write!(
            svg,
            "<text class=\"q\" x=\"{}\" y=\"22\" text-anchor=\"end\">{number}, takes {took}</text>",
            WIDTH - 14.0
        );
        for (line, text) in (0..).zip(lines(&scene.says)) {
            let _ = write!(svg, "<text x=\"12\" y=\"{}\">{}</text>", 44 + 17 * line, escaped(&text));
        }
    }

    /// The colours of the reasons that there are.
    fn legend(&self, svg: &mut String, y: f64) {
        let is_there = |(why, ..): &&(&str, &str, &str)| self.story.scenes.iter().any(|scene| scene.why == *why);
        let mut x = NAMES;
        for (_, name, fill) in REASONS.iter().filter(is_there) {
            let _ = write!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{fill}\"/>");
            let _ = write!(svg, "<text class=\"q\" x=\"{}\" y=\"{}\">{name}</text>", x + 18.0, y + 11.0);
            x += 40.0 + 7.0 * name.len() as f64;
        }
        let _ = writeln!(
            svg,
            "<path d=\"M{} {}l-6-10h12z\"/><text class=\"q\" x=\"{}\" y=\"{}\">the head</text>",
            x + 6.0,
            y + 11.0,
            x + 18.0,
            y + 11.0
        );
    }

    /// The buffer is shaded as far as it is full: which of its blocks hold something is not known of all.
    fn filled(&self, svg: &mut String, scene: &Scene) {
        let buffer = self.story.rows.iter().position(|row| row.kind == Kind::Buffer);
        if let Some((number, filled)) = buffer.zip(scene.filled) {
            self.rect(svg, End(number, 0), self.story.rows[number].blocks as f64 * filled, "class=\"b\"");
        }
    }

    /// What lies there when a scene begins.
    fn lying(&self, svg: &mut String, state: &State) {
        for (number, row) in state.rows.iter().enumerate() {
            if let Some(written) = row.written.filter(|written| *written > 0) {
                for rest in ["class=\"w\"", "fill=\"url(#o)\""] {
                    self.rect(svg, End(number, 0), written as f64, rest);
                }
            }
            for Laid { at, blocks, why } in &row.laid {
                let rest = if *why == "destroyed" {
                    "fill=\"url(#x)\"".to_owned()
                } else {
                    // What is new is seen on what it lies on.
                    let class = if *why == "host" { "k" } else { "l" };
                    format!("class=\"{class}\" fill=\"{}\"", colour(why))
                };
                self.rect(svg, End(number, *at), *blocks as f64, &rest);
            }
        }
    }

    /// What the scene moves.
    fn moving(&self, svg: &mut String, scene: &Scene) {
        let fill = colour(scene.why);
        for piece in &scene.pieces {
            let blocks = f64::from(piece.blocks);
            for (end, destroyed) in &piece.destroyed {
                self.rect(svg, *end, f64::from(*destroyed), "fill=\"url(#x)\" stroke=\"#1b1f24\"");
            }
            if let Some(from) = piece.from {
                self.rect(svg, from, blocks, &format!("class=\"d\" stroke=\"{fill}\""));
            }
            match piece.to {
                Some(to) if scene.why == "reset" => {
                    self.rect(svg, to, blocks, "class=\"g\" fill=\"#fff\" stroke=\"#59636e\"");
                }
                Some(to) => self.rect(svg, to, blocks, &format!("class=\"g\" fill=\"{fill}\"")),
                None => {}
            }
        }
        let joined = scene.pieces.iter().filter_map(|piece| Some((piece.from?, piece.to?, f64::from(piece.blocks))));
        joined.take(if scene.pieces.len() > 8 { 1 } else { 8 }).for_each(|ends| self.arrow(svg, ends, fill));
        let on_disk = |end: &End| self.story.rows[end.0].first.is_some();
        let last = scene
            .pieces
            .iter()
            .rev()
            .find_map(|piece| Some((piece.to.filter(on_disk).or(piece.from.filter(on_disk))?, piece.blocks)));
        if let Some((end, blocks)) = last.filter(|_| scene.why != "reset") {
            self.head(svg, end, blocks);
        }
    }

    fn arrow(&self, svg: &mut String, (from, to, blocks): (End, End, f64), fill: &str) {
        let middle = |end: End| {
            let (x, width) = self.places[end.0].across(end.1, blocks);
            x + width / 2.0
        };
        let ([a, b], [x1, x2]) = ([from, to].map(|end| &self.places[end.0]), [middle(from), middle(to)]);
        let (y1, y2, tip) =
            if b.y > a.y { (a.y + a.height, b.y - 1.0, -7.0) } else { (a.y, b.y + b.height + 1.0, 7.0) };
        let bend = (y2 - y1) / 2.0;
        let _ = write!(
            svg,
            "<path class=\"a\" stroke=\"{fill}\" d=\"M{x1:.1} {y1}C{x1:.1} {:.1} {x2:.1} {:.1} {x2:.1} {}\"/>\
             <path fill=\"{fill}\" d=\"M{x2:.1} {y2}l-5 {tip}h10z\"/>",
            y1 + bend,
            y2 - bend,
            y2 + tip
        );
    }

    /// The head over the end of some blocks, to which it moves from their beginning, and over all of the disk.
    fn head(&self, svg: &mut String, end: End, blocks: u32) {
        let whole = self.places.len() - 1;
        let first = self.story.rows[end.0].first.unwrap_or(0) + end.1;
        let is_apart = self.story.rows[whole].kind == Kind::Elsewhere && end.0 != whole;
        for End(row, at) in [end].into_iter().chain(is_apart.then_some(End(whole, first))) {
            let place = &self.places[row];
            let scale = place.width() / place.row.blocks.max(1) as f64;
            let (x, gone) = (NAMES + (at + u64::from(blocks)) as f64 * scale, f64::from(blocks) * scale);
            let _ = write!(
                svg,
                "<path class=\"h\" style=\"--d:{:.1}px\" stroke=\"#fff\" d=\"M{x:.1} {}l-6-10h12z\"/>",
                -gone,
                place.y + 3.0
            );
        }
    }
}

/// Reasons, what they mean here, and their colours, as pages have them (`stage.js`).
const REASONS: [(&str, &str, &str); 9] = [
    ("host", "for the host", "#0072b2"),
    ("collect", "read to be rewritten", "#e69f00"),
    ("destage", "written to its place", "#009e73"),
    ("swap", "exchanged", "#cc79a7"),
    ("migrate", "moved elsewhere", "#56b4e9"),
    ("neighbour", "saved and written back", "#d55e00"),
    ("pad", "padding", "#f0e442"),
    ("metadata", "journal", "#8c8c8c"),
    ("promote", "cached", "#0072b2"),
];

fn colour(why: &str) -> &'static str {
    REASONS.iter().find(|(name, ..)| *name == why).map_or(REASONS[0].2, |(.., colour)| colour)
}

/// Text in lines that fit.
fn lines(text: &str) -> Vec<String> {
    text.split(' ').fold(Vec::new(), |mut lines: Vec<String>, word| {
        match lines.last_mut().filter(|line| line.len() + word.len() < LETTERS) {
            Some(line) => *line += &format!(" {word}"),
            None => lines.push(word.to_owned()),
        }
        lines
    })
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
