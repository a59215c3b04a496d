//! Requests of clients: from the first plan to the reply.

use std::collections::HashMap;

use bytes::Bytes;
use foldhash::fast::FixedState;

use super::Failure;
use super::content::Content;
use super::core::Core;

/// What a plan serves of a request.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// The request's number.
    pub id: u64,
    /// The block of the request that `Place::Host(0)` is.
    pub first: u32,
}

/// A request that has been planned, in part or whole.
struct Active {
    /// The host's content for a write; of a read its content when it comes in one part.
    data: Content,
    /// Bytes of a read.
    reads: usize,
    /// Whether it changes what is read, so that its loss matters to a client; what a trim leaves behind matters to none.
    is_write: bool,
    /// Where a read's content is gathered when it comes in parts.
    buffer: Vec<u8>,
    /// Moves under way.
    moves: u32,
    /// Whether more is to be planned.
    unplanned: bool,
    failed: Option<Failure>,
}

impl Active {
    /// Takes a part of a read's content.
    fn put(&mut self, start: usize, content: Bytes) {
        if content.len() == self.reads {
            self.data = content.into();
            return;
        }
        self.buffer.resize(self.reads, 0);
        self.buffer[start..start + content.len()].copy_from_slice(&content);
    }

    fn is_read(&self) -> bool {
        self.reads > 0
    }

    /// Whether it is a write that has not failed.
    fn is_done_write(&self) -> bool {
        self.is_write && self.failed.is_none()
    }

    /// The answer.
    fn result(self) -> Result<Bytes, Failure> {
        match self.failed {
            Some(failure) => Err(failure),
            None if self.data.len() == self.reads => Ok(self.data.into_bytes()),
            None => {
                let mut gathered = self.buffer;
                gathered.resize(self.reads, 0);
                Ok(gathered.into())
            }
        }
    }
}

/// The requests that have been planned, in part or whole, and not been answered.
#[derive(Default)]
pub(super) struct Requests {
    active: HashMap<u64, Active, FixedState>,
}

impl Requests {
    /// A request of which the first block is about to be planned: a write of `data`, or a read of `reads` bytes.
    pub fn begin(&mut self, id: u64, data: Content, reads: usize, is_write: bool) {
        let active = Active { data, reads, is_write, buffer: Vec::new(), moves: 0, unplanned: true, failed: None };
        self.active.insert(id, active);
    }

    fn of(&mut self, part: Option<Part>) -> Option<&mut Active> {
        self.active.get_mut(&part?.id)
    }

    /// A Move has been planned for it.
    pub fn move_planned(&mut self, part: Option<Part>) {
        if let Some(active) = self.of(part) {
            active.moves += 1;
        }
    }

    /// A Move that was planned for it has completed.
    pub fn move_completed(&mut self, core: &mut Core, part: Option<Part>) {
        if let Some(active) = self.of(part) {
            active.moves -= 1;
        }
        if let Some(Part { id, .. }) = part {
            self.reply_if_complete(core, id);
        }
    }

    /// Its last block has been planned.
    pub fn planned_whole(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.active.get_mut(&id) {
            active.unplanned = false;
        }
        self.reply_if_complete(core, id);
    }

    /// No cleaning makes room for the rest of it.
    pub fn fail_full(&mut self, core: &mut Core, id: u64) {
        if let Some(active) = self.active.get_mut(&id) {
            active.failed = Some(Failure::Full);
        }
        self.planned_whole(core, id);
    }

    /// It cannot be served.
    pub fn fail(&mut self, part: Option<Part>) {
        if let Some(active) = self.of(part) {
            active.failed = Some(Failure::Io);
        }
    }

    /// Answers all of them with an error.
    pub fn fail_all(&mut self, core: &mut Core) {
        let mut all: Vec<u64> = self.active.drain().map(|(id, _)| id).collect();
        // In the same order in every run.
        all.sort_unstable();
        all.into_iter().for_each(|id| core.reply(id, Err(Failure::Io)));
    }

    /// The host's content of some blocks of a part.
    pub fn content(&self, part: Option<Part>, block: u32, blocks: u32, block_bytes: usize) -> Option<Content> {
        let Part { id, first } = part?;
        let start = (first + block) as usize * block_bytes;
        Some(self.active.get(&id)?.data.slice(start..start + blocks as usize * block_bytes))
    }

    /// Takes content that a read asked for, from a block of a part on.
    pub fn put(&mut self, part: Option<Part>, block: u32, content: Bytes, block_bytes: usize) {
        if let (Some(Part { first, .. }), Some(active)) = (part, self.of(part)) {
            active.put((first + block) as usize * block_bytes, content);
        }
    }

    pub fn is_read(&self, part: Option<Part>) -> bool {
        part.and_then(|part| self.active.get(&part.id)).is_some_and(Active::is_read)
    }

    fn reply_if_complete(&mut self, core: &mut Core, id: u64) {
        if self.active.get(&id).is_some_and(|active| active.moves == 0 && !active.unplanned)
            && let Some(active) = self.active.remove(&id)
        {
            if active.is_done_write() {
                core.losses.acknowledge();
            }
            core.reply(id, active.result());
        }
    }
}
