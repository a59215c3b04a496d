//! The end of recovery: a new epoch of the layer, from what the journal and the drive say.

use std::collections::BTreeSet;

use super::fold::{Folded, Folding};
use super::found::{Found, Journal, NewEpoch};
use super::stage::{Asked, Next, Stage, content, reads};
use crate::chain::{Chain, MOST_SEGMENTS};
use crate::copies::Lacking;
use crate::core::Core;
use crate::fatal::Fatal;
use crate::pages::most_late;
use crate::reading::fold;
use crate::ring::{Ring, Slots};
use crate::{IoResult, Setup};
use imbrex_core::block::{Address, Extent, Lba, Pba};
use imbrex_core::layer::{TranslationLayer, UnitReport};
use imbrex_core::plan::{Op, Place, Plan, Record};

/// Builds the layer and finds out where its journal goes on, or what has to be read once more for it.
///
/// # Errors
/// Why the store cannot be used.
pub(super) fn build(core: &mut Core, mut found: Found) -> Result<Next, Fatal> {
    let Found { journal: Journal { folded: Folded { layer, .. }, .. }, unreadable, units } = &mut found;
    // A layer without records reads a block from its one place, and there the drive has to say that it cannot be read.
    // One with pages of its map at home says what lies there when they have been brought.
    if unreadable.is_empty() || layer.facts().journal.records == 0 || layer.cached_map().is_some() {
        return begin(core, found, Vec::new()).map(Next::epoch);
    }
    layer.recovered(units, &mut Plan::new())?;
    let lost = lost_blocks(layer.as_ref(), unreadable);
    let Found { journal: Journal { chain, folded, lacking }, unreadable, units } = found;
    drop(folded);
    let folding = Folding::new(&core.setup, &chain, &lacking);
    Ok(Next::stage(FoldAgain { chain, lacking, unreadable, units, lost, folding }))
}

/// Reads the journal once more for the layer as it was before it planned anything: what it finds lost comes first.
struct FoldAgain {
    chain: Chain,
    lacking: Vec<Lacking>,
    unreadable: BTreeSet<Pba>,
    units: UnitReport,
    lost: Vec<Record>,
    folding: Folding,
}

impl Stage for FoldAgain {
    fn ask(&mut self, setup: &Setup) -> Asked {
        reads(self.folding.next(setup))
    }

    fn answered(&mut self, core: &mut Core, number: u64, result: IoResult) {
        self.folding.answered(&core.setup, Pba::from_raw(number), content(&result));
    }

    fn next(self: Box<Self>, core: &mut Core) -> Result<Next, Fatal> {
        let Self { chain, lacking, unreadable, units, lost, folding } = *self;
        let mut folded = folding.finish()?;
        lost.iter().try_for_each(|record| fold(folded.layer.as_mut(), record))?;
        if core.setup.audit {
            folded.records.extend(&lost);
        }
        begin(core, Found { journal: Journal { chain, folded, lacking }, unreadable, units }, lost).map(Next::epoch)
    }
}

/// A new epoch of a layer into which all records are folded.
fn begin(core: &mut Core, found: Found, lost: Vec<Record>) -> Result<NewEpoch, Fatal> {
    let Found { journal: Journal { chain, folded, lacking }, mut unreadable, units } = found;
    let Folded { mut layer, records, late, .. } = folded;
    // Before the layer gives anything up: what was written of these pages need not be whole.
    let mut awaited = BTreeSet::new();
    if let Some(map) = layer.cached_map() {
        map.awaited(&mut |page| {
            awaited.insert(page);
        });
    }
    let mut plan = Plan::new();
    layer.recovered(&units, &mut plan)?;
    if let Some(blocks) = core.step_bound {
        layer.bound_step(blocks);
    }
    let has_pages = layer.cached_map().is_some();
    let to_lose = if has_pages { unreadable.clone() } else { BTreeSet::new() };
    if core.facts.journal.records > 0 {
        core.blank.append(&mut unreadable);
    }
    let media = core.setup.media.as_ref();
    let reserve = core.setup.journal_need(&core.facts.journal).reserve();
    let slots = Slots::new(&core.setup.journal, media);
    let is_thin = slots.are_sequential() && !lacking.is_empty();
    let mut ring = Ring::new(slots, reserve, &chain, media, &units);
    if let Some(home) = &core.setup.map_home {
        ring.bound_records(most_late(home, core.setup.gather), late);
    }
    if is_thin || chain.segments.len() > MOST_SEGMENTS {
        ring.ask_for_whole_checkpoint();
    }
    Ok(NewEpoch { layer, records, lost, awaited, unreadable: to_lose, plan, ring })
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
