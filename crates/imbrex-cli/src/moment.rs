//! A moment of a workload on the command line.

use imbrex::replay::TraceMoment;
use imbrex::trace::TraceRange;
use imbrex_terminal::duration::{nanoseconds, whole};

/// A moment on the command line.
#[derive(Copy, Clone, Debug)]
pub enum Moment {
    /// After that part of the requests.
    Part(f64),
    /// At one that does not depend on the workload.
    At(TraceMoment),
}

impl Moment {
    /// When that is in a workload of this range.
    pub fn of(self, range: &TraceRange) -> TraceMoment {
        match self {
            Self::Part(part) => TraceMoment::Requests((part * range.requests as f64) as u64),
            Self::At(at) => at,
        }
    }
}

/// Reads one.
pub fn moment(text: &str) -> Result<Moment, String> {
    let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
    let part = percent.map(|percent: f64| percent / 100.0).filter(|part| (0.0..=1.0).contains(part)).map(Moment::Part);
    let requests = || whole(text).map(|requests| Moment::At(TraceMoment::Requests(requests)));
    let time = || nanoseconds(text).map(|ns| Moment::At(TraceMoment::Ns(ns)));
    let remedy =
        || "write a percentage such as 25%, a number of requests such as 10000, or a time such as 30s, 10min or 2h";
    part.or_else(requests).or_else(time).ok_or_else(|| remedy().to_owned())
}
