//! The pages of the layer's map, where a cache of them is in memory: rules 11 and 12.

use super::{Epoch, What};
use crate::core::{Core, Purpose};
use crate::fatal::Fatal;
use crate::pages::{Brought, PageCopy, Pager};
use crate::ring::{Checkpoint, Due};
use crate::rules::Rule;
use crate::{IoResult, Setup};
use imbrex_core::block::{Extent, Lba};
use imbrex_core::layer::{CachedMap, MapCache, TranslationLayer};
use imbrex_core::plan::{Op, Plan};

/// The fewest pages that a part of a request may need together.
const PART: usize = 2;

/// Asks a map which pages something needs.
pub(in crate::epoch) type Asks<'a> = &'a dyn Fn(&dyn CachedMap, &mut dyn FnMut(u64));

/// The pages of some blocks.
pub(in crate::epoch) type PagesOf = fn(&dyn CachedMap, Extent<Lba>, &mut dyn FnMut(u64));

impl Epoch {
    /// Whether the map has pages.
    pub fn has_pages(&self) -> bool {
        self.pager.is_some()
    }

    /// Pages that were brought may leave.
    pub fn let_go(&mut self) {
        self.pager.iter_mut().for_each(Pager::let_go);
    }

    /// Whether pages may be brought for what does not come first.
    pub fn may_bring_more(&self) -> bool {
        self.pager.as_ref().is_some_and(Pager::has_room_ahead)
    }

    /// Whether the pages are cached that `asks` names, and those that these say are needed. Brings what is not.
    pub fn bring(&mut self, core: &mut Core, asks: Asks<'_>) -> bool {
        let (Some(pager), Some(map)) = (&mut self.pager, self.layer.cached_map_mut()) else { return true };
        loop {
            self.asked.clear();
            asks(map, &mut |page| self.asked.push(page));
            match pager.bring(core, map, &self.asked) {
                Ok(Brought::Before) => return true,
                Ok(Brought::Now) => {}
                Ok(Brought::NotYet) => return false,
                Err(why) => {
                    self.breach = Some(why.into());
                    return false;
                }
            }
        }
    }

    /// The front of `at` whose pages can be together in the cache.
    pub fn part(&self, at: Extent<Lba>, of: PagesOf) -> Extent<Lba> {
        let (Some(pager), Some(map)) = (&self.pager, self.layer.cached_map()) else { return at };
        let (mut part, most) = (at, (pager.most() / 2).max(PART));
        while part.blocks > 1 {
            let mut pages = 0;
            of(map, part, &mut |_| pages += 1);
            if pages <= most {
                break;
            }
            part = part.first(part.blocks / 2);
        }
        part
    }

    /// Takes over what a plan did to pages.
    pub(super) fn take_touched(&mut self) {
        let (Some(pager), Some(map)) = (&mut self.pager, self.layer.cached_map_mut()) else { return };
        pager.touched(map);
        if map.missed() {
            self.break_off("the layer looked at a page of its map that is not in memory".to_owned());
        } else if let Err(why) = map.consistent() {
            self.breach = Some(why.into());
        }
    }

    /// Takes the result of a page's operation.
    pub(super) fn page_result(&mut self, core: &mut Core, purpose: Purpose, result: &IoResult) {
        let epoch = self.commits.ring().epoch();
        let (Some(pager), Some(map)) = (&mut self.pager, self.layer.cached_map_mut()) else { return };
        match purpose {
            Purpose::PageRead(page) => {
                if let Err(why) = pager.loaded(core, map, (page, epoch), result) {
                    self.breach = Some(why);
                }
            }
            Purpose::PageWrite(_)
                if matches!(result, IoResult::Failed) && core.setup.rules.keeps(Rule::FailuresEnd) =>
            {
                self.end();
            }
            Purpose::PageWrite(page) => {
                pager.written(page);
                self.execution.wrote();
            }
            Purpose::Operation(_) | Purpose::Commit | Purpose::Recovery(_) => {}
        }
    }

    /// A commit begins: adds what changed in memory and is in no record yet. The commit's number.
    pub(super) fn sum_up(&mut self) -> u64 {
        let Some(pager) = &mut self.pager else { return 0 };
        let number = pager.commit_begins();
        let mut plan = Plan::new();
        if let Some(map) = self.layer.cached_map_mut() {
            map.sum_up(&mut plan);
        }
        for op in plan.ops() {
            if let Op::Record { record, .. } = *op {
                self.audit.remember(record);
                self.queue(What::Record(record));
            }
        }
        number
    }

    /// Adds copies of pages to the commit that begins.
    pub(super) fn add_pages(&mut self, core: &mut Core) {
        let (rules, number) = (core.setup.rules, self.checkpoint_of_pages());
        let records = self.commits.items().records();
        let (Some(pager), Some(map)) = (&mut self.pager, self.layer.cached_map()) else { return };
        let (version, epoch) = (self.commits.ring().head(), self.commits.ring().epoch());
        for copy in pager.copy(map, &core.setup, number, records) {
            if rules.keeps(Rule::PagesAfterRecords) {
                let before = self.execution.operations().next_number();
                self.commits.items_mut().push(crate::items::Item { before, what: What::Page(copy) });
            } else {
                pager.write(core, copy, version, epoch);
            }
        }
    }

    /// The number of the commit with which the checkpoint began that waits for pages only.
    fn checkpoint_of_pages(&self) -> Option<u64> {
        let waits = |Checkpoint { commit, region, .. }: Checkpoint| region.is_none().then_some(commit);
        self.commits.ring().checkpoint().and_then(waits)
    }

    /// Whether a page has not come home that was changed before the commit `number`.
    pub(super) fn pages_are_out(&self, setup: &Setup, number: u64) -> bool {
        let keeps = setup.rules.keeps(Rule::PagesBeforeTail);
        keeps && self.pager.as_ref().is_some_and(|pager| pager.any_before(number))
    }

    /// Whether the next commit, which is due for the sake of a checkpoint alone, would not bring it on: it waits for pages
    /// that are being read or written.
    pub(super) fn waits_for_pages(&self) -> bool {
        let is_for_checkpoint = matches!(self.commits.ring().due(), Due::Rest | Due::Share);
        let (Some(pager), Some(number)) = (&self.pager, self.checkpoint_of_pages()) else { return false };
        is_for_checkpoint && self.commits.items().is_empty() && !pager.can_go_on(number)
    }

    /// Whether a commit is needed so that pages can come home.
    pub(super) fn pages_want_commit(&self) -> bool {
        self.pager.as_ref().is_some_and(Pager::wants_commit)
    }

    /// Brings the pages that a checkpoint waits for.
    pub(super) fn bring_awaited(&mut self, core: &mut Core) {
        let waits = self.checkpoint_of_pages().is_some();
        if let (Some(pager), Some(map), true) = (&mut self.pager, self.layer.cached_map_mut(), waits) {
            pager.bring_awaited(core, map);
        }
    }

    /// A copy's commit is durable.
    pub(super) fn write_page(&self, core: &mut Core, copy: PageCopy) {
        let ring = self.commits.ring();
        if let Some(pager) = &self.pager {
            pager.write(core, copy, ring.head(), ring.epoch());
        }
    }

    /// What no layer with a cache of pages may state.
    pub(super) fn refuse_pages(setup: &Setup, layer: &dyn TranslationLayer) -> Option<Fatal> {
        let Some(home) = setup.map_home else {
            let why = "the layer has a cache of its map's pages, and there is no place for the others";
            return layer.cached_map().map(|_| Fatal::Breach(why.to_owned()));
        };
        let Some(map) = layer.cached_map() else {
            let why = "there is a place for pages of the map, and the layer has it in memory";
            return Some(Fatal::Breach(why.to_owned()));
        };
        let fits = u64::from(home.at.blocks) >= crate::MapHome::blocks(map.count()) && home.pages >= MapCache::LEAST;
        let is_redone = layer.facts().journal.redo_blocks > 0;
        let why = "the map's pages do not fit where they are to lie, or are not in the journal as they are planned";
        (!fits || is_redone).then(|| Fatal::Breach(why.to_owned()))
    }
}
