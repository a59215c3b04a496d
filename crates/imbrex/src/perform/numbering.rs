//! From plans to operations and journal items: rule 1, and where redo plans and unreadable places are told apart.

use super::Core;
use super::commit::{Item, What};
use super::operation::{Move, Operation};
use super::rules::Rule;
use super::running::Running;
use crate::block::{Address, Extent, Pba};
use crate::footprint::Footprint;
use crate::plan::{Op, Place, Plan, Record, Unit};

/// A plan as the layer made it.
pub(super) struct Made {
    pub plan: Plan,
    /// The request it serves, and the block of the request that `Place::Host(0)` is.
    pub request: Option<(u64, u32)>,
    /// Whether it is a clean plan.
    pub cleaning: bool,
}

impl Running {
    /// Numbers a plan as it is made. Rule 1.
    pub(super) fn enqueue(&mut self, core: &mut Core, plan: Plan, request: Option<(u64, u32)>, cleaning: bool) {
        let mut made = Made { plan, request, cleaning };
        if core.setup.rules.keeps(Rule::PlansInOrder) {
            self.number(core, &made);
            made.plan.clear();
            self.plan = made.plan;
        } else if !made.plan.is_empty() {
            self.swap_with_next(core, made);
        }
    }

    /// What happens with rule 1 switched off: a plan is numbered after its successor.
    fn swap_with_next(&mut self, core: &mut Core, made: Made) {
        if let Some(active) = made.request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.moves += 1;
        }
        match self.kept_back.take() {
            None => self.kept_back = Some(made),
            Some(earlier) => {
                self.number_kept(core, &made);
                self.number_kept(core, &earlier);
            }
        }
    }

    pub(super) fn number_kept(&mut self, core: &mut Core, made: &Made) {
        self.number(core, made);
        if let Some((id, _)) = made.request {
            self.request_progress(core, id);
        }
    }

    /// Turns a plan's moves into operations and queues the rest for the journal.
    pub(super) fn number(&mut self, core: &mut Core, made: &Made) {
        let mut redo = Vec::new();
        let mut redo_records = Vec::new();
        let mut redo_from = None;
        let mut images = 0;
        let mut records_from = None;
        let keeps_redo = core.setup.rules.keeps(Rule::RedoFirst);
        core.tally.add(&made.plan);
        let cleaning_before = self.cleaning;
        for op in made.plan.ops() {
            match *op {
                Op::Move { from, to, blocks, why, redo: held } => {
                    let held = held && keeps_redo;
                    let Made { request, cleaning, .. } = *made;
                    let first = self.next_seq;
                    self.add_move(
                        core,
                        Move { from, to, blocks, why, request, held, is_ready: false, content: None, cleaning },
                    );
                    if held {
                        redo_from.get_or_insert((self.items.len(), first));
                        redo.extend(first..self.next_seq);
                        images += blocks;
                    }
                }
                Op::Record { record, redo } => {
                    if matches!(record, Record::Map { to, .. } if to.is_ram())
                        && core.setup.rules.keeps(Rule::NoRecordOfRam)
                    {
                        self.broken = Some(format!("the layer recorded a place in RAM: {record:?}"));
                    }
                    self.remember(core, record);
                    if redo && keeps_redo {
                        records_from.get_or_insert((self.items.len(), self.next_seq));
                        redo_records.push(record);
                    } else {
                        self.push_item(What::Record(record));
                    }
                }
                Op::Reset(unit) => self.push_item(What::Reset(unit)),
                Op::Free(space) => self.push_item(What::Free(space)),
                Op::Count(..) => {}
            }
        }
        if self.cleaning > cleaning_before {
            core.steps.add(&made.plan);
        }
        if images > self.layer.most_redo_blocks() {
            self.broken = Some(format!("the redo moves of a plan write {images} blocks, more than the layer said"));
        }
        if let Some((at, before)) = redo_from.or(records_from) {
            self.items.insert(at, Item { before, what: What::Redo { moves: redo, records: redo_records, images } });
            self.urgent += 1;
        }
        if !core.setup.rules.keeps(Rule::ReuseAfterRecords) {
            self.take_effect_at_once(core);
        }
    }

    /// Keeps a record for [`Running::check`].
    pub(super) fn remember(&mut self, core: &Core, record: Record) {
        if core.setup.audit {
            self.history.push(record);
        }
    }

    pub(super) fn push_item(&mut self, what: What) {
        let item = Item { before: self.next_seq, what };
        self.urgent += usize::from(item.is_urgent());
        self.items.push_back(item);
    }

    /// Makes a Move an operation; several where places that are known to be unreadable and to hold nothing that is
    /// needed lie in its source. Zeros stand in for them.
    fn add_move(&mut self, core: &mut Core, m: Move) {
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
        if let Some(active) = m.request.and_then(|(id, _)| self.requests.get_mut(&id)) {
            active.moves += 1;
        }
        self.cleaning += u32::from(m.cleaning);
        let footprint = Footprint::of_move(m.from, m.to, m.blocks, core.setup.media.as_ref());
        self.add_operation(core, Operation::Move(m), footprint);
    }

    fn add_operation(&mut self, core: &Core, operation: Operation, footprint: Footprint) {
        let seq = self.next_seq;
        self.next_seq += 1;
        let ordered = core.setup.rules.keeps(Rule::ConflictsInOrder);
        let footprint = if ordered { footprint } else { Footprint::default() };
        self.operations.insert(seq, operation);
        if self.order.add(seq, footprint) {
            self.ready.push_back(seq);
        }
    }

    /// Rule 4: a reset may run now. Operations planned before it that touch its unit go first.
    pub(super) fn release_reset(&mut self, core: &mut Core, unit: Unit) {
        let space = core.setup.media.extent_of(unit);
        core.blank.retain(|place| !space.contains(*place));
        let footprint = Footprint::of_reset(unit, core.setup.media.as_ref());
        self.add_operation(core, Operation::Reset(unit), footprint);
    }

    /// Rule 4: space is the layer's again.
    pub(super) fn space_freed(&mut self, space: Extent<Pba>) {
        self.layer.freed(space);
        self.awaiting_space = false;
    }

    /// What happens with rule 4 switched off.
    fn take_effect_at_once(&mut self, core: &mut Core) {
        for item in std::mem::take(&mut self.items) {
            match item.what {
                What::Reset(unit) => self.release_reset(core, unit),
                What::Free(space) => self.space_freed(space),
                _ => self.items.push_back(item),
            }
        }
    }
}
