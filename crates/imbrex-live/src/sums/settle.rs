//! What is made of regions that were being written when the store was last in use, without an orderly end.

use std::sync::atomic::Ordering;

use imbrex::block::{Extent, Pba};
use imbrex::media::Media;

use super::table::{Sum, sum};
use super::{Checked, PART};
use crate::store::StoreError;

impl Checked {
    /// Reads what lies in regions that were being written when the power failed, and sums it anew.
    pub(super) fn settle(&self) -> Result<(), StoreError> {
        if self.is_settled.load(Ordering::Acquire) {
            return Ok(());
        }
        let mut unsettled = self.unsettled();
        let media = self.below.media();
        for region in unsettled.iter().copied() {
            let all = self.intents().extent(region, self.blocks);
            let mut left = all;
            while !left.is_empty() {
                let part = left.first(left.blocks.min(PART));
                self.sum_anew(media.as_ref(), part)?;
                left = left.skip(part.blocks);
            }
        }
        self.intents().found(&unsettled);
        let anew = self.resummed.load(Ordering::Relaxed);
        if !unsettled.is_empty() {
            let regions = unsettled.len();
            tracing::info!(
                regions,
                blocks = anew,
                "what was being written when the volume was last served is summed anew"
            );
        }
        unsettled.clear();
        self.is_settled.store(true, Ordering::Release);
        Ok(())
    }

    fn sum_anew(&self, media: &dyn Media, part: Extent<Pba>) -> Result<(), StoreError> {
        let one_by_one = self.is_exempt(part) || media.read(part).is_err();
        let content = if one_by_one { None } else { self.below.read(part).ok() };
        let size = self.below.block_bytes() as usize;
        let sums: Vec<Sum> = match content {
            Some(content) => part.iter().zip(content.chunks(size)).map(|(block, bytes)| sum(block, bytes)).collect(),
            None => part.iter().map(|block| self.sum_of(media, block)).collect(),
        };
        let mut table = self.table();
        let before = table.get(self.below.as_ref(), part)?;
        let changed =
            before.iter().zip(&sums).filter(|(before, now)| before.is_some() && now.is_some() && before != now);
        self.resummed.fetch_add(changed.count() as u64, Ordering::Relaxed);
        if before != sums {
            table.set(self.below.as_ref(), part, &sums)?;
        }
        Ok(())
    }

    /// The sum of what a block holds, if it can be read and needs one.
    fn sum_of(&self, media: &dyn Media, block: Pba) -> Sum {
        let at = Extent::new(block, 1);
        if self.is_exempt(at) || media.read(at).is_err() {
            return None;
        }
        self.below.read(at).ok().and_then(|content| sum(block, &content))
    }
}
