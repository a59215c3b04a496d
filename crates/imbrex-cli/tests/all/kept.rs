//! A volume is opened by every later version. Of each layer one is kept in `kept/`, compressed, as the first version left
//! it that had both the layer and this test: formatted, written to, and its server killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::Request;
use imbrex::recording::Recording;
use imbrex_live::solo::Solo;
use imbrex_live::store_path;
use imbrex_live::volume::Volume;
use liblzma::read::XzDecoder;
use liblzma::write::XzEncoder;

const BLOCK: usize = 4096;
/// Blocks that are written in order, and then again, one by one.
const BLOCKS: u64 = 300;
/// Blocks behind them that nobody wrote.
const EMPTY: u64 = 50;
/// Bytes that are unpacked at a time.
const PART: usize = 1 << 20;

/// Where volumes are kept.
fn kept() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/all/kept")
}

/// The members of a kept volume of `info`.
fn names(info: &LayerInfo) -> Vec<String> {
    let members = if info.recording == Recording::Cached { 2 } else { 1 };
    (1..=members).map(|member| format!("{}.{member}.img", info.name)).collect()
}

fn drives(recording: Recording) -> &'static str {
    match recording {
        Recording::Conventional => "--drive conventional-7200 --capacity 64MiB",
        Recording::Zoned => "--drive small-zoned --capacity 64MiB",
        Recording::WholeZones => "--drive small-zoned",
        Recording::Banded => "--drive small-banded --capacity 64MiB",
        Recording::Interlaced => "--drive imrsim --capacity 256MiB",
        Recording::Hybrid => "--drive small-hybrid",
        Recording::Flash => "--drive ssd-pore --capacity 64MiB",
        Recording::Cached => "--drive ssd-pore --drive small-banded --capacity 64MiB --capacity 64MiB",
    }
}

fn opened(folder: &Path, info: &LayerInfo) -> Solo {
    let members = names(info).iter().map(|name| store_path::open(&folder.join(name)).unwrap()).collect();
    let volume = Volume::open(members).unwrap_or_else(|e| panic!("{}: {e}", info.name));
    volume.solo().unwrap_or_else(|e| panic!("{}: {e}", info.name))
}

/// The block that is written in each turn.
fn turns() -> impl Iterator<Item = u64> {
    (0..BLOCKS).chain((0..2 * BLOCKS).map(|turn| turn * 7919 % BLOCKS))
}

/// What a block is filled with in a turn.
fn filled(turn: usize) -> u8 {
    (turn % 251) as u8 + 1
}

fn write(solo: &mut Solo, at: u64, byte: u8) {
    solo.call(Request::Write(Extent::new(Lba(at), 1), Bytes::from(vec![byte; BLOCK]))).unwrap();
}

/// Whether the volume holds what was written, and nothing behind it.
fn holds(solo: &mut Solo, written: &BTreeMap<u64, u8>, what: &str) {
    for at in 0..BLOCKS + EMPTY {
        let (read, byte) = (solo.call(Request::Read(Extent::new(Lba(at), 1))).unwrap(), written.get(&at).unwrap_or(&0));
        assert!(read.iter().all(|read| read == byte), "{what}: block {at} holds {}, not {byte}", read[0]);
    }
}

/// Copies what is not zero, so that a drive's empty space takes none of the host's.
fn unpacked(packed: impl Read, to: &Path) {
    let (mut packed, mut image, mut part) = (XzDecoder::new(packed), File::create(to).unwrap(), Vec::new());
    let zeros = vec![0; PART];
    loop {
        part.clear();
        if packed.by_ref().take(PART as u64).read_to_end(&mut part).unwrap() == 0 {
            break;
        }
        if part == zeros[..part.len()] {
            image.seek(SeekFrom::Current(part.len() as i64)).unwrap();
        } else {
            image.write_all(&part).unwrap();
        }
    }
    let end = image.stream_position().unwrap();
    image.set_len(end).unwrap();
}

#[test]
fn a_volume_of_each_layer_is_read_and_written_on_by_every_later_version() {
    for info in layers::ALL {
        let folder = tempfile::tempdir().unwrap();
        for name in names(info) {
            let packed = File::open(kept().join(format!("{name}.xz")));
            let packed = packed.unwrap_or_else(|_| panic!("there is no volume of {}; {KEEP}", info.name));
            unpacked(packed, &folder.path().join(name));
        }
        let mut written: BTreeMap<_, _> = turns().enumerate().map(|(turn, at)| (at, filled(turn))).collect();
        let mut solo = opened(folder.path(), info);
        holds(&mut solo, &written, info.name);
        for at in (0..BLOCKS + EMPTY / 2).step_by(3) {
            written.insert(at, 255);
            write(&mut solo, at, 255);
        }
        solo.call(Request::Flush).unwrap();
        solo.stack.checkpoint();
        solo.settle();
        drop(solo);
        holds(&mut opened(folder.path(), info), &written, info.name);
    }
}

/// What makes the volumes that are missing.
const KEEP: &str = "cargo test -p imbrex-cli --test all -- --ignored kept::keep_volumes makes one";

#[test]
#[ignore = "makes the volumes of layers that have none yet"]
fn keep_volumes() {
    for info in layers::ALL.iter().filter(|info| !kept().join(format!("{}.1.img.xz", info.name)).exists()) {
        let folder = tempfile::tempdir().unwrap();
        let options = format!("format {} --layer {} {}", names(info).join(" "), info.name, drives(info.recording));
        let mut program = Command::cargo_bin("imbrex").unwrap();
        program.args(options.split(' ')).current_dir(folder.path()).assert().success();
        let mut solo = opened(folder.path(), info);
        turns().enumerate().for_each(|(turn, at)| write(&mut solo, at, filled(turn)));
        solo.call(Request::Flush).unwrap();
        drop(solo);
        for name in names(info) {
            let mut packed = XzEncoder::new(File::create(kept().join(format!("{name}.xz"))).unwrap(), 9);
            io::copy(&mut File::open(folder.path().join(name)).unwrap(), &mut packed).unwrap();
            packed.finish().unwrap();
        }
    }
}
