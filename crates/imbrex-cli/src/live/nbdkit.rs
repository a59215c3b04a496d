//! nbdkit, which carries the NBD protocol: where it and its plugin are, and how it is run until it ends.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The plugin's file.
const PLUGIN: &str = "libimbrex_nbdkit.so";
/// Where it is installed, seen from the program.
const INSTALLED: &str = "../lib/imbrex";
/// What nbdkit before 1.34 says when it ends because a client hung up while several of its requests were being
/// answered.
const HUNG_UP: &str = "raw_send_socket: Assertion `sock >= 0' failed";

/// The program `name`, in the search path or where administrators have their programs.
pub fn program(name: &str) -> Result<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let found = env::split_paths(&path).chain(system).map(|folder| folder.join(name)).find(|file| file.is_file());
    found.ok_or_else(|| {
        anyhow!("{name} is not installed; it serves the volume over NBD (on Debian: apt-get install nbdkit)")
    })
}

/// The plugin, beside the program or where it is installed.
pub fn plugin() -> Result<PathBuf> {
    let program = env::current_exe()
        .map_err(|e| anyhow!("where this program lies is not known; name the plugin with --plugin: {e}"))?;
    let folder = program.parent().unwrap_or(Path::new("/"));
    let places = [folder.join(PLUGIN), folder.join(INSTALLED).join(PLUGIN)];
    places.iter().find(|file| file.is_file()).cloned().ok_or_else(|| {
        let [beside, installed] = places.map(|place| place.display().to_string());
        anyhow!("nbdkit's plugin is neither {beside} nor {installed}; build imbrex-nbdkit or name it with --plugin")
    })
}

/// Ctrl-C and SIGTERM, which end the server that runs, and then this program.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<Told>>);

/// What the signals came to.
#[derive(Default)]
struct Told {
    server: Option<Pid>,
    to_end: bool,
}

impl Signals {
    /// Takes them from now on.
    pub fn take() -> Result<Self> {
        let signals = Self::default();
        let told = signals.clone();
        let end = move || {
            let mut told = told.told();
            told.to_end = true;
            if let Some(server) = told.server {
                // It may have ended already.
                let _ = kill_process(server, Signal::TERM);
            }
        };
        ctrlc::set_handler(end).map_err(|e| anyhow!("signals cannot be passed on: {e}"))?;
        Ok(signals)
    }

    /// Whether one of them came.
    pub fn to_end(&self) -> bool {
        self.told().to_end
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// nbdkit while it runs.
pub struct Server {
    child: Child,
    said: Arc<Mutex<Said>>,
    reader: JoinHandle<()>,
}

/// What nbdkit said that matters when it has ended.
#[derive(Default)]
struct Said {
    errors: Vec<String>,
    hung_up: bool,
}

/// How nbdkit ended, if not with an error.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Ended {
    /// It was told to.
    Told,
    /// By a fault of its own, since a client hung up.
    HungUp,
}

impl Server {
    /// Starts nbdkit. What it says goes to standard error, but for its errors at the start.
    pub fn start(program: &Path, arguments: &[OsString], signals: &Signals) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut told = signals.told();
        if told.to_end {
            bail!("it is being stopped");
        }
        let mut child = command.spawn().map_err(|e| anyhow!("{} cannot be started: {e}", program.display()))?;
        told.server = Some(Pid::from_child(&child));
        drop(told);
        let lines = child.stderr.take().context("nbdkit has no standard error")?;
        let said = Arc::new(Mutex::new(Said::default()));
        let kept = Arc::clone(&said);
        let reader = thread::spawn(move || pass_on(lines, &kept));
        Ok(Self { child, said, reader })
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<Ended> {
        let status = self.child.wait().map_err(|e| anyhow!("nbdkit is lost: {e}"))?;
        let _ = self.reader.join();
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match said.errors.last() {
            _ if status.success() => Ok(Ended::Told),
            _ if said.hung_up => Ok(Ended::HungUp),
            Some(error) => bail!("{error}"),
            None => bail!("nbdkit {}", ended(status)),
        }
    }
}

/// Passes lines on, and keeps nbdkit's own errors, without what nbdkit puts in front of them.
fn pass_on(lines: impl Read, said: &Mutex<Said>) {
    let mut lines = BufReader::new(lines);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        match error(text) {
            Some(error) => said.errors.push(error.to_owned()),
            None if text.contains(HUNG_UP) => said.hung_up = true,
            None => eprintln!("{text}"),
        }
        line.clear();
    }
}

/// What an error line of nbdkit says, such as `nbdkit: imbrex[1]: error: no space left on device`. Those about a
/// client's request name a connection and are passed on.
fn error(line: &str) -> Option<&str> {
    let (before, error) = line.split_once("error: ")?;
    (before.starts_with("nbdkit: ") && !before.contains('[')).then_some(error)
}

fn ended(status: ExitStatus) -> String {
    match status.signal() {
        Some(signal) => format!("was ended by signal {signal}"),
        None => format!("ended with status {}", status.code().unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn errors_of_the_start_are_told_from_those_of_requests() {
        assert_eq!(error("nbdkit: error: a.img is in use"), Some("a.img is in use"));
        assert_eq!(error("nbdkit: imbrex[1]: error: input/output error"), None);
        assert_eq!(error("2026-01-01T00:00:00Z  WARN an operation failed error: x"), None);
        assert!(program("no-such-program-at-all").is_err());
    }

    #[test]
    fn a_client_that_hangs_up_is_told_from_other_ends() {
        let fault = "nbdkit: connections.c:402: raw_send_socket: Assertion `sock >= 0' failed.\n";
        for (says, ends, expected) in [
            (fault, "kill -ABRT $$", Some(Ended::HungUp)),
            ("nbdkit: error: other.c:1: raw: Assertion `x' failed.\n", "kill -ABRT $$", None),
            ("", "true", Some(Ended::Told)),
            ("", "kill -9 $$", None),
        ] {
            let script = format!("printf '%s' \"$1\" >&2; {ends}");
            let arguments: Vec<OsString> = ["-c", &script, "sh", says].map(Into::into).into();
            let server = Server::start(Path::new("/bin/sh"), &arguments, &Signals::default()).unwrap();
            assert_eq!(server.wait().ok(), expected, "{says}{ends}");
        }
    }
}
