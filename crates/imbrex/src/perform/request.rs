//! Requests of clients: from the queue to the reply.

use bytes::Bytes;

use super::running::{Covers, Running, Unplanned};
use super::{Core, Failure, Pending, Request};
use crate::block::Access;

/// A request that has been planned, in part or whole.
pub(super) struct Active {
    /// The host's content for a write; of a read its content when it comes in one part.
    pub data: Bytes,
    /// Bytes of a read.
    reads: usize,
    /// Where a read's content is gathered when it comes in parts.
    buffer: Vec<u8>,
    /// Moves under way.
    pub moves: u32,
    /// Whether more is to be planned.
    unplanned: bool,
    failed: Option<Failure>,
}

impl Active {
    /// Takes a part of a read's content.
    pub fn put(&mut self, start: usize, content: Bytes) {
        if content.len() == self.reads {
            self.data = content;
            return;
        }
        self.buffer.resize(self.reads, 0);
        self.buffer[start..start + content.len()].copy_from_slice(&content);
    }

    pub fn is_read(&self) -> bool {
        self.reads > 0
    }

    /// Whether it is a write that has not failed. What a trim leaves behind is nobody's loss.
    fn is_done_write(&self) -> bool {
        !self.is_read() && !self.data.is_empty() && self.failed.is_none()
    }

    /// The answer.
    fn result(self) -> Result<Bytes, Failure> {
        match self.failed {
            Some(failure) => Err(failure),
            None if self.data.len() == self.reads => Ok(self.data),
            None => {
                let mut gathered = self.buffer;
                gathered.resize(self.reads, 0);
                Ok(gathered.into())
            }
        }
    }
}

impl Running {
    pub(super) fn accept(&mut self, core: &mut Core, id: u64, pending: Pending) {
        let capacity = self.layer.capacity();
        let Pending { client, request } = pending;
        let block_bytes = core.setup.block_bytes;
        let (access, at, data) = match request {
            Request::Flush => return self.flushing.push_back((id, Covers::All { client })),
            Request::Fua { life } => return self.flushing.push_back((id, Covers::Life(life))),
            Request::Read(at) => (Access::Read, at, Bytes::new()),
            Request::Write(at, data) => (Access::Write, at, data),
            Request::Trim(at) => (Access::Trim, at, Bytes::new()),
        };
        let fits = access != Access::Write || data.len() == at.blocks as usize * block_bytes;
        if at.is_empty() || !at.is_within(capacity) || !fits {
            return core.reply(id, Err(Failure::OutOfRange));
        }
        let reads = if access == Access::Read { at.blocks as usize * block_bytes } else { 0 };
        let active = Active { data, reads, buffer: Vec::new(), moves: 0, unplanned: true, failed: None };
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
            core.answered += u64::from(active.is_done_write());
            core.reply(id, active.result());
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
