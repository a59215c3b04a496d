//! What a page shows of a replay beside its numbers: what happened over time, and what lay where.

use anyhow::Result;
use imbrex::contents::Bars;
use imbrex::layers::LayerInfo;
use imbrex::replay::{BandsLook, Observer, ReplayOptions, TraceMoment, Window, WindowOutcome};
use imbrex::trace::{TraceInfo, TraceRange};
use imbrex_terminal::progress::Progress;
use serde_json::{Map, Value, json};

use crate::bands::At;
use crate::case::Case;
use crate::chosen::Chosen;
use crate::row::Row;
use crate::series;
use crate::settled::settle;
use crate::steps::Story;
use crate::workload::Known;

/// Windows of a series, and looks at what lies where before the end: more than a picture shows would cost time.
const WINDOWS: u64 = 150;
const LOOKS: u64 = 9;
/// Bars of a picture.
const BARS: usize = 400;

/// What a page wants to see of a replay, where nothing else was chosen: as many windows and looks as it shows.
#[must_use]
pub fn watched(options: &ReplayOptions, range: &TraceRange, has_contents: bool) -> ReplayOptions {
    let window = options.window.unwrap_or(Window::Requests(range.requests.div_ceil(WINDOWS).max(1)));
    let moments = (1..=LOOKS).map(|look| range.requests * look / (LOOKS + 1)).filter(|requests| *requests > 0);
    let bands = options.bands.clone().or_else(|| has_contents.then(|| moments.map(TraceMoment::Requests).collect()));
    ReplayOptions { window: Some(window), bands, ..options.clone() }
}

/// Replays `workload` on the layer of `case`, and sees of it what a page shows, if one is wanted.
///
/// # Errors
/// Those of [`Chosen::replay`].
pub fn replay<'a>(
    is_wanted: bool,
    chosen: &Chosen,
    workload: &'a Known,
    case: &Case,
    progress: &Progress,
) -> Result<(Row, Seen<'a>)> {
    let mut seen = Seen::new(&workload.info, case.layer);
    let settled = settle(chosen, workload, case, progress)?;
    let (chosen, workload) = (chosen.once(settled.steady.as_ref()), &*settled.workload);
    let row = if is_wanted {
        let options = watched(&chosen.options, &workload.range, chosen.says_contents(case));
        chosen.with(options).replay(workload, case, progress, &mut seen)
    } else {
        chosen.replay(workload, case, progress, &mut ())
    };
    Ok((row?, seen))
}

/// What was seen of a replay.
pub struct Seen<'a> {
    workload: &'a TraceInfo,
    layer: &'static str,
    rows: Vec<WindowOutcome>,
    looks: Vec<(At, Bars)>,
    /// What the disk did, if it was watched.
    pub story: Option<Story>,
}

impl<'a> Seen<'a> {
    /// Nothing yet.
    #[must_use]
    pub fn new(workload: &'a TraceInfo, layer: &LayerInfo) -> Self {
        Self { workload, layer: layer.name, rows: Vec::new(), looks: Vec::new(), story: None }
    }

    /// The windows as `--series` writes them.
    ///
    /// # Errors
    /// None that a window can cause.
    pub fn windows(&self) -> Result<Vec<Value>> {
        let point = |row| serde_json::to_value(series::point(self.workload, self.layer, row));
        Ok(self.rows.iter().map(point).collect::<Result<_, _>>()?)
    }

    /// What the disk did as a page plays it, if it was watched.
    #[must_use]
    pub fn steps(&self) -> Option<Value> {
        let mut story = json!(self.story.as_ref()?);
        story["trace"] = json!(self.workload.name);
        story["layer"] = json!(self.layer);
        story["synthetic"] = json!(self.workload.is_synthetic());
        Some(story)
    }

    /// The looks as a page draws them, if there are any.
    #[must_use]
    pub fn units(&self) -> Option<Value> {
        let (_, first) = self.looks.first()?;
        let names: Vec<_> = first.made_of.iter().map(|(name, _)| *name).collect();
        let look = |(at, bars): &(At, Bars)| {
            let parts: Map<_, _> = bars.made_of.iter().map(|(name, sums)| ((*name).to_owned(), json!(sums))).collect();
            json!({ "requests": at.requests, "is_end": at.is_end, "parts": parts })
        };
        let looks: Vec<_> = self.looks.iter().map(look).collect();
        Some(json!({
            "trace": self.workload.name,
            "layer": self.layer,
            "synthetic": self.workload.is_synthetic(),
            "kind": first.kind,
            "each": first.each,
            "parts": names,
            "looks": looks,
        }))
    }
}

impl Observer for Seen<'_> {
    fn row(&mut self, row: &WindowOutcome) {
        self.rows.push(row.clone());
    }

    fn bands(&mut self, look: &BandsLook) {
        self.looks.push((At::of(look), look.contents.bars(BARS)));
    }
}
