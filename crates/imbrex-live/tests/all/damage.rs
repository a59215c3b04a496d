//! Any byte of any metadata block damaged: the other copy serves, or the volume is refused by what is damaged. Never a
//! panic, never wrong data.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::explore::{BLOCK, Devices, Dice, content};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::Request;
use imbrex::perform::journal::decode_block;
use imbrex::perform::rules::Rules;
use imbrex_live::backing::Backing;
use imbrex_live::explore::{Images, Part, Volatile};
use imbrex_live::image::Image;
use imbrex_live::volume::{Members, Volume};
use test_material::cases;

/// A volume in use, and what its blocks hold.
struct Used {
    files: Vec<Volatile>,
    parts: Vec<Vec<Part>>,
    newest: Vec<u64>,
}

/// How a volume came to rest.
#[derive(Copy, Clone, PartialEq, Debug)]
enum Rest {
    Stopped,
    Cut,
}

fn used(info: &'static LayerInfo, rest: Rest, seed: u64) -> Used {
    let mut dice = Dice::new(seed);
    let mut images = Images::draw(info, Rules::all(), &mut dice).unwrap();
    let volume = images.make().unwrap();
    let mut solo = volume.solo().unwrap();
    let mut newest = vec![0; images.capacity() as usize];
    for version in 1..250 {
        let lba = dice.below(newest.len() as u64);
        let request = Request::Write(Extent::new(Lba(lba), 1), content::block(Lba(lba), version, BLOCK));
        solo.call(request).unwrap();
        newest[lba as usize] = version;
        if version % 7 == 0 {
            solo.call(Request::Flush).unwrap();
        }
    }
    solo.call(Request::Flush).unwrap();
    if rest == Rest::Stopped {
        solo.stack.checkpoint();
        solo.settle();
    } else {
        // What this brings to the journal may be torn.
        for lba in 0..newest.len().min(9) as u64 {
            let same = content::block(Lba(lba), newest[lba as usize], BLOCK);
            let same = if newest[lba as usize] == 0 { vec![0; BLOCK].into() } else { same };
            solo.call(Request::Write(Extent::new(Lba(lba), 1), same)).unwrap();
        }
    }
    drop((solo, volume));
    let parts = (0..images.drives()).map(|drive| images.parts(drive)).collect();
    if rest == Rest::Cut {
        images.cut(&mut dice);
    }
    Used { files: images.files(), parts, newest }
}

impl Used {
    /// Whether a byte lies in the newest commit of a journal. Nothing after it says that it was durable, so that with
    /// both copies damaged it is as if it were torn.
    fn is_newest(&self, drive: usize, journal: &Part, byte: u64) -> bool {
        let bytes = self.files[drive].content(journal.offset, journal.len as usize);
        let headers = bytes.chunks(BLOCK).map(|block| decode_block(&Bytes::copy_from_slice(block), None));
        let headers: Vec<_> = headers.map(|block| block.map(|block| block.header)).collect();
        let durable = headers.iter().flatten().map(|header| header.durable).max().unwrap();
        headers[byte as usize / BLOCK].is_some_and(|header| header.start >= durable)
    }
}

/// Opens and reads everything; what it says when it refuses.
fn serve(used: &Used, files: &[Volatile]) -> Result<(), String> {
    let open = |file: &Volatile| Ok(Arc::new(Image::open(file.clone()).map_err(|e| e.to_string())?) as _);
    let members: Members = files.iter().map(open).collect::<Result<_, String>>()?;
    let volume = Volume::open(members).map_err(|e| e.to_string())?;
    let mut solo = volume.solo().map_err(|e| e.to_string())?;
    for (lba, version) in (0..).zip(&used.newest) {
        let read = solo.call(Request::Read(Extent::new(Lba(lba), 1))).unwrap();
        let is_right = if *version == 0 {
            read.iter().all(|byte| *byte == 0)
        } else {
            read == content::block(Lba(lba), *version, BLOCK)
        };
        assert!(is_right, "block {lba} does not hold version {version}");
    }
    Ok(())
}

/// What damages a place so that it cannot be read.
const UNREADABLE: u8 = 0;

/// Serves with one byte of each of some places changed, or not to be read.
fn served(used: &Used, drive: usize, at: &[(u64, u8)]) -> Result<(), String> {
    let files: Vec<Volatile> = used.files.iter().map(Volatile::copied).collect();
    for (offset, change) in at {
        match *change {
            UNREADABLE => files[drive].make_unreadable(*offset, 1),
            change => files[drive].flip(*offset, change),
        }
    }
    let result = std::panic::catch_unwind(AssertUnwindSafe(|| serve(used, &files)));
    result.unwrap_or_else(|_| panic!("drive {drive} with {at:?} changed"))
}

#[test]
fn one_damaged_byte_does_not_matter() {
    let mut damaged = 0;
    for (info, rest) in layers::ALL.iter().flat_map(|info| [(info, Rest::Stopped), (info, Rest::Cut)]) {
        let used = used(info, rest, 5);
        assert_eq!(served(&used, 0, &[]), Ok(()), "{} {rest:?}", info.name);
        let mut dice = Dice::new(9);
        for (drive, parts) in used.parts.iter().enumerate() {
            for Part { what, offset, len, .. } in parts {
                for block in (0..*len).step_by(BLOCK * cases(8, 1)) {
                    let within = (len - block).min(BLOCK as u64);
                    // Most of a copy is the zeros behind what it says.
                    let bytes = if dice.one_in(3) { 1 } else { within };
                    let at = offset + block + dice.below(bytes.max(64).min(within));
                    let change = if dice.one_in(4) { UNREADABLE } else { 1 << dice.below(8) };
                    let result = served(&used, drive, &[(at, change)]);
                    assert_eq!(result, Ok(()), "{} {rest:?}: {what}, byte {at} changed by {change}", info.name);
                    damaged += 1;
                }
            }
        }
    }
    println!("{damaged} blocks damaged");
    assert!(damaged > 1500);
}

#[test]
fn a_part_of_an_image_that_cannot_be_read_is_mended() {
    let used = used(layers::find("fifo-log").unwrap(), Rest::Stopped, 3);
    let file = &used.files[0];
    for part in Image::open(file.clone()).unwrap().metadata() {
        let file = file.copied();
        file.make_unreadable(part.offset, 1);
        let image = Image::open(file.clone()).unwrap();
        assert!(image.stale()[0].contains(&format!("copy {}", part.copy)), "{part:?}: {:?}", image.stale());
        image.mend().unwrap();
        assert_eq!((image.stale(), file.unreadable()), (Vec::new(), Vec::new()));
        assert_eq!(Image::open(file).unwrap().stale(), Vec::<String>::new(), "{part:?}");
    }
}

#[test]
fn an_image_without_its_end_is_refused() {
    let used = used(layers::find("fifo-log").unwrap(), Rest::Stopped, 3);
    let whole = used.files[0].content(0, used.files[0].len());
    for len in [whole.len() - BLOCK, whole.len() / 2] {
        let short = Volatile::new(len, false);
        short.write_at(&whole[..len], 0).unwrap();
        assert!(Image::open(short).is_err_and(|e| e.to_string().contains("its end is missing")), "{len}");
    }
}

#[test]
fn every_byte_of_what_is_short() {
    for rest in [Rest::Stopped, Rest::Cut] {
        let used = used(layers::find("fifo-log").unwrap(), rest, 3);
        for Part { what, offset, len, .. } in &used.parts[0] {
            let is_journal = what.contains("journal");
            for at in *offset..offset + (*len).min(if is_journal { 300 } else { 700 }) {
                assert_eq!(served(&used, 0, &[(at, 0x41)]), Ok(()), "{what}, byte {at}");
            }
        }
    }
}

#[test]
fn the_same_damage_in_both_copies_is_refused_by_name() {
    let (mut refused, mut harmless) = (0, 0);
    for (info, rest) in layers::ALL.iter().flat_map(|info| [(info, Rest::Stopped), (info, Rest::Cut)]) {
        let used = used(info, rest, 8);
        for (drive, parts) in used.parts.iter().enumerate() {
            for first in parts.iter().filter(|part| part.copy == 0) {
                let second = parts.iter().find(|part| part.copy == 1 && part.what == first.what).unwrap();
                for byte in (0..first.len).step_by(BLOCK * cases(8, 1)) {
                    let byte = byte + 5;
                    if byte >= first.len || (first.what == "journal" && used.is_newest(drive, first, byte)) {
                        continue;
                    }
                    match served(&used, drive, &[(first.offset + byte, 4), (second.offset + byte, 4)]) {
                        Ok(()) => harmless += 1,
                        Err(why) => {
                            assert!(why.contains(first.what), "{}: {}: {why}", info.name, first.what);
                            refused += 1;
                        }
                    }
                }
            }
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 200 && harmless > 400, "{refused} refused, {harmless} harmless");
}
