//! To whom it is reported that acknowledged writes may be lost, when the life of a layer has ended: every client that
//! there was, or else the next one.

use bytes::Bytes;
use imbrex::block::{Extent, Lba};
use imbrex::perform::{Failure, Request};

use super::served::{BLOCK, Served};

const DONE: Result<Bytes, Failure> = Ok(Bytes::new());
const REPORTED: Result<Bytes, Failure> = Err(Failure::Io);

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
fn a_loss_is_reported_once_to_every_client_that_there_was() {
    let mut served = Served::new();
    assert_eq!(flush(&mut served, 2), DONE);
    lose(&mut served, 1);
    for client in [1, 2] {
        assert_eq!(flush(&mut served, client), REPORTED);
        assert_eq!(flush(&mut served, client), DONE);
    }
}

#[test]
fn a_late_client_gets_the_report_if_nobody_has() {
    let mut served = Served::new();
    lose(&mut served, 1);
    assert_eq!(flush(&mut served, 2), REPORTED);
    assert_eq!(flush(&mut served, 3), DONE);
    assert_eq!(flush(&mut served, 1), REPORTED);
}

#[test]
fn a_report_that_a_client_has_not_got_when_it_goes_is_for_the_next_one() {
    let mut served = Served::new();
    assert_eq!(flush(&mut served, 2), DONE);
    lose(&mut served, 1);
    assert_eq!(flush(&mut served, 2), REPORTED);
    served.performer.forget(2);
    assert_eq!(flush(&mut served, 3), DONE);
    served.performer.forget(1);
    assert_eq!(flush(&mut served, 4), REPORTED);
    assert_eq!(flush(&mut served, 5), DONE);
}

#[test]
fn nothing_is_reported_where_nothing_can_be_lost() {
    let mut served = Served::new();
    served.fill();
    restart(&mut served);
    assert_eq!(flush(&mut served, 0), DONE);
    lose(&mut served, 0);
    restart(&mut served);
    assert_eq!(flush(&mut served, 0), REPORTED);
    assert_eq!(flush(&mut served, 0), DONE);
}

#[test]
fn a_flush_for_the_sake_of_one_write_fails_with_its_life_and_reports_no_other() {
    let mut served = Served::new();
    assert_eq!(served.ask(Request::Fua { epoch: 0 }), DONE);
    lose(&mut served, 0);
    assert_eq!(served.ask(Request::Fua { epoch: 0 }), REPORTED);
    assert_eq!(served.ask(Request::Fua { epoch: 1 }), DONE);
    assert_eq!(served.ask(Request::Flush), REPORTED);
    assert_eq!(served.ask(Request::Flush), DONE);
}
