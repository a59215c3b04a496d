//! Records as bytes: plain in volumes of format version 1, compact since version 2.
//!
//! A plain record is a tag and three numbers, 21 bytes. A compact one is said beside what came before it in the entry,
//! so that a map of single blocks in the order of their numbers takes some six bytes for each:
//!
//! ```text
//! bits 0-2   1 Map, 2 Unmap, 3 Lost, 4 Unit, 5 Note, 7 Copy; 6: a plain record follows, without its tag
//! bit 3      the first logical block is the one expected
//! bits 4-7   blocks, from 1 to 15; 0: they follow as a number. Of kind 6 the plain record's tag
//! ```
//!
//! Behind this byte come, as far as the kind has them: how far the first logical block is from the one expected; the
//! blocks; how far the first physical block is from the one expected. What is expected are the blocks behind those of
//! the record before; behind an `Unmap` its own first logical block, since what it empties is said next. In a new entry
//! these are logical block 0, and block 0 of the disk. A `Unit` is device, index and state, a `Note` key and value.
//!
//! Numbers are cut into groups of seven bits, lowest first, each in a byte whose highest bit says that more follow. A
//! distance `d` is the number `2 d`, or `-2 d - 1` where it is negative. What would take more than 21 bytes is plain.

use imbrex_core::block::{Extent, Lba, Pba};
use imbrex_core::layer::InOrder;
use imbrex_core::plan::{Record, Unit};

/// Bytes of an encoded record, at most.
pub const RECORD_BYTES: usize = 21;
/// The kind that says that a plain record follows.
const PLAIN: u8 = 6;
/// The first logical block is the one expected.
const FOLLOWS: u8 = 8;

/// How records are encoded.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default)]
pub enum Coding {
    /// The encoding of volumes of format version 1.
    Plain,
    /// The encoding since version 2.
    #[default]
    Compact,
}

/// What a record is said beside.
#[derive(Copy, Clone, Debug)]
struct Expected {
    logical: u64,
    physical: u64,
}

impl Expected {
    fn first() -> Self {
        Self { logical: 0, physical: Pba::disk(0).to_raw() }
    }

    /// Goes on behind a record.
    fn pass(&mut self, record: &Record) {
        match *record {
            Record::Map { at, to } | Record::Copy { at, to } => {
                self.logical = at.start.0.wrapping_add(at.blocks.into());
                self.physical = to.to_raw().wrapping_add(at.blocks.into());
            }
            Record::Unmap(at) => self.logical = at.start.0,
            Record::Lost(at) => self.logical = at.start.0.wrapping_add(at.blocks.into()),
            Record::Unit { .. } | Record::Note { .. } => {}
        }
    }
}

/// Encodes the records of an entry.
#[derive(Clone, Debug)]
pub struct Encoder {
    coding: Coding,
    expected: Expected,
    records: u32,
    bytes: Vec<u8>,
}

impl Encoder {
    /// The state of an entry without records.
    #[must_use]
    pub fn new(coding: Coding) -> Self {
        Self { coding, expected: Expected::first(), records: 0, bytes: Vec::new() }
    }

    /// Goes back to an entry without records.
    pub fn clear(&mut self) {
        self.bytes.clear();
        (self.records, self.expected) = (0, Expected::first());
    }

    /// Adds a record.
    pub fn push(&mut self, record: &Record) {
        self.records += 1;
        let before = self.bytes.len();
        if self.coding == Coding::Compact {
            compact(record, self.expected, &mut self.bytes);
            self.expected.pass(record);
            if self.bytes.len() - before <= RECORD_BYTES {
                return;
            }
            self.bytes.truncate(before);
        }
        let at = self.bytes.len();
        plain(record, &mut self.bytes);
        if self.coding == Coding::Compact {
            self.bytes[at] = PLAIN | self.bytes[at] << 4;
        }
    }

    /// How they are encoded.
    #[must_use]
    pub fn coding(&self) -> Coding {
        self.coding
    }

    /// How many there are.
    #[must_use]
    pub fn records(&self) -> u32 {
        self.records
    }

    /// What they are encoded as.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Decodes `records` records at the front of `bytes`, each for `take`; the bytes behind them. Nothing if they are none.
pub fn decode(coding: Coding, records: u32, mut bytes: &[u8], mut take: impl FnMut(Record)) -> Option<&[u8]> {
    let mut expected = Expected::first();
    for _ in 0..records {
        let record = match coding {
            Coding::Plain => of_plain(&mut bytes)?,
            Coding::Compact => {
                let record = of_compact(&mut bytes, expected)?;
                expected.pass(&record);
                record
            }
        };
        take(record);
    }
    Some(bytes)
}

/// The most bytes that such records take, beside what the first of an entry takes.
///
/// A `Map` of one block that follows the record before takes a byte and the distance of its place, an `Unmap` a byte and
/// how many blocks. The number of the blocks that are left out before a record, or that it is of, takes fewer bytes than
/// records for these blocks would.
#[must_use]
pub fn bytes_in_order(InOrder { records, places }: InOrder) -> u64 {
    let number = number_bytes(2 * places).max(number_bytes(u32::MAX.into()));
    records * (1 + number as u64)
}

/// The compact form of a record.
fn compact(record: &Record, expected: Expected, out: &mut Vec<u8>) {
    let head = out.len();
    out.push(0);
    let mut blocks = |kind: u8, at: Extent<Lba>| {
        let follows = at.start.0 == expected.logical;
        if !follows {
            put_distance(at.start.0.wrapping_sub(expected.logical), out);
        }
        let short = if (1..16).contains(&at.blocks) { at.blocks as u8 } else { 0 };
        if short == 0 {
            put_number(at.blocks.into(), out);
        }
        out[head] = kind | if follows { FOLLOWS } else { 0 } | short << 4;
    };
    match *record {
        Record::Map { at, to } | Record::Copy { at, to } => {
            blocks(if matches!(record, Record::Map { .. }) { 1 } else { 7 }, at);
            put_distance(to.to_raw().wrapping_sub(expected.physical), out);
        }
        Record::Unmap(at) => blocks(2, at),
        Record::Lost(at) => blocks(3, at),
        Record::Unit { unit, is } => {
            out[head] = 4;
            for number in [u64::from(unit.device), unit.index.into(), is.into()] {
                put_number(number, out);
            }
        }
        Record::Note { key, value } => {
            out[head] = 5;
            put_number(key.into(), out);
            put_number(value, out);
        }
    }
}

/// The record at the front of `bytes`, which is taken from them.
fn of_compact(bytes: &mut &[u8], expected: Expected) -> Option<Record> {
    let (&head, rest) = bytes.split_first()?;
    if head & 7 == PLAIN {
        // The first byte holds the tag.
        let mut plain = [0; RECORD_BYTES];
        plain.copy_from_slice(bytes.get(..RECORD_BYTES)?);
        plain[0] = head >> 4;
        *bytes = &bytes[RECORD_BYTES..];
        return of_plain(&mut &plain[..]);
    }
    *bytes = rest;
    let mut short = || u32::try_from(take_number(bytes)?).ok();
    if head == 4 {
        let (device, index) = (u8::try_from(short()?).ok()?, short()?);
        return Some(Record::Unit { unit: Unit { device, index }, is: short()? });
    }
    if head == 5 {
        return Some(Record::Note { key: short()?, value: take_number(bytes)? });
    }
    let away = if head & FOLLOWS == 0 { take_distance(bytes)? } else { 0 };
    let blocks = if head >> 4 == 0 { u32::try_from(take_number(bytes)?).ok()? } else { u32::from(head >> 4) };
    let at = Extent::new(Lba(expected.logical.wrapping_add(away)), blocks);
    match head & 7 {
        1 => Some(Record::Map { at, to: Pba::from_raw(expected.physical.wrapping_add(take_distance(bytes)?)) }),
        2 => Some(Record::Unmap(at)),
        3 => Some(Record::Lost(at)),
        7 => Some(Record::Copy { at, to: Pba::from_raw(expected.physical.wrapping_add(take_distance(bytes)?)) }),
        _ => None,
    }
}

/// How many bytes a number takes.
const fn number_bytes(number: u64) -> usize {
    let bits = 64 - (number | 1).leading_zeros() as usize;
    bits.div_ceil(7)
}

fn put_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 128 {
        out.push(number as u8 | 128);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(number);
        }
    }
    None
}

/// A distance, of which the highest bit is the sign.
fn put_distance(distance: u64, out: &mut Vec<u8>) {
    put_number(distance << 1 ^ (distance.cast_signed() >> 63).cast_unsigned(), out);
}

fn take_distance(bytes: &mut &[u8]) -> Option<u64> {
    let number = take_number(bytes)?;
    Some(number >> 1 ^ (number & 1).wrapping_neg())
}

/// The plain form of a record.
fn plain(record: &Record, out: &mut Vec<u8>) {
    let (tag, a, b, c): (u8, u64, u32, u64) = match *record {
        Record::Map { at, to } => (1, at.start.0, at.blocks, to.to_raw()),
        Record::Unmap(at) => (2, at.start.0, at.blocks, 0),
        Record::Lost(at) => (3, at.start.0, at.blocks, 0),
        Record::Unit { unit, is } => (4, u64::from(unit.device), unit.index, u64::from(is)),
        Record::Note { key, value } => (5, value, key, 0),
        Record::Copy { at, to } => (6, at.start.0, at.blocks, to.to_raw()),
    };
    out.push(tag);
    out.extend(a.to_le_bytes());
    out.extend(b.to_le_bytes());
    out.extend(c.to_le_bytes());
}

/// The record at the front of `bytes`, which is taken from them.
fn of_plain(bytes: &mut &[u8]) -> Option<Record> {
    let (record, rest) = bytes.split_at_checked(RECORD_BYTES)?;
    *bytes = rest;
    let a = u64::from_le_bytes(record[1..9].try_into().ok()?);
    let b = u32::from_le_bytes(record[9..13].try_into().ok()?);
    let c = u64::from_le_bytes(record[13..21].try_into().ok()?);
    let at = Extent::new(Lba(a), b);
    match record[0] {
        1 => Some(Record::Map { at, to: Pba::from_raw(c) }),
        2 => Some(Record::Unmap(at)),
        3 => Some(Record::Lost(at)),
        4 => Some(Record::Unit { unit: Unit { device: u8::try_from(a).ok()?, index: b }, is: u32::try_from(c).ok()? }),
        5 => Some(Record::Note { key: b, value: a }),
        6 => Some(Record::Copy { at, to: Pba::from_raw(c) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn encoded(records: &[Record]) -> Vec<u8> {
        let mut encoder = Encoder::new(Coding::Compact);
        records.iter().for_each(|record| encoder.push(record));
        assert_eq!(encoder.records() as usize, records.len());
        encoder.bytes
    }

    fn decoded(bytes: &[u8], records: usize) -> Option<Vec<Record>> {
        let mut found = Vec::new();
        let rest = decode(Coding::Compact, records as u32, bytes, |record| found.push(record))?;
        rest.is_empty().then_some(found)
    }

    fn map(start: u64, blocks: u32, to: u64) -> Record {
        Record::Map { at: Extent::new(Lba(start), blocks), to: Pba::disk(to) }
    }

    #[test]
    fn what_follows_takes_little() {
        let records = [map(0, 1, 3), map(1, 15, 70), map(16, 16, 85), map(40, 1, 84)];
        let bytes = encoded(&records);
        // Kind and length, then the distance; a length of 16 and the 8 blocks left out take a byte each.
        let expected = [1 | 8 | 1 << 4, 6, 1 | 8 | 15 << 4, 66 << 1 & 127 | 128, 1, 1 | 8, 16, 0, 1 | 1 << 4, 16, 33];
        assert_eq!(bytes, expected);
        assert_eq!(decoded(&bytes, 4), Some(records.to_vec()));
        assert_eq!(decoded(&bytes, 5), None);
        assert_eq!(decoded(&bytes[..10], 4), None);
    }

    #[test]
    fn nothing_takes_more_than_a_plain_record() {
        let far = Record::Map { at: Extent::new(Lba(u64::MAX / 2), u32::MAX), to: Pba::from_raw(u64::MAX / 2) };
        let bytes = encoded(&[far, map(0, 1, 0)]);
        assert_eq!(bytes[0], PLAIN | 1 << 4);
        assert_eq!(decoded(&bytes, 2), Some(vec![far, map(0, 1, 0)]));
        assert_eq!(encoded(&[far]).len(), RECORD_BYTES);
        // A tag that is none.
        assert_eq!(decoded(&[PLAIN; RECORD_BYTES], 1), None);
    }

    proptest! {
        #[test]
        fn a_map_in_order_stays_below_its_bound(
            runs in prop::collection::vec((0u64..3000, 0u64..3000, 0u64..1 << 33), 1..100),
            (short, places) in (0u64..12, 1u64 << 13..1 << 33),
        ) {
            let (mut next, mut records) = (0, Vec::new());
            for (gap, blocks, to) in runs {
                // Most runs are short and without gaps, as in the worst case.
                let (gap, blocks) = (gap.saturating_sub(2990 + short / 4), 1 + blocks.saturating_sub(2999 - short));
                let start = next + gap;
                if to % 7 == 0 {
                    records.push(Record::Unmap(Extent::new(Lba(start), 1 << (to % 32))));
                }
                records.push(map(start, blocks as u32, to % (places - blocks)));
                next = start + blocks;
            }
            let unmaps = records.iter().filter(|record| matches!(record, Record::Unmap(_))).count() as u64;
            let most = bytes_in_order(InOrder { records: next + unmaps, places });
            let bytes = encoded(&records);
            prop_assert!(bytes.len() as u64 <= most, "{} bytes, {most} were said", bytes.len());
            prop_assert_eq!(decoded(&bytes, records.len()), Some(records));
        }
    }

    #[test]
    fn a_drive_of_18_tb_takes_six_bytes_for_each_block() {
        assert_eq!(bytes_in_order(InOrder { records: 1, places: 67056 * 65536 }), 6);
    }
}
