//! A client of a volume that is served, however its requests come.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use imbrex::perform::Failure;
use rustix::io::Errno;

use super::Service;
use crate::engine::{Engine, Written};

/// A client: a connection, or a device of the kernel's. A flush that has to fail fails for each of them.
pub struct Client {
    service: Arc<Service>,
    number: u32,
}

impl Client {
    /// A client that no other one is.
    #[must_use]
    pub fn of(service: &Arc<Service>) -> Self {
        Self { service: Arc::clone(service), number: service.next_client() }
    }

    /// The volume.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// Reads bytes from `offset` on.
    ///
    /// # Errors
    /// When they lie beyond the volume or cannot be read.
    pub fn read(&self, offset: u64, into: &mut [u8]) -> Result<(), Failure> {
        self.service.engine().read_bytes(self.number, offset, into)
    }

    /// Writes bytes from `offset` on, `durably` if they are to be durable when that is answered (FUA).
    ///
    /// # Errors
    /// When they lie beyond the volume or cannot be written.
    pub fn write(&self, offset: u64, bytes: &[u8], durably: bool) -> Result<(), Failure> {
        self.change(durably, |engine| engine.write_bytes(self.number, offset, bytes))
    }

    /// Writes so many bytes, which `fetch` gives as soon as they may be in memory.
    ///
    /// # Errors
    /// As for [`Client::write`], and what `fetch` says.
    pub fn write_fetched(
        &self,
        offset: u64,
        len: usize,
        durably: bool,
        fetch: impl FnOnce() -> Result<Bytes, Failure>,
    ) -> Result<(), Failure> {
        self.change(durably, |engine| engine.write_fetched(self.number, offset, len, fetch))
    }

    /// Writes what [`super::Request::may_be_in_batch`], each a part of `contents` from an offset on. `answer` is told of
    /// those that have ended, as soon as that is known.
    pub fn write_batch(&self, contents: &Bytes, writes: &[(u64, Range<usize>)], answer: &mut dyn FnMut(Vec<Written>)) {
        self.service.engine().write_batch(self.number, contents, writes, answer);
    }

    /// Writes zeros.
    ///
    /// # Errors
    /// As for [`Client::write`].
    pub fn zero(&self, offset: u64, len: u64, durably: bool) -> Result<(), Failure> {
        self.change(durably, |engine| engine.zero_bytes(self.number, offset, len))
    }

    /// Forgets the blocks that lie wholly within.
    ///
    /// # Errors
    /// As for [`Client::write`].
    pub fn trim(&self, offset: u64, len: u64, durably: bool) -> Result<(), Failure> {
        self.change(durably, |engine| engine.trim_bytes(self.number, offset, len))
    }

    /// Makes everything that was answered durable.
    ///
    /// # Errors
    /// When that failed, or what was written since the last flush may be lost.
    pub fn flush(&self) -> Result<(), Failure> {
        self.service.engine().flush(self.number)
    }

    fn change(&self, durably: bool, work: impl FnOnce(&Engine) -> Result<(), Failure>) -> Result<(), Failure> {
        let engine = self.service.engine();
        if durably { engine.durably(self.number, || work(engine)) } else { work(engine) }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.service.engine().forget(self.number);
        self.service.client_gone();
    }
}

/// The error of the operating system that a client is told.
#[must_use]
pub fn errno(failure: &Failure) -> Errno {
    match failure {
        Failure::OutOfRange => Errno::INVAL,
        Failure::Full => Errno::NOSPC,
        Failure::Io | Failure::Dead(_) | Failure::Stopped => Errno::IO,
    }
}
