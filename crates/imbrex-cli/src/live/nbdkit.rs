//! nbdkit, which carries the NBD protocol: where it and its plugin are, and how it is run until it ends.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

/// The plugin's file.
const PLUGIN: &str = "libimbrex_nbdkit.so";
/// Where it is installed, seen from the program.
const INSTALLED: &str = "../lib/imbrex";

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

/// nbdkit while it runs.
pub struct Server {
    child: Child,
    errors: Arc<Mutex<Vec<String>>>,
    reader: JoinHandle<()>,
}

impl Server {
    /// Starts nbdkit. What it says goes to standard error, but for its errors at the start.
    pub fn start(program: &Path, arguments: &[OsString]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|e| anyhow!("{} cannot be started: {e}", program.display()))?;
        let said = child.stderr.take().context("nbdkit has no standard error")?;
        let errors = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&errors);
        let reader = thread::spawn(move || pass_on(said, &kept));
        let pid = Pid::from_child(&child);
        let stop = move || {
            // It may have ended already.
            let _ = kill_process(pid, Signal::TERM);
        };
        ctrlc::set_handler(stop).map_err(|e| anyhow!("signals cannot be passed on: {e}"))?;
        Ok(Self { child, errors, reader })
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end.
    pub fn wait(mut self) -> Result<()> {
        let status = self.child.wait().map_err(|e| anyhow!("nbdkit is lost: {e}"))?;
        let _ = self.reader.join();
        if status.success() {
            return Ok(());
        }
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        match errors.last() {
            Some(error) => bail!("{error}"),
            None => bail!("nbdkit {}", ended(status)),
        }
    }
}

/// Passes lines on, and keeps nbdkit's own errors, without what nbdkit puts in front of them.
fn pass_on(said: impl Read, errors: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(said);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|bytes| bytes > 0) {
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end();
        match error(text) {
            Some(error) => errors.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_owned()),
            None => eprintln!("{text}"),
        }
        line.clear();
    }
}

/// What an error line of nbdkit says, such as `nbdkit: imbrex[1]: error: no space left on device`. Those about a client's
/// request name a connection and are passed on.
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
    use super::*;

    #[test]
    fn errors_of_the_start_are_told_from_those_of_requests() {
        assert_eq!(error("nbdkit: error: a.img is in use"), Some("a.img is in use"));
        assert_eq!(error("nbdkit: imbrex[1]: error: input/output error"), None);
        assert_eq!(error("2026-01-01T00:00:00Z  WARN an operation failed error: x"), None);
        assert!(program("no-such-program-at-all").is_err());
    }
}
