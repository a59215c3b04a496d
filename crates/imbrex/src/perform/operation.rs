//! Single operations of plans: from ready to complete.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::request::Active;
use super::rules::Rule;
use super::running::Running;
use super::{Core, IoKind, IoResult, Purpose};
use crate::block::{Extent, Pba};
use crate::plan::{Place, Unit, Why};

/// An operation that has been planned and not yet completed.
pub(super) enum Operation {
    Move(Move),
    Reset(Unit),
}

/// A Move under way.
pub(super) struct Move {
    pub from: Place,
    pub to: Place,
    pub blocks: u32,
    pub why: Why,
    /// The request it serves, and the block of the request that `Place::Host(0)` is.
    pub request: Option<(u64, u32)>,
    /// Whether it must not write before its redo entry is durable.
    pub held: bool,
    /// Whether all it conflicts with has completed.
    pub is_ready: bool,
    /// The content, once it is known and while the write is held or waits for what it conflicts with.
    pub content: Option<Bytes>,
    /// Whether it belongs to the clean plan in flight.
    pub cleaning: bool,
}

impl Running {
    /// Starts the operations that became ready, and those that become ready by their completion.
    pub(super) fn start_ready(&mut self, core: &mut Core) {
        while let Some(seq) = self.ready.pop_front() {
            match self.operations.get(&seq) {
                Some(Operation::Reset(unit)) => core.issue(Purpose::Operation(seq), IoKind::Reset(*unit)),
                Some(Operation::Move(_)) => self.fetch(core, seq),
                None => {}
            }
        }
    }

    /// Gets a Move's content.
    fn fetch(&mut self, core: &mut Core, seq: u64) {
        let Some(Operation::Move(m)) = self.operations.get_mut(&seq) else { return };
        m.is_ready = true;
        let Move { from, blocks, request, .. } = *m;
        match from {
            _ if m.content.is_some() => self.write_content(core, seq),
            Place::At(from) if self.is_unread(Extent::new(from, blocks)) => self.leave_out(core, seq),
            Place::At(from) if !from.is_ram() => {
                let at = Extent::new(from, blocks);
                core.issue_for(request.map(|(id, _)| id), Purpose::Operation(seq), IoKind::Read(at));
            }
            Place::Lost => self.leave_request_unserved(core, seq),
            _ => {
                if let Some(content) = self.content_at_hand(seq, core.setup.block_bytes) {
                    self.deliver(core, seq, content);
                }
            }
        }
    }

    /// A Move's content, if that takes no device operation.
    fn content_at_hand(&self, seq: u64, block_bytes: usize) -> Option<Bytes> {
        let Some(Operation::Move(m)) = self.operations.get(&seq) else { return None };
        match m.from {
            Place::At(from) if from.is_ram() => {
                let (from, to) = (from.block() as usize, from.block() as usize + m.blocks as usize);
                Some(join(&self.ram[from..to]))
            }
            Place::Zero => Some(Bytes::from(vec![0; m.blocks as usize * block_bytes])),
            Place::Host(block) => Some(self.host_content(m, block, block_bytes)),
            Place::At(_) | Place::Lost => None,
        }
    }

    /// Gets the content of redo moves that wait for others of their plan: a bottom track's write destroys what the plan
    /// writes back afterwards. All that was planned before them has completed, so RAM holds what they are to write.
    pub(super) fn take_images(&mut self, moves: &[u64], block_bytes: usize) {
        for seq in moves {
            let content = self.content_at_hand(*seq, block_bytes);
            if let Some(Operation::Move(m)) = self.operations.get_mut(seq)
                && m.content.is_none()
            {
                m.content = content;
            }
        }
    }

    fn host_content(&self, m: &Move, block: u32, block_bytes: usize) -> Bytes {
        let at = m.request.and_then(|(id, base)| {
            let start = (base + block) as usize * block_bytes;
            Some(self.requests.get(&id)?.data.slice(start..start + m.blocks as usize * block_bytes))
        });
        // A request stays until its last move has completed.
        at.unwrap_or_else(|| unreachable!("a move of the host's content belongs to a request"))
    }

    /// Brings a Move's content to its target.
    fn deliver(&mut self, core: &mut Core, seq: u64, content: Bytes) {
        let block_bytes = core.setup.block_bytes;
        let Some(Operation::Move(m)) = self.operations.get_mut(&seq) else { return };
        if let Place::At(to) = m.to {
            self.unread.retain(|place| !Extent::new(to, m.blocks).contains(*place));
        }
        match m.to {
            Place::Host(block) => {
                if let Some((id, base)) = m.request
                    && let Some(active) = self.requests.get_mut(&id)
                {
                    active.put((base + block) as usize * block_bytes, content);
                }
                self.complete_operation(core, seq);
            }
            Place::At(to) if to.is_ram() => {
                for (i, slot) in (0..m.blocks as usize).zip(to.block() as usize..) {
                    self.ram[slot] = content.slice(i * block_bytes..(i + 1) * block_bytes);
                }
                self.complete_operation(core, seq);
            }
            Place::At(_) if m.held => m.content = Some(content),
            Place::At(to) => {
                let at = Extent::new(to, m.blocks);
                core.issue_for(m.request.map(|(id, _)| id), Purpose::Operation(seq), IoKind::Write(at, content));
            }
            Place::Zero | Place::Lost => self.complete_operation(core, seq),
        }
    }

    /// Lets the redo moves write: their entry is durable.
    pub(super) fn release(&mut self, core: &mut Core, moves: &[u64]) {
        for &seq in moves {
            let Some(Operation::Move(m)) = self.operations.get_mut(&seq) else { continue };
            m.held = false;
            self.write_content(core, seq);
        }
    }

    /// Writes content that is known, if nothing holds it back any more.
    fn write_content(&mut self, core: &mut Core, seq: u64) {
        let Some(Operation::Move(m)) = self.operations.get_mut(&seq) else { return };
        if m.is_ready
            && !m.held
            && let Some(content) = m.content.take()
        {
            self.deliver(core, seq, content);
        }
    }

    /// The redo images of the given moves, block by block, if all of them are known.
    pub(super) fn images(&self, moves: &[u64], block_bytes: usize) -> Option<Vec<(Pba, Bytes)>> {
        let mut images = Vec::new();
        for seq in moves {
            let Some(Operation::Move(Move { to: Place::At(to), blocks, content: Some(content), .. })) =
                self.operations.get(seq)
            else {
                return None;
            };
            for (i, target) in (0..).zip(Extent::new(*to, *blocks).iter()) {
                images.push((target, content.slice(i * block_bytes..(i + 1) * block_bytes)));
            }
        }
        Some(images)
    }

    /// Takes the result of a device operation that belongs to an operation of a plan.
    pub(super) fn operation_result(&mut self, core: &mut Core, seq: u64, result: IoResult) {
        match result {
            IoResult::Data(content) => self.deliver(core, seq, content),
            IoResult::Done | IoResult::Report(_) => {
                self.dirty = true;
                if let Some(Operation::Reset(unit)) = self.operations.get(&seq) {
                    let space = core.setup.media.extent_of(*unit);
                    self.space_freed(space);
                }
                self.complete_operation(core, seq);
            }
            IoResult::Failed => self.operation_failed(core, seq),
        }
    }

    fn operation_failed(&mut self, core: &mut Core, seq: u64) {
        let Some(operation) = self.operations.get(&seq) else { return };
        if let Operation::Move(Move { from, to: Place::Host(_), .. }) = operation {
            debug_assert!(matches!(from, Place::At(_)));
            return self.leave_request_unserved(core, seq);
        }
        if let Some(missing) = self.host_misses(operation) {
            self.unread.extend(missing.iter());
            return self.leave_request_unserved(core, seq);
        }
        if !core.setup.rules.keeps(Rule::FailuresEnd) {
            if let Operation::Reset(unit) = operation {
                self.space_freed(core.setup.media.extent_of(*unit));
            }
            self.complete_operation(core, seq);
            return;
        }
        if let Operation::Move(Move { from: Place::At(from), blocks, .. }) = operation
            && !from.is_ram()
        {
            self.suspects.extend(Extent::new(*from, *blocks).iter());
        }
        self.failed = true;
    }

    /// Where in RAM there is nothing now, if a Move was to read there what the host wants. Images are taken from RAM
    /// without a look, so layers with redo moves are left out.
    fn host_misses(&self, operation: &Operation) -> Option<Extent<Pba>> {
        let Operation::Move(Move { from: Place::At(from), to: Place::At(to), blocks, why: Why::Host, request, .. }) =
            operation
        else {
            return None;
        };
        let is_read = request.and_then(|(id, _)| self.requests.get(&id)).is_some_and(Active::is_read);
        let into_ram = !from.is_ram() && to.is_ram() && self.redo_entry_blocks == 0;
        (is_read && into_ram).then_some(Extent::new(*to, *blocks))
    }

    fn is_unread(&self, at: Extent<Pba>) -> bool {
        self.unread.range(at.start..at.end()).next().is_some()
    }

    /// Does without a Move of what could not be read, if that harms nobody but the host that reads.
    fn leave_out(&mut self, core: &mut Core, seq: u64) {
        let Some(Operation::Move(m)) = self.operations.get(&seq) else { return };
        match m.to {
            Place::Host(_) => self.leave_request_unserved(core, seq),
            Place::At(to) if m.why == Why::Fill && !core.setup.media.has_pointer(core.setup.media.unit_of(to)) => {
                let space = Extent::new(to, m.blocks);
                self.unread.extend(space.iter());
                self.layer.unfilled(space);
                self.complete_operation(core, seq);
            }
            _ => self.failed = true,
        }
    }

    /// Completes a Move without what the host wanted to have by it.
    fn leave_request_unserved(&mut self, core: &mut Core, seq: u64) {
        if let Some(Operation::Move(m)) = self.operations.get(&seq) {
            self.fail_request(m.request);
        }
        self.complete_operation(core, seq);
    }

    fn complete_operation(&mut self, core: &mut Core, seq: u64) {
        let Some(operation) = self.operations.remove(&seq) else { return };
        let ready: &mut VecDeque<u64> = &mut self.ready;
        self.order.complete(seq, |seq| ready.push_back(seq));
        if let Operation::Move(m) = operation {
            if m.cleaning {
                self.cleaning -= 1;
            }
            if let Some((id, _)) = m.request {
                self.request_progress(core, id);
            }
        }
    }
}

/// One run of bytes from blocks that need not be neighbours in memory.
fn join(blocks: &[Bytes]) -> Bytes {
    if let [one] = blocks {
        return one.clone();
    }
    let mut all = BytesMut::with_capacity(blocks.iter().map(Bytes::len).sum());
    blocks.iter().for_each(|block| all.extend_from_slice(block));
    all.freeze()
}
