//! What a performing runner makes of a device below that has ended a life of its own: errors that were not about the
//! blocks, and content that may be gone.

use imbrex::block::{Extent, Pba};
use imbrex::perform::{Failure, IoKind};

use crate::served::{BLOCK, BLOCKS, SECOND, Served};

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
    assert_eq!(served.performer.dead(), Some(why));
}
