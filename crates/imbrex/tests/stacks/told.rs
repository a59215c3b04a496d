//! Who is told that writes may be lost, when the life of a layer has ended: every client that there was, or else the
//! next one.

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

use crate::served::{BLOCK, Served};

const DONE: Result<Bytes, Failure> = Ok(Bytes::new());
const TOLD: Result<Bytes, Failure> = Err(Failure::Io);

/// A client writes, and what it wrote is lost.
fn lose(served: &mut Served, client: u32) {
    let write = Request::Write(Extent::new(Lba(1), 1), vec![9; BLOCK].into());
    assert_eq!(served.ask_as(client, write), DONE);
    restart(served);
}

/// Ends the life of the layer.
fn restart(served: &mut Served) {
    let lives = served.performer.counts().rebuilds;
    served.performer.device_restarted();
    served.settle(|_, _| false);
    assert!(served.performer.is_serving());
    assert_eq!(served.performer.counts().rebuilds, lives + 1);
}

fn flush(served: &mut Served, client: u32) -> Result<Bytes, Failure> {
    served.ask_as(client, Request::Flush)
}

#[test]
fn every_client_that_there_was_is_told_once() {
    let mut served = Served::new();
    assert_eq!(flush(&mut served, 2), DONE);
    lose(&mut served, 1);
    for client in [1, 2] {
        assert_eq!(flush(&mut served, client), TOLD);
        assert_eq!(flush(&mut served, client), DONE);
    }
}

#[test]
fn a_late_client_is_told_if_nobody_has_been() {
    let mut served = Served::new();
    lose(&mut served, 1);
    assert_eq!(flush(&mut served, 2), TOLD);
    assert_eq!(flush(&mut served, 3), DONE);
    assert_eq!(flush(&mut served, 1), TOLD);
}

#[test]
fn what_a_client_that_has_gone_was_not_told_the_next_one_is() {
    let mut served = Served::new();
    assert_eq!(flush(&mut served, 2), DONE);
    lose(&mut served, 1);
    assert_eq!(flush(&mut served, 2), TOLD);
    served.performer.forget(2);
    assert_eq!(flush(&mut served, 3), DONE);
    served.performer.forget(1);
    assert_eq!(flush(&mut served, 4), TOLD);
    assert_eq!(flush(&mut served, 5), DONE);
}

#[test]
fn nobody_is_told_where_nothing_can_be_lost() {
    let mut served = Served::new();
    served.fill();
    restart(&mut served);
    assert_eq!(flush(&mut served, 0), DONE);
    lose(&mut served, 0);
    restart(&mut served);
    assert_eq!(flush(&mut served, 0), TOLD);
    assert_eq!(flush(&mut served, 0), DONE);
}

#[test]
fn a_flush_for_the_sake_of_one_write_fails_with_its_life_and_tells_of_no_other() {
    let mut served = Served::new();
    assert_eq!(served.ask(Request::Fua { life: 0 }), DONE);
    lose(&mut served, 0);
    assert_eq!(served.ask(Request::Fua { life: 0 }), TOLD);
    assert_eq!(served.ask(Request::Fua { life: 1 }), DONE);
    assert_eq!(served.ask(Request::Flush), TOLD);
    assert_eq!(served.ask(Request::Flush), DONE);
}
