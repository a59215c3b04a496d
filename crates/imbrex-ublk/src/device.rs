//! A device: made for a volume or, where a killed server left one, taken over; and ended.

use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use imbrex_live::pool::Pool;
use imbrex_live::service::{Batches, Client, Service};
use imbrex_live::threads;
use rustix::process::{Pid, test_kill_process};

use crate::abi::{self, Info};
use crate::control::Control;
use crate::limits::{self, Sector};
use crate::pool::{self, Job, Origin};
use crate::queue;
use crate::results::Results;

/// How long the driver, and the program that makes the names of devices, has for what it does on its own.
const PATIENCE: Duration = Duration::from_secs(10);
const OFTEN: Duration = Duration::from_millis(10);

/// How a volume becomes a device.
#[derive(Copy, Clone, Debug)]
pub struct DeviceOptions {
    /// The number of the device; without it the lowest one that is free.
    pub number: Option<u32>,
    /// What requests begin and end at.
    pub sector: Sector,
    /// Queues, of which the driver makes no more than there are processors.
    pub queues: u16,
    /// Requests of a queue that are under way at a time.
    pub depth: u16,
    /// Threads that answer requests.
    pub threads: u32,
}

/// How a device comes to its end.
#[derive(Debug)]
pub enum End {
    /// It was taken away.
    Gone,
    /// A queue cannot go on.
    Failed(io::Error),
}

/// Why there is no device, or why it ended.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// The driver refused something.
    #[error("ublk cannot {0}: {1}")]
    Refused(&'static str, io::Error),
    /// The server that has the volume's device still lives.
    #[error("/dev/ublkb{0} is this volume's, and its server, process {1}, still runs")]
    Served(u32, i32),
    /// The number is another volume's.
    #[error("/dev/ublkb{0} is there already, and not this volume's")]
    Taken(u32),
}

/// A device that is served.
pub struct Device {
    control: Control,
    number: u32,
    recovered: bool,
    pool: Arc<Pool<Job>>,
    queues: Vec<JoinHandle<()>>,
    workers: Vec<JoinHandle<()>>,
}

fn refused(what: &'static str) -> impl Fn(io::Error) -> DeviceError {
    move |error| DeviceError::Refused(what, error)
}

impl Device {
    /// Serves a volume as a device. If a server of this volume was killed, the device that it left is taken over, and
    /// the next flush fails, since what that server had answered may be lost. Tells when the device has ended, and why
    /// if not because it was told to.
    ///
    /// # Errors
    /// Why there is none.
    pub fn serve(
        mut control: Control,
        service: &Arc<Service>,
        options: &DeviceOptions,
        ended: &Sender<End>,
    ) -> Result<Self, DeviceError> {
        let left = left_behind(&mut control, service.identity())?;
        let recovered = left.is_some();
        let info = match left {
            Some(left) => {
                service.engine().presume_loss();
                taken_over(&mut control, left.device)?;
                left
            }
            None => made(&mut control, service, options)?,
        };
        let number = info.device;
        let mut device =
            Self { control, number, recovered, pool: Arc::default(), queues: Vec::new(), workers: Vec::new() };
        let begun = device.begin(service, info, options.threads, ended);
        if begun.is_err() && !recovered {
            // Not waited for: its queues' threads have it open until this program ends.
            let _ = device.control.simple(abi::DEL_DEV_ASYNC, number);
        }
        begun.map(|()| device)
    }

    fn begin(
        &mut self,
        service: &Arc<Service>,
        info: Info,
        threads: u32,
        ended: &Sender<End>,
    ) -> Result<(), DeviceError> {
        let file = Arc::new(opened(self.number).map_err(refused("open what the driver made"))?);
        let client = Arc::new(Client::of(service));
        for number in 0..info.queues {
            let results = Results::of(number).map_err(refused("make a queue"))?;
            let origin = Arc::new(Origin { results, writes: Batches::default() });
            let (file, pool, ended) = (Arc::clone(&file), Arc::clone(&self.pool), ended.clone());
            let client = Arc::clone(&client);
            let run = move || {
                let end =
                    queue::run(&origin, info.depth, &file, &client, &pool).map_or_else(End::Failed, |()| End::Gone);
                // A server that does not listen is ending the device.
                let _ = ended.send(end);
            };
            let queue = threads::own("queue").spawn(run);
            self.queues.push(queue.map_err(refused("have a thread"))?);
        }
        for _ in 0..threads.max(1) {
            let (file, pool, client) = (Arc::clone(&file), Arc::clone(&self.pool), Arc::clone(&client));
            let worker =
                thread::Builder::new().name("request".to_owned()).spawn(move || pool::work(&pool, &client, &file));
            self.workers.push(worker.map_err(refused("have a thread"))?);
        }
        let op = if self.recovered { abi::END_USER_RECOVERY } else { abi::START_DEV };
        // Waits until every queue has asked for requests.
        self.control.with_own_number(op, self.number).map_err(refused("start the device"))
    }

    /// Where the device is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path(self.number)
    }

    /// Whether it was left by a killed server.
    #[must_use]
    pub fn recovered(&self) -> bool {
        self.recovered
    }

    /// Writes what the kernel has cached of it, so that nothing is lost that was written to the device itself.
    ///
    /// # Errors
    /// When that failed.
    pub fn sync(&self) -> io::Result<()> {
        File::open(self.path())?.sync_all()
    }

    /// Takes the device away when what is under way is answered.
    ///
    /// # Errors
    /// What the driver refused.
    pub fn end(mut self) -> Result<(), DeviceError> {
        self.control.simple(abi::STOP_DEV, self.number).map_err(refused("stop the device"))?;
        for queue in self.queues.drain(..) {
            // One that panicked would have ended the process.
            let _ = queue.join();
        }
        self.pool.end();
        for worker in self.workers.drain(..) {
            let _ = worker.join();
        }
        self.control.simple(abi::DEL_DEV, self.number).map_err(refused("delete the device"))
    }
}

fn path(number: u32) -> PathBuf {
    format!("/dev/ublkb{number}").into()
}

/// A new device.
fn made(control: &mut Control, service: &Service, options: &DeviceOptions) -> Result<Info, DeviceError> {
    let info = Info {
        queues: options.queues,
        depth: options.depth,
        request_bytes: limits::REQUEST_BYTES,
        device: options.number.unwrap_or(abi::ANY),
        pid: -1,
        flags: abi::NEEDED,
        own: service.identity(),
        ..Info::default()
    };
    let info = control.add(info).map_err(|error| match (error.raw_os_error(), options.number) {
        (Some(17), Some(number)) => DeviceError::Taken(number),
        _ => refused("make a device")(error),
    })?;
    let set = control.set(info.device, limits::params(service, options.sector));
    if set.is_err() {
        let _ = control.simple(abi::DEL_DEV, info.device);
    }
    set.map_err(refused("say what the device is like"))?;
    Ok(info)
}

/// The device that a killed server of this volume left, when it waits for another one.
fn left_behind(control: &mut Control, identity: u64) -> Result<Option<Info>, DeviceError> {
    let is_ours = |info: &Info| info.own == identity && info.state != abi::DEAD;
    let Some(ours) = control.devices().into_iter().find(is_ours) else { return Ok(None) };
    let since = Instant::now();
    loop {
        let info = control.info(ours.device).map_err(refused("say how the device stands"))?;
        match info.state {
            abi::QUIESCED => return Ok(Some(info)),
            abi::LIVE if since.elapsed() < PATIENCE => thread::sleep(OFTEN),
            abi::LIVE if runs(info.pid) => return Err(DeviceError::Served(info.device, info.pid)),
            abi::LIVE => return Err(refused("see that a killed server is gone")(io::ErrorKind::TimedOut.into())),
            _ => return Ok(None),
        }
    }
}

fn runs(pid: i32) -> bool {
    Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok())
}

/// Begins to take a device over. The driver is busy as long as anything of the killed server is left.
fn taken_over(control: &mut Control, device: u32) -> Result<(), DeviceError> {
    let since = Instant::now();
    loop {
        match control.simple(abi::START_USER_RECOVERY, device) {
            Err(error) if error.raw_os_error() == Some(16) && since.elapsed() < PATIENCE => thread::sleep(OFTEN),
            other => return other.map_err(refused("take the device over")),
        }
    }
}

/// The driver's side of a device, whose name may take a moment to appear.
fn opened(number: u32) -> io::Result<File> {
    let since = Instant::now();
    loop {
        match File::options().read(true).write(true).open(format!("/dev/ublkc{number}")) {
            Err(_) if since.elapsed() < PATIENCE => thread::sleep(OFTEN),
            other => return other,
        }
    }
}
