//! nbdkit, which carries the NBD protocol: where it and its plugin are, and how it is run until it ends.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use imbrex_terminal::stop;
use rustix::process::{Pid, Signal, kill_process};

use super::manager;
use super::relay::Relay;

/// The plugin's file.
const PLUGIN: &str = "libimbrex_nbdkit.so";
/// Where it is installed, seen from the program.
const INSTALLED: &str = "../lib/imbrex";
/// Signals so soon after the first are the same one: it came to this program, and to its process group.
pub const SAME: Duration = Duration::from_millis(300);

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

/// Ctrl-C and SIGTERM, which end the server that runs, and then this program. A second one ends both at once.
#[derive(Clone, Default)]
pub struct Signals(Arc<Mutex<Told>>);

/// What the signals came to.
#[derive(Default)]
struct Told {
    server: Option<Pid>,
    /// When the first one came.
    since: Option<Instant>,
    at_once: bool,
}

impl Told {
    /// Takes a signal: what is to become of the server.
    fn signal(&mut self, now: Instant) -> Option<Signal> {
        match self.since {
            None => {
                self.since = Some(now);
                Some(Signal::TERM)
            }
            Some(since) if now.duration_since(since) < SAME => None,
            Some(_) => {
                self.at_once = true;
                Some(Signal::KILL)
            }
        }
    }
}

impl Signals {
    /// Takes them from now on.
    pub fn take() -> Result<Self> {
        let signals = Self::default();
        let taken = signals.clone();
        let pass_on = move |_| {
            let mut told = taken.told();
            let signal = told.signal(Instant::now());
            if signal == Some(Signal::TERM) {
                manager::stopping();
            }
            if let Some((signal, server)) = signal.zip(told.server) {
                // It may have ended already.
                let _ = kill_process(server, signal);
            }
        };
        stop::on_signals(pass_on).map_err(|e| anyhow!("signals cannot be passed on: {e}"))?;
        Ok(signals)
    }

    /// Whether one of them came.
    pub fn to_end(&self) -> bool {
        self.told().since.is_some()
    }

    /// Whether a second one came.
    fn at_once(&self) -> bool {
        self.told().at_once
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// nbdkit while it runs.
pub struct Server {
    child: Child,
    relay: Relay,
    signals: Signals,
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
    /// Starts nbdkit. What it says goes to standard error, but for its errors at the start; as JSON if that is how the
    /// plugin logs.
    pub fn start(program: &Path, arguments: &[OsString], signals: &Signals, json: bool) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // Ctrl-C at a terminal comes to the whole process group: nbdkit would take it for the second signal.
        command.process_group(0);
        let mut told = signals.told();
        if told.since.is_some() {
            bail!("it is being stopped");
        }
        let mut child = command.spawn().map_err(|e| anyhow!("{} cannot be started: {e}", program.display()))?;
        told.server = Some(Pid::from_child(&child));
        drop(told);
        let lines = child.stderr.take().context("nbdkit has no standard error")?;
        Ok(Self { child, relay: Relay::start(lines, json), signals: signals.clone() })
    }

    /// Takes note that the volume is served.
    pub fn serving(&self) {
        self.relay.serving();
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<Ended> {
        let status = self.child.wait().map_err(|e| anyhow!("nbdkit is lost: {e}"))?;
        let heard = self.relay.end();
        match heard.error {
            _ if status.success() => Ok(Ended::Told),
            _ if heard.hung_up => Ok(Ended::HungUp),
            _ if self.signals.at_once() => bail!("ended at once by a second signal, before everything was durable"),
            Some(error) => bail!("{error}"),
            None => bail!("nbdkit {}", ended(status)),
        }
    }
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
    fn a_second_signal_ends_at_once_but_not_the_same_one_again() {
        let (mut told, start) = (Told::default(), Instant::now());
        assert!(program("no-such-program-at-all").is_err());
        assert_eq!(told.signal(start), Some(Signal::TERM));
        assert_eq!(told.signal(start + SAME / 2), None, "to the process group too");
        assert_eq!((told.signal(start + SAME), told.at_once), (Some(Signal::KILL), true));
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
            let server = Server::start(Path::new("/bin/sh"), &arguments, &Signals::default(), false).unwrap();
            assert_eq!(server.wait().ok(), expected, "{says}{ends}");
        }
    }
}
