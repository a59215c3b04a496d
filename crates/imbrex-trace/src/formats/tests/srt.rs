//! HP's SRT, whose records are made here.

use super::examples::{NONE, READ, WRITE};
use super::*;

const TEXT: &[u8] = b"$$TR_IOREC-1.3 (a \"text\")\0\nversion = 1.3;\nsystem = \"{ 5 -> { sectorsize = 1\";\n\
    disks = {\n\t0 -> { disktype = hp335h, sectorsize  = 256,\n sections = { 8 -> { \"/\", size = (1 2) } } }\n\
    3 -> {\n queue = {fcfs, 1}, sectorsize=512, adaptor = 1 -> { hp_ib, 1.2 } }\n4 -> { rpm = 4002 }\n};\n\x0c";

/// Version and type, time in seconds and microseconds, bytes, sector, disk, flags.
type Made = (u32, [u32; 2], u32, u32, u32, u32);

fn record(&(id, [seconds, micros], bytes, sector, disk, flags): &Made) -> Vec<u8> {
    let mut numbers = vec![0, id, seconds, micros, 7, 9, bytes, sector, 8 << 24 | disk << 8 | 7, 4, 1, flags, 5];
    numbers.extend([1].repeat(usize::from(id >> 16 == 4) + usize::from(id & 0xffff == 4)));
    numbers[0] = numbers.len() as u32 * 4;
    numbers.into_iter().flat_map(u32::to_be_bytes).collect()
}

fn trace(records: &[Made]) -> Vec<u8> {
    [TEXT.to_vec(), records.iter().flat_map(record).collect()].concat()
}

const RECORDS: &[Made] = &[
    (0x4_0001, [0, 0], 4096, 1056, 3, 0x1b),
    (0x4_0001, [0, 5], 4096, 1056, 0, 0x1b),
    (0x4_0004, [0, 6], 4096, 1056, 0, 0x1b),
    (0x4_0001, [1, 2], 1024, 8, 0, 0x8_810a),
    (0x1_0001, [1, 1], 1024, 16, 0, 0x8_810a),
    (0x2_0001, [1, 3], 0, 16, 0, 0x8_810a),
];

#[test]
fn records_are_read_with_the_sectors_of_their_disk() {
    for (_, content) in every_compression(&trace(RECORDS)) {
        let (requests, source) = drain(content.clone(), 2).unwrap();
        let expected = [
            request(0, READ, 1056 * 256, 4096),
            request(999_997_000, WRITE, 2048, 1024),
            request(999_997_000, WRITE, 4096, 1024),
        ];
        assert_eq!(requests, expected);
        assert_eq!((source.info().format, source.volume().as_deref()), (TraceFormat::Srt, Some("0")));
        let mended = Irregularities { out_of_order: 1, zero_size: 1, without_data: 1, other_volumes: 1, ..NONE };
        assert_eq!(source.irregularities(), mended);
        let of_3 = FileOptions { volume: Some("3".into()), ..FileOptions::default() };
        assert_eq!(drain_with(content, 2, &of_3).unwrap().0, [request(0, READ, 1056 * 512, 4096)]);
    }
    let of_7 = FileOptions { volume: Some("7".into()), ..FileOptions::default() };
    assert!(error_with(trace(RECORDS), &of_7).contains("no request of volume 7; choose one it has"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let good = (0x4_0001, [0, 0], 512, 1, 0, 1);
    let at = |records: usize| TEXT.len() + records * 56;
    let mut cut = trace(&[good, good]);
    cut.truncate(at(1) + 20);
    assert_eq!(
        error(cut),
        format!("t, byte {}: the file ends 20 bytes into a record of 56; fetch it again or cut these bytes off", at(1))
    );
    let mut cut = trace(&[good]);
    cut.extend([0; 5]);
    assert!(error(cut).contains(&format!("byte {}: the file ends 5 bytes into a record", at(1))));
    for id in [0x5_0001, 0x4_0002, 0x4_0000] {
        let found = error(trace(&[good, (id, [0, 0], 512, 1, 0, 1)]));
        let size = record(&(id, [0, 0], 512, 1, 0, 1)).len();
        let said =
            format!("t, byte {}: a record of {size} bytes with the type {id:#010x} is none of an SRT request", at(1));
        assert!(found.starts_with(&said), "{found}");
    }
}

/// A disk in a text in quotes is none.
#[test]
fn a_disk_without_sectors_is_refused() {
    for disk in [4, 5] {
        let found = error(trace(&[(0x4_0001, [0, 0], 512, 1, disk, 1)]));
        let said = format!("t, byte {}: the request is for disk {disk}, whose sectorsize the text", TEXT.len());
        assert!(found.starts_with(&said), "{found}");
    }
}

#[test]
fn a_text_without_end_is_refused() {
    let endless = [&TEXT[..TEXT.len() - 1], &[b' '; 200_000]].concat();
    assert!(error(endless).starts_with("t, byte 0: no text that begins with $$TR_IOREC and ends with a form feed"));
    assert!(error(&TEXT[..40]).starts_with("t, byte 0: no text that begins with $$TR_IOREC"));
    assert_eq!(error(TEXT), "t holds no requests; name a trace that has some");
}

#[test]
fn damaged_records_never_panic() {
    let content = trace(RECORDS);
    for at in 0..content.len() {
        for byte in [0, 1, b'{', b'}', b'"', 0x0c, 0xff] {
            let mut damaged = content.clone();
            damaged[at] = byte;
            let _ = drain(damaged, 3);
        }
    }
}
