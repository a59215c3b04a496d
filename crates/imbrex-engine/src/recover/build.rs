//! The end of recovery: a new epoch of the layer, from what the journal and the drive say.

use std::collections::BTreeSet;

use super::found::{Found, Journal, NewEpoch};
use crate::Setup;
use crate::core::Core;
use crate::fatal::Fatal;
use crate::reading::fold;
use crate::ring::{Ring, Slots};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::TranslationLayer;
use imbrex_core::plan::{Op, Place, Plan, Record};

/// A layer as recovery finds it.
struct Recovered {
    layer: Box<dyn TranslationLayer>,
    records: Vec<Record>,
    lost: Vec<Record>,
    plan: Plan,
}

/// Builds the layer and finds out where its journal goes on.
///
/// # Errors
/// Why the store cannot be used.
pub(super) fn build(core: &mut Core, found: Found) -> Result<NewEpoch, Fatal> {
    core.counts.entries_read += found.journal.chain.entries.len() as u64;
    let Recovered { mut layer, records, lost, plan } = Recovered::build(&core.setup, &found)?;
    let Found { journal, mut unreadable, units } = found;
    if let Some(blocks) = core.step_bound {
        layer.bound_step(blocks);
    }
    if core.facts.journal.records > 0 {
        core.blank.append(&mut unreadable);
    }
    let media = core.setup.media.as_ref();
    let reserve = core.setup.journal_need(&core.facts.journal).reserve();
    let slots = Slots::new(&core.setup.journal, media);
    let mut ring = Ring::new(slots, reserve, &journal.chain, media, &units);
    if journal.is_thin {
        ring.ask_for_whole_checkpoint();
    }
    Ok(NewEpoch { layer, records, lost, plan, ring })
}

impl Recovered {
    fn build(setup: &Setup, Found { journal, unreadable, units }: &Found) -> Result<Self, Fatal> {
        let mut records = Vec::new();
        let mut layer = fold_all(setup, journal, &mut records)?;
        let mut plan = Plan::new();
        let mut lost = Vec::new();
        // A layer without records reads a block from its one place, and there the drive has to say that it cannot be
        // read.
        if !unreadable.is_empty() && layer.facts().journal.records > 0 {
            layer.recovered(units, &mut plan)?;
            lost = lost_blocks(layer.as_ref(), unreadable);
            plan.clear();
            records.clear();
            layer = fold_all(setup, journal, &mut records)?;
            lost.iter().try_for_each(|record| fold(layer.as_mut(), record))?;
            if setup.audit {
                records.extend(&lost);
            }
        }
        layer.recovered(units, &mut plan)?;
        Ok(Self { layer, records, lost, plan })
    }
}

/// The layer that the records of a journal give. They are kept in `records` where they are folded again later.
///
/// # Errors
/// The record that contradicts another.
fn fold_all(setup: &Setup, journal: &Journal, records: &mut Vec<Record>) -> Result<Box<dyn TranslationLayer>, Fatal> {
    let mut layer = (setup.make)();
    for entry in &journal.chain.entries {
        let mut folded = Ok(());
        let take = |record: Record| {
            if folded.is_ok() {
                folded = fold(layer.as_mut(), &record);
            }
            if setup.audit {
                records.push(record);
            }
        };
        entry.records(take);
        folded?;
    }
    Ok(layer)
}

/// The logical blocks that lie at unreadable places, as records. Asks the layer where everything is, which is slow and
/// needs no reverse map; it happens after a disk error only. A layer may move blocks to read them; that is not carried
/// out, so what is unreadable is followed to where it would lie.
fn lost_blocks(layer: &dyn TranslationLayer, unreadable: &BTreeSet<Pba>) -> Vec<Record> {
    let mut lost: Vec<Record> = Vec::new();
    let mut unreadable = unreadable.clone();
    let mut plan = Plan::new();
    let mut from = 0;
    while from < layer.capacity() {
        let chunk = Extent::new(Lba(from), (layer.capacity() - from).min(1 << 16) as u32);
        plan.clear();
        layer.locate(chunk, &mut plan);
        for op in plan.ops() {
            let Op::Move { from: Place::At(place), to, blocks, .. } = *op else { continue };
            let bad = unreadable.range(place..place.plus(u64::from(blocks))).map(|bad| bad.since(place));
            let bad: Vec<u64> = bad.collect();
            match to {
                Place::Host(host) => bad.iter().for_each(|i| add(&mut lost, chunk.start.plus(u64::from(host) + i))),
                Place::At(to) => {
                    unreadable.retain(|place| !Extent::new(to, blocks).contains(*place));
                    unreadable.extend(bad.iter().map(|i| to.plus(*i)));
                }
                Place::Zero | Place::Lost => {}
            }
        }
        from += u64::from(chunk.blocks);
    }
    lost
}

/// Adds a block to lost ones, which come in no order.
fn add(lost: &mut Vec<Record>, lba: Lba) {
    match lost.last_mut() {
        Some(Record::Lost(run)) if run.end() == lba => run.blocks += 1,
        _ => lost.push(Record::Lost(Extent::new(lba, 1))),
    }
}
