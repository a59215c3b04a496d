//! VSCSI records of CloudPhysics, which know one disk and no volumes.

use super::lines::{Line, lines, view};
use super::{Kind, Request, Sample, View};

const TICK_NS: u64 = 1_000;
const FIRST_TICKS: u64 = 1_349_000_000_000_003;
/// READ and WRITE of 6, 10, 12 and 16 bytes.
const READS: [u16; 4] = [0x28, 0x08, 0xa8, 0x88];
const WRITES: [u16; 4] = [0x2a, 0x0a, 0xaa, 0x8a];
const SYNCHRONIZE_CACHE: u16 = 0x35;

pub(super) fn version_1(requests: &[Request]) -> Sample {
    sample("vscsi1.bin", "vscsi1", requests, |serial, command, line| {
        let mut record = Vec::with_capacity(32);
        record.extend(serial.to_le_bytes());
        record.extend(line.bytes.to_le_bytes());
        record.extend(elements(line).to_le_bytes());
        record.extend(command.to_le_bytes());
        record.extend(0x0100u16.to_le_bytes());
        record.extend((line.offset_bytes / 512).to_le_bytes());
        record.extend(line.ticks.to_le_bytes());
        record
    })
}

pub(super) fn version_2(requests: &[Request]) -> Sample {
    sample("vscsi2.bin", "vscsi2", requests, |serial, command, line| {
        let mut record = Vec::with_capacity(40);
        record.extend(command.to_le_bytes());
        record.extend(0x0200u16.to_le_bytes());
        record.extend(serial.to_le_bytes());
        record.extend(line.bytes.to_le_bytes());
        record.extend(elements(line).to_le_bytes());
        record.extend((line.offset_bytes / 512).to_le_bytes());
        record.extend(line.ticks.to_le_bytes());
        record.extend(line.response.to_le_bytes());
        record
    })
}

/// Scatter-gather elements, one for 64 KiB.
fn elements(line: &Line) -> u32 {
    line.bytes.div_ceil(1 << 16)
}

fn sample(
    name: &'static str,
    format: &'static str,
    requests: &[Request],
    record: impl Fn(u32, u16, &Line) -> Vec<u8>,
) -> Sample {
    let lines = lines(requests, FIRST_TICKS, TICK_NS, 1);
    let mut content = Vec::new();
    let (mut serial, mut flushes) = (0u32, 0);
    for (i, line) in lines.iter().enumerate() {
        serial += 1;
        let commands = if line.kind == Kind::Write { WRITES } else { READS };
        content.extend(record(serial, commands[i % 4], line));
        if i % 30 == 7 {
            serial += 1;
            flushes += 1;
            content.extend(record(serial, SYNCHRONIZE_CACHE, &Line { bytes: 0, offset_bytes: 0, ..*line }));
        }
    }
    let mut read: View = view(&lines, 0, TICK_NS, false);
    read.mended.without_data = flushes;
    Sample { name, format, content, views: vec![read] }
}
