//! A moment of a workload as people write it.

use imbrex::replay::TraceMoment;
use imbrex::trace::TraceRange;
use imbrex_terminal::duration::{self, nanoseconds};

use crate::values::requests;
use crate::written::Written;

/// A moment of a workload.
#[derive(Copy, Clone, PartialEq, Debug)]
pub enum Moment {
    /// After that part of the requests, in percent.
    Percent(f64),
    /// At one that does not depend on the workload.
    At(TraceMoment),
}

impl Moment {
    /// When that is in a workload of this range.
    #[must_use]
    pub fn of(self, range: &TraceRange) -> TraceMoment {
        match self {
            Self::Percent(percent) => TraceMoment::Requests((percent / 100.0 * range.requests as f64) as u64),
            Self::At(at) => at,
        }
    }
}

impl Written for Moment {
    fn read(text: &str) -> Result<Self, String> {
        let percent = text.strip_suffix('%').and_then(|number| number.parse().ok());
        let percent = percent.filter(|percent| (0.0..=1.0).contains(&(percent / 100.0))).map(Self::Percent);
        let requests = || requests(text).ok().map(|n| Self::At(TraceMoment::Requests(n.get())));
        let time = || nanoseconds(text).map(|ns| Self::At(TraceMoment::Ns(ns)));
        let remedy =
            || "write a percentage such as 25%, a number of requests such as 10000, or a time such as 30s, 10min or 2h";
        percent.or_else(requests).or_else(time).ok_or_else(|| remedy().to_owned())
    }

    fn text(&self) -> String {
        match self {
            Self::Percent(percent) => format!("{percent}%"),
            Self::At(TraceMoment::Requests(requests)) => requests.to_string(),
            Self::At(TraceMoment::Ns(ns)) => duration::written(*ns),
        }
    }
}
