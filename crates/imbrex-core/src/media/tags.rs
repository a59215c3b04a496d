//! Content tags: what each block holds, when a simulation verifies.
//!
//! A tag names the logical block and the version that was last written. Real data would do the same at a thousand times
//! the memory. Pages that hold one run of consecutive blocks of one version take no space of their own, and pages of a
//! few runs little: a prefilled disk is all such pages, also where its tracks or bands do not begin with a page.

use crate::block::Lba;

const PAGE: usize = 4096;
/// Runs of a page beyond which each of its blocks has a tag of its own.
const MOST_RUNS: usize = 64;
const VERSION_BITS: u32 = 28;

/// The content of a block: a version of a logical block, or zeros.
#[derive(Copy, Clone, PartialEq, Eq, Default)]
pub struct Tag(u64);

impl Tag {
    /// What was never written, and what padding holds.
    pub const ZERO: Self = Self(0);

    /// Version `version` of block `lba`; versions count from 1 and wrap after 2^28.
    #[must_use]
    #[inline]
    pub fn new(lba: Lba, version: u32) -> Self {
        debug_assert!(lba.0 < 1 << (64 - VERSION_BITS));
        let version = u64::from(version) & ((1 << VERSION_BITS) - 1);
        Self(lba.0 << VERSION_BITS | version.max(1))
    }

    /// The logical block, unless the content is zeros.
    #[must_use]
    #[inline]
    pub fn lba(self) -> Option<Lba> {
        (self != Self::ZERO).then_some(Lba(self.0 >> VERSION_BITS))
    }

    /// The version; 0 for zeros.
    #[must_use]
    #[inline]
    pub fn version(self) -> u32 {
        (self.0 & ((1 << VERSION_BITS) - 1)) as u32
    }

    /// This version of the block `blocks` further on; zeros stay zeros.
    #[must_use]
    #[inline]
    pub fn plus(self, blocks: u64) -> Self {
        if self == Self::ZERO { self } else { Self(self.0 + (blocks << VERSION_BITS)) }
    }
}

impl std::fmt::Debug for Tag {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.lba() {
            Some(lba) => write!(f, "{lba:?}v{}", self.version()),
            None => write!(f, "zeros"),
        }
    }
}

#[derive(Clone, Debug)]
enum Page {
    /// Block `i` of the page holds `tag.plus(i)`.
    Run(Tag),
    /// Block `i` holds `tag.plus(i - start)` of the last run whose `start` is not after it. The first starts at 0; no
    /// run continues the one before.
    Runs(Vec<(u16, Tag)>),
    Blocks(Box<[Tag; PAGE]>),
}

/// What a block holds according to `runs`.
fn in_runs(runs: &[(u16, Tag)], offset: usize) -> Tag {
    let after = runs.partition_point(|(start, _)| usize::from(*start) <= offset);
    let (start, tag) = runs[after - 1];
    tag.plus((offset - usize::from(start)) as u64)
}

/// Blocks from `from` up to `to` now hold `tag` and what continues it.
fn splice(runs: &mut Vec<(u16, Tag)>, from: usize, to: usize, tag: Tag) {
    let behind = (to < PAGE).then(|| in_runs(runs, to)).filter(|behind| *behind != tag.plus((to - from) as u64));
    let continues = from > 0 && in_runs(runs, from - 1).plus(1) == tag;
    let first = runs.partition_point(|(start, _)| usize::from(*start) < from);
    let end = runs.partition_point(|(start, _)| usize::from(*start) <= to);
    let new = (!continues).then_some((from as u16, tag)).into_iter().chain(behind.map(|behind| (to as u16, behind)));
    runs.splice(first..end, new);
}

/// The tag of every block of an address space.
#[derive(Clone, Debug, Default)]
pub struct TagMap {
    pages: Vec<Page>,
}

impl TagMap {
    /// All zeros.
    #[must_use]
    #[inline]
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes of memory that it takes, nearly.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let own = |page: &Page| match page {
            Page::Run(_) => 0,
            Page::Runs(runs) => runs.capacity() * size_of::<(u16, Tag)>(),
            Page::Blocks(_) => size_of::<[Tag; PAGE]>(),
        };
        (self.pages.capacity() * size_of::<Page>() + self.pages.iter().map(own).sum::<usize>()) as u64
    }

    /// What block `block` holds.
    #[must_use]
    #[inline]
    pub fn get(&self, block: u64) -> Tag {
        let (page, offset) = (block as usize / PAGE, block as usize % PAGE);
        match self.pages.get(page) {
            None => Tag::ZERO,
            Some(Page::Run(tag)) => tag.plus(offset as u64),
            Some(Page::Runs(runs)) => in_runs(runs, offset),
            Some(Page::Blocks(tags)) => tags[offset],
        }
    }

    /// What block `block` holds, and how many of the `blocks` from there on are seen at once to continue it, each
    /// holding `tag.plus(i)`. At least one; a run that goes on past a page comes in parts.
    #[must_use]
    #[inline]
    pub fn run(&self, block: u64, blocks: u32) -> (Tag, u32) {
        let (page, offset) = (block as usize / PAGE, block as usize % PAGE);
        let part = blocks.min((PAGE - offset) as u32);
        match self.pages.get(page) {
            None => (Tag::ZERO, part),
            Some(Page::Run(tag)) => (tag.plus(offset as u64), part),
            Some(Page::Runs(runs)) => {
                let after = runs.partition_point(|(start, _)| usize::from(*start) <= offset);
                let end = runs.get(after).map_or(PAGE, |(start, _)| usize::from(*start));
                (in_runs(runs, offset), part.min((end - offset) as u32))
            }
            Some(Page::Blocks(tags)) => {
                let tag = tags[offset];
                let run = tags[offset..offset + part as usize].iter().zip(0..).take_while(|&(&t, i)| t == tag.plus(i));
                (tag, run.count() as u32)
            }
        }
    }

    /// Block `block + i` now holds `tag.plus(i)`, for `i < blocks`.
    #[inline]
    pub fn set_run(&mut self, block: u64, blocks: u32, tag: Tag) {
        let mut done = 0;
        while done < blocks {
            let at = block + u64::from(done);
            let (page, offset) = (at as usize / PAGE, at as usize % PAGE);
            let part = (blocks - done).min((PAGE - offset) as u32);
            let first = tag.plus(u64::from(done));
            self.grow_to(page);
            if part as usize == PAGE {
                self.pages[page] = Page::Run(first);
            } else {
                self.set_part(page, offset, offset + part as usize, first);
            }
            done += part;
        }
    }

    /// A part of a page now holds `tag` and what continues it.
    fn set_part(&mut self, page: usize, from: usize, to: usize, tag: Tag) {
        let mut runs = match &mut self.pages[page] {
            Page::Run(old) if old.plus(from as u64) == tag => return,
            Page::Run(old) => vec![(0, *old)],
            Page::Runs(runs) => std::mem::take(runs),
            Page::Blocks(tags) => {
                let slots = tags[from..to].iter_mut();
                return slots.zip(0..).for_each(|(slot, i)| *slot = tag.plus(i));
            }
        };
        splice(&mut runs, from, to, tag);
        let (is_one, is_much) = (runs.len() == 1, runs.len() > MOST_RUNS);
        self.pages[page] = if is_one { Page::Run(runs[0].1) } else { Page::Runs(runs) };
        if is_much {
            self.unpack(page);
        }
    }

    /// Copies what `from` holds in `[source, source + blocks)` to `[target, target + blocks)`.
    #[inline]
    pub fn copy_from(&mut self, from: &Self, source: u64, target: u64, blocks: u32) {
        let mut done = 0;
        while done < blocks {
            let at = source + u64::from(done);
            let offset = at as usize % PAGE;
            let part = (blocks - done).min((PAGE - offset) as u32);
            match from.pages.get(at as usize / PAGE) {
                None => self.set_run(target + u64::from(done), part, Tag::ZERO),
                Some(Page::Run(tag)) => self.set_run(target + u64::from(done), part, tag.plus(offset as u64)),
                Some(Page::Runs(_)) => {
                    let (tag, run) = from.run(at, part);
                    self.set_run(target + u64::from(done), run, tag);
                    done += run;
                    continue;
                }
                Some(Page::Blocks(tags)) => {
                    self.set_each(target + u64::from(done), &tags[offset..offset + part as usize]);
                }
            }
            done += part;
        }
    }

    /// Copies inside one address space. The source is read whole before the target is written.
    #[inline]
    pub fn copy_within(&mut self, source: u64, target: u64, blocks: u32) {
        let mut taken = Self::new();
        taken.copy_from(self, source, 0, blocks);
        self.copy_from(&taken, 0, target, blocks);
    }

    /// Block `block + i` now holds `tags[i]`.
    fn set_each(&mut self, block: u64, tags: &[Tag]) {
        let (mut at, mut rest) = (block as usize, tags);
        while !rest.is_empty() {
            let offset = at % PAGE;
            let (part, after) = rest.split_at(rest.len().min(PAGE - offset));
            self.grow_to(at / PAGE);
            self.unpack(at / PAGE)[offset..offset + part.len()].copy_from_slice(part);
            (at, rest) = (at + part.len(), after);
        }
    }

    fn grow_to(&mut self, page: usize) {
        if self.pages.len() <= page {
            self.pages.resize(page + 1, Page::Run(Tag::ZERO));
        }
    }

    fn unpack(&mut self, page: usize) -> &mut [Tag; PAGE] {
        let runs = match &mut self.pages[page] {
            Page::Run(tag) => vec![(0, *tag)],
            Page::Runs(runs) => std::mem::take(runs),
            Page::Blocks(_) => Vec::new(),
        };
        if !runs.is_empty() {
            let mut tags = Box::new([Tag::ZERO; PAGE]);
            let ends = runs.iter().skip(1).map(|(start, _)| usize::from(*start)).chain([PAGE]);
            for (&(start, tag), end) in runs.iter().zip(ends) {
                let slots = tags[usize::from(start)..end].iter_mut();
                slots.zip(0..).for_each(|(slot, i)| *slot = tag.plus(i));
            }
            self.pages[page] = Page::Blocks(tags);
        }
        match &mut self.pages[page] {
            Page::Blocks(tags) => tags,
            Page::Run(_) | Page::Runs(_) => unreachable!("the page was unpacked above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[test]
    fn the_memory_is_that_of_pages_with_a_tag_for_each_block() {
        let mut tags = TagMap::new();
        tags.set_run(0, 1 << 30, Tag::new(Lba(0), 1));
        let whole = tags.bytes();
        assert!(whole < 16 << 20, "{whole}");
        (0..PAGE as u64).for_each(|i| tags.set_run(i, 1, Tag::new(Lba(i * 3), 9)));
        assert_eq!(tags.bytes(), whole + 8 * PAGE as u64);
    }

    #[test]
    fn a_page_of_a_few_runs_keeps_no_blocks() {
        let mut tags = TagMap::new();
        (0..100u64).for_each(|i| tags.set_run(i * 1000, 1000, Tag::new(Lba(i * 7000), i as u32 + 1)));
        assert!(tags.pages.iter().all(|page| matches!(page, Page::Runs(runs) if runs.len() <= 6)));
        (0..100u64).for_each(|i| tags.set_run(i * 1000, 1000, Tag::new(Lba(i * 1000), 9)));
        assert!(tags.pages[..24].iter().all(|page| matches!(page, Page::Run(_))));
        (0..PAGE as u64).for_each(|i| tags.set_run(i, 1, Tag::new(Lba(i * 3), 9)));
        assert!(matches!(tags.pages[0], Page::Blocks(_)));
    }

    proptest! {
        /// Runs, copies and overwrites agree with a plain map of blocks.
        #[test]
        fn behaves_like_a_plain_map(steps in prop::collection::vec((0u8..3, 0u64..9000, 0u64..9000, 1u32..6000), 1..60)) {
            let mut tags = TagMap::new();
            let mut plain: HashMap<u64, Tag> = HashMap::new();
            for (version, (kind, a, b, n)) in steps.into_iter().enumerate() {
                match kind {
                    0 => {
                        let tag = Tag::new(Lba(b), version as u32 + 1);
                        tags.set_run(a, n, tag);
                        plain.extend((0..u64::from(n)).map(|i| (a + i, tag.plus(i))));
                    }
                    1 => {
                        tags.set_run(a, n, Tag::ZERO);
                        plain.extend((0..u64::from(n)).map(|i| (a + i, Tag::ZERO)));
                    }
                    _ => {
                        tags.copy_within(a, b, n);
                        let taken: Vec<Tag> =
                            (0..u64::from(n)).map(|i| plain.get(&(a + i)).copied().unwrap_or_default()).collect();
                        plain.extend(taken.into_iter().enumerate().map(|(i, tag)| (b + i as u64, tag)));
                    }
                }
            }
            for block in 0..16_000 {
                prop_assert_eq!(tags.get(block), plain.get(&block).copied().unwrap_or_default());
            }
            let mut block = 0;
            while block < 16_000 {
                let (tag, run) = tags.run(block, 5000);
                prop_assert!((1..=5000).contains(&run));
                for i in 0..u64::from(run) {
                    prop_assert_eq!(tags.get(block + i), tag.plus(i));
                }
                block += u64::from(run);
            }
        }
    }
}
