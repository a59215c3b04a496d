//! What holds for every format, on MSR and VSCSI.

mod chosen;
mod examples;
mod robust;
mod srt;
mod text;
mod wrong;

use std::io::{self, Cursor, Write};

use super::*;
use crate::{Irregularities, TraceRequest};

const MSR: &[u8] = b"128166372003061629,hm,1,Read,383496192,32768,413\n\
    128166372003061639,hm,1,Write,4096,512,1\r\n\
    128166372003061634,hm,1,Write,8192,4096,1\n";

/// Command, sector, length, time.
type Command = (u16, u64, u32, u64);

const COMMANDS: &[Command] = &[(0x28, 8, 4096, 100), (0x35, 0, 0, 150), (0x8a, 1 << 33, 512, 200), (0x2a, 3, 0, 300)];

fn vscsi1(commands: &[Command]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (serial, &(command, sector, length, time)) in (0x0200_0000u32..).zip(commands) {
        bytes.extend([serial, length, 1].map(u32::to_le_bytes).concat());
        bytes.extend([command, 0x0100].map(u16::to_le_bytes).concat());
        bytes.extend([sector, time].map(u64::to_le_bytes).concat());
    }
    bytes
}

fn vscsi2(commands: &[Command]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (serial, &(command, sector, length, time)) in (0u32..).zip(commands) {
        bytes.extend([command, 0x0200].map(u16::to_le_bytes).concat());
        bytes.extend([serial, length, 1].map(u32::to_le_bytes).concat());
        bytes.extend([sector, time, 77].map(u64::to_le_bytes).concat());
    }
    bytes
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn xz(content: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 1);
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn zstd(content: &[u8]) -> Vec<u8> {
    zstd::encode_all(content, 1).unwrap()
}

fn every_compression(content: &[u8]) -> [(Compression, Vec<u8>); 4] {
    [
        (Compression::None, content.to_vec()),
        (Compression::Zstd, zstd(content)),
        (Compression::Gzip, gzip(content)),
        (Compression::Xz, xz(content)),
    ]
}

/// All requests of a trace, taken in batches of `limit`, and the source at its end.
fn drain(content: Vec<u8>, limit: usize) -> Result<(Vec<TraceRequest>, Box<dyn TraceSource>), TraceError> {
    drain_with(content, limit, &FileOptions::default())
}

fn drain_with(
    content: Vec<u8>,
    limit: usize,
    options: &FileOptions,
) -> Result<(Vec<TraceRequest>, Box<dyn TraceSource>), TraceError> {
    let mut source = read_with("t", Cursor::new(content), options)?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.fill(&mut batch, limit)?;
        assert!(batch.len() <= limit);
        if batch.is_empty() {
            return Ok((all, source));
        }
        all.append(&mut batch);
    }
}

fn error(content: impl Into<Vec<u8>>) -> String {
    error_with(content, &FileOptions::default())
}

fn error_with(content: impl Into<Vec<u8>>, options: &FileOptions) -> String {
    match drain_with(content.into(), 100, options) {
        Ok(_) => panic!("the trace was read without an error"),
        Err(error) => error.to_string(),
    }
}

fn request(arrival_ns: u64, access: Access, offset_bytes: u64, bytes: u32) -> TraceRequest {
    TraceRequest { arrival_ns, offset_bytes, bytes, access }
}

#[test]
fn msr_is_read_through_every_compression() {
    for (compression, content) in every_compression(MSR) {
        let (requests, source) = drain(content, 2).unwrap();
        let expected = [
            request(0, Access::Read, 383_496_192, 32_768),
            request(1000, Access::Write, 4096, 512),
            request(1000, Access::Write, 8192, 4096),
        ];
        assert_eq!(requests, expected);
        let info = TraceInfo { name: "t".into(), format: TraceFormat::Msr, compression, synthetic: false };
        assert_eq!(source.info(), &info);
        assert_eq!(source.irregularities(), Irregularities { out_of_order: 1, ..Irregularities::default() });
    }
}

#[test]
fn both_versions_of_vscsi_are_read_through_every_compression() {
    for (format, content) in [(TraceFormat::Vscsi1, vscsi1(COMMANDS)), (TraceFormat::Vscsi2, vscsi2(COMMANDS))] {
        for (compression, content) in every_compression(&content) {
            let (requests, source) = drain(content, 1).unwrap();
            let expected = [request(0, Access::Read, 4096, 4096), request(100_000, Access::Write, 1 << 42, 512)];
            assert_eq!(requests, expected);
            assert_eq!(source.info(), &TraceInfo { name: "t".into(), format, compression, synthetic: false });
            assert_eq!(
                source.irregularities(),
                Irregularities { zero_size: 1, without_data: 1, ..Irregularities::default() }
            );
        }
    }
}

#[test]
fn the_window_moves_over_long_traces_and_joined_streams() {
    let lines = 20_000u64;
    let text: String = (0..lines).map(|i| format!("{},h,0,Write,{},512,{i}\n", 5_000 + i, i * 512)).collect();
    let records: Vec<Command> = (0..lines).map(|i| (0x2a, i, 512, i)).collect();
    for content in [text.into_bytes(), vscsi1(&records), vscsi2(&records)] {
        let (a, b) = content.split_at(content.len() / 3);
        let joined = [[zstd(a), zstd(b)].concat(), [gzip(a), gzip(b)].concat(), [xz(a), xz(b)].concat()];
        for content in [content.clone()].into_iter().chain(joined) {
            let (requests, _) = drain(content, 4096).unwrap();
            assert!(requests.iter().map(|r| r.offset_bytes).eq((0..lines).map(|i| i * 512)));
        }
    }
}

#[test]
fn what_surrounds_the_lines_is_no_request() {
    let (requests, _) =
        drain(b"Timestamp,Hostname,Disk,Type,Offset,Size,Response\n\n1,h,0,read,0,8,9".into(), 9).unwrap();
    assert_eq!(requests, [request(0, Access::Read, 0, 8)]);
}

#[test]
fn a_volume_called_synthetic_labels_the_trace() {
    let msr = "Timestamp,Hostname,Disk,Type,Offset,Size,Response\r\n\r\n";
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n";
    for (content, chosen, synthetic) in [
        ("1,synthetic,0,read,0,8,9\n", None, true),
        (&format!("{msr}1,synthetic,0,read,0,8,9\r\n"), None, true),
        (&format!("{msr}1,synthetics,0,read,0,8,9\n"), None, false),
        ("1,h,synthetic,read,0,8,9\n", None, false),
        ("1,h,0,read,0,0,9\n2,synthetic,0,read,0,8,9\n", None, true),
        ("1,h,0,read,0,8,9\n2,synthetic,0,read,0,8,9\n", None, false),
        ("1,h,0,read,0,8,9\n2,synthetic,0,read,0,8,9\n", Some("synthetic,0"), true),
        ("1,synthetic,0,read,0,8,9\n2,h,0,read,0,8,9\n", Some("h,0"), false),
        ("1.5,0.1,R,synthetic,0,8\n", None, true),
        (&format!("{systor}1.5,,W,synthetic,0,8\n"), None, true),
        (&format!("{systor}1.5,,W,6,0,8\n"), None, false),
        ("1,R,0,8,1\n1,W,0,8,1\n", None, false),
    ] {
        let options = FileOptions { volume: chosen.map(str::to_owned), ..FileOptions::default() };
        let (requests, source) = drain_with(content.into(), 9, &options).unwrap();
        assert_eq!((requests[0].bytes, source.info().is_synthetic()), (8, synthetic), "{content}");
    }
    assert!(error("1.5,0.1,R,6,0,8\n1.5,0.1,R,synthetics,0,8\n").contains("LUN is \"synthetics\""));
}

#[test]
fn parquet_in_a_stream_is_refused_with_the_remedy() {
    for (_, content) in every_compression(b"PAR1 and so on PAR1") {
        let message = error(content);
        assert!(message.starts_with("t is Parquet"), "{message}");
    }
}

#[test]
fn one_record_tells_its_version() {
    // The serial number puts a 2 where version 2 has its version.
    for (format, content) in
        [(TraceFormat::Vscsi1, vscsi1(&COMMANDS[..1])), (TraceFormat::Vscsi2, vscsi2(&COMMANDS[..1]))]
    {
        assert_eq!(drain(content, 1).unwrap().1.info().format, format);
    }
}

#[test]
fn arrivals_never_decrease() {
    let (requests, source) = drain(vscsi1(&[10, 5, 30, 20, 30].map(|time| (0x28, 0, 512, time))), 9).unwrap();
    assert!(requests.iter().map(|r| r.arrival_ns).eq([0, 0, 20_000, 20_000, 20_000]));
    assert_eq!(source.irregularities().out_of_order, 2);
}

#[test]
fn a_wrong_line_is_named() {
    for (line, message) in [
        ("1,h,0,Write,0", "expected 7 comma-separated fields, found 5; restore or delete the line"),
        ("1,h,0,Write,0,5,6,7", "expected 7 comma-separated fields, found 8; restore or delete the line"),
        ("-1,h,0,Write,0,5,6", "timestamp is \"-1\", not a whole number from 0; correct or delete the line"),
        ("1,h,0,Write,-4096,5,6", "offset is \"-4096\", not a whole number from 0; correct or delete the line"),
        ("1,h,0,Write,0,,6", "size is \"\", not a whole number from 0; correct or delete the line"),
        ("1,h,0,Write,0,4294967296,6", "size 4294967296 is too large; correct or delete this request"),
        ("1,h,0,Write,18446744073709551616,5,6", "offset 18446744073709551616 is too large"),
        ("1,h,0,Write,18446744073709551615,5,6", "offset + size 18446744073709551615 + 5 is too large"),
        ("18446744073709551615,h,0,Write,0,5,6", "timestamp 18446744073709551615 is too large"),
        ("1,h,0,Flush,0,5,6", "type is \"Flush\", neither Read nor Write; correct or delete the line"),
    ] {
        let message_found = error(format!("1,h,0,Write,0,512,6\n\n{line}\n"));
        assert!(message_found.starts_with(&format!("t, line 3: {message}")), "{message_found}");
    }
    let endless = [b"1,h,0,Write,0,512,6\n".as_slice(), &[b'1'; 200_000]].concat();
    assert!(error(endless).starts_with("t, line 2: the line is longer than 131072 bytes"));
}

#[test]
fn a_wrong_record_is_named() {
    let good = (0x2a, 0, 512, 0);
    for (encode, size) in [(vscsi1 as fn(&[Command]) -> Vec<u8>, 32), (vscsi2, 40)] {
        let wrong = |command| error(encode(&[good, good, command]));
        let at = 2 * size;
        assert_eq!(
            wrong((0x42, 0, 512, 0)),
            format!(
                "t, byte {at}: SCSI command 0x42 is neither a read nor a write nor free of data; filter it out of the trace"
            )
        );
        assert!(
            wrong((0x28, u64::MAX, 512, 0)).starts_with(&format!("t, byte {at}: sector {} is too large", u64::MAX))
        );
        assert!(wrong((0x28, u64::MAX >> 9, 513, 0)).starts_with(&format!("t, byte {at}: offset + size ")));
        assert!(wrong((0x28, 0, 512, u64::MAX)).starts_with(&format!("t, byte {at}: timestamp ")));
        let mut cut = encode(&[good, good, good]);
        cut.truncate(2 * size + 5);
        assert!(error(cut).starts_with(&format!("t, byte {at}: the file ends 5 bytes into a record of {size};")));
    }
    let mixed = [vscsi1(&[good, good]), vscsi2(&[good, good])].concat();
    assert!(error(mixed).starts_with("t, byte 64: the record says version 0x"));
}

#[test]
fn a_file_without_requests_is_refused() {
    for content in [&b""[..], b"Timestamp,Hostname,Disk,Type,Offset,Size,Response\n", b"1,h,0,Read,0,0,9\n"] {
        for (_, content) in every_compression(content) {
            assert_eq!(error(content), "t holds no requests; name a trace that has some");
        }
    }
}

#[test]
fn other_content_is_refused() {
    let mut one_record_only = vscsi1(&COMMANDS[..1]);
    one_record_only.extend([7; 32]);
    for content in [&b"hello\n"[..], b"0.1,0.2,W,0,512\n", b"\n", &[0; 100], &[0xff; 100], &one_record_only] {
        assert!(error(content).starts_with("t is in no trace format that can be told by its content; name the format"));
    }
}

#[test]
fn a_damaged_compressed_stream_is_refused() {
    let long: Vec<u8> = MSR.repeat(5_000);
    for (compression, content) in every_compression(&long).into_iter().skip(1) {
        for damage in [
            |content: &mut Vec<u8>| content.truncate(content.len() / 2),
            |content: &mut Vec<u8>| {
                let middle = content.len() / 2;
                content[middle..].iter_mut().for_each(|byte| *byte ^= 0x5a);
            },
        ] {
            let mut damaged = content.clone();
            damage(&mut damaged);
            let message = error(damaged);
            let start = format!("the {compression} stream of t does not decode (");
            // What was decoded before the damage showed may already be wrong.
            assert!(message.starts_with(&start) || message.starts_with("t, line "), "{message}");
        }
        let cut = content[..content.len() - 1].to_vec();
        assert!(error(cut).contains("stream of t does not decode"), "{compression}");
    }
}

#[test]
fn a_stream_that_asks_for_too_much_memory_is_refused() {
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(MSR).unwrap();
    let wide_zstd = encoder.finish().unwrap();
    // The dictionary size stands in the block header, which ends with a checksum; 32 means 256 MiB.
    let mut wide_xz = xz(MSR);
    assert_eq!(wide_xz[12..16], [2, 0, 0x21, 1]);
    wide_xz[16] = 32;
    let mut checksum = flate2::Crc::new();
    checksum.update(&wide_xz[12..20]);
    wide_xz[20..24].copy_from_slice(&checksum.sum().to_le_bytes());
    for content in [wide_zstd, wide_xz] {
        let message = error(content);
        assert!(message.contains("needs over 128 MiB; fetch the file again or decompress it first"), "{message}");
    }
}

#[test]
fn files_that_cannot_be_opened_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let failed = |path: &Path| open(path).err().unwrap().to_string();
    let name = folder.path().display();
    assert_eq!(failed(folder.path()), format!("{name} is a directory; name one of the trace files in it"));
    assert!(failed(&folder.path().join("none")).starts_with(&format!("cannot open {name}/none: ")));
}

#[test]
fn a_stream_that_this_build_cannot_decode_is_not_called_damaged() {
    let said = |kind| stream_error("a.zst", Compression::Zstd, io::Error::from(kind)).to_string();
    assert!(!said(io::ErrorKind::Unsupported).contains("damaged"));
    assert!(said(io::ErrorKind::InvalidData).contains("damaged"));
}
