//! The pages of a map that is not in memory as a whole: which are cached, which are being read, and which go home.
//!
//! The journal is a write-ahead log for them. A page is copied when a commit begins, and the copy is written home when
//! the commit is durable: all that is in it is in the journal then (rule 11). It goes to the one of its two blocks that
//! does not hold its newest durable version, so that a torn write harms nothing, and is not written again before that
//! one is durable. A checkpoint is complete when no page is changed that was changed before it began (rule 12).

mod home;
mod loads;
mod turn;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use foldhash::fast::FixedState;

use super::IoKind;
use super::Setup;
use super::core::{Core, Purpose};
use super::rules::Rule;
use super::setup::MapHome;
use home::Unsealed;
pub use home::{Newest, PageHeader, decode_page, encode_page, is_torn_page, newest_page};
use imbrex_core::block::{Address, Extent, Pba};
use imbrex_core::layer::{CachedMap, Corrupt, Touch};
use imbrex_core::plan::Record;
use loads::Load;
use turn::Turn;

/// The most pages that a commit sends home.
pub(super) const BATCH: usize = 1024;
/// Pages that one may send home whatever else it has.
const FEW: usize = 64;

/// Records of the map that may lie behind the journal's tail: recovery keeps them until their pages come. As many for a
/// page of the cache, but at least so many for each that a commit gathers, and whatever that is at most.
const LATE_PER_PAGE: u64 = 8;
const LATE_PER_GATHERED: u64 = 16;
const MOST_LATE: u64 = 1 << 19;

/// How many records of the map may lie behind the journal's tail.
pub(super) fn most_late(home: &MapHome, gather: usize) -> u64 {
    (LATE_PER_PAGE * u64::from(home.pages)).min(MOST_LATE).max(LATE_PER_GATHERED * gather as u64)
}

/// Whether a record changes pages of a map.
pub(super) fn waits_for_pages(record: &Record) -> bool {
    matches!(record, Record::Map { .. } | Record::Copy { .. } | Record::Unmap(_) | Record::Lost(_))
}

/// A page in memory.
#[derive(Copy, Clone, Debug, Default)]
struct Cached {
    /// Which of its blocks holds its newest version; nothing if none of them matters.
    newest: Option<usize>,
    /// The first commit with a change that no copy under way has.
    since: Option<u64>,
    /// Whether it has to be written to both of its blocks: one of them need not be whole, and which is not known.
    twice: bool,
    /// Whether it was used since its turn to leave last came.
    is_used: bool,
    /// The last round in which it was asked for.
    asked: u64,
}

/// A copy of a page on its way home.
#[derive(Copy, Clone, Debug)]
struct Copied {
    /// The first commit with a change that is not at home.
    since: u64,
    /// The block that it goes to.
    block: usize,
    /// How many commits had begun when it was written; nothing before.
    written: Option<u64>,
}

/// A copy of a page that waits for its commit.
#[derive(Debug)]
pub(super) struct PageCopy {
    page: u64,
    block: usize,
    content: Unsealed,
}

/// Whether pages are cached that were asked for.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Brought {
    /// All of them were.
    Before,
    /// All of them are now: what they say may ask for more.
    Now,
    /// Some are not yet.
    NotYet,
}

/// The cache of a map's pages, as far as it is not the layer's.
pub(super) struct Pager {
    home: MapHome,
    cached: HashMap<u64, Cached, FixedState>,
    turn: Turn,
    loads: BTreeMap<u64, Load>,
    /// Counts how often all pages were let go. Those that were asked for since must not leave.
    round: u64,
    /// How many these are.
    kept: usize,
    /// Changed pages, by the first commit with a change that no copy under way has.
    changed: BTreeSet<(u64, u64)>,
    /// Pages of which a copy is under way, or written and not durable.
    copies: BTreeMap<u64, Copied>,
    /// Pages that records of the journal wait for.
    awaited: BTreeSet<u64>,
    /// Commits that have begun.
    commits: u64,
    /// Whether a page is wanted for which there is no room before others are at home.
    is_short: bool,
}

impl Pager {
    /// The cache of a layer that has been folded: empty, with pages that records wait for.
    pub fn new(home: MapHome, awaited: BTreeSet<u64>) -> Self {
        Self {
            home,
            cached: HashMap::default(),
            turn: Turn::default(),
            loads: BTreeMap::new(),
            round: 1,
            kept: 0,
            changed: BTreeSet::new(),
            copies: BTreeMap::new(),
            awaited,
            commits: 0,
            is_short: false,
        }
    }

    /// Where one of a page's blocks lies.
    fn place(&self, page: u64, block: usize) -> Pba {
        self.home.at.start.plus(2 * page + block as u64)
    }

    /// The most pages in the cache.
    pub fn most(&self) -> usize {
        self.home.pages as usize
    }

    /// Whether pages may be brought ahead: what comes first keeps less than a quarter of the cache.
    pub fn has_room_ahead(&self) -> bool {
        4 * self.kept < self.most() && !self.is_short
    }

    /// What was asked for is planned or given up: any page may leave.
    pub fn let_go(&mut self) {
        self.round += 1;
        self.kept = 0;
        self.is_short = false;
    }

    /// Whether these pages are cached. Those that are not are brought, as far as there is room; all of them stay until
    /// they are let go.
    ///
    /// # Errors
    /// What a page says that cannot be.
    pub fn bring(&mut self, core: &mut Core, map: &mut dyn CachedMap, pages: &[u64]) -> Result<Brought, Corrupt> {
        // What is asked for first is at most what the cache has room for.
        if self.kept > 0 && self.kept + pages.len() > self.most() && self.kept + self.not_kept(pages) > self.most() {
            return Ok(Brought::NotYet);
        }
        let mut brought = Brought::Before;
        for &page in pages {
            match self.bring_one(core, map, page)? {
                Brought::Before => {}
                Brought::Now if brought == Brought::NotYet => {}
                other => brought = other,
            }
        }
        Ok(brought)
    }

    /// How many of some pages have not been asked for in this round.
    fn not_kept(&self, pages: &[u64]) -> usize {
        let asked = |page| self.cached.get(page).map(|cached| cached.asked);
        let asked = |page| asked(page).or_else(|| self.loads.get(page).map(|load| load.asked));
        pages.iter().filter(|page| asked(page) != Some(self.round)).count()
    }

    fn bring_one(&mut self, core: &mut Core, map: &mut dyn CachedMap, page: u64) -> Result<Brought, Corrupt> {
        let round = self.round;
        if let Some(cached) = self.cached.get_mut(&page) {
            self.kept += usize::from(cached.asked != round);
            (cached.asked, cached.is_used) = (round, true);
            return Ok(Brought::Before);
        }
        if let Some(load) = self.loads.get_mut(&page) {
            self.kept += usize::from(load.asked != round);
            load.asked = round;
            return Ok(Brought::NotYet);
        }
        self.kept += 1;
        if !self.make_room(map) {
            return Ok(Brought::NotYet);
        }
        if !map.is_blank(page) {
            self.load(core, page);
            return Ok(Brought::NotYet);
        }
        self.put(map, page, None, 0)?;
        self.cached.entry(page).or_default().asked = round;
        Ok(Brought::Now)
    }

    /// Makes room for a page.
    fn make_room(&mut self, map: &mut dyn CachedMap) -> bool {
        while self.cached.len() + self.loads.len() >= self.most() {
            let clean = self.cached.len() - self.changed.len().min(self.cached.len());
            let (cached, copies, round) = (&mut self.cached, &self.copies, self.round);
            let leaves = |page: u64| {
                let Some(cached) = cached.get_mut(&page) else { return false };
                let was_used = std::mem::take(&mut cached.is_used);
                !was_used && cached.since.is_none() && cached.asked != round && !copies.contains_key(&page)
            };
            let Some(page) = (clean > 0).then(|| self.turn.next(leaves)).flatten() else {
                self.is_short = true;
                return false;
            };
            map.evict(page);
            self.cached.remove(&page);
        }
        true
    }

    /// A page is in the cache from now on.
    fn add(&mut self, page: u64, newest: Option<usize>) {
        self.cached.insert(page, Cached { newest, ..Cached::default() });
        self.turn.add(page);
    }

    /// Puts a page into the layer's cache.
    fn put(
        &mut self,
        map: &mut dyn CachedMap,
        page: u64,
        newest: Option<Newest<'_>>,
        epoch: u32,
    ) -> Result<(), Corrupt> {
        let home =
            newest.map(|newest| imbrex_core::layer::HomePage { is_of_epoch: newest.epoch == epoch, ..newest.page });
        let differs = map.put(page, home)?;
        self.add(page, newest.map(|newest| newest.block));
        if self.awaited.remove(&page) && differs {
            self.change(page, 0);
        }
        Ok(())
    }

    /// A page has been changed, first by what the commit `since` has.
    fn change(&mut self, page: u64, since: u64) {
        if self.cached.get(&page).is_none_or(|cached| cached.since.is_none()) {
            self.change_since(page, since);
        }
    }

    /// A page counts as changed since the commit `since`, whenever it was.
    fn change_since(&mut self, page: u64, since: u64) {
        let cached = self.cached.entry(page).or_default();
        if let Some(before) = cached.since.replace(since) {
            self.changed.remove(&(before, page));
        }
        self.changed.insert((since, page));
    }

    /// Takes over what a plan did to pages.
    pub fn touched(&mut self, map: &mut dyn CachedMap) {
        let next = self.commits + 1;
        map.touched(&mut |page, touch| match self.cached.get(&page) {
            Some(cached) if cached.since.is_some() || touch == Touch::Read => {}
            Some(_) => self.change_since(page, next),
            None => {
                self.begun(page);
                if touch != Touch::Read {
                    self.change(page, next);
                }
            }
        });
    }

    /// A page was begun from nothing: what lies at home is of no use, and what waits for it.
    fn begun(&mut self, page: u64) {
        self.loads.remove(&page);
        self.add(page, None);
        if self.awaited.remove(&page) {
            self.cached.entry(page).or_default().twice = true;
            self.change(page, 0);
        }
    }

    /// A commit begins that has all that was planned. Its number.
    pub fn commit_begins(&mut self) -> u64 {
        self.commits += 1;
        self.commits
    }

    /// Whether a page that was changed before the commit `number` is not at home.
    pub fn any_before(&self, number: u64) -> bool {
        let is_away = |copied: &Copied| copied.written.is_none() && copied.since < number;
        !self.awaited.is_empty()
            || self.changed.first().is_some_and(|(since, _)| *since < number)
            || self.copies.values().any(is_away)
    }

    /// Brings pages that records wait for: a checkpoint cannot be completed without them.
    pub fn bring_awaited(&mut self, core: &mut Core, map: &mut dyn CachedMap) {
        let waiting: Vec<u64> = self.awaited.iter().copied().take(loads::AHEAD).collect();
        for page in waiting {
            if self.loads.len() < loads::AHEAD && !self.loads.contains_key(&page) && self.make_room(map) {
                self.load(core, page);
            }
        }
    }

    /// Whether a copy of any changed page may be made: of the others one is under way.
    fn may_copy(&self) -> bool {
        self.changed.iter().any(|(_, page)| !self.copies.contains_key(page))
    }

    /// Whether a commit is needed for room in the cache.
    pub fn wants_commit(&self) -> bool {
        self.is_short && (self.may_copy() || self.copies.values().any(|copied| copied.written.is_some()))
    }

    /// Whether a commit would bring a checkpoint on that began with the commit `number`.
    pub fn can_go_on(&self, number: u64) -> bool {
        let may_copy = |(since, page): &(u64, u64)| *since < number && !self.copies.contains_key(page);
        self.changed.iter().take_while(|(since, _)| *since < number).any(may_copy) || !self.any_before(number)
    }

    /// Copies pages that go home with the commit that begins: those changed before the commit `number`, if a checkpoint
    /// waits for them, and the oldest ones as long as more than half of the cache are changed, or a page finds no room.
    /// They are not many more than the `records` that the commit has, so that it does not take much longer for them.
    pub fn copy(&mut self, map: &dyn CachedMap, setup: &Setup, number: Option<u64>, records: usize) -> Vec<PageCopy> {
        let away = self.changed.len() + self.copies.len();
        let most = if self.is_short { BATCH } else { (2 * records).clamp(FEW, BATCH) };
        let over = if self.is_short { BATCH } else { away.saturating_sub(self.most() / 2) };
        let mut chosen = Vec::new();
        for &(since, page) in &self.changed {
            let is_old = number.is_some_and(|number| since < number);
            if chosen.len() >= most || (!is_old && chosen.len() >= over) {
                break;
            }
            if !self.copies.contains_key(&page) {
                chosen.push((since, page));
            }
        }
        chosen.into_iter().map(|(since, page)| self.copy_one(map, setup, since, page)).collect()
    }

    fn copy_one(&mut self, map: &dyn CachedMap, setup: &Setup, since: u64, page: u64) -> PageCopy {
        self.changed.remove(&(since, page));
        let cached = self.cached.entry(page).or_default();
        cached.since = None;
        let other = |newest: usize| if setup.rules.keeps(Rule::OtherBlock) { 1 - newest } else { newest };
        let block = cached.newest.map_or(0, other);
        self.copies.insert(page, Copied { since, block, written: None });
        let content = Unsealed::new(setup.block_bytes, |out| map.content(page, out));
        PageCopy { page, block, content }
    }

    /// Writes a copy home whose commit is durable: all before the journal's block `version` is.
    pub fn write(&self, core: &mut Core, copy: PageCopy, version: u64, epoch: u32) {
        let PageCopy { page, block, content } = copy;
        let content = content.seal(PageHeader { identity: core.setup.identity, page, version, epoch });
        core.issue(Purpose::PageWrite(page), IoKind::Write(Extent::new(self.place(page, block), 1), content));
    }

    /// A copy has been written.
    pub fn written(&mut self, page: u64) {
        if let Some(copied) = self.copies.get_mut(&page) {
            copied.written = Some(self.commits);
        }
    }

    /// The last commit that has begun is durable, and what had been written before it began.
    pub fn commit_ended(&mut self) {
        let (commits, cached, mut again) = (self.commits, &mut self.cached, Vec::new());
        self.copies.retain(|page, copied| {
            let ends = copied.written.is_some_and(|written| written < commits);
            if ends && let Some(cached) = cached.get_mut(page) {
                cached.newest = Some(copied.block);
                again.extend(std::mem::take(&mut cached.twice).then_some(*page));
            }
            !ends
        });
        again.into_iter().for_each(|page| self.change_since(page, 0));
    }
}
