//! Requests of clients: from the queue to the reply.

use bytes::Bytes;

use super::running::{Running, Unplanned};
use super::{Core, Failure, Pending, Request};
use crate::block::Access;

/// A request that has been planned, in part or whole.
pub(super) struct Active {
    /// The host's content for a write.
    pub data: Bytes,
    /// Where a read's content is gathered.
    pub buffer: Vec<u8>,
    /// Moves under way.
    pub moves: u32,
    /// Whether more is to be planned.
    unplanned: bool,
    failed: Option<Failure>,
}

impl Running {
    pub(super) fn accept(&mut self, core: &mut Core, id: u64, pending: Pending) {
        let capacity = self.layer.capacity();
        let Pending { client, request } = pending;
        let block_bytes = core.setup.block_bytes;
        let (access, at, data) = match request {
            Request::Flush => return self.flushing.push_back((id, client)),
            Request::Read(at) => (Access::Read, at, Bytes::new()),
            Request::Write(at, data) => (Access::Write, at, data),
            Request::Trim(at) => (Access::Trim, at, Bytes::new()),
        };
        let fits = access != Access::Write || data.len() == at.blocks as usize * block_bytes;
        if at.is_empty() || !at.is_within(capacity) || !fits {
            return core.reply(id, Err(Failure::OutOfRange));
        }
        let buffer = if access == Access::Read { vec![0; at.blocks as usize * block_bytes] } else { Vec::new() };
        let active = Active { data, buffer, moves: 0, unplanned: true, failed: None };
        self.requests.insert(id, active);
        if access == Access::Read {
            let mut plan = std::mem::take(&mut self.plan);
            self.layer.read(at, &mut plan);
            self.enqueue(core, plan, Some((id, 0)), false);
            self.planned_whole(core, id);
        } else {
            self.unplanned.push_back(Unplanned { id, access, at, done: 0 });
            self.plan_blocked(core);
        }
    }

    /// A request's last block has been planned.
    pub(super) fn planned_whole(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.unplanned = false;
        }
        self.reply_if_complete(core, id);
    }

    /// One of a request's moves has completed.
    pub(super) fn request_progress(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.moves -= 1;
        }
        self.reply_if_complete(core, id);
    }

    pub(super) fn fail_request(&mut self, request: Option<(u64, u32)>) {
        if let Some(active) = request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.failed = Some(Failure::Io);
        }
    }

    fn reply_if_complete(&mut self, core: &mut Core, id: u64) {
        if self.requests.get(&id).is_some_and(|active| active.moves == 0 && !active.unplanned)
            && let Some(active) = self.requests.remove(&id)
        {
            core.reply(id, active.failed.map_or(Ok(Bytes::from(active.buffer)), Err));
        }
    }

    /// No cleaning makes room for the rest of a write.
    pub(super) fn fail_full(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.requests.get_mut(&id) {
            active.failed = Some(Failure::Full);
        }
        self.planned_whole(core, id);
    }
}
