//! Carrying operations out: from ready to complete.

mod together;

use std::collections::BTreeSet;

use bytes::Bytes;

use super::content::Content;
use super::core::{Core, Purpose};
use super::operations::{Move, Operation, Operations};
use super::ram::Ram;
use super::requests::Requests;
use super::rules::Rule;
use super::{IoKind, IoResult};
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::footprint::Footprint;
use imbrex_core::layer::{Facts, Freed, TranslationLayer};
use imbrex_core::plan::{Place, Unit, Why};

/// An operation has failed that the layer's epoch cannot go on without: rule 10.
#[derive(Debug)]
pub(super) struct EndsEpoch;

/// The operations under way, the requests they serve, and the content that has not come to the device.
pub(super) struct Execution {
    pub requests: Requests,
    operations: Operations,
    ram: Ram,
    /// Whether images are taken from RAM, which happens without a look at what lies there.
    has_images: bool,
    /// Places that should hold what could not be read for a request of the host, until they are written.
    unread: BTreeSet<Pba>,
    /// Places that could not be read for anybody else.
    suspects: BTreeSet<Pba>,
    /// Whether something was written since the last device flush was issued.
    unflushed: bool,
}

impl Execution {
    /// The execution of the plans of a layer that states these facts.
    pub fn new(facts: &Facts, block_bytes: usize) -> Self {
        Self {
            requests: Requests::default(),
            operations: Operations::default(),
            ram: Ram::new(facts.ram_blocks, block_bytes),
            has_images: facts.journal.redo_blocks > 0,
            unread: BTreeSet::new(),
            suspects: BTreeSet::new(),
            unflushed: false,
        }
    }

    pub fn operations(&self) -> &Operations {
        &self.operations
    }

    /// Whether giving RAM's memory back is worth it.
    pub fn takes_much_ram(&self) -> bool {
        self.ram.is_much()
    }

    /// Gives RAM's memory back, which is not read any more.
    pub fn clear_ram(&mut self) {
        self.ram.clear();
    }

    /// Whether something was written since this was asked last: a device flush is on its way then.
    pub fn take_unflushed(&mut self) -> bool {
        std::mem::take(&mut self.unflushed)
    }

    /// Something was written that is no operation of a plan.
    pub fn wrote(&mut self) {
        self.unflushed = true;
    }

    /// Takes the places that could not be read.
    pub fn take_suspects(&mut self) -> BTreeSet<Pba> {
        std::mem::take(&mut self.suspects)
    }

    /// Makes a Move an operation; several where places that are known to be unreadable and to hold nothing that is
    /// needed lie in its source. Zeros stand in for them.
    pub fn add_move(&mut self, core: &mut Core, m: Move) {
        if let Place::At(to) = m.to {
            core.blank.retain(|place| !Extent::new(to, m.blocks).contains(*place));
        }
        let Place::At(from) = m.from else { return self.add_whole_move(core, m) };
        let mut done = 0;
        while done < m.blocks {
            let rest = Extent::new(from, m.blocks).skip(done);
            let next = core.blank.range(rest.start..rest.end()).next().map(|place| place.since(rest.start) as u32);
            let (source, blocks) = match next {
                Some(0) => (Place::Zero, 1),
                Some(readable) => (Place::At(rest.start), readable),
                None => (Place::At(rest.start), rest.blocks),
            };
            let part = Move { from: source, to: m.to.continued(done), blocks, content: None, ..m };
            self.add_whole_move(core, part);
            done += blocks;
        }
    }

    fn add_whole_move(&mut self, core: &Core, m: Move) {
        self.requests.move_planned(m.request);
        let footprint = Footprint::of_move(m.from, m.to, m.blocks, core.setup.media.as_ref());
        self.add(core, Operation::Move(m), footprint);
    }

    /// Makes a reset an operation: those planned before it that touch what it empties go first.
    pub fn add_reset(&mut self, core: &mut Core, unit: Unit) {
        let blank = &mut core.blank;
        core.setup.media.emptied_by(unit, &mut |emptied| blank.retain(|place| !emptied.contains(*place)));
        let footprint = Footprint::of_reset(unit, core.setup.media.as_ref());
        self.add(core, Operation::Reset(unit), footprint);
    }

    fn add(&mut self, core: &Core, operation: Operation, footprint: Footprint) {
        let ordered = core.setup.rules.keeps(Rule::ConflictsInOrder);
        self.operations.add(operation, if ordered { footprint } else { Footprint::default() });
    }

    /// Starts the operations that became ready, and those that become ready by their completion. `layer` is told what a
    /// cache was to keep and does not.
    pub fn start_ready(&mut self, core: &mut Core, layer: &mut dyn TranslationLayer) -> Result<(), EndsEpoch> {
        let mut result = Ok(());
        while let Some(number) = self.operations.pop_ready() {
            result = result.and(self.start(core, layer, number));
        }
        result
    }

    fn start(&mut self, core: &mut Core, layer: &mut dyn TranslationLayer, number: u64) -> Result<(), EndsEpoch> {
        match self.operations.get(number) {
            Some(Operation::Reset(unit)) => core.issue(Purpose::Operation(number), IoKind::Reset(*unit)),
            Some(Operation::Move(_)) => self.fetch(core, layer, number)?,
            None => {}
        }
        Ok(())
    }

    /// Gets a Move's content.
    fn fetch(&mut self, core: &mut Core, layer: &mut dyn TranslationLayer, number: u64) -> Result<(), EndsEpoch> {
        let Some(m) = self.operations.get_move_mut(number) else { return Ok(()) };
        m.is_ready = true;
        let Move { from, blocks, request, .. } = *m;
        match from {
            _ if m.content.is_some() => self.write_content(core, number),
            Place::At(from) if self.is_unread(Extent::new(from, blocks)) => {
                return self.leave_out(core, layer, number);
            }
            Place::At(from) if !from.is_ram() => {
                let read = IoKind::Read(Extent::new(from, blocks));
                core.issue_for(request.map(|part| part.id), Purpose::Operation(number), read);
            }
            Place::Lost => self.leave_request_unserved(core, number),
            Place::Host(_) => self.write_together(core, number),
            _ => {
                if let Some(content) = self.content_at_hand(number, core.setup.block_bytes) {
                    self.deliver(core, number, content);
                }
            }
        }
        Ok(())
    }

    /// A Move's content, if that takes no device operation.
    fn content_at_hand(&self, number: u64, block_bytes: usize) -> Option<Bytes> {
        let m = self.operations.get_move(number)?;
        match m.from {
            Place::At(from) if from.is_ram() => Some(self.ram.get(from.block(), m.blocks)),
            Place::Zero => Some(Bytes::from(vec![0; m.blocks as usize * block_bytes])),
            Place::Host(_) => self.host_content(number, block_bytes).map(Content::into_bytes),
            Place::At(_) | Place::Lost => None,
        }
    }

    /// What the host gave to be written by a Move.
    fn host_content(&self, number: u64, block_bytes: usize) -> Option<Content> {
        let Move { from: Place::Host(block), blocks, request, .. } = *self.operations.get_move(number)? else {
            return None;
        };
        let content = self.requests.content(request, block, blocks, block_bytes);
        // A request stays until its last move has completed.
        Some(content.unwrap_or_else(|| unreachable!("a move of the host's content belongs to a request")))
    }

    /// Gets the content of redo moves that wait for others of their plan: a bottom track's write destroys what the plan
    /// writes back afterwards. All that was planned before them has completed, so RAM holds what they are to write.
    pub fn take_images(&mut self, moves: &[u64], block_bytes: usize) {
        for number in moves {
            if self.operations.get_move(*number).is_none_or(|m| m.content.is_some()) {
                continue;
            }
            let content = self.content_at_hand(*number, block_bytes);
            if let Some(m) = self.operations.get_move_mut(*number) {
                m.content = content;
            }
        }
    }

    /// Whether the images of these moves are known.
    pub fn have_images(&self, moves: &[u64]) -> bool {
        let is_known = |m: &Move| m.content.is_some() && matches!(m.to, Place::At(_));
        moves.iter().all(|number| self.operations.get_move(*number).is_some_and(is_known))
    }

    /// The redo images of the given moves, block by block, if all of them are known.
    pub fn images(&self, moves: &[u64], block_bytes: usize) -> Option<Vec<(Pba, Bytes)>> {
        let mut images = Vec::new();
        for number in moves {
            let Some(Move { to: Place::At(to), blocks, content: Some(content), .. }) =
                self.operations.get_move(*number)
            else {
                return None;
            };
            for (i, target) in (0..).zip(Extent::new(*to, *blocks).iter()) {
                images.push((target, content.slice(i * block_bytes..(i + 1) * block_bytes)));
            }
        }
        Some(images)
    }

    /// Brings a Move's content to its target.
    fn deliver(&mut self, core: &mut Core, number: u64, content: Bytes) {
        let block_bytes = core.setup.block_bytes;
        let Some(m) = self.operations.get_move_mut(number) else { return };
        let Move { to, request, held, .. } = *m;
        // Of a write also what is written together with it.
        let blocks = (content.len() / block_bytes) as u32;
        if let Place::At(to) = to {
            self.unread.retain(|place| !Extent::new(to, blocks).contains(*place));
        }
        match to {
            Place::Host(block) => {
                self.requests.put(request, block, content, block_bytes);
                self.complete(core, number);
            }
            Place::At(to) if to.is_ram() => {
                self.ram.put(to.block(), &content);
                self.complete(core, number);
            }
            Place::At(_) if held => m.content = Some(content),
            Place::At(to) => {
                let write = IoKind::Write(Extent::new(to, blocks), content);
                core.issue_for(request.map(|part| part.id), Purpose::Operation(number), write);
            }
            Place::Zero | Place::Lost => self.complete(core, number),
        }
    }

    /// Lets the redo moves write: their entry is durable.
    pub fn release(&mut self, core: &mut Core, moves: &[u64]) {
        for &number in moves {
            if let Some(m) = self.operations.get_move_mut(number) {
                m.held = false;
                self.write_content(core, number);
            }
        }
    }

    /// Writes content that is known, if nothing holds it back any more.
    fn write_content(&mut self, core: &mut Core, number: u64) {
        let Some(m) = self.operations.get_move_mut(number) else { return };
        if m.is_ready
            && !m.held
            && let Some(content) = m.content.take()
        {
            self.deliver(core, number, content);
        }
    }

    /// Takes the result of a device operation that belongs to an operation of a plan. The space that has been reset by
    /// it, if any has.
    pub fn result(&mut self, core: &mut Core, number: u64, result: IoResult) -> Result<Option<Extent<Pba>>, EndsEpoch> {
        match result {
            IoResult::Data(content) => {
                self.deliver(core, number, content);
                Ok(None)
            }
            IoResult::Done | IoResult::Report(_) => {
                self.unflushed = true;
                Ok(self.complete_device_operation(core, number))
            }
            IoResult::Failed => self.failed(core, number),
        }
    }

    fn complete_device_operation(&mut self, core: &mut Core, number: u64) -> Option<Extent<Pba>> {
        let reset = match self.operations.get(number) {
            Some(Operation::Reset(unit)) => Some(core.setup.media.extent_of(*unit)),
            _ => None,
        };
        self.complete(core, number);
        reset
    }

    fn failed(&mut self, core: &mut Core, number: u64) -> Result<Option<Extent<Pba>>, EndsEpoch> {
        let Some(operation) = self.operations.get(number) else { return Ok(None) };
        if let Operation::Move(Move { from, to: Place::Host(_), .. }) = operation {
            debug_assert!(matches!(from, Place::At(_)));
            self.leave_request_unserved(core, number);
            return Ok(None);
        }
        if let Some(missing) = self.host_misses(operation) {
            self.unread.extend(missing.iter());
            self.leave_request_unserved(core, number);
            return Ok(None);
        }
        if !core.setup.rules.keeps(Rule::FailuresEnd) {
            return Ok(self.complete_device_operation(core, number));
        }
        if let Operation::Move(Move { from: Place::At(from), blocks, .. }) = operation
            && !from.is_ram()
        {
            self.suspects.extend(Extent::new(*from, *blocks).iter());
        }
        Err(EndsEpoch)
    }

    /// Where in RAM there is nothing now, if a Move was to read there what the host wants.
    fn host_misses(&self, operation: &Operation) -> Option<Extent<Pba>> {
        let Operation::Move(Move { from: Place::At(from), to: Place::At(to), blocks, why: Why::Host, request, .. }) =
            operation
        else {
            return None;
        };
        let into_ram = !from.is_ram() && to.is_ram() && !self.has_images;
        (self.requests.is_read(*request) && into_ram).then_some(Extent::new(*to, *blocks))
    }

    fn is_unread(&self, at: Extent<Pba>) -> bool {
        self.unread.range(at.start..at.end()).next().is_some()
    }

    /// Does without a Move of what could not be read, if that harms only the host that reads.
    fn leave_out(&mut self, core: &mut Core, layer: &mut dyn TranslationLayer, number: u64) -> Result<(), EndsEpoch> {
        let Some(&Move { to, blocks, why, .. }) = self.operations.get_move(number) else { return Ok(()) };
        let media = core.setup.media.as_ref();
        match to {
            Place::Host(_) => self.leave_request_unserved(core, number),
            Place::At(to) if why == Why::Promote && !media.has_pointer(media.unit_of(to)) => {
                let space = Extent::new(to, blocks);
                self.unread.extend(space.iter());
                layer.freed(space, Freed::Unfilled);
                self.complete(core, number);
            }
            _ => return Err(EndsEpoch),
        }
        Ok(())
    }

    /// Completes a Move without what the host wanted to have by it.
    fn leave_request_unserved(&mut self, core: &mut Core, number: u64) {
        if let Some(m) = self.operations.get_move(number) {
            self.requests.fail(m.request);
        }
        self.complete(core, number);
    }

    /// Completes an operation, and the writes that the drive carried out with it.
    fn complete(&mut self, core: &mut Core, number: u64) {
        let mut next = Some(number);
        while let Some(number) = next {
            next = None;
            if let Some(Operation::Move(m)) = self.operations.complete(number) {
                self.requests.move_completed(core, m.request);
                next = m.next;
            }
        }
    }
}
