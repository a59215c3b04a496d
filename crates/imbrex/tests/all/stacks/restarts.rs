//! What a live engine makes of a device below that has ended an epoch of its own: errors that were not about the
//! blocks, and content that may be gone.

use imbrex::block::{Extent, Pba};
use imbrex::perform::{Failure, Fatal, IoKind, Request};

use super::served::{BLOCK, BLOCKS, SECOND, Served};

/// How often recovery tries to read a block.
const TRIES: u32 = 5;

/// Has idle cleaning fail to read block 0 from the second device, and then so many probes of it, with the last of which
/// the device says that it `restarts`, or does not. How often the block was probed.
fn probed_in_vain(served: &mut Served, times: u32, restarts: bool) -> u32 {
    let suspect = Extent::new(Pba::new(SECOND, 0), 1);
    let mut probes = 0;
    served.performer.idle(1);
    served.settle(|performer, kind| match kind {
        IoKind::Read(at) if at.start == suspect.start && performer.counts().rebuilds == 0 => true,
        IoKind::Read(at) if *at == suspect => {
            probes += 1;
            if probes == times && restarts {
                performer.device_restarted();
            }
            probes <= times
        }
        _ => false,
    });
    assert_eq!(served.performer.counts().rebuilds, 1);
    assert!(served.performer.is_serving());
    probes
}

fn lost_blocks(served: &mut Served) -> Vec<u32> {
    let mut lost = Vec::new();
    for block in 0..BLOCKS {
        match served.read(block) {
            Ok(content) => assert_eq!(content, vec![block as u8 + 1; BLOCK]),
            Err(failure) => {
                assert_eq!(failure, Failure::Io);
                lost.push(block);
            }
        }
    }
    lost
}

#[test]
fn a_block_that_cannot_be_probed_is_lost() {
    let mut served = Served::new();
    served.fill();
    assert_eq!(probed_in_vain(&mut served, TRIES, false), TRIES);
    assert_eq!(lost_blocks(&mut served), [0]);
}

#[test]
fn a_block_that_can_be_read_in_the_end_is_not_lost() {
    let mut served = Served::new();
    served.fill();
    assert_eq!(probed_in_vain(&mut served, TRIES - 1, false), TRIES);
    assert_eq!(lost_blocks(&mut served), [0_u32; 0]);
}

#[test]
fn a_block_is_probed_again_when_its_device_has_restarted_meanwhile() {
    let mut served = Served::new();
    served.fill();
    assert_eq!(probed_in_vain(&mut served, TRIES, true), TRIES + 1);
    assert_eq!(lost_blocks(&mut served), [0_u32; 0]);
}

#[test]
fn a_drive_that_cannot_be_flushed_is_given_up_with_a_remedy() {
    let mut served = Served::new();
    served.performer.device_restarted();
    let mut flushes = 0;
    served.settle(|_, kind| {
        flushes += u32::from(matches!(kind, IoKind::Flush));
        true
    });
    assert_eq!(flushes, TRIES);
    let why = "recovery ended: the drive failed to make durable what was written, 5 times; mend it and serve it again";
    assert_eq!(served.performer.dead().unwrap().to_string(), why);
}

#[test]
fn failures_of_a_drive_add_up_over_the_stages_of_recovery() {
    let mut served = Served::new();
    served.performer.device_restarted();
    let (mut flushes, mut reports) = (0, 0);
    served.settle(|_, kind| {
        flushes += u32::from(matches!(kind, IoKind::Flush));
        reports += u32::from(matches!(kind, IoKind::Report));
        matches!(kind, IoKind::Report) || (matches!(kind, IoKind::Flush) && flushes <= 2)
    });
    assert_eq!((flushes, reports), (2 + 2, TRIES - 2), "two flushes that fail, one before and one after the images");
    let why = "recovery ended: the drive failed to say how its zones stand, 5 times; mend it and serve it again";
    assert_eq!(served.performer.dead().unwrap().to_string(), why);
}

/// Ends the life of the layer, and has so many lives after it fail to write their first entry.
fn fail_starts(served: &mut Served, times: u64) {
    let lives = served.performer.counts().rebuilds;
    served.performer.device_restarted();
    served.settle(|performer, kind| matches!(kind, IoKind::Write(..)) && performer.counts().rebuilds - lives <= times);
}

#[test]
fn a_journal_that_cannot_be_written_is_given_up_after_five_starts() {
    let mut served = Served::new();
    fail_starts(&mut served, u64::MAX);
    assert_eq!(served.performer.counts().rebuilds, 1 + 5);
    let why = "the first commit of 5 epochs in a row failed: the journal cannot be written";
    assert_eq!(served.performer.dead().unwrap().to_string(), why);
    assert_eq!(served.ask(Request::Flush), Err(Failure::Dead(Fatal::FirstCommitFails { times: 5 })));
}

#[test]
fn a_start_that_succeeds_makes_up_for_those_that_failed() {
    let mut served = Served::new();
    for _ in 0..2 {
        fail_starts(&mut served, 4);
        assert!(served.performer.is_serving());
    }
    assert_eq!(served.performer.counts().rebuilds, 2 * (1 + 4));
}
