//! HP's SRT: a text about the machine, and records, of which some are suspect.

use super::lines::{Line, lines, view};
use super::{Kind, Request, Sample, View};

const TICK_NS: u64 = 1_000;
const FIRST_TICKS: u64 = 7_000_000;
const TEXT: &str = "$$TR_IOREC-1.3 (made for tests)\0\nversion      = 1.3;\ndisks        = {\n\
                    \t\t  0 -> {\n\t\t\tseekparms   = {616, 3450},\n\t\t\tsectorsize  = 256,\n\
                    \t\t\tsections   = {\n\t\t\t\t 8 -> {\n\t\t\t\t\t\"/\"\n\t\t\t\t\t}\n\t\t\t\t}\n\t\t\t},\n\
                    \t\t  1 -> {\n\t\t\tsectorsize  = 512,\n\t\t\t}\n\t\t};\n\x0c";
const SECTOR_BYTES: [u64; 2] = [256, 512];
/// Version 4 of a request, and of a suspect one.
const REQUEST: u32 = 0x4_0001;
const SUSPECT: u32 = 0x4_0004;
/// Flags of a read and of a write.
const READ: u32 = 0x1b;
const WRITE: u32 = 0x8_810a;

fn record(id: u32, line: &Line) -> Vec<u8> {
    let (seconds, micros) = (line.ticks / 1_000_000, line.ticks % 1_000_000);
    let sector = line.offset_bytes / SECTOR_BYTES[line.volume];
    let device = 8 << 24 | (line.volume as u32) << 8 | 8;
    let flags = if line.kind == Kind::Write { WRITE } else { READ };
    let [seconds, micros, response, sector] =
        [seconds, micros, line.response, sector].map(|number| u32::try_from(number).expect("a small number"));
    let mut numbers =
        vec![0, id, seconds, micros, 170, response, line.bytes, sector, device, 4, sector / 904, flags, 15, 1];
    if id == SUSPECT {
        numbers.push(2);
    }
    numbers[0] = 4 * numbers.len() as u32;
    numbers.into_iter().flat_map(u32::to_be_bytes).collect()
}

/// `requests` on disk 0, and others on disk 1.
pub(super) fn sample(requests: &[Request]) -> Sample {
    let lines = lines(requests, FIRST_TICKS, TICK_NS, 2);
    let (mut content, mut suspects) = (TEXT.as_bytes().to_vec(), 0);
    for (i, line) in lines.iter().enumerate() {
        content.extend(record(REQUEST, line));
        if i % 30 == 7 {
            suspects += 1;
            content.extend(record(SUSPECT, line));
        }
    }
    let read = |volume: usize, name| {
        let mut view = View { volume: name, ..view(&lines, volume, TICK_NS, false) };
        view.mended.without_data = suspects;
        view
    };
    let views = vec![read(0, None), read(1, Some("1"))];
    Sample { name: "disks.srt", format: "srt", content, views }
}
