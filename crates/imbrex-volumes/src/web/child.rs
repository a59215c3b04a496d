//! The process for HTTP as a server has it beside itself: started before the volume, started again when it ends, and
//! ended with the server, however that ends.

use std::env;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use imbrex_live::threads;
use imbrex_terminal::say::note;

use super::Said;
use crate::address::Addresses;

/// How long it is waited before it is started again, which also spares a machine where it always ends at once.
const REST: Duration = Duration::from_secs(1);

/// The process for HTTP, until it is dropped; none where nothing is told.
pub struct Child {
    at: Addresses,
    /// Nothing is sent: it is dropped when the process is to end.
    end: Option<Sender<()>>,
    keeper: Option<JoinHandle<()>>,
}

/// What is started, and started again.
struct Program {
    path: PathBuf,
    control: PathBuf,
    at: Addresses,
}

/// A process that runs, which ends when its standard input is closed.
struct Running {
    process: std::process::Child,
    input: ChildStdin,
}

impl Child {
    /// Tells of the volume whose server listens, or is going to, at `control`.
    ///
    /// # Errors
    /// When nothing can be told at one of the addresses.
    pub fn start(at: &Addresses, control: &Path) -> Result<Self> {
        if at.is_empty() {
            return Ok(Self { at: at.clone(), end: None, keeper: None });
        }
        let path = env::current_exe().context("where this program lies is not known")?;
        let mut program = Program { path, control: control.to_owned(), at: at.clone() };
        let (first, at) = program.start(0)?;
        // Where a free port was asked for, it stays the same when the process is started again.
        program.at = at.clone();
        let (end, ended) = channel();
        let keeper =
            threads::own("web").spawn(move || keep(&program, first, &ended)).context("there is no thread for HTTP")?;
        Ok(Self { at, end: Some(end), keeper: Some(keeper) })
    }

    /// What is told where: a line, or nothing.
    pub fn told(&self) -> String {
        if self.at.is_empty() { String::new() } else { format!("\n{}", self.at) }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        drop(self.end.take());
        if let Some(keeper) = self.keeper.take() {
            // It has nothing to say that matters now.
            let _ = keeper.join();
        }
    }
}

impl Program {
    /// Starts it, and waits until it says what it tells where.
    fn start(&self, restarts: u32) -> Result<(Running, Addresses)> {
        let mut command = Command::new(&self.path);
        command.arg("web").arg(&self.control).arg("--child").arg(format!("--restarts={restarts}"));
        let pairs = [("--http", self.at.http), ("--metrics", self.at.metrics)];
        command.args(pairs.iter().filter_map(|(option, at)| Some(format!("{option}={}", (*at)?))));
        // Ctrl-C at a terminal comes to the whole process group, and the server says when this one ends.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().context("the process for HTTP cannot be started")?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (input, output) = pipes.context("the process for HTTP has no pipes")?;
        let mut told = String::new();
        BufReader::new(output).read_line(&mut told).context("the process for HTTP says nothing")?;
        let running = Running { process, input };
        match serde_json::from_str(&told).unwrap_or_else(|_| Said::Err("the process for HTTP ended".to_owned())) {
            Ok(at) => Ok((running, at)),
            Err(why) => {
                running.end();
                Err(anyhow!(why))
            }
        }
    }
}

impl Running {
    fn end(self) {
        let Self { mut process, input, .. } = self;
        drop(input);
        // It does nothing that would have to be finished.
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Waits until it ends by itself: false when it is to end before.
    fn ends_by_itself(&mut self, ended: &Receiver<()>) -> bool {
        const OFTEN: Duration = Duration::from_millis(200);
        loop {
            match ended.recv_timeout(OFTEN) {
                Err(RecvTimeoutError::Timeout) if matches!(self.process.try_wait(), Ok(None)) => {}
                Err(RecvTimeoutError::Timeout) => return true,
                _ => return false,
            }
        }
    }
}

/// Starts the process again whenever it ends.
fn keep(program: &Program, first: Running, ended: &Receiver<()>) {
    let mut running = Some(first);
    let mut restarts = 0;
    loop {
        if let Some(mut process) = running.take() {
            let by_itself = process.ends_by_itself(ended);
            process.end();
            if !by_itself {
                return;
            }
        }
        if !matches!(ended.recv_timeout(REST), Err(RecvTimeoutError::Timeout)) {
            return;
        }
        restarts += 1;
        note(format_args!("warning: the process for HTTP ended; it is started again"));
        match program.start(restarts) {
            Ok((process, _)) => running = Some(process),
            Err(why) => note(format_args!("warning: {why:#}")),
        }
    }
}
