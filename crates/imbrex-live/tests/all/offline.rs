//! Looking at volumes that nobody serves: nothing is changed, damage is found, and a repair loses nothing that can be
//! reached.

use imbrex::block::{Extent, Lba, Pba};
use imbrex::explore::{BLOCK, Devices, Dice, content};
use imbrex::layers::{self, LayerInfo};
use imbrex::perform::rules::Rules;
use imbrex::perform::{Failure, Request};
use imbrex::recording::Recording;
use imbrex_live::explore::{Images, Part};
use imbrex_live::offline::{self, Checked, Mapped, Problem, check, repair};
use imbrex_live::volume::Volume;

fn block(lba: u64, version: u64) -> Request {
    Request::Write(Extent::new(Lba(lba), 1), content::block(Lba(lba), version, BLOCK))
}

/// A volume with something in every block, stopped without a checkpoint.
fn used(info: &'static LayerInfo) -> (Images, Volume) {
    let mut images = Images::draw(info, Rules::all(), &mut Dice::new(4)).unwrap();
    let volume = images.make().unwrap();
    let mut solo = volume.solo().unwrap();
    for round in 0..3 {
        for lba in 0..images.capacity() {
            solo.call(block(lba, 1 + round)).unwrap();
        }
        solo.call(Request::Flush).unwrap();
    }
    (images, volume)
}

fn contents(images: &Images) -> Vec<Vec<u8>> {
    images.files().iter().map(|file| file.content(0, file.len())).collect()
}

fn problems(checked: &Checked) -> Vec<&Problem> {
    checked.problems.iter().collect()
}

#[test]
fn a_volume_in_use_is_whole_and_looking_changes_nothing() {
    for info in layers::ALL {
        let (mut images, volume) = used(info);
        let before = contents(&images);
        let checked = check(&volume, true);
        assert_eq!(problems(&checked), Vec::<&Problem>::new(), "{}", info.name);
        assert!(checked.read_blocks > 0, "{}", info.name);
        assert_eq!(contents(&images), before, "{}", info.name);
        let mut states = offline::layers(&volume).unwrap();
        let host = states.last_mut().unwrap();
        let (mapped, capacity) = (Mapped::of(host), images.capacity());
        assert!(mapped.blocks() == capacity || info.recording == Recording::Cached, "{}", info.name);
        images.cut(&mut Dice::new(1));
    }
}

#[test]
fn every_damaged_copy_is_named_and_repaired() {
    for info in layers::ALL {
        let (mut images, volume) = used(info);
        drop(volume);
        let mut dice = Dice::new(7);
        for drive in 0..images.drives() {
            for Part { what, offset, .. } in images.parts(drive) {
                images.files()[drive].flip(offset + 9, 1 << dice.below(8));
                let volume = images.reopen().unwrap();
                let checked = check(&volume, false);
                let named = checked.problems.iter().filter(|problem| problem.what.contains(what)).count();
                let is_old = what == "journal" && checked.problems.is_empty();
                assert!(named == 1 || is_old, "{}: {what}: {:?}", info.name, checked.problems);
                assert!(checked.problems.iter().all(|problem| problem.is_repairable), "{}: {checked:?}", info.name);
                repair(&volume, &checked).unwrap();
                drop(volume);
                let again = check(&images.reopen().unwrap(), true);
                assert_eq!(problems(&again), Vec::<&Problem>::new(), "{}: {what}", info.name);
            }
        }
    }
}

#[test]
fn blocks_that_cannot_be_read_go_on_record_and_no_others() {
    // Without a record of it the first would be found again and again; the others' blocks lie below a cache.
    let recorded = |info: &&LayerInfo| info.name != "conventional" && info.recording != Recording::Cached;
    for info in layers::ALL.iter().filter(recorded) {
        let (mut images, volume) = used(info);
        let runs = Mapped::of(&mut offline::layers(&volume).unwrap()[0]).runs;
        let bad: Vec<(Lba, Pba)> = runs.iter().take(2).map(|run| (run.lba, run.at.start)).collect();
        bad.iter().for_each(|(_, place)| images.make_unreadable(0, *place));
        let checked = check(&volume, true);
        assert_eq!(checked.unreadable[0].len(), bad.len(), "{}", info.name);
        repair(&volume, &checked).unwrap();
        drop(volume);
        let volume = images.reopen().unwrap();
        let again = check(&volume, true);
        assert_eq!((problems(&again), again.lost_blocks), (vec![], bad.len() as u64), "{}", info.name);
        let mut solo = volume.solo().unwrap();
        for lba in (0..images.capacity()).map(Lba) {
            let read = solo.call(Request::Read(Extent::new(lba, 1)));
            let is_bad = bad.iter().any(|(lost, _)| *lost == lba);
            let expected = if is_bad { Err(Failure::Io) } else { Ok(content::block(lba, 3, BLOCK)) };
            assert_eq!(read, expected, "{}, {lba:?}", info.name);
        }
    }
}
