//! The traces in a folder.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The traces in `folder`, in order of their names. The files of a recording are one trace, which has the
/// name of the recording; each other file is a trace, but for those whose names begin with a dot.
///
/// # Errors
/// When the folder cannot be read.
pub fn traces_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut traces = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        if path.is_file() && !entry.file_name().as_encoded_bytes().starts_with(b".") {
            traces.push(recording_with(&path).unwrap_or(path));
        }
    }
    traces.sort();
    traces.dedup();
    Ok(traces)
}

#[cfg(feature = "parquet")]
fn recording_with(file: &Path) -> Option<PathBuf> {
    crate::parquet::recording_with(file)
}

#[cfg(not(feature = "parquet"))]
fn recording_with(_: &Path) -> Option<PathBuf> {
    None
}
