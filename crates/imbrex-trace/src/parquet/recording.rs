//! The files of a recording, read as one trace.
//!
//! Arrivals in every file count from when its server began to record. A server that took the place of one that had
//! ended goes on with the numbers of files and counts anew: what lies between is how far apart they began.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::label::Recorded;
use super::names::RecordingNames;
use super::reader::ParquetTrace;
use crate::{Irregularities, TraceError, TraceInfo, TraceRequest, TraceSource};

/// A recording of which a file is open.
struct RecordedTrace {
    info: TraceInfo,
    names: RecordingNames,
    /// The files, by their numbers.
    files: BTreeMap<u32, PathBuf>,
    /// The number of the file that is open.
    number: u32,
    part: ParquetTrace<File>,
    /// The volume, and when its recording began.
    of: Recorded,
    /// How late the first request of all came, once it has.
    first_ns: Option<u64>,
    /// When the request handed out last arrives.
    last_ns: u64,
    /// What was mended in files that are read.
    mended: Irregularities,
    /// Requests that are missing in the files opened so far.
    lost: u64,
    remarks: Vec<String>,
}

/// Opens the recording in `folder`, if there is one; errors call it `name`.
pub(crate) fn open_folder(name: &str, folder: &Path) -> Option<Result<Box<dyn TraceSource>, TraceError>> {
    let recordings = RecordingNames::in_folder(folder).ok()?;
    match recordings.as_slice() {
        [] => None,
        [names] => open(name, names),
        [first, ..] => {
            let several = recordings.iter().map(|names| names.recording().display().to_string());
            let problem = format!(
                "several recordings lie there, {}; name one, such as {}",
                several.collect::<Vec<_>>().join(", "),
                first.recording().display()
            );
            Some(Err(TraceError::Recording { file: name.into(), problem }))
        }
    }
}

/// Opens the recording that was begun under the name `file`, if there is one; errors call it `name`.
pub(crate) fn open_named(name: &str, file: &Path) -> Option<Result<Box<dyn TraceSource>, TraceError>> {
    open(name, &RecordingNames::of(file)?)
}

/// The recording that a file is a part of, by the name that opens it.
pub(crate) fn recording_with(file: &Path) -> Option<PathBuf> {
    let recording = RecordingNames::with(file)?.recording();
    let is_recording = !recording.exists() && open_named("", &recording).is_some();
    is_recording.then_some(recording)
}

fn open(name: &str, names: &RecordingNames) -> Option<Result<Box<dyn TraceSource>, TraceError>> {
    let mut files = names.files().ok()?;
    files.retain(|number, path| *path == names.complete(*number));
    let (&first, &last) = (files.first_key_value()?.0, files.last_key_value()?.0);
    if let Some(number) = (first..last).find(|number| !files.contains_key(number)) {
        return Some(Err(gap(name, names, number)));
    }
    let part = match open_part(names, first) {
        Ok(part) => part,
        Err(error) => return Some(Err(error)),
    };
    // A file of another program that is called so is read by itself.
    let of = part.recorded()?.clone();
    let info = TraceInfo { name: name.into(), ..part.info().clone() };
    let mut trace = RecordedTrace {
        info,
        names: names.clone(),
        files,
        number: first,
        part,
        lost: of.lost,
        of,
        first_ns: None,
        last_ns: 0,
        mended: Irregularities::default(),
        remarks: Vec::new(),
    };
    trace.note();
    Some(trace.check(first, &trace.of).map(|()| Box::new(trace) as Box<dyn TraceSource>))
}

/// File `number` is not complete or not there.
fn gap(name: &str, names: &RecordingNames, number: u32) -> TraceError {
    let path = names.complete(number);
    let why = match names.part(number).exists() {
        true => "was not completed, since its server did not end in order",
        false => "is missing",
    };
    let problem = format!("{} {why}; restore it, or name the files by themselves", path.display());
    TraceError::Recording { file: name.into(), problem }
}

fn open_part(names: &RecordingNames, number: u32) -> Result<ParquetTrace<File>, TraceError> {
    let (path, name) = (names.complete(number), names.complete(number).display().to_string());
    let file = File::open(path).map_err(|cause| TraceError::Open { file: name.clone(), cause })?;
    ParquetTrace::open(&name, file)
}

impl RecordedTrace {
    /// Whether file `number` is the one that its name says, of the volume of the first.
    fn check(&self, number: u32, recorded: &Recorded) -> Result<(), TraceError> {
        if recorded.file == number && recorded.volume == self.of.volume {
            return Ok(());
        }
        let problem = format!(
            "{} says that it is file {} of the volume {}, and not file {number} of {}; restore it, or name the files by \
             themselves",
            self.names.complete(number).display(),
            recorded.file,
            recorded.volume,
            self.of.volume
        );
        Err(TraceError::Recording { file: self.info.name.clone(), problem })
    }

    /// What is to be said of the files opened so far.
    fn note(&mut self) {
        self.remarks.clear();
        if let Some((first, _)) = self.files.first_key_value().filter(|(number, _)| **number > 1) {
            self.remarks.push(format!("it begins with file {first}, and the files before are not there"));
        }
        self.remarks.extend(super::reader::missing(self.lost));
    }

    /// Opens the next file; false if there is none.
    fn open_next(&mut self) -> Result<bool, TraceError> {
        let Some((&number, _)) = self.files.range(self.number + 1..).next() else { return Ok(false) };
        let part = open_part(&self.names, number)?;
        let recorded = part.recorded().cloned().unwrap_or_default();
        self.check(number, &recorded)?;
        self.mended.zero_size += self.part.irregularities().zero_size;
        self.lost += recorded.lost;
        (self.part, self.number) = (part, number);
        self.note();
        Ok(true)
    }

    /// Has arrivals count from the first request of all. A clock that was set back lets none decrease.
    fn shift(&mut self, batch: &mut [TraceRequest]) {
        let began_ms = self.part.recorded().map_or(0, |recorded| recorded.began_ms);
        let later_ns = began_ms.saturating_sub(self.of.began_ms).saturating_mul(1_000_000);
        let since_ns = later_ns.saturating_add(self.part.first_ns());
        let first_ns = *self.first_ns.get_or_insert(since_ns);
        for request in batch {
            let arrival_ns = request.arrival_ns.saturating_add(since_ns).saturating_sub(first_ns);
            self.mended.out_of_order += u64::from(arrival_ns < self.last_ns);
            self.last_ns = self.last_ns.max(arrival_ns);
            request.arrival_ns = self.last_ns;
        }
    }
}

impl TraceSource for RecordedTrace {
    fn info(&self) -> &TraceInfo {
        &self.info
    }

    fn fill(&mut self, batch: &mut Vec<TraceRequest>, limit: usize) -> Result<(), TraceError> {
        loop {
            self.part.fill(batch, limit)?;
            if !batch.is_empty() {
                break;
            }
            if !self.open_next()? {
                return Ok(());
            }
        }
        self.shift(batch);
        Ok(())
    }

    fn share_done(&self) -> Option<f64> {
        let done = self.files.range(..self.number).count() as f64;
        Some((done + self.part.share_done()?) / self.files.len() as f64)
    }

    fn irregularities(&self) -> Irregularities {
        let zero_size = self.mended.zero_size + self.part.irregularities().zero_size;
        Irregularities { zero_size, ..self.mended }
    }

    fn remarks(&self) -> &[String] {
        &self.remarks
    }
}
