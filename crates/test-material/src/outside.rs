//! Material beside the repository, and how a check that lacks its material says so.

use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::repository;

/// The environment variable that names the file in which checks that are left out gather, one in a line: the check, a
/// tab, and why. `make test` sets it and prints what has gathered.
pub const LEFT_OUT: &str = "IMBREX_LEFT_OUT";

/// What lies at `path` in the folder `shared` beside the repository. Where it is absent, `check` is left out.
#[must_use]
pub fn beside(check: &str, path: &str) -> Option<PathBuf> {
    let found = repository().join("../shared").join(path);
    if found.exists() {
        return Some(found);
    }
    left_out(check, &format!("there is no ../shared/{path}"));
    None
}

/// Says on standard error that `check` is left out and why, and in the file that [`LEFT_OUT`] names, if any.
///
/// # Panics
/// When that file cannot be written: a check that is left out must not go unseen.
pub fn left_out(check: &str, why: &str) {
    // Written past the test harness, which hides what a passing test prints, and at once, so that the line stays whole.
    let _ = io::stderr().write_all(format!("left out: {check}: {why}\n").as_bytes());
    if let Some(file) = std::env::var_os(LEFT_OUT).filter(|file| !file.is_empty()) {
        append(&file, check, why).expect("the file of what is left out can be written");
    }
}

/// In one write, so that the lines of programs that run side by side stay whole.
fn append(file: &OsStr, check: &str, why: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().create(true).append(true).open(Path::new(file))?;
    file.write_all(format!("{check}\t{why}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_gathers_line_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("left-out");
        append(file.as_os_str(), "a", "no b").expect("a file");
        append(file.as_os_str(), "c", "no d").expect("a file");
        assert_eq!(std::fs::read_to_string(file).expect("a file"), "a\tno b\nc\tno d\n");
    }
}
