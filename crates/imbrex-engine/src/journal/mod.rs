//! The journal's bytes: records and redo images as entries of a ring of checksummed blocks.
//!
//! An entry is a byte stream cut into blocks, each with a header:
//!
//! ```text
//! offset  size  field
//!      0     8  magic "IMBREXJ2"; "IMBREXJ1" where records are plain
//!      8     8  identity of the formatted store
//!     16     8  start: sequence number of the entry's first block
//!     24     4  index of this block in the entry
//!     28     4  blocks of the entry
//!     32     4  epoch: how often the store has been started
//!     36     4  payload bytes in this block
//!     40     8  tail: sequence number at which recovery begins
//!     48     8  durable: every block before this number was durable when the entry was written
//!     56     8  redone: redo images of entries that start before this number need no replay
//!     64     4  CRC-32C of the whole block with this field zero
//!     68     4  gap: blocks left out between the entry before and this one
//!     72     4  1 in the last entry of a commit, else 0
//!     76        payload
//! ```
//!
//! Sequence numbers count blocks and never restart; block `s` lies in slot `s mod ring length`. All integers are
//! little-endian. An entry counts only when all its blocks are there with equal start, count and epoch, so a torn entry
//! is as if it had never been written. So is a commit of which an entry is missing: nothing was answered for it. The
//! stream is: number of records, number of images (u32 each), the records (see `records.rs`), then each image as target
//! (u64) and one block of content.

mod records;

use bytes::Bytes;

use imbrex_core::block::Pba;
use imbrex_core::plan::Record;
use records::Encoder;
pub(super) use records::bytes_in_order;
pub use records::{Coding, RECORD_BYTES};

const HEADER: usize = 76;
const CRC_AT: usize = 64;
const COUNTS: usize = 8;
/// More blocks than any journal will ever see written: sums of their numbers do not overflow.
const MOST_BLOCKS: u64 = 1 << 60;

/// What a block of an entry begins with whose records are encoded like this.
const fn magic(coding: Coding) -> u64 {
    u64::from_le_bytes(match coding {
        Coding::Plain => *b"IMBREXJ1",
        Coding::Compact => *b"IMBREXJ2",
    })
}

/// Payload bytes of a journal block of `block_bytes` bytes.
#[must_use]
pub const fn payload_bytes(block_bytes: usize) -> usize {
    block_bytes - HEADER
}

/// Journal blocks that an entry of `records` records and `images` images takes at most.
#[must_use]
pub const fn entry_blocks(records: usize, images: usize, block_bytes: usize) -> usize {
    let stream = COUNTS + records * RECORD_BYTES + images * (8 + block_bytes);
    stream.div_ceil(payload_bytes(block_bytes))
}

/// What every block of an entry says about the journal.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub struct Header {
    /// Identity of the formatted store.
    pub identity: u64,
    /// Sequence number of the entry's first block.
    pub start: u64,
    /// This block's number in the entry.
    pub index: u32,
    /// Blocks of the entry.
    pub count: u32,
    /// How often the store has been started.
    pub epoch: u32,
    /// Where recovery begins.
    pub tail: u64,
    /// Every block before this one was durable when the entry was written.
    pub durable: u64,
    /// Redo images of entries that start before this number need no replay.
    pub redone: u64,
    /// Blocks left out between the entry before and this one, as where a zone cannot be written on after a power cut.
    pub gap: u32,
    /// Whether it is the last entry of its commit.
    pub closes: bool,
    /// How the records are encoded.
    pub coding: Coding,
}

impl Header {
    /// The block's own number.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.start + u64::from(self.index)
    }

    /// Where the entry before ended.
    #[must_use]
    pub fn follows(&self) -> u64 {
        self.start - u64::from(self.gap)
    }

    /// Where the entry ends.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.start + u64::from(self.count)
    }
}

/// The content of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Entry {
    /// Changes of the map, in planning order.
    pub records: Vec<Record>,
    /// Blocks to be written over their targets should the power fail before they were.
    pub images: Vec<(Pba, Bytes)>,
}

/// An entry that is being put together.
#[derive(Clone, Debug)]
pub struct Draft {
    records: Encoder,
    images: Vec<(Pba, Bytes)>,
}

/// A block read back: its header and its part of the stream.
#[derive(Clone, Debug)]
pub struct Block {
    /// The header.
    pub header: Header,
    /// The part of the stream.
    pub payload: Bytes,
}

impl Draft {
    /// Nothing yet.
    #[must_use]
    pub fn new(coding: Coding) -> Self {
        Self { records: Encoder::new(coding), images: Vec::new() }
    }

    /// Whether nothing is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.records() == 0 && self.images.is_empty()
    }

    /// Whether there are images in it.
    #[must_use]
    pub fn has_images(&self) -> bool {
        !self.images.is_empty()
    }

    /// Takes everything out of it.
    pub fn clear(&mut self) {
        self.records.clear();
        self.images.clear();
    }

    /// Adds a record.
    pub fn push(&mut self, record: &Record) {
        self.records.push(record);
    }

    /// Adds images.
    pub fn extend_images(&mut self, images: impl IntoIterator<Item = (Pba, Bytes)>) {
        self.images.extend(images);
    }

    /// Bytes of the stream.
    fn bytes(&self, block_bytes: usize) -> usize {
        COUNTS + self.records.bytes().len() + self.images.len() * (8 + block_bytes)
    }

    /// Journal blocks that it takes.
    #[must_use]
    pub fn blocks(&self, block_bytes: usize) -> usize {
        self.bytes(block_bytes).div_ceil(payload_bytes(block_bytes))
    }

    /// Journal blocks that it takes at most with `records` more records and `images` more images.
    #[must_use]
    pub fn blocks_with(&self, records: usize, images: usize, block_bytes: usize) -> usize {
        let more = records * RECORD_BYTES + images * (8 + block_bytes);
        (self.bytes(block_bytes) + more).div_ceil(payload_bytes(block_bytes))
    }

    /// Encodes it as the content of its blocks; `header.index`, `header.count` and `header.coding` are filled in.
    #[must_use]
    pub fn encode(&self, mut header: Header, block_bytes: usize) -> Vec<Bytes> {
        let mut stream = Vec::with_capacity(self.bytes(block_bytes));
        stream.extend(self.records.records().to_le_bytes());
        stream.extend((self.images.len() as u32).to_le_bytes());
        stream.extend_from_slice(self.records.bytes());
        for (target, image) in &self.images {
            stream.extend(target.to_raw().to_le_bytes());
            stream.extend_from_slice(image);
        }
        let parts: Vec<&[u8]> = stream.chunks(payload_bytes(block_bytes)).collect();
        (header.count, header.coding) = (parts.len() as u32, self.records.coding());
        (0..)
            .zip(parts)
            .map(|(index, part)| {
                header.index = index;
                encode_block(&header, part, block_bytes)
            })
            .collect()
    }
}

/// Encodes an entry as the content of its blocks; `header.index` and `header.count` are filled in.
#[must_use]
pub fn encode(entry: &Entry, header: Header, block_bytes: usize) -> Vec<Bytes> {
    let mut draft = Draft::new(header.coding);
    entry.records.iter().for_each(|record| draft.push(record));
    draft.extend_images(entry.images.iter().cloned());
    draft.encode(header, block_bytes)
}

fn encode_block(header: &Header, part: &[u8], block_bytes: usize) -> Bytes {
    let mut block = vec![0; block_bytes];
    let mut at = 0;
    let mut put = |bytes: &[u8]| {
        block[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    put(&magic(header.coding).to_le_bytes());
    put(&header.identity.to_le_bytes());
    put(&header.start.to_le_bytes());
    put(&header.index.to_le_bytes());
    put(&header.count.to_le_bytes());
    put(&header.epoch.to_le_bytes());
    put(&(part.len() as u32).to_le_bytes());
    put(&header.tail.to_le_bytes());
    put(&header.durable.to_le_bytes());
    put(&header.redone.to_le_bytes());
    put(&[0; 4]);
    put(&header.gap.to_le_bytes());
    put(&u32::from(header.closes).to_le_bytes());
    put(part);
    let crc = crc32c::crc32c(&block);
    block[CRC_AT..CRC_AT + 4].copy_from_slice(&crc.to_le_bytes());
    Bytes::from(block)
}

/// Decodes a block of the store `identity`, or of any store when that is `None`. Whatever is not a whole and unharmed
/// journal block gives `None`.
#[must_use]
pub fn decode_block(block: &Bytes, identity: Option<u64>) -> Option<Block> {
    let u64_at = |at: usize| Some(u64::from_le_bytes(block.get(at..at + 8)?.try_into().ok()?));
    let u32_at = |at: usize| Some(u32::from_le_bytes(block.get(at..at + 4)?.try_into().ok()?));
    let begins = u64_at(0)?;
    let coding = [Coding::Plain, Coding::Compact].into_iter().find(|coding| magic(*coding) == begins)?;
    if identity.is_some_and(|id| u64_at(8) != Some(id)) {
        return None;
    }
    let crc =
        crc32c::crc32c_append(crc32c::crc32c_append(crc32c::crc32c(&block[..CRC_AT]), &[0; 4]), &block[CRC_AT + 4..]);
    if u32_at(CRC_AT)? != crc {
        return None;
    }
    let header = Header {
        identity: u64_at(8)?,
        start: u64_at(16)?,
        index: u32_at(24)?,
        count: u32_at(28)?,
        epoch: u32_at(32)?,
        tail: u64_at(40)?,
        durable: u64_at(48)?,
        redone: u64_at(56)?,
        gap: u32_at(68)?,
        closes: u32_at(72)? == 1,
        coding,
    };
    let payload = u32_at(36)? as usize;
    let Header { start, tail, durable, redone, .. } = header;
    let is_counted = [start, tail, durable, redone].iter().all(|number| *number < MOST_BLOCKS);
    let is_possible = is_counted && header.index < header.count && u64::from(header.gap) <= start;
    if !is_possible || payload > payload_bytes(block.len()) {
        return None;
    }
    Some(Block { header, payload: block.slice(HEADER..HEADER + payload) })
}

/// An entry as it was read back, not decoded yet.
#[derive(Clone, Debug)]
pub struct Encoded {
    coding: Coding,
    payloads: Vec<Bytes>,
    block_bytes: usize,
}

impl Encoded {
    /// The checksum of the payloads of its blocks, in order; one of the blocks had this header.
    #[must_use]
    pub fn new(header: &Header, payloads: Vec<Bytes>, block_bytes: usize) -> Self {
        Self { coding: header.coding, payloads, block_bytes }
    }

    /// Calls `take` with each record; the images. Nothing if it is damaged, though its checksums are right.
    pub fn records(&self, take: impl FnMut(Record)) -> Option<Vec<(Pba, Bytes)>> {
        let stream: Bytes = match self.payloads.as_slice() {
            [only] => only.clone(),
            payloads => payloads.concat().into(),
        };
        let count = |at: usize| Some(u32::from_le_bytes(stream.get(at..at + 4)?.try_into().ok()?));
        let (records, images) = (count(0)?, count(4)? as usize);
        let rest = records::decode(self.coding, records, &stream[COUNTS..], take)?.len();
        let image_bytes = 8 + self.block_bytes;
        if images.checked_mul(image_bytes)? != rest {
            return None;
        }
        let image = |at: usize| {
            let target = u64::from_le_bytes(stream[at..at + 8].try_into().ok()?);
            Some((Pba::from_raw(target), stream.slice(at + 8..at + image_bytes)))
        };
        (stream.len() - rest..stream.len()).step_by(image_bytes).map(image).collect()
    }

    /// The entry. Nothing if it is damaged, though its checksums are right.
    #[must_use]
    pub fn decode(&self) -> Option<Entry> {
        let mut records = Vec::new();
        let images = self.records(|record| records.push(record))?;
        Some(Entry { records, images })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use imbrex_core::block::{Extent, Lba};
    use imbrex_core::plan::Unit;
    use proptest::prelude::*;

    fn record() -> impl Strategy<Value = Record> {
        (0u8..5, any::<u64>(), any::<u32>(), any::<u64>()).prop_map(|(tag, a, b, c)| {
            let at = Extent::new(Lba(a), b);
            match tag {
                0 => Record::Map { at, to: Pba::from_raw(c) },
                1 => Record::Unmap(at),
                2 => Record::Lost(at),
                3 => Record::Unit { unit: Unit { device: a as u8, index: b }, is: c as u32 },
                _ => Record::Note { key: b, value: a },
            }
        })
    }

    fn read_back(blocks: &[Bytes]) -> Option<Entry> {
        let blocks: Vec<Block> = blocks.iter().map(|block| decode_block(block, Some(7))).collect::<Option<_>>()?;
        let header = blocks[0].header;
        Encoded::new(&header, blocks.into_iter().map(|block| block.payload).collect(), 512).decode()
    }

    proptest! {
        #[test]
        fn entries_survive_and_any_flipped_bit_is_seen(
            records in prop::collection::vec(record(), 0..120),
            images in prop::collection::vec((any::<u64>(), any::<u8>()), 0..3),
            (block, bit) in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
            coding in prop::sample::select(vec![Coding::Plain, Coding::Compact]),
        ) {
            let images = images.into_iter().map(|(at, fill)| (Pba::from_raw(at), Bytes::from(vec![fill; 512]))).collect();
            let entry = Entry { records, images };
            let header = Header { identity: 7, start: 41, epoch: 3, tail: 2, durable: 40, redone: 5, gap: 3, closes: true, coding, ..Header::default() };
            let mut blocks = encode(&entry, header, 512);
            prop_assert!(blocks.len() <= entry_blocks(entry.records.len(), entry.images.len(), 512));
            prop_assert_eq!(decode_block(&blocks[0], None).map(|b| b.header), Some(Header { count: blocks.len() as u32, ..header }));
            prop_assert_eq!(read_back(&blocks), Some(entry));
            let block = block.index(blocks.len());
            let bit = bit.index(512 * 8);
            let mut bytes = blocks[block].to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            blocks[block] = bytes.into();
            prop_assert_eq!(read_back(&blocks), None);
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
            let bytes = Bytes::from(bytes);
            prop_assert!(decode_block(&bytes, None).is_none());
            for coding in [Coding::Plain, Coding::Compact] {
                let header = Header { coding, ..Header::default() };
                let _ = Encoded::new(&header, vec![bytes.clone()], 512).decode();
            }
        }
    }
}
