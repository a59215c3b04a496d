//! What the kernel can be asked about the zones of a block device, and told to do with them (`linux/blkzoned.h`).
//!
//! These requests have no other interface, and no crate wraps them.
#![allow(unsafe_code, reason = "requests to the kernel about zones")]

use std::fs::File;
use std::io;

use rustix::ioctl::{self, Opcode, Setter, Updater, opcode};

/// Zones that one request reports at most.
const PART: usize = 512;
/// The letter of block devices' requests.
const GROUP: u8 = 0x12;
/// Set in the flags of a report whose zones say how much of them can be written.
const HAS_CAPACITY: u32 = 1;

const REPORT: Opcode = opcode::read_write::<Header>(GROUP, 130);
const RESET: Opcode = opcode::write::<Range>(GROUP, 131);
const FINISH: Opcode = opcode::write::<Range>(GROUP, 136);

/// `struct blk_zone_report` without its zones.
#[repr(C)]
#[derive(Copy, Clone, Default)]
struct Header {
    sector: u64,
    zones: u32,
    flags: u32,
}

/// `struct blk_zone`: a zone, in sectors of 512 bytes.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default)]
pub(super) struct Zone {
    pub start: u64,
    pub len: u64,
    pub pointer: u64,
    pub kind: u8,
    pub condition: u8,
    pub non_sequential: u8,
    pub reset: u8,
    pub reserved: [u8; 4],
    /// How much of it can be written.
    pub capacity: u64,
    pub more_reserved: [u8; 24],
}

/// `struct blk_zone_report` with room for zones.
#[repr(C)]
struct Report {
    header: Header,
    zones: [Zone; PART],
}

/// `struct blk_zone_range`.
#[repr(C)]
struct Range {
    sector: u64,
    sectors: u64,
}

/// The zones from the one on that `sector` lies in, `most` of them or as many as there are.
pub(super) fn zones(device: &File, sector: u64, most: usize) -> io::Result<Vec<Zone>> {
    let mut found: Vec<Zone> = Vec::new();
    let mut report = Box::new(Report { header: Header::default(), zones: [Zone::default(); PART] });
    let mut next = sector;
    while found.len() < most {
        let part = PART.min(most - found.len()) as u32;
        report.header = Header { sector: next, zones: part, flags: 0 };
        // SAFETY: the request takes a header with room for as many zones behind it as it says, and `part` is not more
        // than there is room for. The kernel writes whole numbers only, of which all bit patterns are values.
        unsafe { ioctl::ioctl(device, Updater::<REPORT, Report>::new(&mut report)) }?;
        let has_capacity = report.header.flags & HAS_CAPACITY != 0;
        let zones = &report.zones[..(report.header.zones.min(part)) as usize];
        let Some(last) = zones.last() else { break };
        next = last.start + last.len;
        found.extend(
            zones.iter().map(|zone| Zone { capacity: if has_capacity { zone.capacity } else { zone.len }, ..*zone }),
        );
    }
    Ok(found)
}

/// Empties the zone at `sector`.
pub(super) fn reset(device: &File, sector: u64, sectors: u64) -> io::Result<()> {
    // SAFETY: the request takes a range and writes nothing to it.
    Ok(unsafe { ioctl::ioctl(device, Setter::<RESET, Range>::new(Range { sector, sectors })) }?)
}

/// Makes the zone at `sector` full, whatever is written of it.
pub(super) fn finish(device: &File, sector: u64, sectors: u64) -> io::Result<()> {
    // SAFETY: as for `reset`.
    Ok(unsafe { ioctl::ioctl(device, Setter::<FINISH, Range>::new(Range { sector, sectors })) }?)
}
