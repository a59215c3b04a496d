//! What the formats of text have in common: lines, and the volume that is read.

use super::fields::text;
use super::{Fault, Format, Input, Position, Record, too_large};
use crate::TraceError;
use imbrex_core::block::Access;

/// Names of volumes that an error shows.
const SHOWN_VOLUMES: usize = 8;

/// How one format writes a line.
pub(super) trait LineFormat: Send {
    /// Nanoseconds of its unit of time.
    const TICK_NS: u64;
    /// Whether it is written in order of completion, and so has to be put in order of arrival.
    const BY_COMPLETION: bool = false;

    /// Whether a first line names the columns.
    fn is_heading(_line: &[u8]) -> bool {
        false
    }

    /// What a line says. It is not empty.
    fn parse<'a>(&mut self, line: &'a [u8]) -> Result<Line<'a>, Fault>;

    /// Why there is no request at all, if there is more to say than that.
    fn nothing(&self, _file: &str) -> Option<TraceError> {
        None
    }
}

/// A line.
pub(super) enum Line<'a> {
    Request(LineRequest<'a>),
    /// A command that neither reads nor writes.
    WithoutData,
    /// Nothing that asks the disk for anything.
    Remark,
}

/// A request as a line says it.
pub(super) struct LineRequest<'a> {
    pub volume: &'a [u8],
    pub ticks: u64,
    pub access: Access,
    pub offset_bytes: u64,
    pub bytes: u64,
}

/// Reads the lines of format `L`.
pub(super) struct Lines<L> {
    line: u64,
    format: L,
    volume: Volume,
}

impl<L> Lines<L> {
    /// Takes the requests of the volume called `chosen`, or else those of the first request's.
    pub(super) fn new(format: L, chosen: Option<&str>) -> Self {
        let volume = Volume { name: chosen.map(|name| name.as_bytes().into()), others: Vec::new() };
        Self { line: 0, format, volume }
    }
}

impl<L: LineFormat> Format for Lines<L> {
    const TICK_NS: u64 = L::TICK_NS;
    const BY_COMPLETION: bool = L::BY_COMPLETION;

    #[inline]
    fn next(&mut self, input: &mut Input) -> Result<Record, Fault> {
        loop {
            self.line += 1;
            let Some(line) = input.line()? else { return Ok(Record::End) };
            if line.is_empty() || (self.line == 1 && L::is_heading(line)) {
                continue;
            }
            match self.format.parse(line)? {
                Line::Request(request) => return self.volume.record(&request),
                Line::WithoutData => return Ok(Record::WithoutData),
                Line::Remark => {}
            }
        }
    }

    fn position(&self) -> Position {
        Position::Line(self.line)
    }

    fn volume(&self) -> Option<String> {
        self.volume.name.as_deref().map(text)
    }

    fn nothing(&self, file: &str) -> Option<TraceError> {
        let Volume { name, others } = &self.volume;
        let (Some(name), false) = (name, others.is_empty()) else { return self.format.nothing(file) };
        let present = others.iter().map(|other| text(other)).collect::<Vec<_>>().join(" or ");
        Some(TraceError::NoSuchVolume { file: file.into(), volume: text(name), present })
    }
}

/// The volume that is read.
struct Volume {
    /// Its name; none before the first request, if it was not chosen.
    name: Option<Box<[u8]>>,
    /// Some of the others that were met.
    others: Vec<Box<[u8]>>,
}

impl Volume {
    #[inline]
    fn record(&mut self, request: &LineRequest<'_>) -> Result<Record, Fault> {
        let LineRequest { volume, ticks, access, offset_bytes, bytes } = *request;
        let Ok(bytes) = u32::try_from(bytes) else { return Err(too_large("size", bytes)) };
        match &self.name {
            Some(name) if **name == *volume => {}
            Some(_) => {
                self.pass_over(volume);
                return Ok(Record::OtherVolume);
            }
            // A request that will be left out does not decide.
            None if bytes == 0 => {}
            None => self.name = Some(volume.into()),
        }
        Ok(Record::Request { ticks, access, offset_bytes, bytes })
    }

    fn pass_over(&mut self, volume: &[u8]) {
        if self.others.len() < SHOWN_VOLUMES && !self.others.iter().any(|other| **other == *volume) {
            self.others.push(volume.into());
        }
    }
}
