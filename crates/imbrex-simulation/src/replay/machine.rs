//! What plans are performed on: the disk, RAM, the clock and, if asked for, the journal and the check of content.
//!
//! Operations run one after the other in planning order, which is one of the orders that the ordering rules allow. Each
//! begins when the one before is complete. With a scheduler they go through the disk's queue instead; see `queued`. RAM
//! costs nothing, and a reset what the drive says. The drive is busy for that time and the next request waits; a
//! request is complete without it, and a read when the host has it. Through a queue a reset goes before everything that
//! is ready. Without a journal a Reset or Free takes effect where it stands in the plan; with one, when the records
//! before it are written.

use super::content::{Content, Delivery, Host};
use super::device::Device;
use super::error::Fault;
use super::journal::{Effect, Journal, is_staged};
use super::metrics::Counters;
use super::padding::Padding;
use super::queue::What;
use super::queue_state::QueueState;
use super::steps::{Did, Steps};
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::{Freed, TranslationLayer};
use imbrex_core::media::Illegal;
use imbrex_core::plan::{Op, Place, Plan, Unit, Why};

pub(super) struct Machine {
    pub disk: Device,
    ram_blocks: u64,
    pub now_ns: u64,
    /// When the latest operation of an earlier request was complete; in a stack that may be later than now.
    latest_ns: u64,
    /// When the host last got something: no request waits for what a read's plan does after that.
    delivered_ns: u64,
    pub counters: Counters,
    padding: Padding,
    /// What every block holds, when verifying.
    pub content: Option<Content>,
    /// The disk's queue, if a scheduler orders it.
    pub scheduled: Option<Box<QueueState>>,
    /// What the read being performed delivers, when verifying without a queue.
    delivery: Delivery,
    pub journal: Option<Journal>,
    /// Whether the devices of a stack are flushed before blocks are given up.
    pub flushes_below: bool,
    /// Resets and frees that have taken effect.
    pub given_back: u64,
    pub checkpoint: Plan,
    /// What the disk does, while that is recorded.
    pub steps: Option<Box<Steps>>,
}

impl Machine {
    pub(super) fn new(disk: Device, ram_blocks: u32, journal: Option<Journal>, content: Option<Content>) -> Self {
        let padding = Padding::new(u64::from(ram_blocks), disk.media().blocks());
        Self {
            disk,
            ram_blocks: u64::from(ram_blocks),
            now_ns: 0,
            latest_ns: 0,
            delivered_ns: 0,
            counters: Counters::default(),
            padding,
            content,
            scheduled: None,
            delivery: Delivery::default(),
            journal,
            flushes_below: false,
            given_back: 0,
            checkpoint: Plan::new(),
            steps: None,
        }
    }

    /// A request begins that has arrived at `arrival_ns`: when the disk is free. In a stack at once, since each of its
    /// devices has it wait as long as that is busy; what one device still does for an earlier request holds up no
    /// other.
    #[inline]
    pub(super) fn begin_request(&mut self, arrival_ns: u64) {
        self.latest_ns = self.latest_ns();
        self.now_ns = if self.disk.is_stack() { arrival_ns } else { self.latest_ns.max(arrival_ns) };
    }

    /// When everything performed so far is complete.
    #[inline]
    pub(super) fn latest_ns(&self) -> u64 {
        self.latest_ns.max(self.now_ns)
    }

    /// When the request being served is complete, if nothing more is performed for it: no request waits for a unit to
    /// be emptied.
    pub(super) fn served_ns(&self) -> u64 {
        self.now_ns - self.disk.emptying_ns()
    }

    /// When the read just performed had all been delivered.
    pub(super) fn delivered_ns(&self) -> u64 {
        self.delivered_ns
    }

    /// A read is about to be planned.
    pub(super) fn expect(&mut self, at: Extent<Lba>) {
        let Some(content) = &self.content else { return };
        let queued = self.scheduled.as_mut().and_then(|scheduled| {
            let of = scheduled.flights.planning;
            scheduled.flights.delivery(of)
        });
        content.expect(at, queued.unwrap_or(&mut self.delivery));
    }

    /// The read that was expected last has been performed; with a queue that is seen to when it is complete.
    pub(super) fn delivered(&mut self) -> Result<(), Box<Fault>> {
        if self.content.is_some() && self.scheduled.is_none() { self.delivery.done() } else { Ok(()) }
    }

    /// Performs a plan that `layer` has just made, or queues it.
    #[inline]
    pub(super) fn perform(
        &mut self,
        layer: &mut dyn TranslationLayer,
        plan: &Plan,
        host: Host,
    ) -> Result<(), Box<Fault>> {
        if self.is_bare() {
            self.carry_out::<true>(layer, plan, host)
        } else {
            self.carry_out::<false>(layer, plan, host)
        }
    }

    /// Whether this is a drive alone: no journal, no check of content, no queue, and nobody who watches.
    #[inline]
    fn is_bare(&self) -> bool {
        let is_alone = self.journal.is_none() && self.content.is_none() && self.scheduled.is_none();
        is_alone && self.steps.is_none() && !self.disk.is_stack()
    }

    /// Performs a plan. Most replays are on a bare drive, which need not ask for each operation what else there is.
    fn carry_out<const BARE: bool>(
        &mut self,
        layer: &mut dyn TranslationLayer,
        plan: &Plan,
        host: Host,
    ) -> Result<(), Box<Fault>> {
        let staged = !BARE && self.journal.is_some() && self.stage_redo(layer, plan)?;
        for op in plan.ops() {
            // By reference: an operation was written in parts just now, and copying it whole would wait for them.
            match op {
                Op::Move { from, to, blocks, why, redo } => {
                    let already_read = staged && is_staged(to, *redo);
                    let begun_ns = self.now_ns;
                    if !BARE && self.scheduled.is_some() {
                        self.queue_move(from, to, *blocks, *why, already_read, host)?;
                    } else {
                        self.copy(from, to, *blocks, *why, already_read)?;
                    }
                    if !is_plausible(from, to, host) {
                        return Err(Fault::Meaningless { op: *op }.into());
                    }
                    if !BARE && self.steps.is_some() {
                        let from = (!already_read).then_some(*from);
                        self.note(Did::Copy { from, to: Some(*to), blocks: *blocks, why: *why }, begun_ns);
                    }
                    if BARE || !self.disk.is_stack() {
                        self.counters.padding_again += self.padding.moved(from, to, *blocks, *why);
                    }
                    if !BARE && self.content.is_some() && self.scheduled.is_none() {
                        let mut delivery = std::mem::take(&mut self.delivery);
                        self.follow_content(*from, *to, *blocks, host, &mut delivery)?;
                        self.delivery = delivery;
                    }
                }
                Op::Record { record, redo } => {
                    if !BARE
                        && let Some(journal) = &mut self.journal
                        && !(staged && *redo)
                    {
                        journal.add_record(record);
                        if journal.is_full() {
                            self.commit(layer)?;
                        }
                    }
                }
                Op::Reset(unit) => self.defer(layer, Effect::Reset(*unit))?,
                Op::Free(space) => self.defer(layer, Effect::Free(*space))?,
                Op::Count(event, times) => self.counters.events[event.index()] += u64::from(*times),
            }
        }
        if BARE {
            return Ok(());
        }
        self.checkpoint_if_due(layer)?;
        if self.scheduled.is_some() { self.settle() } else { Ok(()) }
    }

    /// Queues a move, both ends of which must be somewhere.
    fn queue_move(
        &mut self,
        from: &Place,
        to: &Place,
        blocks: u32,
        why: Why,
        read: bool,
        host: Host,
    ) -> Result<(), Box<Fault>> {
        for place in [from, to] {
            if let Place::At(at) = place {
                self.is_on_disk(Extent::new(*at, blocks))?;
            }
        }
        if let Some(scheduled) = &mut self.scheduled {
            scheduled.push(What::Move { from: *from, to: *to, blocks, why, read }, host);
        }
        Ok(())
    }

    /// Sees to it that space comes back to a layer that waits for it. More resets and frees than `given_before` may
    /// have taken effect since; otherwise the pending records are written early. Says whether any has or may.
    pub(super) fn give_back(
        &mut self,
        layer: &mut dyn TranslationLayer,
        given_before: u64,
    ) -> Result<bool, Box<Fault>> {
        if self.given_back > given_before {
            return Ok(true);
        }
        if !self.journal.as_ref().is_some_and(Journal::has_pending) {
            return Ok(false);
        }
        self.commit(layer)?;
        self.checkpoint_if_due(layer)?;
        self.settle()?;
        Ok(true)
    }

    #[inline(always)]
    fn copy(&mut self, from: &Place, to: &Place, blocks: u32, why: Why, already_read: bool) -> Result<(), Box<Fault>> {
        if let Place::At(source) = from
            && !already_read
        {
            self.read(Extent::new(*source, blocks), why)?;
        }
        match to {
            Place::At(target) if why == Why::Promote && self.disk.is_stack() => {
                // The host has it, and so the plan does not wait.
                self.disk.write_later(Extent::new(*target, blocks), self.now_ns)?;
                self.counters.written[why as usize] += u64::from(blocks);
            }
            Place::At(target) => self.write(Extent::new(*target, blocks), why)?,
            _ => self.delivered_ns = self.now_ns,
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn read(&mut self, at: Extent<Pba>, why: Why) -> Result<(), Box<Fault>> {
        if self.is_on_disk(at)? {
            self.now_ns = self.disk.read(at, self.now_ns)?;
            self.counters.read[why as usize] += u64::from(at.blocks);
        }
        Ok(())
    }

    #[inline(always)]
    pub(super) fn write(&mut self, at: Extent<Pba>, why: Why) -> Result<(), Box<Fault>> {
        if !self.is_on_disk(at)? {
            return Ok(());
        }
        self.now_ns = self.disk.write(at, self.now_ns)?;
        self.counters.written[why as usize] += u64::from(at.blocks);
        Ok(())
    }

    /// Records what was done since `begun_ns`, and what that destroyed.
    pub(super) fn note(&mut self, did: Did, begun_ns: u64) {
        let Some(steps) = &mut self.steps else { return };
        let mut destroyed = Vec::new();
        if let Did::Copy { to: Some(Place::At(to)), blocks, .. } = did
            && !to.is_ram()
        {
            let write = Extent::new(to, blocks);
            self.disk.media().destroys(write, &mut |gone| destroyed.extend((!gone.overlaps(&write)).then_some(gone)));
        }
        steps.add(did, begun_ns, self.now_ns, destroyed);
    }

    /// When verifying: what moves, and what that destroys. The source was read before the write destroyed anything.
    pub(super) fn follow_content(
        &mut self,
        from: Place,
        to: Place,
        blocks: u32,
        host: Host,
        delivery: &mut Delivery,
    ) -> Result<(), Box<Fault>> {
        let Some(content) = &mut self.content else { return Ok(()) };
        content.moved(from, to, blocks, host, delivery)?;
        if let Place::At(target) = to
            && !target.is_ram()
        {
            self.disk.media().destroys(Extent::new(target, blocks), &mut |destroyed| content.gone(destroyed));
        }
        Ok(())
    }

    /// Whether the blocks are the disk's. If not they are RAM, and inside what the layer said it needs.
    #[inline]
    fn is_on_disk(&self, at: Extent<Pba>) -> Result<bool, Illegal> {
        match at.start.device() {
            Pba::DISK => Ok(true),
            Pba::RAM if at.start.block() + u64::from(at.blocks) <= self.ram_blocks => Ok(false),
            Pba::RAM => Err(Illegal::Beyond { at, blocks: self.ram_blocks }),
            device if device <= self.disk.last() => Ok(true),
            _ => Err(Illegal::Beyond { at, blocks: 0 }),
        }
    }

    fn defer(&mut self, layer: &mut dyn TranslationLayer, effect: Effect) -> Result<(), Box<Fault>> {
        let Some(journal) = &mut self.journal else { return self.take_effect(layer, effect) };
        if journal.defer(effect) {
            self.take_effect(layer, effect)
        } else if journal.is_full() {
            self.commit(layer)
        } else {
            Ok(())
        }
    }

    /// Gives space back to the layer. With a queue the disk follows, when all that was planned for the space before is
    /// complete. That is asked of the queue whether or not anybody verifies, so that verifying changes no times.
    pub(super) fn take_effect(&mut self, layer: &mut dyn TranslationLayer, effect: Effect) -> Result<(), Box<Fault>> {
        let space = match effect {
            Effect::Free(space) => {
                if self.flushes_below {
                    self.now_ns = self.disk.flush(self.now_ns)?;
                }
                space
            }
            Effect::Reset(unit) => self.disk.unit(unit)?,
        };
        match (&mut self.scheduled, effect) {
            (Some(scheduled), Effect::Free(space)) => scheduled.push(What::Forget(space), Host::Nobody),
            (Some(scheduled), Effect::Reset(unit)) => scheduled.push(What::Reset(unit), Host::Nobody),
            (None, Effect::Free(space)) => self.forget(space),
            (None, Effect::Reset(unit)) => self.reset(unit)?,
        }
        self.given_back += 1;
        layer.freed(space, Freed::GivenUp);
        Ok(())
    }

    pub(super) fn forget(&mut self, space: Extent<Pba>) {
        if let Some(content) = &mut self.content {
            content.gone(space);
        }
    }

    pub(super) fn reset(&mut self, unit: Unit) -> Result<(), Box<Fault>> {
        let begun_ns = self.now_ns;
        self.now_ns = self.disk.reset(unit, self.now_ns)?;
        if self.steps.is_some() {
            self.note(Did::Reset(self.disk.unit(unit)?), begun_ns);
        }
        self.counters.resets += 1;
        if let Some(content) = &mut self.content {
            self.disk.media().emptied_by(unit, &mut |emptied| content.gone(emptied));
        }
        Ok(())
    }
}

/// Whether a move from `from` to `to` can be meant by a plan for `host`.
#[inline]
fn is_plausible(from: &Place, to: &Place, host: Host) -> bool {
    match (from, to) {
        (Place::Host(_), Place::At(_)) => matches!(host, Host::Writes(..)),
        (Place::Host(_), _) | (_, Place::Zero | Place::Lost) => false,
        (_, Place::Host(_)) => matches!(host, Host::Reads(_)),
        (_, Place::At(_)) => true,
    }
}

#[cfg(test)]
mod tests;
