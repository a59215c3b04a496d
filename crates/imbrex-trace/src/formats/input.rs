//! A window over a stream of bytes, from which lines and records are taken without copying them.

use std::io::{self, BufRead, Read};

use super::Fault;
use crate::Problem;

/// Bytes of the window, and so the longest line that can be taken.
pub(super) const WINDOW_BYTES: usize = 128 << 10;

/// The window: `bytes[start..end]` is read and not yet taken.
pub(super) struct Input {
    reader: Box<dyn Read + Send>,
    bytes: Box<[u8]>,
    start: usize,
    end: usize,
}

impl Input {
    pub(super) fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader, bytes: vec![0; WINDOW_BYTES].into(), start: 0, end: 0 }
    }

    /// The next `count` bytes, or all that are left, without taking them. `count` fits the window.
    pub(super) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        debug_assert!(count <= WINDOW_BYTES);
        while self.end - self.start < count && self.read_more()? {}
        Ok(&self.bytes[self.start..self.end.min(self.start + count)])
    }

    /// Takes a record of `size` bytes. One that is cut short by the end of the stream is handed out as it is.
    #[inline]
    pub(super) fn record(&mut self, size: usize) -> io::Result<&[u8]> {
        if self.end - self.start < size {
            self.peek(size)?;
        }
        let start = self.start;
        self.start = self.end.min(start + size);
        Ok(&self.bytes[start..self.start])
    }

    /// Takes a line, without its line end; `None` at the end of the stream.
    #[inline]
    pub(super) fn line(&mut self) -> Result<Option<&[u8]>, Fault> {
        let mut searched = 0;
        let (line_end, next) = loop {
            if let Some(found) = memchr::memchr(b'\n', &self.bytes[self.start + searched..self.end]) {
                let line_end = self.start + searched + found;
                break (line_end, line_end + 1);
            }
            searched = self.end - self.start;
            if searched == WINDOW_BYTES {
                return Err(Problem::LongLine { limit: WINDOW_BYTES }.into());
            }
            if !self.read_more()? {
                break (self.end, self.end);
            }
        };
        if next == self.start {
            return Ok(None);
        }
        let line = &self.bytes[self.start..line_end];
        self.start = next;
        Ok(Some(line.strip_suffix(b"\r").unwrap_or(line)))
    }

    /// Reads into the free part of the window, which there must be; false at the end of the stream.
    #[cold]
    fn read_more(&mut self) -> io::Result<bool> {
        self.bytes.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        debug_assert!(self.end < WINDOW_BYTES);
        loop {
            match self.reader.read(&mut self.bytes[self.end..]) {
                Ok(count) => {
                    self.end += count;
                    return Ok(count > 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// A decoder reads the compressed file through a window of its own.
impl Read for Input {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.read_more()?;
        }
        Ok(&self.bytes[self.start..self.end])
    }

    fn consume(&mut self, count: usize) {
        self.start += count;
        debug_assert!(self.start <= self.end);
    }
}
