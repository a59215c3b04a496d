//! Content tags: what each block holds, when a simulation verifies.
//!
//! A tag names the logical block and the version that was last written. Real data would do the same at a thousand times
//! the memory. Pages that hold one run of consecutive blocks of one version (a prefilled disk is all such pages) take no
//! space of their own.

use crate::block::Lba;

const PAGE: usize = 4096;
const VERSION_BITS: u32 = 28;

/// The content of a block: a version of a logical block, or zeros.
#[derive(Copy, Clone, PartialEq, Eq, Default)]
pub struct Tag(u64);

impl Tag {
    /// What was never written, and what padding holds.
    pub const ZERO: Self = Self(0);

    /// Version `version` of block `lba`; versions count from 1 and wrap after 2^28.
    #[must_use]
    pub fn new(lba: Lba, version: u32) -> Self {
        debug_assert!(lba.0 < 1 << (64 - VERSION_BITS));
        let version = u64::from(version) & ((1 << VERSION_BITS) - 1);
        Self(lba.0 << VERSION_BITS | version.max(1))
    }

    /// The logical block, unless the content is zeros.
    #[must_use]
    pub fn lba(self) -> Option<Lba> {
        (self != Self::ZERO).then_some(Lba(self.0 >> VERSION_BITS))
    }

    /// The version; 0 for zeros.
    #[must_use]
    pub fn version(self) -> u32 {
        (self.0 & ((1 << VERSION_BITS) - 1)) as u32
    }

    /// The same version of the block `blocks` further on; zeros stay zeros.
    #[must_use]
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
    Blocks(Box<[Tag; PAGE]>),
}

/// The tag of every block of an address space.
#[derive(Clone, Debug, Default)]
pub struct TagMap {
    pages: Vec<Page>,
}

impl TagMap {
    /// All zeros.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What block `block` holds.
    #[must_use]
    pub fn get(&self, block: u64) -> Tag {
        let (page, offset) = (block as usize / PAGE, block as usize % PAGE);
        match self.pages.get(page) {
            None => Tag::ZERO,
            Some(Page::Run(tag)) => tag.plus(offset as u64),
            Some(Page::Blocks(tags)) => tags[offset],
        }
    }

    /// What block `block` holds, and how many of the `blocks` from there on are seen at once to continue it, each holding
    /// `tag.plus(i)`. At least one; a run that goes on past a page comes in parts.
    #[must_use]
    pub fn run(&self, block: u64, blocks: u32) -> (Tag, u32) {
        let (page, offset) = (block as usize / PAGE, block as usize % PAGE);
        let part = blocks.min((PAGE - offset) as u32);
        match self.pages.get(page) {
            None => (Tag::ZERO, part),
            Some(Page::Run(tag)) => (tag.plus(offset as u64), part),
            Some(Page::Blocks(tags)) => {
                let tag = tags[offset];
                let run = tags[offset..offset + part as usize].iter().zip(0..).take_while(|&(&t, i)| t == tag.plus(i));
                (tag, run.count() as u32)
            }
        }
    }

    /// Block `block + i` now holds `tag.plus(i)`, for `i < blocks`.
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
            } else if !matches!(self.pages[page], Page::Run(tag) if tag.plus(offset as u64) == first) {
                let tags = self.unpack(page);
                for (i, slot) in tags[offset..offset + part as usize].iter_mut().enumerate() {
                    *slot = first.plus(i as u64);
                }
            }
            done += part;
        }
    }

    /// Copies what `from` holds in `[source, source + blocks)` to `[target, target + blocks)`.
    pub fn copy_from(&mut self, from: &Self, source: u64, target: u64, blocks: u32) {
        let mut done = 0;
        while done < blocks {
            let at = source + u64::from(done);
            let offset = at as usize % PAGE;
            let part = (blocks - done).min((PAGE - offset) as u32);
            match from.pages.get(at as usize / PAGE) {
                None => self.set_run(target + u64::from(done), part, Tag::ZERO),
                Some(Page::Run(tag)) => self.set_run(target + u64::from(done), part, tag.plus(offset as u64)),
                Some(Page::Blocks(tags)) => {
                    self.set_each(target + u64::from(done), &tags[offset..offset + part as usize]);
                }
            }
            done += part;
        }
    }

    /// Copies inside one address space. The source is read whole before the target is written.
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
        if let Page::Run(tag) = self.pages[page] {
            let mut tags = Box::new([Tag::ZERO; PAGE]);
            for (i, slot) in tags.iter_mut().enumerate() {
                *slot = tag.plus(i as u64);
            }
            self.pages[page] = Page::Blocks(tags);
        }
        match &mut self.pages[page] {
            Page::Blocks(tags) => tags,
            Page::Run(_) => unreachable!("the page was unpacked above"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        /// Runs, copies and overwrites agree with a plain map of blocks.
        #[test]
        fn behaves_like_a_plain_map(steps in prop::collection::vec((0u8..3, 0u64..9000, 0u64..9000, 1u32..6000), 1..25)) {
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
