//! What the states of the performing runner share: operations that are out, replies, clients.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::progress::{Steps, Tally};
use super::{Counts, Failure, Io, IoKind, Reply, Request, Setup, State};
use crate::block::Pba;

/// What stays while layers come and go.
pub(super) struct Core {
    pub setup: Setup,
    pub next_io: u64,
    /// Operations the edge has not fetched.
    pub out: VecDeque<Io>,
    /// Operations the edge has, and what they are for.
    pub taken: BTreeMap<u64, Purpose>,
    /// What the operations in `out` are for.
    pub purposes: BTreeMap<u64, Purpose>,
    pub replies: VecDeque<Reply>,
    /// Places that could not be read and hold nothing that is needed, until they are written again: stale copies, and
    /// blocks that are recorded as lost. When a life ends, the next one finds out about them again.
    pub blank: BTreeSet<Pba>,
    /// Clients seen, and whether their next flush must fail because writes may be lost.
    pub clients: BTreeMap<u32, bool>,
    /// Whether writes may be lost of which nobody has been told, or of which somebody has not been told who has gone:
    /// then that is for whoever comes next.
    pub untold: bool,
    /// Writes that were replied to.
    pub answered: u64,
    /// How many of them are durable, or may be lost and told to be.
    pub vouched: u64,
    pub counts: Counts,
    /// Lives in a row that ended before their first commit was durable.
    pub stillborn: u32,
    pub tally: Tally,
    /// Those that have begun.
    pub steps: Steps,
    /// The bound that steps have, whatever the life of the layer.
    pub step_bound: Option<u32>,
    /// The most blocks that a step moves by the layer's configuration, if that says so.
    pub step_blocks: Option<u32>,
}

/// What a device operation is for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Purpose {
    /// The operation of that number.
    Operation(u64),
    /// The commit under way.
    Commit,
    /// Recovery; the number is the first block of a read.
    Recovery(u64),
}

/// A request that has not been replied to.
pub(super) struct Pending {
    pub client: u32,
    pub request: Request,
}

/// Requests in order of arrival that nobody has planned.
pub(super) type Queue = VecDeque<(u64, Pending)>;

impl Core {
    pub fn issue(&mut self, purpose: Purpose, kind: IoKind) {
        self.issue_for(None, purpose, kind);
    }

    /// Issues an operation that is for one request.
    pub fn issue_for(&mut self, request: Option<u64>, purpose: Purpose, kind: IoKind) {
        let id = self.next_io;
        self.next_io += 1;
        self.purposes.insert(id, purpose);
        self.out.push_back(Io { id, kind, request });
    }

    /// The edge fetches an operation.
    pub fn take(&mut self, io: &Io) {
        if let Some(purpose) = self.purposes.remove(&io.id) {
            self.taken.insert(io.id, purpose);
        }
    }

    pub fn reply(&mut self, id: u64, result: Result<Bytes, Failure>) {
        self.replies.push_back(Reply { id, result });
    }

    /// A client is there.
    pub fn meet(&mut self, client: u32) {
        self.clients.entry(client).or_insert(self.untold);
    }

    /// A client has gone.
    pub fn forget(&mut self, client: u32) {
        self.untold |= self.clients.remove(&client) == Some(true);
    }

    /// Whether a flush of a client must fail. It is told by that, and so somebody has been.
    pub fn tell(&mut self, client: u32) -> bool {
        let must_fail = self.clients.insert(client, false).unwrap_or(self.untold);
        self.untold &= !must_fail;
        must_fail
    }

    /// A layer's life has ended, and with it whatever no flush had made durable.
    pub fn lose(&mut self) {
        if self.answered > self.vouched {
            self.vouched = self.answered;
            self.untold = true;
            self.clients.values_mut().for_each(|must_fail| *must_fail = true);
        }
    }

    /// Forgets operations that the edge has not fetched.
    pub fn recall(&mut self) {
        self.out.clear();
        self.purposes.clear();
    }

    /// Gives the store up: everything waiting is answered with the reason.
    pub fn die(&mut self, why: String, queue: &mut Queue) -> State {
        for (id, _) in queue.drain(..) {
            self.reply(id, Err(Failure::Dead(why.clone())));
        }
        self.recall();
        State::Dead(why)
    }
}
