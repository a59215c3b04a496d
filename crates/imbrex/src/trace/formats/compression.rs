//! Compressed files, told by their first bytes.

use std::fmt;
use std::io::{self, BufRead, Read};

use liblzma::bufread::XzDecoder;
use liblzma::stream::{CONCATENATED, Stream};

/// How a file is compressed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Compression {
    /// Not at all.
    None,
    /// Zstandard.
    Zstd,
    /// gzip.
    Gzip,
    /// xz.
    Xz,
}

impl Compression {
    /// What a decoder may take, whatever the file asks for. 128 MiB is zstd's own limit, and twice what `xz -9` needs.
    pub(in crate::trace) const MEMORY_BYTES: u64 = 128 << 20;
    /// Bytes [`Compression::of`] needs to see.
    pub(super) const MAGIC_BYTES: usize = 6;

    /// How a file that begins with `head` is compressed.
    pub(super) fn of(head: &[u8]) -> Self {
        match head {
            // Parallel zstd writes a skippable frame first.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Self::Zstd,
            [0x1f, 0x8b, ..] => Self::Gzip,
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Self::Xz,
            _ => Self::None,
        }
    }

    /// The content of `file`, through all of its frames, members or streams.
    pub(super) fn decode(self, file: impl BufRead + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::None => Box::new(file),
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(file)?;
                decoder.window_log_max(Self::MEMORY_BYTES.ilog2())?;
                Box::new(decoder)
            }
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            Self::Xz => {
                let stream = Stream::new_stream_decoder(Self::MEMORY_BYTES, CONCATENATED)?;
                Box::new(XzDecoder::new_stream(file, stream))
            }
        })
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "plain",
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
            Self::Xz => "xz",
        })
    }
}
