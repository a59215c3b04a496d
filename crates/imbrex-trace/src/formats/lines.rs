//! What the formats of text have in common: lines, and the volume that is read.

use super::volumes::{Volume, VolumeRequest};
use super::{Fault, Format, Input, Position, Record};
use crate::TraceError;

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
pub(super) type LineRequest<'a> = VolumeRequest<'a>;

/// Reads the lines of format `L`.
pub(super) struct Lines<L> {
    line: u64,
    format: L,
    volume: Volume,
}

impl<L> Lines<L> {
    /// Takes the requests of `volume`.
    pub(super) fn new(format: L, volume: Volume) -> Self {
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
        self.volume.name()
    }

    fn into_volume(self) -> Volume {
        self.volume
    }

    fn nothing(&self, file: &str) -> Option<TraceError> {
        self.volume.nothing(file).or_else(|| self.format.nothing(file))
    }
}
