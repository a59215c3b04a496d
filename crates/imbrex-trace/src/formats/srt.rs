//! HP's SRT traces, versions 1 to 4 of their records: a text that describes the machine, up to a form feed, and then
//! big-endian records of 32-bit numbers.
//!
//! | number | what it is |
//! |---|---|
//! | 0 | bytes of the record |
//! | 1 | version of the record in the upper half, its type in the lower |
//! | 2, 3 | when the request was queued, seconds and microseconds since the trace began |
//! | 4, 5 | when it was started and done, microseconds since it was queued |
//! | 6 | bytes of the request |
//! | 7 | sector of the disk |
//! | 8 | device; bits 8 to 15 are the number of the disk |
//! | 9, 10 | type of the driver, cylinder |
//! | 11 | flags, of which the lowest bit is set for a read |
//! | 12 | where the request came from |
//! | 13 | length of the queue; version 4 only |
//!
//! A request is of type 1. Type 4 is one that the tracer itself calls suspect, with one more number; it is left out, as
//! DiskSim does, and counted with the commands without data. The length of a sector is the disk's `sectorsize` in the
//! text: the cylinder numbers of HP's traces agree with that. A volume is a disk.

use super::fields::{is_number, number};
use super::input::WINDOW_BYTES;
use super::volumes::{Volume, VolumeRequest};
use super::{Fault, Format, Input, Position, Problem, Record, too_large};
use crate::TraceError;
use imbrex_core::block::Access;

/// What a file begins with.
const MAGIC: &[u8] = b"$$TR_IOREC";
/// What ends the text.
const FORM_FEED: u8 = 0x0c;
/// Numbers of a record before those that not every one has.
const NUMBERS: u32 = 13;
const REQUEST: u32 = 1;
const SUSPECT: u32 = 4;
/// Numbers of the longest record.
const MOST_NUMBERS: usize = 15;

/// Reads SRT records.
pub(super) struct Srt {
    /// The sectors of the disks, once the text has been read.
    disks: Option<Vec<Disk>>,
    /// Where the next record begins.
    next_byte: u64,
    /// Where the record taken last began.
    byte: u64,
    volume: Volume,
}

/// A disk of the text.
struct Disk {
    number: u64,
    sector_bytes: u64,
}

impl Srt {
    pub(super) fn recognises(head: &[u8]) -> bool {
        head.starts_with(MAGIC)
    }

    /// Takes the requests of `volume`.
    pub(super) fn new(volume: Volume) -> Self {
        Self { disks: None, next_byte: 0, byte: 0, volume }
    }

    /// Takes the text.
    fn header(&mut self, input: &mut Input) -> Result<(), Fault> {
        let head = input.peek(WINDOW_BYTES)?;
        let end = head.iter().position(|&byte| byte == FORM_FEED);
        let (Some(end), true) = (end, Self::recognises(head)) else { return Err(Problem::SrtHeader.into()) };
        self.disks = Some(disks(&head[..end]));
        input.record(end + 1)?;
        self.next_byte = end as u64 + 1;
        Ok(())
    }

    fn sector_bytes(&self, disk: u64) -> Option<u64> {
        self.disks.iter().flatten().find(|known| known.number == disk).map(|known| known.sector_bytes)
    }
}

impl Format for Srt {
    const TICK_NS: u64 = 1_000;

    fn next(&mut self, input: &mut Input) -> Result<Record, Fault> {
        if self.disks.is_none() {
            self.header(input)?;
        }
        self.byte = self.next_byte;
        let begin = input.peek(8)?;
        if begin.is_empty() {
            return Ok(Record::End);
        }
        let [size, id] = [number_at(begin, 0), number_at(begin, 1)];
        let (Some(size), Some(id)) = (size, id) else {
            return Err(Problem::Truncated { found: begin.len(), record: NUMBERS as usize * 4 }.into());
        };
        let (version, kind) = (id >> 16, id & 0xffff);
        let numbers = NUMBERS + u32::from(version == 4) + u32::from(kind == SUSPECT);
        if !(1..=4).contains(&version) || ![REQUEST, SUSPECT].contains(&kind) || size != numbers * 4 {
            return Err(Problem::SrtRecord { size, id }.into());
        }
        let record = input.record(size as usize)?;
        self.next_byte += record.len() as u64;
        if record.len() < size as usize {
            return Err(Problem::Truncated { found: record.len(), record: size as usize }.into());
        }
        if kind == SUSPECT {
            return Ok(Record::WithoutData);
        }
        let mut all = [0; MOST_NUMBERS];
        (0..numbers as usize).for_each(|at| all[at] = number_at(record, at).unwrap_or_default());
        let [_, _, seconds, micros, _, _, bytes, sector, device, _, _, flags, ..] = all.map(u64::from);
        let disk = device >> 8 & 0xff;
        let Some(sector_bytes) = self.sector_bytes(disk) else { return Err(Problem::SrtDisk { disk }.into()) };
        let Some(offset_bytes) = sector.checked_mul(sector_bytes) else { return Err(too_large("sector", sector)) };
        let access = if flags & 1 == 1 { Access::Read } else { Access::Write };
        let (digits, ticks) = (digits(disk as u8), seconds * 1_000_000 + micros);
        let volume = digits.trim_ascii_start();
        self.volume.record(&VolumeRequest { volume, ticks, access, offset_bytes, bytes })
    }

    fn position(&self) -> Position {
        Position::Byte(self.byte)
    }

    fn volume(&self) -> Option<String> {
        self.volume.name()
    }

    fn into_volume(self) -> Volume {
        self.volume
    }

    fn nothing(&self, file: &str) -> Option<TraceError> {
        self.volume.nothing(file)
    }
}

/// The digits of a disk's number, behind blanks.
fn digits(disk: u8) -> [u8; 3] {
    let digit = |place: u8| if disk >= place || place == 1 { b'0' + disk / place % 10 } else { b' ' };
    [100, 10, 1].map(digit)
}

/// The `at`th number of a record.
fn number_at(record: &[u8], at: usize) -> Option<u32> {
    record.get(at * 4..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))
}

/// The disks that a text describes: `disks = { 0 -> { … sectorsize = 256, … } … }`.
fn disks(text: &[u8]) -> Vec<Disk> {
    let words = words(text);
    let (mut disks, mut depth, mut disk) = (Vec::new(), 0, None);
    for (at, word) in words.iter().enumerate() {
        match *word {
            b"{" => {
                depth += 1;
                if let (2, [.., name, b"-", b">"]) = (depth, &words[..at]) {
                    disk = number("disk", name).ok();
                }
            }
            b"}" => depth -= 1,
            b"sectorsize" if depth == 2 => {
                let size = match words.get(at + 1..at + 3) {
                    Some([b"=", size]) if is_number(size) => number("sectorsize", size).ok(),
                    _ => None,
                };
                disks.extend(disk.zip(size).map(|(number, sector_bytes)| Disk { number, sector_bytes }));
            }
            _ => {}
        }
    }
    disks
}

/// A text in words and single signs. What stands in quotes is left out.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.');
    let (mut words, mut rest) = (Vec::new(), text);
    while let Some(first) = rest.first() {
        let length = match first {
            b'"' => rest[1..].iter().position(|&byte| byte == b'"').map_or(rest.len(), |end| end + 2),
            byte if is_word(byte) => rest.iter().position(|byte| !is_word(byte)).unwrap_or(rest.len()),
            _ => 1,
        };
        let (word, after) = rest.split_at(length);
        if *first != b'"' && !first.is_ascii_whitespace() {
            words.push(word);
        }
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disks_are_called_by_their_numbers() {
        for disk in 0..=u8::MAX {
            assert_eq!(digits(disk).trim_ascii_start(), disk.to_string().as_bytes());
        }
    }
}
