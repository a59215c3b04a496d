//! Bringing pages from home.

use bytes::Bytes;

use super::{Pager, is_torn_page, newest_page};
use crate::core::{Core, Purpose};
use crate::fatal::Fatal;
use crate::{IoKind, IoResult};
use imbrex_core::block::Extent;
use imbrex_core::layer::CachedMap;

/// Pages that are read ahead for a checkpoint at a time.
pub(super) const AHEAD: usize = 32;
/// How often a read is tried before a block counts as unreadable.
const TRIES: u32 = 5;

/// A page that is being read.
#[derive(Default)]
pub(super) struct Load {
    /// How often the read under way has failed.
    failures: u32,
    /// What has been found in its blocks when they cannot be read together.
    apart: Option<Vec<Option<Bytes>>>,
    /// The last round in which it was asked for.
    pub asked: u64,
}

impl Load {
    /// Takes what a read gave. Both blocks, when all is known.
    fn answered(&mut self, result: &IoResult, block_bytes: usize) -> Option<[Option<Bytes>; 2]> {
        let data = if let IoResult::Data(data) = result { Some(data) } else { None };
        if let (Some(data), None) = (data, &self.apart) {
            return Some([data.slice(..block_bytes), data.slice(block_bytes..)].map(Some));
        }
        if data.is_none() {
            self.failures += 1;
            if self.failures < TRIES {
                return None;
            }
        }
        self.failures = 0;
        match &mut self.apart {
            None => self.apart = Some(Vec::new()),
            Some(found) => found.push(data.cloned()),
        }
        match self.apart.as_deref() {
            Some([first, second]) => Some([first.clone(), second.clone()]),
            _ => None,
        }
    }
}

impl Pager {
    /// Reads a page.
    pub(super) fn load(&mut self, core: &mut Core, page: u64) {
        self.loads.insert(page, Load { asked: self.round, ..Load::default() });
        self.read(core, page);
    }

    fn read(&self, core: &mut Core, page: u64) {
        let apart = self.loads.get(&page).and_then(|load| load.apart.as_ref());
        let (first, blocks) = apart.map_or((0, 2), |found| (found.len(), 1));
        core.issue(Purpose::PageRead(page), IoKind::Read(Extent::new(self.place(page, first), blocks)));
    }

    /// A read of a page has ended, in the epoch `epoch`.
    ///
    /// # Errors
    /// What is damaged.
    pub fn loaded(
        &mut self,
        core: &mut Core,
        map: &mut dyn CachedMap,
        (page, epoch): (u64, u32),
        result: &IoResult,
    ) -> Result<(), Fatal> {
        let Some(load) = self.loads.get_mut(&page) else { return Ok(()) };
        let Some(blocks) = load.answered(result, core.setup.block_bytes) else {
            self.read(core, page);
            return Ok(());
        };
        self.loads.remove(&page);
        let newest = newest_page(blocks.each_ref().map(|block| block.as_deref()), core.setup.identity, page);
        // A write that the power cut short leaves a block that is not whole, and then the journal has what was in it. A
        // page that nothing in the journal is about has been written to the end.
        let identity = core.setup.identity;
        let is_bad = |block: &Option<Bytes>| block.as_ref().is_none_or(|block| is_torn_page(block, identity, page));
        let (is_bad, is_awaited) = (blocks.iter().any(is_bad), self.awaited.contains(&page));
        if (newest.is_none() || is_bad) && !is_awaited {
            return Err(Fatal::PageDamaged { page, block: self.place(page, 0).block() });
        }
        self.put(map, page, newest, epoch)?;
        if is_bad {
            // It is made whole before the journal's tail passes what is known of it.
            self.change_since(page, 0);
        }
        Ok(())
    }
}
