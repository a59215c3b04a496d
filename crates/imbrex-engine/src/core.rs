//! What stays while epochs of the layer come and go: operations that are out, requests, replies, losses.

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::fatal::Fatal;
use super::losses::Losses;
use super::numbered::Numbered;
use super::progress::{Planned, Steps};
use super::{Counts, Failure, Io, IoKind, Reply, Request, Setup};
use imbrex_core::block::Pba;
use imbrex_core::layer::Facts;

/// What recovery and serving share.
pub(super) struct Core {
    pub setup: Setup,
    /// Operations that have not been fetched.
    pub out: VecDeque<Io>,
    /// What the operations of devices are for that have not completed, those in `out` too.
    pub asked: Numbered<Purpose>,
    pub replies: VecDeque<Reply>,
    /// Places that could not be read and hold nothing that is needed, until they are written again: stale copies, and
    /// blocks that are recorded as lost. When an epoch ends, the next one finds out about them again.
    pub blank: BTreeSet<Pba>,
    /// Requests that are not planned yet, in order of arrival.
    pub queue: Queue,
    /// Acknowledged writes that may be lost.
    pub losses: Losses,
    pub counts: Counts,
    /// Epochs in a row that ended before their first commit was durable.
    pub failed_starts: u32,
    pub tally: Planned,
    /// Requests that have begun.
    pub steps: Steps,
    /// The bound that steps have, whatever the epoch of the layer.
    pub step_bound: Option<u32>,
    /// What the layer stated when it was made.
    pub facts: Facts,
}

/// What a device operation is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The operation of that number.
    Operation(u64),
    /// The commit under way.
    Commit,
    /// A page of the map, to be cached.
    PageRead(u64),
    /// A page of the map, which goes home.
    PageWrite(u64),
    /// Recovery; the number is the first block of a read.
    Recovery(u64),
}

/// A request that has not been replied to.
pub(super) struct Pending {
    pub client: u32,
    pub request: Request,
}

/// Requests that are not planned yet, in order of arrival.
pub(super) type Queue = VecDeque<(u64, Pending)>;

impl Core {
    /// The state for a store on which a layer that states these facts is to be served.
    pub fn new(setup: Setup, facts: Facts) -> Self {
        Self {
            setup,
            out: VecDeque::new(),
            asked: Numbered::default(),
            replies: VecDeque::new(),
            blank: BTreeSet::new(),
            queue: Queue::new(),
            losses: Losses::default(),
            counts: Counts::default(),
            failed_starts: 0,
            tally: Planned::default(),
            steps: Steps::default(),
            step_bound: None,
            facts,
        }
    }

    pub fn issue(&mut self, purpose: Purpose, kind: IoKind) {
        self.issue_for(None, purpose, kind);
    }

    /// Issues an operation that is for one request.
    pub fn issue_for(&mut self, request: Option<u64>, purpose: Purpose, kind: IoKind) {
        let id = self.asked.add(purpose);
        self.out.push_back(Io { id, kind, request });
    }

    pub fn reply(&mut self, id: u64, result: Result<Bytes, Failure>) {
        self.replies.push_back(Reply { id, result });
    }

    /// Whether the drive has been asked for nothing that it has not done.
    pub fn is_idle(&self) -> bool {
        self.asked.is_empty()
    }

    /// Answers every flush that is not planned yet with an error.
    pub fn fail_queued_flushes(&mut self) {
        let is_flush = |request: &Request| matches!(request, Request::Flush | Request::Fua { .. });
        let queue = std::mem::take(&mut self.queue).into_iter();
        let (flushes, others): (Queue, Queue) = queue.partition(|(_, pending)| is_flush(&pending.request));
        self.queue = others;
        flushes.into_iter().for_each(|(id, _)| self.reply(id, Err(Failure::Io)));
    }

    /// Forgets operations that have not been fetched.
    pub fn recall(&mut self) {
        for io in self.out.drain(..) {
            self.asked.remove(io.id);
        }
    }

    /// Gives the store up: everything waiting is answered with the reason.
    pub fn die(&mut self, why: &Fatal) {
        for (id, _) in std::mem::take(&mut self.queue) {
            self.reply(id, Err(Failure::Dead(why.clone())));
        }
        self.recall();
    }
}
