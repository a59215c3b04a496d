//! A volume as a block device of Linux's ublk, served by this program itself.

use std::path::Path;
use std::process;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use imbrex_live::carriers::Threads;
use imbrex_live::panics;
use imbrex_live::service::{NOT_DURABLE, Service, ServiceOptions, Status, allocator, log};
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use imbrex_ublk::{Control, Device, DeviceOptions, End};

use super::nbdkit::SAME;

/// Why there is nothing to serve any more.
enum Ended {
    /// A signal came.
    Told,
    /// The device came to its end.
    Device(End),
}

/// Serves a volume until a signal comes or the device is taken away. `announce` is told where it is served; what it
/// returns is kept until then.
pub fn serve<T>(
    options: &ServiceOptions,
    device: &DeviceOptions,
    json: bool,
    announce: impl FnOnce(&Status, &str) -> Result<T>,
) -> Result<()> {
    let control = Control::open().map_err(|why| anyhow!("{why}, or serve with --nbd"))?;
    let (tell, told) = channel();
    on_signals(tell.clone())?;
    log::start(json);
    let control_socket = options.control.clone();
    panics::end_the_process(move |why| {
        note(format_args!("error: {NOT_DURABLE}: {why}; serve the volume again to take its device over"));
        // The next server need not find a socket that nothing listens at.
        control_socket.iter().for_each(|path| drop(std::fs::remove_file(path)));
    });
    let service = Arc::new(Service::start_for(options, Arc::new(Threads))?);
    allocator::keep_small(&service);
    let answering = service.answer(options)?;
    let (tell_end, device_ended) = channel();
    let device = Device::serve(control, &service, device, &tell_end)?;
    thread::spawn(move || device_ended.into_iter().for_each(|end| drop(tell.send(Ended::Device(end)))));
    let path = device.path();
    let announced = announce(&service.status(), &described(&device, &path));
    if let Err(why) = &announced {
        tracing::warn!(%why, "not all of it could be announced");
    }
    // The senders never all go away.
    let ended = told.recv().unwrap_or(Ended::Told);
    let stopped = stop(&service, device, &ended);
    drop(answering);
    stopped?;
    match ended {
        Ended::Device(End::Failed(error)) => Err(error).context(format!("{} ended", path.display())),
        Ended::Told | Ended::Device(End::Gone) => Ok(()),
    }
}

fn described(device: &Device, path: &Path) -> String {
    let again = if device.recovered() { ", which a killed server left: the next flush fails" } else { "" };
    format!("{}{again}", path.display())
}

/// Takes the device away when everything that was written to it is answered, and makes that durable.
fn stop(service: &Service, device: Device, ended: &Ended) -> Result<()> {
    service.engine().wait_no_more();
    if matches!(ended, Ended::Told) {
        tracing::info!("ending: what is under way is answered, and the device is taken away");
        if let Err(error) = device.sync() {
            tracing::warn!(%error, "what the kernel keeps of the device in memory cannot be written");
        }
    }
    let gone = device.end();
    service.stop().map_err(|why| anyhow!("{NOT_DURABLE}: {why}"))?;
    tracing::info!("everything is durable, stopped");
    gone.map_err(Into::into)
}

/// Reports the first signal, and lets a later one end the process at once.
fn on_signals(tell: Sender<Ended>) -> Result<()> {
    let mut since = None;
    let come = move |_| match since {
        None => {
            since = Some(Instant::now());
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
