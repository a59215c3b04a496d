//! The end of the server. nbdkit waits until its clients have gone, however long they do nothing; here they are sent
//! away: what is under way is answered, and then nothing more is read from them.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use imbrex_live::panics;
use imbrex_live::service::Service;
use imbrex_live::threads;
use rustix::net::SocketAddrAny;
use rustix::process::{Signal, getpid, kill_process};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::{log, sockets};

/// How often it is checked whether requests are under way.
const OFTEN: Duration = Duration::from_millis(20);
/// How long nothing must be under way before nothing more is read: nbdkit sends replies after a request is done, and
/// answers what clients had sent before.
const QUIET: Duration = Duration::from_millis(100);
/// How long a client has to take its replies. The end as a whole takes at most three seconds.
const PATIENCE: Duration = Duration::from_millis(2500);
/// Signals so soon after the first are the same one: it came to a process and to its group.
const SAME: Duration = Duration::from_millis(300);

/// Sends away the clients that are connected to one of the addresses when one of nbdkit's signals comes; ends the
/// process at once, without its sockets, when another one does.
pub fn on_signals(
    service: Arc<Service>,
    addresses: Vec<SocketAddrAny>,
    sockets: impl Iterator<Item = PathBuf>,
) -> io::Result<()> {
    // nbdkit's own handlers are called too.
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGQUIT, SIGHUP])?;
    let sockets: Vec<PathBuf> = sockets.collect();
    threads::own("signals").spawn(move || {
        let mut all = signals.forever();
        if all.next().is_none() {
            return;
        }
        let since = Instant::now();
        if threads::own("ending").spawn(move || send_away(&service, &addresses)).is_err() {
            end_at_once(&sockets);
        }
        if all.any(|_| since.elapsed() >= SAME) {
            end_at_once(&sockets);
        }
    })?;
    Ok(())
}

/// Sends clients away, and those that come late, until the process ends.
fn send_away(service: &Service, addresses: &[SocketAddrAny]) {
    panics::injected("ending");
    tracing::info!("ending: what is under way is answered, and clients are sent away");
    service.engine().wait_no_more();
    let mut busy = Instant::now();
    loop {
        if service.engine().requests() > 0 {
            busy = Instant::now();
        }
        if busy.elapsed() >= PATIENCE {
            // nbdkit stands before a client that does not take its replies, and before 1.34 it would fail if the
            // connection were ended under it. So the process ends without it.
            if crate::end() {
                std::process::exit(0);
            }
        } else if busy.elapsed() >= QUIET {
            sockets::end_reading(addresses);
        }
        thread::sleep(OFTEN);
    }
}

fn end_at_once(sockets: &[PathBuf]) {
    log::end("ended at once by a second signal, before everything was durable");
    for path in sockets {
        let _ = std::fs::remove_file(path);
    }
    // Nothing else runs any more, and so nothing waits for anything else.
    let _ = kill_process(getpid(), Signal::KILL);
}
