//! A volume that this program serves itself, without nbdkit.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::time::Instant;

use anyhow::{Result, anyhow};
use imbrex_live::carriers::Threads;
use imbrex_live::panics;
use imbrex_live::service::{NOT_DURABLE, Service, ServiceOptions, Status, allocator, log};
use imbrex_terminal::say::note;
use imbrex_terminal::stop;

use super::manager;
use super::nbdkit::SAME;

/// Where requests come from.
pub trait Front {
    /// Where that is, for people.
    fn place(&self) -> String;

    /// Has everything sent here that was written to it and is kept elsewhere.
    ///
    /// # Errors
    /// When that failed.
    fn sync(&self) -> io::Result<()>;

    /// Takes it away when what is under way is answered.
    ///
    /// # Errors
    /// When it does not go.
    fn end(self: Box<Self>) -> Result<()>;
}

/// Why there is nothing to serve any more.
#[cfg_attr(not(feature = "ublk"), expect(dead_code, reason = "only a device of the kernel's ends by itself"))]
pub enum Ended {
    /// A signal came.
    Told,
    /// The front was taken away.
    Gone,
    /// The front cannot go on.
    Failed(io::Error),
}

/// Serves a volume at the front that `open` makes until a signal comes or that has ended. `announce` is told where it is
/// served; what it returns is kept until then. `again` says what to do after a panic.
pub fn serve<T>(
    options: &ServiceOptions,
    json: bool,
    again: &'static str,
    open: impl FnOnce(&Arc<Service>, Sender<Ended>) -> Result<Box<dyn Front>>,
    announce: impl FnOnce(&Status, &str) -> Result<T>,
) -> Result<()> {
    let (tell, told) = channel();
    on_signals(tell.clone())?;
    log::start(json);
    let control_socket = options.control.clone();
    panics::end_the_process(move |why| {
        note(format_args!("error: {NOT_DURABLE}: {why}; {again}"));
        // The next server need not find a socket that nothing listens at.
        control_socket.iter().for_each(|path| drop(std::fs::remove_file(path)));
    });
    let service = Arc::new(Service::start_for(options, Arc::new(Threads))?);
    allocator::keep_small(&service);
    let answering = service.answer(options)?;
    let front = open(&service, tell)?;
    let place = front.place();
    let announced = announce(&service.status(), &place);
    if let Err(why) = &announced {
        tracing::warn!(%why, "not all of it could be announced");
    }
    // The senders never all go away.
    let ended = told.recv().unwrap_or(Ended::Told);
    let stopped = stop(&service, front, &ended);
    drop(answering);
    stopped?;
    match ended {
        Ended::Failed(error) => Err(anyhow!(error).context(format!("{place} ended"))),
        Ended::Told | Ended::Gone => Ok(()),
    }
}

/// Takes the front away when everything that was written to it is answered, and makes that durable.
fn stop(service: &Service, front: Box<dyn Front>, ended: &Ended) -> Result<()> {
    service.engine().wait_no_more();
    if matches!(ended, Ended::Told) {
        tracing::info!("ending: what is under way is answered");
        if let Err(error) = front.sync() {
            tracing::warn!(%error, "what the kernel keeps of the device in memory cannot be written");
        }
    }
    let gone = front.end();
    service.stop().map_err(|why| anyhow!("{NOT_DURABLE}: {why}"))?;
    tracing::info!("everything is durable, stopped");
    gone
}

/// Reports the first signal, and lets a later one end the process at once.
fn on_signals(tell: Sender<Ended>) -> Result<()> {
    let mut since = None;
    let come = move |_| match since {
        None => {
            since = Some(Instant::now());
            manager::stopping();
            // Nobody listens once the end has begun.
            let _ = tell.send(Ended::Told);
        }
        Some(since) if since.elapsed() < SAME => {}
        Some(_) => {
            note("error: ended at once by a second signal, before everything was durable");
            process::exit(1);
        }
    };
    stop::on_signals(come).map_err(|e| anyhow!("signals cannot be taken: {e}"))
}
