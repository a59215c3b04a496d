//! How the files of a recording are called: `NAME-0001.parquet`, `NAME-0002.parquet` and so on, so that their names are in
//! the order of their requests. One that is being written has `.part` behind its name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What the names end in.
const ENDING: &str = ".parquet";
/// What is behind that of a file that is not complete.
const PART: &str = ".part";
/// Digits of a number at least.
const DIGITS: usize = 4;

/// The names of a recording's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RecordingNames {
    folder: PathBuf,
    stem: String,
}

impl RecordingNames {
    /// Those of the recording called `file`, with or without `.parquet`; none if that ends in no name.
    #[must_use]
    pub fn of(file: &Path) -> Option<Self> {
        let name = file.file_name()?.to_str()?;
        let stem = name.strip_suffix(ENDING).unwrap_or(name).to_owned();
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        Some(Self { folder: folder.unwrap_or(Path::new(".")).to_owned(), stem })
    }

    /// Those of the recording that a file belongs to, complete or not, as far as its name tells.
    pub(super) fn with(file: &Path) -> Option<Self> {
        let (stem, ..) = parsed(file.file_name()?.to_str()?)?;
        Self::of(&file.with_file_name(format!("{stem}{ENDING}")))
    }

    /// Those of every recording of which a complete file lies in `folder`, as far as names tell.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub(super) fn in_folder(folder: &Path) -> io::Result<Vec<Self>> {
        let mut stems = BTreeSet::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name();
            let complete = name.to_str().and_then(parsed).filter(|(.., is_complete)| *is_complete);
            stems.extend(complete.map(|(stem, ..)| stem.to_owned()));
        }
        Ok(stems.into_iter().map(|stem| Self { folder: folder.to_owned(), stem }).collect())
    }

    /// Where the files lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What a user calls the recording.
    pub(super) fn recording(&self) -> PathBuf {
        self.folder.join(format!("{}{ENDING}", self.stem))
    }

    /// The name of file `number` when it is complete.
    #[must_use]
    pub fn complete(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}-{number:0DIGITS$}{ENDING}", self.stem))
    }

    /// The name of file `number` while it is being written.
    #[must_use]
    pub fn part(&self, number: u32) -> PathBuf {
        self.folder.join(format!("{}-{number:0DIGITS$}{ENDING}{PART}", self.stem))
    }

    /// The files that are there, complete or not, by their numbers.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn files(&self) -> io::Result<BTreeMap<u32, PathBuf>> {
        let mut files = BTreeMap::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| parsed(name.to_str()?));
            if let Some((stem, number, is_complete)) = name
                && stem == self.stem
                && (is_complete || !files.contains_key(&number))
            {
                files.insert(number, path);
            }
        }
        Ok(files)
    }
}

/// The recording and the number that a file's name has, and whether the file is complete.
fn parsed(name: &str) -> Option<(&str, u32, bool)> {
    let complete = name.strip_suffix(PART).unwrap_or(name);
    let (stem, number) = complete.strip_suffix(ENDING)?.rsplit_once('-')?;
    let number = Some(number).filter(|digits| digits.len() >= DIGITS).and_then(|digits| digits.parse().ok())?;
    Some((stem, number, complete.len() == name.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_made() {
        for (file, number) in [("a/load.parquet", 1), ("a-0001/load-7.parquet", 12_345), ("a/load", 3)] {
            let names = RecordingNames::of(Path::new(file)).unwrap();
            for (path, is_complete) in [(names.complete(number), true), (names.part(number), false)] {
                let name = path.file_name().unwrap().to_str().unwrap();
                assert_eq!(parsed(name), Some((names.stem.as_str(), number, is_complete)));
            }
        }
        for other in ["load.parquet", "load-1.parquet", "load-0001.csv", "load-000x.parquet", "load-0001.parquet.gz"] {
            assert_eq!(parsed(other), None, "{other}");
        }
        assert_eq!(RecordingNames::of(Path::new("..")), None);
    }
}
