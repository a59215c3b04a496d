//! What the kernel asks for, and what it is told.

use imbrex_live::service::{Request, What};
use rustix::io::Errno;

use crate::abi;
use crate::ring::Descriptor;

/// The request that a descriptor describes.
pub fn request(descriptor: Descriptor) -> Request {
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
    Request { what, offset, len: u64::from(descriptor.sectors) * 512, durably }
}

/// What the kernel is told of a request that came to this: how many bytes were done, or an error, negative.
pub fn result(request: &Request, came: Result<(), Errno>) -> i32 {
    match came {
        // Counted for reads and writes alone, which are never longer than a buffer.
        Ok(()) if matches!(request.what, What::Read | What::Write) => request.len as i32,
        Ok(()) => 0,
        Err(errno) => -errno.raw_os_error(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(op_flags: u32, sectors: u32, start: u64) -> Request {
        request(Descriptor { op_flags, sectors, start, address: 0 })
    }

    #[test]
    fn sectors_become_bytes_and_flags_what_they_mean() {
        let asked = |what, offset, len, durably| Request { what, offset, len, durably };
        assert_eq!(of(0, 8, 1), asked(What::Read, 512, 4096, false));
        assert_eq!(of(1, 1, 1 << 40), asked(What::Write, 1 << 49, 512, false));
        assert_eq!(of(1 | abi::FUA, 8, 8), asked(What::Write, 4096, 4096, true));
        assert_eq!(of(2, 0, u64::MAX), asked(What::Flush, 0, 0, false), "as the kernel sends it");
        assert_eq!(of(3, 1 << 23, 0), asked(What::Trim, 0, 1 << 32, false), "longer than 32 bits");
        // Fail fast and metadata ask for nothing else.
        assert_eq!(of(5 | 1 << 8 | 1 << 11 | 1 << 15, 2, 2), asked(What::Zero, 1024, 1024, false));
        assert_eq!(of(4, 1, 0).what, What::Unknown, "write same, which nobody sends");
        assert_eq!(of(255, 1, 0).what, What::Unknown);
    }
}
