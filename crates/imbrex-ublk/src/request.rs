//! What the kernel asks for, and how a client's engine answers it.

use std::io;

use imbrex::perform::Failure;
use imbrex_live::carriers::Here;
use imbrex_live::service::{Client, errno};
use rustix::io::Errno;

use crate::abi;
use crate::ring::Descriptor;

/// A request, in bytes.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Request {
    what: What,
    offset: u64,
    len: u64,
    /// Whether it is to be durable when it is answered.
    durably: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum What {
    Read,
    Write,
    Flush,
    Trim,
    Zero,
    Unknown,
}

/// The content of a request, at the kernel.
pub trait Content {
    /// What is to be written.
    ///
    /// # Errors
    /// When the kernel has taken the request back.
    fn fetch(&self, into: &mut [u8]) -> io::Result<()>;

    /// Hands over what was read.
    ///
    /// # Errors
    /// As for [`Content::fetch`].
    fn hand_over(&self, content: &[u8]) -> io::Result<()>;
}

impl Request {
    pub fn of(descriptor: Descriptor) -> Self {
        let what = match descriptor.op_flags as u8 {
            abi::READ => What::Read,
            abi::WRITE => What::Write,
            abi::FLUSH => What::Flush,
            abi::DISCARD => What::Trim,
            abi::WRITE_ZEROES => What::Zero,
            _ => What::Unknown,
        };
        // A flush has no place, and says so with the last one of all.
        let offset = if what == What::Flush { 0 } else { descriptor.start.saturating_mul(512) };
        let durably = descriptor.op_flags & abi::FUA != 0;
        Self { what, offset, len: u64::from(descriptor.sectors) * 512, durably }
    }

    /// Has the request answered. What the kernel is told: how many bytes were done, or an error, negative. `buffer` is
    /// for its content.
    pub fn answer(&self, client: &Client, content: &impl Content, buffer: &mut Vec<u8>) -> i32 {
        // The engine itself says when a write has arrived.
        let _here = if self.what == What::Write { Here::soon() } else { Here::now() };
        match self.carry_out(client, content, buffer) {
            // Counted for reads and writes alone, which are never longer than a buffer.
            Ok(()) if matches!(self.what, What::Read | What::Write) => self.len as i32,
            Ok(()) => 0,
            Err(errno) => -errno.raw_os_error(),
        }
    }

    fn carry_out(&self, client: &Client, content: &impl Content, buffer: &mut Vec<u8>) -> Result<(), Errno> {
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
                let room = room(buffer, len);
                content.fetch(room).map_err(copied)?;
                client.write(offset, room, durably).map_err(failed)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op_flags: u32, sectors: u32, start: u64) -> Request {
        Request::of(Descriptor { op_flags, sectors, start, address: 0 })
    }

    #[test]
    fn sectors_become_bytes_and_flags_what_they_mean() {
        let request = |what, offset, len, durably| Request { what, offset, len, durably };
        assert_eq!(of(0, 8, 1), request(What::Read, 512, 4096, false));
        assert_eq!(of(1, 1, 1 << 40), request(What::Write, 1 << 49, 512, false));
        assert_eq!(of(1 | abi::FUA, 8, 8), request(What::Write, 4096, 4096, true));
        assert_eq!(of(2, 0, u64::MAX), request(What::Flush, 0, 0, false), "as the kernel sends it");
        assert_eq!(of(3, 1 << 23, 0), request(What::Trim, 0, 1 << 32, false), "longer than 32 bits");
        // Fail fast and metadata ask for nothing else.
        assert_eq!(of(5 | 1 << 8 | 1 << 11 | 1 << 15, 2, 2), request(What::Zero, 1024, 1024, false));
        assert_eq!(of(4, 1, 0).what, What::Unknown, "write same, which nobody sends");
        assert_eq!(of(255, 1, 0).what, What::Unknown);
    }
}
