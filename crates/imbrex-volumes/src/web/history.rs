//! What a volume that is served did in the last minutes, for a page that draws it.

use std::collections::{BTreeMap, VecDeque};

use imbrex_live::service::{Runner, Status};
use serde::Serialize;

/// How many samples are kept: one is taken each second.
const KEPT: usize = 600;

/// Counters at a moment. What happened between two moments is their difference.
#[derive(Clone, Debug, Serialize)]
pub struct Sample {
    uptime_s: f64,
    requests: BTreeMap<String, Requests>,
    host_read: u64,
    host_written: u64,
    media_written: u64,
    runners: Vec<Runner>,
    steps: u64,
    resident_bytes: Option<u64>,
}

/// Requests of a kind so far.
#[derive(Copy, Clone, Debug, Serialize)]
struct Requests {
    count: u64,
    total_ms: f64,
}

impl From<&Status> for Sample {
    fn from(status: &Status) -> Self {
        let requests = status.latency.iter().map(|(kind, latency)| {
            let count = latency.all.count;
            (kind.clone(), Requests { count, total_ms: latency.all.mean_ms * count as f64 })
        });
        Self {
            uptime_s: status.uptime_seconds,
            requests: requests.collect(),
            host_read: status.traffic.host_read,
            host_written: status.traffic.host_written,
            media_written: status.traffic.media_written,
            runners: status.runners.clone(),
            steps: status.cleaning.steps,
            resident_bytes: status.resident_bytes,
        }
    }
}

/// The samples of the last minutes.
#[derive(Default)]
pub struct History(VecDeque<Sample>);

impl History {
    /// Takes a sample. One that is older than the last is of another server, and what was before it is forgotten.
    pub fn add(&mut self, sample: Sample) {
        if self.0.back().is_some_and(|last| last.uptime_s > sample.uptime_s) {
            self.0.clear();
        }
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(sample);
    }

    /// The samples that were taken later than `uptime_s` seconds after the server's start.
    pub fn after(&self, uptime_s: f64) -> Vec<&Sample> {
        self.0.iter().filter(|sample| sample.uptime_s > uptime_s).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::status::sample;

    #[test]
    fn what_is_kept_is_bounded_and_of_one_server() {
        let at = |seconds: u32| {
            let status: Status = serde_json::from_value(sample(seconds.into(), &json!({}))).unwrap();
            Sample::from(&status)
        };
        let mut history = History::default();
        (0..2 * KEPT as u32).for_each(|second| history.add(at(second)));
        assert_eq!(history.after(0.0).len(), KEPT);
        assert_eq!(history.after(2.0 * KEPT as f64 - 3.5).len(), 3);
        history.add(at(1));
        assert_eq!(history.after(0.0).len(), 1, "the server was started again");
    }
}
