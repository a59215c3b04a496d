//! The chunks: the zones of each, and which of its blocks are valid in which of them.

use super::zones::NONE;
use crate::parts::bitmap::Bitmap;
use imbrex_core::block::{Extent, Lba, unit_and_offset};
use imbrex_core::contents::ZoneContent;
use imbrex_core::layer::Violation;
use imbrex_core::memory::Memory;

/// What a zone is to its chunk.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Data,
    Buffer,
}

impl Role {
    pub const BOTH: [Self; 2] = [Self::Data, Self::Buffer];

    pub fn other(self) -> Self {
        match self {
            Self::Data => Self::Buffer,
            Self::Buffer => Self::Data,
        }
    }
}

/// By [`Role`]: a chunk's zones, and how many blocks are valid in each.
#[derive(Copy, Clone, Debug)]
struct Chunk {
    zone: [u32; 2],
    weight: [u32; 2],
}

pub(super) struct ChunkMap {
    chunks: Vec<Chunk>,
    zone_blocks: u32,
    /// By [`Role`]: the blocks that are valid there.
    valid: [Bitmap; 2],
}

impl ChunkMap {
    /// The memory that it takes.
    pub fn memory(&self) -> Memory {
        let valid = self.valid.iter().map(Bitmap::memory).sum();
        Memory::of::<Chunk>(self.chunks.len() as u64) + valid
    }

    pub fn new(chunks: u32, zone_blocks: u32) -> Self {
        let blocks = u64::from(chunks) * u64::from(zone_blocks);
        let chunk = Chunk { zone: [NONE; 2], weight: [0; 2] };
        Self { chunks: vec![chunk; chunks as usize], zone_blocks, valid: [Bitmap::new(blocks), Bitmap::new(blocks)] }
    }

    pub fn len(&self) -> u32 {
        self.chunks.len() as u32
    }

    pub fn capacity(&self) -> u64 {
        u64::from(self.len()) * u64::from(self.zone_blocks)
    }

    /// The chunk of a block and the block's offset in it.
    pub fn chunk_of(&self, lba: Lba) -> (u32, u32) {
        unit_and_offset(lba.0, self.zone_blocks)
    }

    pub fn lba(&self, chunk: u32, offset: u32) -> Lba {
        Lba(u64::from(chunk) * u64::from(self.zone_blocks) + u64::from(offset))
    }

    pub fn blocks_of(&self, chunk: u32) -> Extent<Lba> {
        Extent::new(self.lba(chunk, 0), self.zone_blocks)
    }

    /// The chunk's zone in this role, if it has one.
    pub fn zone(&self, chunk: u32, role: Role) -> Option<u32> {
        Some(self.chunks[chunk as usize].zone[role as usize]).filter(|&zone| zone != NONE)
    }

    pub fn set_zone(&mut self, chunk: u32, role: Role, zone: Option<u32>) {
        self.chunks[chunk as usize].zone[role as usize] = zone.unwrap_or(NONE);
    }

    /// Where the blocks of a chunk lie: in its data zone, which is its home, or in its buffer zone.
    pub fn content(&self, chunk: u32) -> ZoneContent {
        let [home, buffered] = Role::BOTH.map(|role| self.weight(chunk, role));
        ZoneContent { blocks: self.zone_blocks, buffered, home }
    }

    /// How many blocks are valid in the chunk's zone.
    pub fn weight(&self, chunk: u32, role: Role) -> u32 {
        self.chunks[chunk as usize].weight[role as usize]
    }

    /// Which of `blocks`, 64 at most, are valid in the zone: a bit each, the lowest for the first.
    pub fn valid_word(&self, blocks: Extent<Lba>, role: Role) -> u64 {
        self.valid[role as usize].bits(blocks.start.0, blocks.end().0)
    }

    /// Loads what asking for the block's place would need.
    pub fn prefetch(&self, lba: Lba) -> u64 {
        self.valid[0].prefetch(lba.0) ^ self.valid[1].prefetch(lba.0)
    }

    /// The blocks of one chunk are valid in the zone of this role, and not in the other.
    pub fn set_valid(&mut self, at: Extent<Lba>, role: Role) {
        self.invalidate(at, role.other());
        let new = self.valid[role as usize].insert_run(at.start.0, at.end().0);
        let chunk = self.chunk_of(at.start).0;
        self.chunks[chunk as usize].weight[role as usize] += new as u32;
    }

    /// The blocks, of any chunks, are not valid in the zones of this role.
    pub fn invalidate(&mut self, at: Extent<Lba>, role: Role) {
        let mut from = at.start.0;
        while let Some(block) = self.valid[role as usize].next(from, at.end().0) {
            let chunk = self.chunk_of(Lba(block)).0;
            let end = at.end().min(self.blocks_of(chunk).end()).0;
            let removed = self.valid[role as usize].remove_run(block, end);
            self.chunks[chunk as usize].weight[role as usize] -= removed as u32;
            from = end;
        }
    }

    /// How many of the blocks are valid in the zone of this role.
    pub fn count_valid(&self, at: Extent<Lba>, role: Role) -> u32 {
        self.valid[role as usize].count(at.start.0, at.end().0) as u32
    }

    /// Whether a block of `at` is valid anywhere.
    pub fn any_valid(&self, at: Extent<Lba>) -> bool {
        self.valid.iter().any(|bits| bits.next(at.start.0, at.end().0).is_some())
    }

    /// What was valid in the buffer zone is valid in the data zone now.
    pub fn merge(&mut self, chunk: u32) {
        let mut from = 0;
        while let Some((offset, blocks)) = self.next_run(chunk, Role::Buffer, from, self.zone_blocks) {
            self.set_valid(Extent::new(self.lba(chunk, offset), blocks), Role::Data);
            from = offset + blocks;
        }
    }

    /// The first run of valid blocks of the chunk at or behind `offset`: its offset and its length, `most` at most.
    pub fn next_run(&self, chunk: u32, role: Role, offset: u32, most: u32) -> Option<(u32, u32)> {
        let bits = &self.valid[role as usize];
        let (start, end) = (self.lba(chunk, 0).0, self.blocks_of(chunk).end().0);
        let first = bits.next(start + u64::from(offset), end)?;
        let after = bits.next_absent(first, end.min(first + u64::from(most)));
        Some(((first - start) as u32, (after - first) as u32))
    }

    /// How many chunks from this one on have no zone.
    pub fn unmapped_run(&self, chunk: u32) -> u32 {
        self.chunks[chunk as usize..].iter().take_while(|chunk| chunk.zone == [NONE; 2]).count() as u32
    }

    pub fn check(&self) -> Result<(), Violation> {
        for chunk in 0..self.len() {
            let blocks = self.blocks_of(chunk);
            let weight = Role::BOTH.map(|role| self.count_valid(blocks, role));
            let mut from = 0;
            while let Some((offset, run)) = self.next_run(chunk, Role::Buffer, from, self.zone_blocks) {
                let buffered = Extent::new(self.lba(chunk, offset), run);
                if self.count_valid(buffered, Role::Data) > 0 {
                    return Err(Violation(format!("blocks of {buffered:?} are valid in two zones")));
                }
                from = offset + run;
            }
            let Chunk { zone, weight: noted } = self.chunks[chunk as usize];
            if weight != noted || Role::BOTH.iter().any(|&r| weight[r as usize] > 0 && zone[r as usize] == NONE) {
                return Err(Violation(format!("chunk {chunk} has {weight:?} valid blocks in {zone:?}, not {noted:?}")));
            }
        }
        Ok(())
    }
}
