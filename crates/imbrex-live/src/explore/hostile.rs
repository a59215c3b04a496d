//! Volumes whose metadata an attacker has changed at will, checksums included.
//!
//! Random damage hardly gets past a checksum. So what was changed can be sealed again, and recovery has to cope with
//! everything that a checksum cannot rule out.

use std::sync::{Arc, OnceLock};

use imbrex::block::{Extent, Lba};
use imbrex::explore::{BLOCK, Devices, Dice, content};
use imbrex::layers;
use imbrex::perform::rules::Rules;
use imbrex::perform::{IoResult, Request, Stack};

use super::images::Images;
use super::parts::Part;
use super::sums::Sums;
use super::volatile::Volatile;
use crate::image::Image;
use crate::offline;
use crate::solo::Solo;
use crate::volume::{Members, Volume};

/// The layers whose volumes are tried: one for each kind of drive, and a cache; and how many pages of the map are in
/// memory, where others are on the drive.
const LAYERS: [(&str, Option<u32>); 10] = [
    ("fifo-log", None),
    ("dm-zoned", None),
    ("log-greedy", None),
    ("skylight", None),
    ("seagate", None),
    ("page-ftl", None),
    ("lru-cache", None),
    ("amphisbaena", None),
    ("log-greedy", Some(3)),
    ("sepbit", Some(4)),
];
/// Bytes at the beginning of a copy, to which most changes go.
const HEADER_BYTES: u64 = 1024;
/// Operations after which recovery must have ended.
const STUCK: usize = 100_000;

/// A volume in use.
struct Used {
    files: Vec<Volatile>,
    parts: Vec<(usize, Part)>,
}

/// A volume in use of the layer of this name; nothing where none can be made.
fn used((name, map_pages): (&str, Option<u32>)) -> Option<Used> {
    let info = layers::find(name).ok()?;
    let mut images = Images::draw_paged(info, Rules::all(), Sums::None, map_pages, &mut Dice::new(2)).ok()?;
    let volume = images.make().ok()?;
    let mut solo = volume.solo().ok()?;
    for version in 1..120 {
        let lba = Lba(version * 7 % images.capacity());
        let write = Request::Write(Extent::new(lba, 1), content::block(lba, version, BLOCK));
        solo.call(write).and_then(|_| solo.call(Request::Flush)).ok()?;
    }
    drop((solo, volume));
    let copies = (0..images.drives()).flat_map(|drive| images.parts(drive).into_iter().map(move |part| (drive, part)));
    let parts = copies.chain(images.pages().map(|pages| (0, pages))).collect();
    Some(Used { parts, files: images.files() })
}

/// Opens a volume that the bytes choose and change, looks at it and serves all of it. Neither a panic nor an endless
/// recovery may come of it.
///
/// # Panics
/// When recovery does not come to an end, which is what this is to find out.
pub fn open_hostile(bytes: &[u8]) {
    static USED: [OnceLock<Option<Used>>; LAYERS.len()] = [const { OnceLock::new() }; LAYERS.len()];
    let Some((first, rest)) = bytes.split_first() else { return };
    let number = usize::from(*first) % LAYERS.len();
    let used = USED[number].get_or_init(|| used(LAYERS[number]));
    let Some(used) = used else { unreachable!("a volume of {:?} can be made", LAYERS[number]) };
    let files: Vec<Volatile> = used.files.iter().map(Volatile::copied).collect();
    rest.chunks(6).for_each(|change| apply(used, &files, change));
    let image = |file: &Volatile| Some(Arc::new(Image::open(file.clone()).ok()?) as _);
    let Some(members) = files.iter().map(image).collect::<Option<Members>>() else { return };
    let Ok(volume) = Volume::open(members) else { return };
    let _ = offline::check(&volume, true);
    serve(&volume);
}

/// Changes both copies of something in a place: the part, the place in it, what goes there, and whether it is sealed.
fn apply(used: &Used, files: &[Volatile], change: &[u8]) {
    let &[part, high, low, value, width, seals] = change else { return };
    let (drive, part) = used.parts[usize::from(part) % used.parts.len()];
    let file = &files[drive];
    let at = u64::from(u16::from_be_bytes([high, low]));
    let is_in_blocks = matches!(part.what, "journal" | "page");
    let block = if is_in_blocks { at / HEADER_BYTES * BLOCK as u64 } else { 0 };
    let at = (block + at % HEADER_BYTES) % part.len;
    for (_, copy) in used.parts.iter().filter(|(of, other)| *of == drive && other.what == part.what) {
        for i in 0..u64::from(width % 8).min(part.len - at) {
            let old = file.content(copy.offset + at + i, 1)[0];
            file.flip(copy.offset + at + i, old ^ value);
        }
        if seals % 8 > 0 {
            seal(file, copy, at);
        }
    }
}

/// Makes the checksum of what lies at a place of a copy right.
fn seal(file: &Volatile, part: &Part, at: u64) {
    let (start, len, crc_at) = match part.what {
        "journal" => (at / BLOCK as u64 * BLOCK as u64, BLOCK, 64),
        "the image's table of units" => (at / 16 * 16, 16, 12),
        "page" => {
            let start = at / BLOCK as u64 * BLOCK as u64;
            let header = file.content(part.offset + start, 40);
            let content = u32::from_le_bytes([header[36], header[37], header[38], header[39]]) as usize;
            (start, content.saturating_add(64).min(BLOCK), 40)
        }
        _ => {
            let header = file.content(part.offset, 16);
            let text = u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize;
            (0, (44usize.saturating_add(text)).min(part.len as usize), 40)
        }
    };
    let mut content = file.content(part.offset + start, len);
    content[crc_at..crc_at + 4].fill(0);
    let crc = if crc_at == 12 {
        crc32c::crc32c_append(crc32c::crc32c(&((at / 16) as u32).to_le_bytes()), &content[..12])
    } else {
        crc32c::crc32c(&content)
    };
    for (offset, byte) in (part.offset + start + crc_at as u64..).zip(crc.to_le_bytes()) {
        let old = file.content(offset, 1)[0];
        file.flip(offset, old ^ byte);
    }
}

fn serve(volume: &Volume) {
    let Ok(mut stack) = volume.setup().and_then(|setup| Ok(Stack::open(setup)?)) else { return };
    let mut operations = 0;
    while let Some((drive, io)) = stack.poll_io() {
        operations += 1;
        assert!(operations < STUCK, "recovery does not come to an end");
        stack.complete(io.id, volume.members[drive].perform(&io.kind).unwrap_or(IoResult::Failed));
    }
    if let Ok(mut solo) = Solo::begin(stack, volume.members.clone()) {
        let capacity = solo.stack.top().layer().map_or(0, |layer| layer.capacity());
        for lba in (0..capacity.min(500)).map(Lba) {
            let _ = solo.call(Request::Read(Extent::new(lba, 1)));
            let _ = solo.call(Request::Write(Extent::new(lba, 1), content::block(lba, 1, BLOCK)));
        }
        let _ = solo.call(Request::Flush);
    }
}
