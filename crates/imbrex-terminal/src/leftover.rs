//! What a program that was killed left behind: it had no time to remove its unfinished files and folders.
//!
//! Whoever writes one holds a lock on it, which ends with the program. So one without a lock belongs to nobody.

use std::fs::{self, DirEntry, File};
use std::path::Path;
use std::time::Duration;

/// How the names of unfinished files and folders begin.
pub const PREFIX: &str = ".imbrex-";
/// One that is younger may have been made a moment ago, and not be locked yet.
const YOUNG: Duration = Duration::from_secs(60);

/// Holds what lies at `path` until the answer is dropped. Nothing where it cannot be locked: then nobody else can lock
/// it either, and it stays.
#[cfg(unix)]
pub fn hold(path: &Path) -> Option<File> {
    use rustix::fs::{FlockOperation, flock};
    let file = File::open(path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some(file)
}

/// A lock of Windows would keep a file from being written to by its owner, and there is none of folders.
#[cfg(not(unix))]
pub fn hold(_: &Path) -> Option<File> {
    None
}

/// Removes what was left in `folder`, as far as possible.
pub fn remove_from(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten().filter(is_left) {
        let path = entry.path();
        let _ = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
    }
}

fn is_left(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let is_ours = name.to_str().is_some_and(|name| name.starts_with(PREFIX) && !name.ends_with(".old"));
    is_ours && is_old(entry) && hold(&entry.path()).is_some()
}

fn is_old(entry: &DirEntry) -> bool {
    let age = entry.metadata().and_then(|is| is.modified()).map(|at| at.elapsed().unwrap_or_default());
    age.is_ok_and(|age| age > YOUNG)
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn what_nobody_holds_is_removed() {
        let home = tempfile::tempdir().unwrap();
        let path = |name: &str| home.path().join(name);
        let old = SystemTime::now() - 2 * YOUNG;
        for name in [".imbrex-left", ".imbrex-held", "results.csv", ".imbrex-a.old", ".other"] {
            File::create(path(name)).unwrap().set_modified(old).unwrap();
        }
        for name in [".imbrex-folder", ".imbrex-held-folder"] {
            fs::create_dir(path(name)).unwrap();
            fs::write(path(name).join("file"), "").unwrap();
            File::open(path(name)).unwrap().set_modified(old).unwrap();
        }
        fs::write(path(".imbrex-new"), "").unwrap();
        let _held = [".imbrex-held", ".imbrex-held-folder"].map(|name| hold(&path(name)).unwrap());
        remove_from(home.path());
        let mut kept: Vec<_> = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        kept.sort();
        assert_eq!(
            kept,
            [".imbrex-a.old", ".imbrex-held", ".imbrex-held-folder", ".imbrex-new", ".other", "results.csv"]
        );
    }
}
