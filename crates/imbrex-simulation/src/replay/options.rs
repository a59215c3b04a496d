//! What can be chosen about a replay.

use serde::{Deserialize, Serialize};

use super::device::Device;
use super::error::ReplayError;
use super::scheduler::Scheduler;
use imbrex_engine::GATHER;
use imbrex_trace::TraceRange;

/// What can be chosen about a replay, apart from the drive, the layer and the workload.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ReplayOptions {
    /// Requests outstanding at a time in a closed loop, in which the next one arrives when one completes and the
    /// trace's times are ignored. `None`, the default, is an open loop: requests arrive when the trace says. At most
    /// [`MAX_QUEUE_DEPTH`].
    pub queue_depth: Option<u32>,
    /// Whether requests of a closed loop keep the pauses that the trace has between them: one arrives when there is room
    /// for it, and as long after the one before as in the trace, at least. What the disk is late is not made up for.
    /// Default no.
    #[serde(skip_serializing_if = "is_off")]
    pub paced: bool,
    /// Reads and writes that take longer than this are counted. Default 30 s, after which Linux gives a command to a
    /// disk up (`SD_TIMEOUT` of `drivers/scsi/sd.h`).
    pub limit_ns: u64,
    /// The order in which the disk performs the operations in its queue. Default [`Scheduler::Fcfs`].
    pub scheduler: Scheduler,
    /// Operations in that queue, those included that wait for others which touch the same blocks; what was planned
    /// beyond that waits before the queue, and while anything does, nothing more is planned. Without meaning under
    /// [`Scheduler::Fcfs`]. At most [`MAX_SCHEDULER_DEPTH`]. Default 32, the commands that a SATA drive queues.
    pub scheduler_depth: u32,
    /// The part of the capacity that is written, in order and free of charge, before the first request; rounded down to
    /// whole zones, bands (to what the longest one has) or erase blocks where the drive has any. Default 1.
    pub prefill: f64,
    /// The part of the capacity that is trimmed after that, free of charge too: each MiB with this chance, by draws
    /// that are always the same. Not in a stack, whose caches pass no trim on. Default 0.
    pub trimmed: f64,
    /// The beginning of the trace that is replayed and left out of all figures. Default none.
    pub warm_up: Option<WarmUp>,
    /// Whether the layer is offered idle time. Default yes.
    pub idle: bool,
    /// How long the disk must have been idle before the layer is offered the rest of the gap. Default 10 ms, about what
    /// a cleaning step takes: waiting as long as a mistake would cost loses at most twice what foresight would. A layer
    /// that waits longer of its own accord is offered it later.
    pub idle_after_ns: u64,
    /// Whether every read is compared with what was written, and the whole disk at the end. Takes memory for what is
    /// written after prefilling: at most 32 KiB on the host's side and on the media's for each 4096 blocks touched, and no
    /// more than 4 GiB; a replay that would need more fails. Default no.
    pub verify: bool,
    /// When verifying, the layer's invariants are checked each time that this number of requests is complete, and with
    /// 1 after every cleaning step too. A layer of more than 65536 blocks for each of these requests is checked less
    /// often, in proportion: to look at all of its maps takes as long as they are. 0 is never. Default 4096.
    pub check_every: u64,
    /// Whether the journal that a live device would write is priced, and space comes back only once the records before
    /// it are in the journal. Default no: the papers leave the journal out.
    pub as_live: bool,
    /// Blocks of each copy of the journal under `as_live`. Room for two is taken from the drive's conventional space,
    /// as live; one is written. Default none: as many as a volume is formatted with.
    pub journal_blocks: Option<u32>,
    /// Records, resets and frees that gather before they are written to that journal without need. Default [`GATHER`],
    /// as live.
    pub gather: usize,
    /// Bytes of memory for the pages of a map that has an entry for each block; other maps have to fit them. What is
    /// not in memory is read from the drive and written there, which is priced. Not with a scheduler, nor under
    /// `as_live`. Default none: maps are in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub map_memory: Option<u64>,
    /// Whether the layer writes what lies in RAM to the media after the last request, as when a host flushes; what that
    /// moves counts. Default no.
    pub flush: bool,
    /// Whether the layer has idle time after the last request, until it has nothing more to clean; how long that takes is
    /// measured, and nothing else of it. Default no.
    #[serde(skip_serializing_if = "is_off")]
    pub rest: bool,
    /// Whether accesses and resets take no time, so that nothing but counts is measured: what depends on time, such as
    /// how long the disk is idle, then rests on arrivals alone. Default no.
    pub untimed: bool,
    /// Whether the layer may read its map for coming requests ahead of time. Changes nothing but speed. Default yes.
    pub prefetch: bool,
    /// What to do with requests beyond the layer's capacity. Default [`Beyond::Error`].
    pub beyond: Beyond,
    /// How many bytes the workload's addresses reach over, if they are to be stretched until they reach over the layer's
    /// capacity: what begins in the middle begins in the middle then, and is as long as before. Default none.
    pub stretch_bytes: Option<u64>,
    /// The length of the rows of the series, if one is wanted. Default none.
    pub window: Option<Window>,
    /// When a layer that has bands is asked what they hold, beside the end, if it is. Default never.
    pub bands: Option<Vec<TraceMoment>>,
    /// Space that the layer is asked for during the replay, each time as soon as its moment has come. Default none.
    pub extend: Vec<Extension>,
    /// Whether the observer is told of every request that is complete. Default no.
    #[serde(skip_serializing_if = "is_off")]
    pub each_request: bool,
    /// The moment from which the operations of the disk are recorded, until shortly after the first that cleans, and told
    /// to the observer; a few before that one are among them. Not in a stack, nor with a scheduler, which mixes the
    /// operations of several requests. Results do not say it, since it changes none. Default never.
    #[serde(skip)]
    pub watch_disk: Option<TraceMoment>,
}

/// An option that tells nothing of a run is written only where it was chosen.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_off(option: &bool) -> bool {
    !option
}

/// The largest queue depth: its completion times are kept.
pub const MAX_QUEUE_DEPTH: u32 = 1 << 16;
/// The deepest queue of a disk: every pick looks at all of it.
pub const MAX_SCHEDULER_DEPTH: u32 = 1 << 10;

impl Default for ReplayOptions {
    fn default() -> Self {
        Self {
            queue_depth: None,
            paced: false,
            limit_ns: 30_000_000_000,
            scheduler: Scheduler::Fcfs,
            scheduler_depth: 32,
            prefill: 1.0,
            trimmed: 0.0,
            warm_up: None,
            idle: true,
            idle_after_ns: 10_000_000,
            verify: false,
            check_every: 4096,
            as_live: false,
            journal_blocks: None,
            gather: GATHER,
            map_memory: None,
            flush: false,
            rest: false,
            untimed: false,
            prefetch: true,
            beyond: Beyond::Error,
            stretch_bytes: None,
            window: None,
            bands: None,
            extend: Vec::new(),
            each_request: false,
            watch_disk: None,
        }
    }
}

impl ReplayOptions {
    /// Whether a workload goes on after the warm-up.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_warm_up(&self, range: &TraceRange) -> Result<(), ReplayError> {
        let goes_on = match self.warm_up {
            None => true,
            Some(WarmUp::Requests(requests)) => requests < range.requests,
            Some(WarmUp::Ns(ns)) => ns <= range.duration_ns && range.requests > 0,
        };
        if goes_on { Ok(()) } else { Err(self.all_warm_up(range.requests)) }
    }

    /// Whether a workload goes on after the moments at which bands are looked at.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_bands(&self, range: &TraceRange) -> Result<(), ReplayError> {
        let is_reached = self.bands.iter().flatten().all(|at| at.is_reached(range));
        if is_reached { Ok(()) } else { Err(Self::late_bands(range.requests)) }
    }

    /// Whether a workload goes on after the moments at which space is asked for.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_extensions(&self, range: &TraceRange) -> Result<(), ReplayError> {
        if self.extend.iter().all(|extension| extension.at.is_reached(range)) {
            return Ok(());
        }
        let reason = format!("it comes after the {} requests of the trace; choose an earlier moment", range.requests);
        Err(ReplayError::Option { option: "extend", reason })
    }

    /// Whether a workload goes on after the moment from which the disk is watched.
    ///
    /// # Errors
    /// When it does not.
    pub fn check_watch(&self, range: &TraceRange) -> Result<(), ReplayError> {
        if self.watch_disk.is_none_or(|at| at.is_reached(range)) {
            return Ok(());
        }
        let reason = format!("it begins after the {} requests of the trace; choose an earlier moment", range.requests);
        Err(ReplayError::Option { option: "watch_disk", reason })
    }

    /// Whether the operations of `disk` come one after the other, and the moment from which they are watched is known.
    fn check_watched(&self, disk: &Device) -> Result<(), ReplayError> {
        let Some(at) = self.watch_disk else { return Ok(()) };
        let reason = if disk.is_stack() {
            "the devices of a stack work at the same time; choose a layer on a single disk"
        } else if self.scheduler != Scheduler::Fcfs {
            "a scheduler mixes the operations of several requests; choose fcfs"
        } else if self.queue_depth.is_some() && matches!(at, TraceMoment::Ns(_)) {
            "a closed loop ignores the trace's times; choose a number of requests"
        } else {
            return Ok(());
        };
        Err(ReplayError::Option { option: "watch_disk", reason: reason.to_owned() })
    }

    /// The error that a trace of `requests` requests is over before bands are to be looked at.
    pub(super) fn late_bands(requests: u64) -> ReplayError {
        let reason = format!("they are to be looked at after the {requests} requests of the trace; choose earlier");
        ReplayError::Option { option: "bands", reason }
    }

    /// The error that a trace of `requests` requests is over before the warm-up is.
    pub(super) fn all_warm_up(&self, requests: u64) -> ReplayError {
        let reason = format!("it covers the whole trace of {requests} requests; choose a shorter one");
        ReplayError::Option { option: "warm_up", reason }
    }

    /// Whether every option makes sense on `disk`.
    pub(super) fn check(&self, disk: &Device) -> Result<(), ReplayError> {
        let wrong = |option, reason: String| Err(ReplayError::Option { option, reason });
        for (option, part) in [("prefill", self.prefill), ("trimmed", self.trimmed)] {
            if !(0.0..=1.0).contains(&part) {
                return wrong(option, format!("{part} is no part of the capacity; choose from 0 to 1"));
            }
        }
        if disk.is_stack() && self.trimmed > 0.0 {
            return wrong("trimmed", "the devices of a stack are full, and a cache passes no trim on".to_owned());
        }
        let block_bytes = disk.block_bytes();
        if !block_bytes.is_power_of_two() {
            return wrong(
                "block_bytes",
                format!("requests cannot be cut into blocks of {block_bytes} bytes; choose a power of two"),
            );
        }
        if disk.is_stack() && self.scheduler != Scheduler::Fcfs {
            let reason = "the devices of a stack serve in the order in which they are asked; choose fcfs";
            return wrong("scheduler", reason.to_owned());
        }
        if self.untimed && self.scheduler != Scheduler::Fcfs {
            return wrong("scheduler", "accesses that take no time need no order; choose fcfs".to_owned());
        }
        if self.map_memory.is_some() && self.scheduler != Scheduler::Fcfs {
            return wrong("scheduler", "pages of the map are not put in order; choose fcfs".to_owned());
        }
        if self.map_memory.is_some() && self.as_live {
            return wrong("map_memory", "a journal holds the whole map; choose one of the two".to_owned());
        }
        let is_time = |at: &TraceMoment| matches!(at, TraceMoment::Ns(_));
        if self.queue_depth.is_some() && self.bands.iter().flatten().any(is_time) {
            return wrong("bands", "a closed loop ignores the trace's times; choose numbers of requests".to_owned());
        }
        self.check_watched(disk)?;
        if let Some(depth) = self.queue_depth.filter(|depth| !(1..=MAX_QUEUE_DEPTH).contains(depth)) {
            return wrong("queue_depth", format!("{depth} is not from 1 to {MAX_QUEUE_DEPTH}"));
        }
        if self.paced && self.queue_depth.is_none() {
            return wrong("paced", "requests arrive when the trace says; choose a queue_depth".to_owned());
        }
        if !(1..=MAX_SCHEDULER_DEPTH).contains(&self.scheduler_depth) {
            return wrong(
                "scheduler_depth",
                format!("{} is not from 1 to {MAX_SCHEDULER_DEPTH}", self.scheduler_depth),
            );
        }
        Ok(())
    }
}

/// The beginning of a trace that is left out of the figures. It ends when the runner begins the first request behind
/// it: that request counts, and whatever was complete before does not, idle time before it included. What is under way
/// at that moment – requests in the disk's queue, and what a device of a stack does with idle time that began before –
/// counts from there on; reads that were let past a blocked write at the end of the warm-up do not.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WarmUp {
    /// A number of requests.
    Requests(u64),
    /// The requests that the trace has before this number of nanoseconds, in a closed loop too.
    Ns(u64),
}

/// What to do with a request beyond the layer's capacity.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beyond {
    /// Stop with an error that names it.
    Error,
    /// Take its first block modulo the capacity; a request that would then cross the end moves forward to end there.
    Wrap,
}

/// A moment of a replay: when bands are looked at, or space is asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TraceMoment {
    /// After this number of requests of the trace, the warm-up included.
    Requests(u64),
    /// Before the first request that arrives this number of nanoseconds after the beginning, or later. Not in a closed
    /// loop, which ignores when requests arrive.
    Ns(u64),
}

impl TraceMoment {
    /// Whether a workload goes on after it.
    fn is_reached(self, range: &TraceRange) -> bool {
        match self {
            Self::Requests(requests) => requests < range.requests,
            Self::Ns(ns) => ns <= range.duration_ns,
        }
    }

    /// Whether the moment is over before the request of this number, which arrives then.
    pub(super) fn is_before(self, number: u64, arrival_ns: u64) -> bool {
        match self {
            Self::Requests(requests) => number > requests,
            Self::Ns(ns) => arrival_ns >= ns,
        }
    }
}

/// Space that is asked for during a replay.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Extension {
    /// How many bytes; rounded up to what the layer grows by.
    pub bytes: u64,
    /// When.
    pub at: TraceMoment,
}

/// The length of one row of the series.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Window {
    /// A number of nanoseconds of simulated time.
    Ns(u64),
    /// A number of requests.
    Requests(u64),
}
