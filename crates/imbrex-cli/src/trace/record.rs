//! `imbrex trace record`: the requests of a block device as a trace, recorded by `blktrace`.

use std::fs;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use imbrex::trace::{BlockEvent, FileOptions, TraceError, TraceFile, TraceFormat, Workload};
use imbrex_runs::written::Written;
use imbrex_terminal::duration::nanoseconds;
use imbrex_terminal::say::note;
use imbrex_terminal::stop;
use rustix::process::{Pid, Signal, kill_process};

use super::conversion::{self, Target};

/// Record the requests of a block device of Linux, by blktrace, until Ctrl-C
#[derive(Args)]
pub struct Record {
    /// The block device, such as /dev/sda
    #[arg(value_name = "DEVICE")]
    device: PathBuf,
    /// The file to write, ending in .parquet or .csv; it appears, or replaces the one there, when the recording has ended
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    to: PathBuf,
    /// Record for TIME, such as 10min, in whole seconds
    #[arg(long = "for", value_name = "TIME", value_parser = seconds)]
    time: Option<u64>,
    /// The events that are requests, Q (queued by file systems) or D (issued to the drive)
    #[arg(long, value_name = "Q|D", default_value = "Q", value_parser = BlockEvent::read)]
    event: BlockEvent,
}

fn seconds(text: &str) -> Result<u64, String> {
    let whole = nanoseconds(text).filter(|ns| ns.is_multiple_of(1_000_000_000));
    whole.map(|ns| ns / 1_000_000_000).ok_or_else(|| "write a time in whole seconds, such as 30s or 10min".to_owned())
}

impl Record {
    pub fn run(self) -> Result<()> {
        let device = self.device.display();
        let is = fs::metadata(&self.device).with_context(|| format!("cannot open {device}"))?;
        if !is.file_type().is_block_device() {
            bail!("{device} is no block device; name one, such as /dev/sda");
        }
        let (mut recorder, events) = Recorder::start(&self)?;
        match self.time {
            Some(_) => note(format!("{device}: recording; Ctrl-C ends it earlier")),
            None => note(format!("{device}: recording until Ctrl-C")),
        }
        let options = FileOptions { format: Some(TraceFormat::Blkparse), event: Some(self.event), volume: None };
        // What comes through a pipe is read by its name among the open files.
        let path = PathBuf::from(format!("/proc/self/fd/{}", events.as_raw_fd()));
        let workload = Workload::File(TraceFile { name: device.to_string(), path, options });
        let written = conversion::write_when(&workload, &self.to, &Target::default(), || recorder.finish());
        written.map_err(|e| match e.downcast_ref() {
            // Why nothing came is what blktrace knows, if it failed.
            Some(TraceError::Empty { .. }) => {
                recorder.finish().err().unwrap_or_else(|| anyhow!("{device}: nobody used it"))
            }
            _ => e,
        })
    }
}

/// `blktrace`, and `blkparse`, which makes text of what it finds.
struct Recorder {
    /// Nothing before it has begun.
    blktrace: Arc<Mutex<Option<Child>>>,
    blkparse: Child,
}

impl Recorder {
    /// Begins, and gives the text.
    fn start(record: &Record) -> Result<(Self, ChildStdout)> {
        let action = match record.event {
            BlockEvent::Queued => "queue",
            BlockEvent::Issued => "issue",
        };
        let mut command = Command::new("blktrace");
        command.arg("-d").arg(&record.device).args(["-a", action, "-o", "-"]);
        command.args(record.time.iter().flat_map(|seconds| ["-w".to_owned(), seconds.to_string()]));
        let blktrace = Arc::new(Mutex::new(None));
        // A signal waits until there is something to end.
        let mut begun = lock(&blktrace);
        let by_hand = blktrace.clone();
        let mut signal = Signal::TERM;
        stop::on_signals(move |_| {
            end(&by_hand, signal);
            // Who asks again does not want to wait any longer.
            signal = Signal::KILL;
        })?;
        let child = begun.insert(spawn(&mut command, Stdio::null())?);
        let found = child.stdout.take().ok_or_else(|| anyhow!("blktrace has no output"))?;
        let mut blkparse = Command::new("blkparse");
        let mut blkparse = spawn(blkparse.args(["-q", "-i", "-"]), found.into()).inspect_err(|_| kill(child))?;
        drop(begun);
        let events = blkparse.stdout.take().ok_or_else(|| anyhow!("blkparse has no output"))?;
        Ok((Self { blktrace, blkparse }, events))
    }

    /// Waits for the end, when all that they said has been read, and tells what went wrong.
    fn finish(&mut self) -> Result<()> {
        lock(&self.blktrace).iter_mut().try_for_each(|blktrace| ended("blktrace", blktrace))?;
        ended("blkparse", &mut self.blkparse)
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        lock(&self.blktrace).iter_mut().for_each(kill);
        kill(&mut self.blkparse);
    }
}

/// Begins a program that does not get the signals of the terminal: Ctrl-C would end what has to be finished.
fn spawn(command: &mut Command, input: Stdio) -> Result<Child> {
    let begun = command.stdin(input).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0).spawn();
    begun.map_err(|cause| {
        let name = Path::new(command.get_program()).display();
        match cause.kind() {
            io::ErrorKind::NotFound => anyhow!("{name} is not installed; the package blktrace of distributions has it"),
            _ => anyhow!("cannot run {name}: {cause}"),
        }
    })
}

/// Asks `blktrace` to end. By SIGTERM it says before what it still has; shells have what they run in the background ignore
/// SIGINT.
fn end(blktrace: &Mutex<Option<Child>>, signal: Signal) {
    // Whoever has ended has no number any more.
    if let Some(child) = &mut *lock(blktrace)
        && matches!(child.try_wait(), Ok(None))
    {
        let asked = kill_process(Pid::from_child(child), signal);
        asked.unwrap_or_else(|cause| note(format!("blktrace cannot be ended: {cause}")));
    }
}

fn kill(child: &mut Child) {
    // One that has ended needs nothing.
    let _ = child.kill().and_then(|()| child.wait());
}

/// Waits for a program whose output has ended. What it says on standard error when it fails is why; otherwise it is told.
fn ended(name: &str, child: &mut Child) -> Result<()> {
    let mut said = String::new();
    if let Some(mut stream) = child.stderr.take() {
        stream.read_to_string(&mut said)?;
    }
    let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
    let status = child.wait()?;
    if !status.success() {
        let why = if said.is_empty() { status.to_string() } else { said };
        bail!(
            "{name} failed: {why}; it needs root, debugfs at /sys/kernel/debug, and a kernel that has block tracing and is \
             not locked down"
        );
    }
    if !said.is_empty() {
        note(format!("{name}: {said}"));
    }
    Ok(())
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
