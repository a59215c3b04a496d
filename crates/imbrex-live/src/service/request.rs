//! What is asked of a volume, however it comes, and how a client has it answered.

use std::io;

use bytes::Bytes;
use imbrex::perform::Failure;
use rustix::io::Errno;

use super::{Client, errno};
use crate::carriers::Here;

/// A request, in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// What is to be done.
    pub what: What,
    /// Where it begins; 0 of a flush.
    pub offset: u64,
    /// How long it is; 0 of a flush.
    pub len: u64,
    /// Whether it is to be durable when it is answered.
    pub durably: bool,
}

/// What is to be done.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Make everything durable that was answered.
    Flush,
    /// Forget.
    Trim,
    /// Write zeros.
    Zero,
    /// Nothing that a volume does.
    Unknown,
}

/// The content of a request, at whoever asks.
pub trait Content {
    /// What is to be written, so many bytes.
    ///
    /// # Errors
    /// When the request was taken back.
    fn fetch(&self, len: usize) -> io::Result<Vec<u8>>;

    /// Hands over what was read.
    ///
    /// # Errors
    /// As for [`Content::fetch`].
    fn hand_over(&self, content: &[u8]) -> io::Result<()>;
}

impl Request {
    /// Whether it can be one of several that are given to [`Client::write_batch`]; none can of a volume that is only read.
    #[must_use]
    pub fn may_be_in_batch(&self, client: &Client) -> bool {
        let Self { what, offset, len, durably } = *self;
        let service = client.service();
        what == What::Write && !durably && !service.read_only() && service.engine().may_be_in_batch(offset, len)
    }

    /// Has the request answered. `buffer` is for what is read.
    ///
    /// # Errors
    /// The error of the operating system that whoever asks is told.
    pub fn answer(&self, client: &Client, content: &impl Content, buffer: &mut Vec<u8>) -> Result<(), Errno> {
        // The engine itself says when a write has arrived.
        let _here = if self.what == What::Write { Here::soon() } else { Here::now() };
        let failed = |failure: Failure| errno(&failure);
        let copied = |error: io::Error| Errno::from_io_error(&error).unwrap_or(Errno::IO);
        let Self { what, offset, len, durably } = *self;
        match what {
            What::Read => {
                let room = room(buffer, len);
                client.read(offset, room).map_err(failed)?;
                content.hand_over(room).map_err(copied)
            }
            What::Write => {
                let mut missing = None;
                let written = client.write_fetched(offset, len as usize, durably, || {
                    content.fetch(len as usize).map(Bytes::from).map_err(|error| {
                        missing = Some(copied(error));
                        Failure::Io
                    })
                });
                written.map_err(|failure| missing.unwrap_or_else(|| failed(failure)))
            }
            What::Flush => client.flush().map_err(failed),
            What::Trim => client.trim(offset, len, durably).map_err(failed),
            What::Zero => client.zero(offset, len, durably).map_err(failed),
            What::Unknown => Err(Errno::OPNOTSUPP),
        }
    }
}

/// `len` bytes of a buffer, which is made as long as that takes.
fn room(buffer: &mut Vec<u8>, len: u64) -> &mut [u8] {
    let len = len as usize;
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}
