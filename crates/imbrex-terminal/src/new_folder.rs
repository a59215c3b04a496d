//! A folder that is there when it is complete, and not before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use tempfile::TempDir;

use crate::leftover;
use crate::new_file::NewFile;
use crate::stop::Unfinished;

/// A folder being filled under another name beside its own. It takes its own name when it is finished; dropped before
/// that, it leaves nothing, nor when a signal ends the program.
pub struct NewFolder {
    path: PathBuf,
    /// The file by which an older folder of this kind is known, which may be replaced.
    mark: &'static str,
    temporary: TempDir,
    unfinished: Unfinished,
    /// Held until it is finished.
    _held: Option<File>,
}

impl NewFolder {
    /// Begins the folder that shall be at `path`. What is there stays until the new one is finished, and must be empty
    /// or have a file called `mark`.
    pub fn create(path: &Path, mark: &'static str) -> Result<Self> {
        let cannot = |cause: io::Error| cannot_write(path, &cause);
        // Behind a symbolic link, the folder is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if path.is_dir() && !path.join(mark).exists() && fs::read_dir(&path).map_err(cannot)?.next().is_some() {
            bail!("{} has other files in it: name a new folder with --output", path.display());
        }
        if path.exists() && !path.is_dir() || path.file_name().is_none() {
            bail!("{} is no folder: name another with --output", path.display());
        }
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(parent).map_err(cannot)?;
        leftover::remove_from(parent);
        let mut builder = tempfile::Builder::new();
        builder.prefix(leftover::PREFIX);
        #[cfg(unix)]
        builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777));
        let begun = Unfinished::begin(|| builder.tempdir_in(parent));
        let (temporary, unfinished) = begun.map_err(|e| cannot(e.kind().into()))?;
        let _held = leftover::hold(temporary.path());
        Ok(Self { path, mark, temporary, unfinished, _held })
    }

    /// Writes a file into it.
    pub fn write(&self, name: &str, content: &[u8]) -> Result<()> {
        let mut file = NewFile::create(&self.temporary.path().join(name))?;
        file.write_all(content).map_err(|cause| cannot_write(&self.path, &cause))?;
        file.finish()
    }

    /// Gives the folder its name.
    pub fn finish(self) -> Result<()> {
        let Self { path, mark, temporary, unfinished, .. } = self;
        debug_assert!(temporary.path().join(mark).exists(), "or it could not be replaced");
        unfinished.finish(|| replace(&path, &temporary)).map_err(|cause| cannot_write(&path, &cause))?;
        // It has moved: there is nothing left to remove.
        let _ = temporary.keep();
        Ok(())
    }
}

/// Moves a folder to `path`. The old one goes whole, so that no file of it lies among the new ones.
fn replace(path: &Path, temporary: &TempDir) -> io::Result<()> {
    if !path.exists() {
        return fs::rename(temporary, path);
    }
    let old = temporary.path().with_extension("old");
    fs::rename(path, &old)?;
    if let Err(cause) = fs::rename(temporary, path) {
        let _ = fs::rename(&old, path);
        return Err(cause);
    }
    fs::remove_dir_all(&old)
}

fn cannot_write(path: &Path, cause: &io::Error) -> anyhow::Error {
    anyhow!("cannot write {}: {cause}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_appears_when_it_is_complete() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        let begin = || NewFolder::create(&path, "mark").unwrap();
        let folder = begin();
        folder.write("mark", b"1").unwrap();
        assert!(!path.exists());
        drop(folder);
        assert_eq!(fs::read_dir(home.path().join("a")).unwrap().count(), 0, "given up, it leaves nothing");
        let folder = begin();
        for name in ["mark", "old"] {
            folder.write(name, b"1").unwrap();
        }
        folder.finish().unwrap();
        assert_eq!(fs::read(path.join("old")).unwrap(), b"1");
        let folder = begin();
        folder.write("mark", b"2").unwrap();
        folder.finish().unwrap();
        assert!(!path.join("old").exists(), "nothing of the old folder stays");
        assert_eq!(fs::read_dir(home.path().join("a")).unwrap().count(), 1);
    }

    #[test]
    fn other_files_are_never_replaced() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("thesis.tex"), "").unwrap();
        let refused = |path: &Path| NewFolder::create(path, "mark").err().unwrap().to_string();
        assert!(refused(home.path()).contains("has other files in it"));
        assert!(refused(&home.path().join("thesis.tex")).contains("is no folder"));
    }
}
