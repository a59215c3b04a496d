//! A file that is there when it is complete, and not before.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use tempfile::NamedTempFile;

use crate::leftover;
use crate::stop::Unfinished;

/// A file being written under another name beside its own. It takes its own name when it is finished; dropped before
/// that, it leaves nothing, nor when a signal ends the program.
pub struct NewFile {
    path: PathBuf,
    writer: BufWriter<Box<dyn Write + Send>>,
    /// None when the path names a pipe or a device, which is written to as it is.
    temporary: Option<Temporary>,
}

/// The file under its other name, which is held until it is finished.
struct Temporary {
    file: NamedTempFile,
    unfinished: Unfinished,
    _held: Option<File>,
}

impl NewFile {
    /// Begins the file that shall be at `path`. What is there stays until the new file is finished.
    pub fn create(path: &Path) -> Result<Self> {
        Self::begin(path).map_err(|cause| cannot_write(path, &cause))
    }

    fn begin(path: &Path) -> io::Result<Self> {
        // Behind a symbolic link, the file is replaced and not the link.
        let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        if fs::metadata(&path).is_ok_and(|is| !is.is_file() && !is.is_dir()) {
            let writer: Box<dyn Write + Send> = Box::new(File::options().write(true).open(&path)?);
            return Ok(Self { path, writer: BufWriter::new(writer), temporary: None });
        }
        if path.is_dir() || path.file_name().is_none() {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        leftover::remove_from(folder);
        let mut builder = tempfile::Builder::new();
        builder.prefix(leftover::PREFIX);
        #[cfg(unix)]
        builder.permissions(<fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o666));
        let begun = Unfinished::begin(|| builder.tempfile_in(folder));
        let (file, unfinished) = begun.map_err(|e| io::Error::from(e.kind()))?;
        let writer: Box<dyn Write + Send> = Box::new(file.reopen()?);
        let temporary = Temporary { _held: leftover::hold(file.path()), file, unfinished };
        Ok(Self { path, writer: BufWriter::new(writer), temporary: Some(temporary) })
    }

    /// Gives the file its name.
    pub fn finish(self) -> Result<()> {
        let Self { path, mut writer, temporary } = self;
        writer.flush().map_err(|cause| cannot_write(&path, &cause))?;
        if let Some(Temporary { file, unfinished, .. }) = temporary {
            unfinished.finish(|| file.persist(&path)).map_err(|e| cannot_write(&path, &e.error))?;
        }
        Ok(())
    }
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

fn cannot_write(path: &Path, cause: &io::Error) -> anyhow::Error {
    anyhow!("cannot write {}: {cause}", path.display())
}
