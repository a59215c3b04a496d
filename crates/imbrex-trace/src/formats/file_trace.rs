//! What is the same for every format: arrivals, requests of no bytes, errors with their place.

use std::collections::VecDeque;

use super::{Fault, Format, Input, Record, stream_error, too_large};
use crate::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource};
use imbrex_core::block::Access;

/// Requests among which those of a format in order of completion are put in order of time. A request that was overtaken
/// by more than this arrives together with its predecessor, as in every format.
pub const SORT_WINDOW: usize = 4096;

/// A request whose arrival is not yet known.
#[derive(Copy, Clone)]
struct Stamped {
    ticks: u64,
    access: Access,
    offset_bytes: u64,
    bytes: u32,
}

pub(super) struct FileTrace<F> {
    info: TraceInfo,
    input: Input,
    format: F,
    /// Read and not yet handed out, in order of time. Empty for a format that is written in this order.
    window: VecDeque<Stamped>,
    first_ticks: Option<u64>,
    last_ns: u64,
    irregularities: Irregularities,
    remarks: Vec<String>,
}

impl<F: Format + 'static> FileTrace<F> {
    pub(super) fn boxed(info: TraceInfo, input: Input, format: F, remarks: Vec<String>) -> Box<dyn TraceSource> {
        let irregularities = Irregularities::default();
        let window = VecDeque::new();
        Box::new(Self { info, input, format, window, first_ticks: None, last_ns: 0, irregularities, remarks })
    }

    /// The next request to hand out.
    #[inline]
    fn next(&mut self) -> Result<Option<TraceRequest>, Fault> {
        let next = if F::BY_COMPLETION { self.earliest()? } else { self.take()? };
        let Some(Stamped { ticks, access, offset_bytes, bytes }) = next else { return Ok(None) };
        let arrival_ns = self.arrive(ticks)?;
        Ok(Some(TraceRequest { arrival_ns, offset_bytes, bytes, access }))
    }

    /// The earliest request of the window, which is filled up first.
    fn earliest(&mut self) -> Result<Option<Stamped>, Fault> {
        while self.window.len() < SORT_WINDOW {
            let Some(request) = self.take()? else { break };
            if self.window.back().is_none_or(|last| last.ticks <= request.ticks) {
                self.window.push_back(request);
            } else {
                self.irregularities.reordered += 1;
                let at = self.window.partition_point(|other| other.ticks <= request.ticks);
                self.window.insert(at, request);
            }
        }
        Ok(self.window.pop_front())
    }

    /// The next request of the file that carries data.
    #[inline]
    fn take(&mut self) -> Result<Option<Stamped>, Fault> {
        loop {
            match self.format.next(&mut self.input)? {
                Record::Request { bytes: 0, .. } => self.irregularities.zero_size += 1,
                Record::WithoutData => self.irregularities.without_data += 1,
                Record::OtherVolume => self.irregularities.other_volumes += 1,
                Record::End => return Ok(None),
                Record::Request { ticks, access, offset_bytes, bytes } => {
                    if offset_bytes.checked_add(u64::from(bytes)).is_none() {
                        return Err(too_large("offset + size", format!("{offset_bytes} + {bytes}")));
                    }
                    return Ok(Some(Stamped { ticks, access, offset_bytes, bytes }));
                }
            }
        }
    }

    /// When a request stamped `ticks` arrives, see the module [`trace`](crate).
    #[inline]
    fn arrive(&mut self, ticks: u64) -> Result<u64, Fault> {
        let first = *self.first_ticks.get_or_insert(ticks);
        let Some(arrival_ns) = ticks.saturating_sub(first).checked_mul(F::TICK_NS) else {
            return Err(too_large("timestamp", ticks));
        };
        if ticks < first || arrival_ns < self.last_ns {
            self.irregularities.out_of_order += 1;
        } else {
            self.last_ns = arrival_ns;
        }
        Ok(self.last_ns)
    }

    #[cold]
    fn error(&self, fault: Fault) -> TraceError {
        match fault {
            Fault::Stream(cause) => stream_error(&self.info.name, self.info.compression, cause),
            Fault::Problem(problem) => {
                TraceError::Malformed { file: self.info.name.clone(), at: self.format.position(), problem: *problem }
            }
        }
    }

    #[cold]
    fn empty(&self) -> TraceError {
        let file = &self.info.name;
        self.format.nothing(file).unwrap_or_else(|| TraceError::Empty { file: file.clone() })
    }
}

impl<F: Format + 'static> TraceSource for FileTrace<F> {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        debug_assert!(limit > 0);
        batch.clear();
        while batch.len() < limit {
            match self.next() {
                Ok(Some(request)) => batch.push(request),
                Ok(None) => break,
                Err(fault) => return Err(self.error(fault)),
            }
        }
        if self.first_ticks.is_none() { Err(self.empty()) } else { Ok(()) }
    }

    fn volume(&self) -> Option<String> {
        self.format.volume()
    }

    fn irregularities(&self) -> Irregularities {
        self.irregularities
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }
}
