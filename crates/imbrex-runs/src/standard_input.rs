//! A trace on standard input. Runs read a workload several times, so all of it is kept in a file without a name.

use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::path::PathBuf;
use std::sync::OnceLock;

use anyhow::{Result, anyhow, bail};
use imbrex::trace::TraceFile;
use imbrex_terminal::stop;

/// Names that mean it.
const NAMES: [&str; 2] = ["-", "/dev/stdin"];
/// What messages and results call it.
const CALLED: &str = "standard input";
/// Bytes that are taken at a time.
const PIECE: usize = 1 << 20;

/// What came, once somebody wanted it. It stays open until the program ends, and is gone then.
static KEPT: OnceLock<File> = OnceLock::new();

/// Whether a workload of this name comes on standard input.
pub fn is_meant(name: &str) -> bool {
    NAMES.contains(&name)
}

/// The trace that came.
///
/// # Errors
/// When nothing can come, it cannot be kept, or the work was to stop.
pub fn trace() -> Result<TraceFile> {
    let stdin = io::stdin();
    if KEPT.get().is_none() {
        if stdin.is_terminal() {
            bail!("standard input is a terminal; pipe a trace into it, or name a file");
        }
        let file = keep(stdin.lock())?;
        let _ = KEPT.set(file);
    }
    let file = KEPT.get().ok_or_else(|| anyhow!("nothing was kept of standard input"))?;
    Ok(TraceFile { name: CALLED.to_owned(), ..TraceFile::from(path_to(file)?) })
}

/// A path by which an open file without a name is opened again, from its beginning: Linux has one.
#[cfg(target_os = "linux")]
fn path_to(file: &File) -> Result<PathBuf> {
    Ok(format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(file)).into())
}

#[cfg(not(target_os = "linux"))]
fn path_to(_: &File) -> Result<PathBuf> {
    bail!("a trace can be piped in only on Linux; write it to a file, and name that")
}

/// Everything that comes from `from`.
fn keep(mut from: impl Read) -> Result<File> {
    let folder = std::env::temp_dir();
    let cannot = |cause: io::Error| {
        anyhow!("cannot keep standard input in {}: {cause}; set TMPDIR to another folder", folder.display())
    };
    let mut file = tempfile::tempfile().map_err(cannot)?;
    let mut piece = vec![0; PIECE];
    loop {
        if stop::is_asked_for() {
            bail!("stopped");
        }
        match from.read(&mut piece) {
            Ok(0) => return Ok(file),
            Ok(bytes) => file.write_all(&piece[..bytes]).map_err(cannot)?,
            Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
            Err(cause) => bail!("cannot read standard input: {cause}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_kept_can_be_read_again_and_again() {
        let text = vec![7; 3 * PIECE + 1];
        let file = keep(&text[..]).unwrap();
        let path = path_to(&file).unwrap();
        assert!(fs::read(&path).unwrap() == text && fs::read(&path).unwrap() == text);
    }
}
