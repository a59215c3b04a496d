//! From plans to operations and journal items: rule 1, and where redo plans are told from others.

use super::{Epoch, Made, Serves};
use crate::core::Core;
use crate::items::{Item, Redo, What};
use crate::operations::Move;
use crate::pages;
use crate::room::redo_entry_blocks;
use crate::rules::Rule;
use imbrex_core::layer::TranslationLayer;
use imbrex_core::plan::{Op, Plan, Record};

/// What one entry is to hold of a plan, and the place of that in the journal's queue: with the first redo move, or with
/// the first redo record of a plan that has no such moves.
#[derive(Default)]
struct RedoPlan {
    moves: Vec<u64>,
    records: Vec<Record>,
    images: u32,
    first_move: Option<Spot>,
    first_record: Option<Spot>,
}

/// A place among what is planned: in the journal's queue, and the number of the next operation.
#[derive(Copy, Clone)]
struct Spot {
    at: usize,
    before: u64,
}

impl Epoch {
    /// Lets the layer plan, and numbers what it plans.
    pub fn plan<T>(
        &mut self,
        core: &mut Core,
        serves: Serves,
        make: impl FnOnce(&mut dyn TranslationLayer, &mut Plan) -> T,
    ) -> T {
        let mut plan = std::mem::take(&mut self.scratch);
        let made = make(self.layer.as_mut(), &mut plan);
        self.take_touched();
        self.enqueue(core, Made { plan, serves });
        made
    }

    /// Numbers a plan as it is made. Rule 1.
    fn enqueue(&mut self, core: &mut Core, mut made: Made) {
        if core.setup.rules.keeps(Rule::PlansInOrder) {
            self.number(core, &made);
            made.plan.clear();
            self.scratch = made.plan;
        } else if !made.plan.is_empty() {
            self.swap_with_next(core, made);
        }
    }

    /// What happens with rule 1 switched off: a plan is numbered after its successor.
    fn swap_with_next(&mut self, core: &mut Core, made: Made) {
        self.execution.requests.move_planned(made.serves.request());
        match self.kept_back.take() {
            None => self.kept_back = Some(made),
            Some(earlier) => {
                self.number_late(core, &made);
                self.number_late(core, &earlier);
            }
        }
    }

    fn number_late(&mut self, core: &mut Core, made: &Made) {
        self.number(core, made);
        self.execution.requests.move_completed(core, made.serves.request());
    }

    /// Numbers the plan that is kept back; false if there is none.
    pub fn number_kept_back(&mut self, core: &mut Core) -> bool {
        let kept_back = self.kept_back.take();
        kept_back.iter().for_each(|made| self.number_late(core, made));
        kept_back.is_some()
    }

    /// Turns a plan's moves into operations and queues the rest for the journal.
    pub(super) fn number(&mut self, core: &mut Core, made: &Made) {
        core.tally.add(&made.plan);
        let cleaning_before = self.execution.operations().cleaning();
        let mut redo = RedoPlan::default();
        for op in made.plan.ops() {
            match *op {
                Op::Move { .. } => self.number_move(core, *op, made.serves, &mut redo),
                Op::Record { record, redo: is_redo } => self.number_record(core, record, is_redo, &mut redo),
                Op::Reset(unit) => self.queue(What::Reset(unit)),
                Op::Free(space) => self.queue(What::Free(space)),
                Op::Count(..) => {}
            }
        }
        if self.execution.operations().cleaning() > cleaning_before {
            core.steps.add(&made.plan);
        }
        self.queue_redo(core, redo);
        if !core.setup.rules.keeps(Rule::ReuseAfterRecords) {
            self.give_space_at_once(core);
        }
    }

    fn number_move(&mut self, core: &mut Core, op: Op, serves: Serves, plan: &mut RedoPlan) {
        let Op::Move { from, to, blocks, why, redo } = op else { return };
        let held = redo && core.setup.rules.keeps(Rule::RedoFirst);
        let spot = self.spot();
        let (request, cleaning) = (serves.request(), serves == Serves::Cleaning);
        let m = Move { from, to, blocks, why, request, held, is_ready: false, content: None, cleaning, next: None };
        self.execution.add_move(core, m);
        if held {
            plan.first_move.get_or_insert(spot);
            plan.moves.extend(spot.before..self.execution.operations().next_number());
            plan.images += blocks;
        }
    }

    fn number_record(&mut self, core: &Core, record: Record, redo: bool, plan: &mut RedoPlan) {
        let names_ram = matches!(record, Record::Map { to, .. } if to.is_ram());
        if names_ram && core.setup.rules.keeps(Rule::NoRecordOfRam) {
            self.break_off(format!("the layer recorded a place in RAM: {record:?}"));
        }
        self.audit.remember(record);
        if pages::waits_for_pages(&record) {
            self.commits.ring_mut().record_planned();
        }
        if redo && core.setup.rules.keeps(Rule::RedoFirst) {
            plan.first_record.get_or_insert(self.spot());
            plan.records.push(record);
        } else {
            self.queue(What::Record(record));
        }
    }

    /// Where what is planned next comes.
    fn spot(&self) -> Spot {
        Spot { at: self.commits.items().len(), before: self.execution.operations().next_number() }
    }

    fn queue_redo(&mut self, core: &Core, plan: RedoPlan) {
        let RedoPlan { moves, records, images, first_move, first_record } = plan;
        if images > core.facts.journal.redo_blocks {
            self.break_off(format!("the redo moves of a plan write {images} blocks, more than the layer said"));
        }
        if let Some(Spot { at, before }) = first_move.or(first_record) {
            let journal_blocks = redo_entry_blocks(core.setup.block_bytes, images);
            let what = What::Redo(Redo { moves, records, journal_blocks });
            self.commits.items_mut().insert(at, Item { before, what });
        }
    }

    /// What happens with rule 4 switched off.
    fn give_space_at_once(&mut self, core: &mut Core) {
        let items = self.commits.items_mut().take_space();
        items.into_iter().for_each(|item| self.take_effect(core, item.what));
    }
}
