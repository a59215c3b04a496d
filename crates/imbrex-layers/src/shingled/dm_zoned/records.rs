//! The durable state as records: applying them, and giving them for a checkpoint.
//!
//! A zone's role is a [`Record::Unit`], a host write a [`Record::Map`]. When a zone changes its role the blocks need no
//! records of their own: they keep their offsets. A checkpoint states the validity of 64 blocks as one
//! [`Record::Note`], and runs of whole words as one `Map`.

use super::DmZoned;
use super::chunks::Role;
use super::zones::NONE;
use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::Corrupt;
use imbrex_core::plan::{Plan, Record, Unit};

/// Blocks whose validity a [`Record::Note`] states.
pub(super) const WORD: u32 = 64;
/// Words that a key can tell apart.
pub(super) const MOST_WORDS: u64 = 1 << 31;
/// Words of a region. With both roles, the chunk's zones and the most lost blocks that is less than a journal entry
/// holds.
const REGION_WORDS: u32 = 96;

/// How a [`Record::Unit`] says whose zone it is.
pub(super) fn owner(chunk: u32, role: Role) -> u32 {
    chunk << 1 | role as u32
}

/// What [`owner`] said.
pub(super) fn owned(owner: u32) -> Option<(u32, Role)> {
    (owner != NONE).then_some((owner >> 1, Role::BOTH[(owner & 1) as usize]))
}

impl DmZoned {
    fn words_of_chunk(&self) -> u32 {
        self.pool.zone_blocks().div_ceil(WORD)
    }

    /// Plans a change of the durable state and makes it.
    pub(super) fn change(&mut self, record: Record, plan: &mut Plan) {
        plan.record(record);
        let applied = self.apply_record(&record);
        debug_assert!(applied.is_ok(), "a layer's own record does not contradict it: {applied:?}");
    }

    pub(super) fn apply_record(&mut self, record: &Record) -> Result<(), Corrupt> {
        let capacity = self.chunks.capacity();
        match *record {
            Record::Map { at, to } => return self.apply_map(at, to),
            Record::Unit { unit, is } => return self.apply_role(unit, is),
            Record::Note { key, value } => return self.apply_word(key, value),
            Record::Unmap(at) if at.is_within(capacity) => {
                self.invalidate(at);
                self.lost.remove(at);
            }
            Record::Lost(at) if at.is_within(capacity) => {
                self.invalidate(at);
                self.lost.insert(at);
            }
            other => return Err(Corrupt(format!("dm-zoned cannot take the record {other:?}"))),
        }
        Ok(())
    }

    fn invalidate(&mut self, at: Extent<Lba>) {
        Role::BOTH.iter().for_each(|&role| self.chunks.invalidate(at, role));
    }

    /// Blocks are valid where a record puts them. While a checkpoint is being folded a zone may still have no owner;
    /// what is valid in it then follows with its chunk's region.
    fn apply_map(&mut self, at: Extent<Lba>, to: Pba) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record puts {at:?} at {to:?}, where it cannot be"));
        let (zone, offset) = self.pool.locate(to).ok_or_else(wrong)?;
        if !at.is_within(self.chunks.capacity()) {
            return Err(wrong());
        }
        let (chunk, expected) = self.chunks.chunk_of(at.start);
        if offset != expected || at.blocks > self.pool.zone_blocks() - offset {
            return Err(wrong());
        }
        match owned(self.pool.owner(zone)) {
            Some((owner, role)) if owner == chunk => self.chunks.set_valid(at, role),
            Some(_) => return Err(wrong()),
            None => {}
        }
        self.lost.remove(at);
        Ok(())
    }

    /// Exactly these blocks of a word are valid in a chunk's zone.
    fn apply_word(&mut self, key: u32, value: u64) -> Result<(), Corrupt> {
        let (word, role) = (key >> 1, Role::BOTH[(key & 1) as usize]);
        let (chunk, word) = (word / self.words_of_chunk(), word % self.words_of_chunk());
        let offset = word * WORD;
        let blocks = WORD.min(self.pool.zone_blocks() - offset);
        if chunk >= self.chunks.len() || (blocks < WORD && value >> blocks != 0) {
            return Err(Corrupt(format!("a record notes {value:#x} under {key}, beyond the last chunk or its end")));
        }
        for i in 0..blocks {
            let block = Extent::new(self.chunks.lba(chunk, offset + i), 1);
            if value >> i & 1 == 1 { self.chunks.set_valid(block, role) } else { self.chunks.invalidate(block, role) }
        }
        Ok(())
    }

    /// A zone's role changes. A buffer zone that becomes the data zone, or is given up, has been merged with the data
    /// zone: all valid blocks lie in what is the data zone then.
    fn apply_role(&mut self, unit: Unit, is: u32) -> Result<(), Corrupt> {
        let wrong = || Corrupt(format!("a record gives {unit:?} the role {is}; one of the two does not exist"));
        let zone = self.pool.find(unit).ok_or_else(wrong)?;
        let was = owned(self.pool.owner(zone));
        let Some((chunk, role)) = owned(is) else {
            if let Some((chunk, role)) = was {
                self.chunks.merge(chunk);
                self.unlink(chunk, role);
            }
            return Ok(());
        };
        if chunk >= self.chunks.len() {
            return Err(wrong());
        }
        match was {
            Some((owner, _)) if owner != chunk => {
                return Err(Corrupt(format!("a record gives {unit:?} to chunk {chunk} while it is that of {owner}")));
            }
            Some((_, was)) if was == role => return Ok(()),
            Some((_, was)) => {
                self.chunks.merge(chunk);
                self.unlink(chunk, was);
            }
            None => {}
        }
        self.unlink(chunk, role);
        self.chunks.set_zone(chunk, role, Some(zone));
        self.pool.set_owner(zone, is);
        self.recency.push(&self.pool, zone);
        Ok(())
    }

    /// The chunk has no zone in this role any more.
    fn unlink(&mut self, chunk: u32, role: Role) {
        if let Some(zone) = self.chunks.zone(chunk, role) {
            self.chunks.set_zone(chunk, role, None);
            self.pool.set_owner(zone, NONE);
            self.recency.remove(&self.pool, zone);
        }
    }

    /// Restates the region that begins at block `from` and says where the next begins.
    pub(super) fn checkpoint_region(&self, from: Lba, plan: &mut Plan) -> Lba {
        let (chunk, offset) = self.chunks.chunk_of(from);
        let zone_blocks = u64::from(self.pool.zone_blocks());
        let unmapped = u64::from(self.chunks.unmapped_run(chunk));
        let end = if unmapped > 0 {
            let most = (u64::from(u32::MAX) / zone_blocks).max(1);
            self.chunks.lba(chunk, 0).0 + unmapped.min(most) * zone_blocks
        } else {
            (self.chunks.lba(chunk, 0).0 + zone_blocks).min(from.0 + u64::from(REGION_WORDS * WORD))
        };
        let end = self.whole_words(self.lost.region_end(from, end), end);
        let region = Extent::between(from, end);
        self.lost.checkpoint(region, plan);
        for role in Role::BOTH {
            if let Some(zone) = self.chunks.zone(chunk, role) {
                plan.record(Record::Unit { unit: self.pool.unit(zone), is: owner(chunk, role) });
            }
        }
        for role in Role::BOTH {
            if self.chunks.zone(chunk, role).is_some() {
                self.checkpoint_valid(chunk, role, offset, offset + region.blocks, plan);
            }
        }
        end
    }

    /// The end of a region that lost blocks cut short at `cut`: whole words of the chunk there.
    fn whole_words(&self, cut: Lba, end: u64) -> Lba {
        let (_, offset) = self.chunks.chunk_of(cut);
        if cut.0 < end { Lba(cut.0 - u64::from(offset % WORD)) } else { cut }
    }

    /// Restates which blocks of the chunk between two offsets, the first of which begins a word, are valid in one zone.
    fn checkpoint_valid(&self, chunk: u32, role: Role, from: u32, to: u32, plan: &mut Plan) {
        let Some(zone) = self.chunks.zone(chunk, role) else { return };
        let mut whole = Extent::new(self.chunks.lba(chunk, from), 0);
        let emit = |whole: Extent<Lba>, plan: &mut Plan| {
            if whole.blocks > 0 {
                let (_, offset) = self.chunks.chunk_of(whole.start);
                plan.record(Record::Map { at: whole, to: self.pool.block(zone, offset) });
            }
        };
        for offset in (from..to).step_by(WORD as usize) {
            let blocks = WORD.min(to - offset);
            let word = self.chunks.valid_word(Extent::new(self.chunks.lba(chunk, offset), blocks), role);
            if word == u64::MAX >> (WORD - blocks) {
                whole.blocks += blocks;
                continue;
            }
            emit(whole, plan);
            whole = Extent::new(self.chunks.lba(chunk, offset + blocks), 0);
            if word != 0 {
                let index = chunk * self.words_of_chunk() + offset / WORD;
                plan.record(Record::Note { key: index << 1 | role as u32, value: word });
            }
        }
        emit(whole, plan);
    }

    /// The most records that a checkpoint of everything takes: a word of validity for all data zones and all
    /// conventional ones.
    pub(super) fn most_records_of_all(&self) -> u64 {
        let words = u64::from(self.words_of_chunk());
        let regions = words.div_ceil(u64::from(REGION_WORDS));
        u64::from(self.chunks.len()) * (words + 3 * regions) + u64::from(self.pool.conventional()) * words
    }
}
