//! What a volume that is served did in the last minutes, for a page that draws it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use serde::Serialize;

use super::{Runner, Service, Status};

/// How often a sample is taken, and how many are kept.
const EVERY: Duration = Duration::from_secs(1);
const KEPT: usize = 600;

/// Counters at a moment. What happened between two moments is their difference.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Sample {
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

impl From<Status> for Sample {
    fn from(status: Status) -> Self {
        let requests = status.latency.into_iter().map(|(kind, latency)| {
            let count = latency.all.count;
            (kind, Requests { count, total_ms: latency.all.mean_ms * count as f64 })
        });
        Self {
            uptime_s: status.uptime_seconds,
            requests: requests.collect(),
            host_read: status.traffic.host_read,
            host_written: status.traffic.host_written,
            media_written: status.traffic.media_written,
            runners: status.runners,
            steps: status.cleaning.steps,
            resident_bytes: status.resident_bytes,
        }
    }
}

/// Takes samples until it is dropped.
pub(super) struct History {
    kept: Arc<Kept>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Kept {
    samples: Mutex<VecDeque<Sample>>,
    ended: Mutex<bool>,
    end: Condvar,
}

impl History {
    /// Begins to take samples of `service`.
    pub fn begin(service: Arc<Service>) -> Self {
        let kept = Arc::new(Kept::default());
        let filled = Arc::clone(&kept);
        let thread = thread::spawn(move || {
            while filled.rest() {
                filled.add(service.status().into());
            }
        });
        Self { kept, thread: Some(thread) }
    }

    /// The samples that were taken later than so many seconds after the server's start.
    pub fn after(&self, uptime_s: f64) -> Vec<Sample> {
        let samples = self.kept.samples.lock().unwrap_or_else(PoisonError::into_inner);
        samples.iter().filter(|sample| sample.uptime_s > uptime_s).cloned().collect()
    }
}

impl Kept {
    fn add(&self, sample: Sample) {
        let mut samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        if samples.len() == KEPT {
            samples.pop_front();
        }
        samples.push_back(sample);
    }

    /// Waits until it is time for the next sample. False if there is to be none.
    fn rest(&self) -> bool {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.end.wait_timeout_while(ended, EVERY, |ended| !*ended);
        let (ended, _) = waited.unwrap_or_else(PoisonError::into_inner);
        !*ended
    }
}

impl Drop for History {
    fn drop(&mut self) {
        *self.kept.ended.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.kept.end.notify_all();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
