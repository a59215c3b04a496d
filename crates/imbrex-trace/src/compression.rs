//! Compressed files, told by their first bytes, and named by their ending when they are written.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use flate2::write::GzEncoder;
#[cfg(feature = "compression")]
use liblzma::bufread::XzDecoder;
#[cfg(feature = "compression")]
use liblzma::stream::{CONCATENATED, Stream};
#[cfg(feature = "compression")]
use liblzma::write::XzEncoder;

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
    pub(super) const MEMORY_BYTES: u64 = 128 << 20;
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
            #[cfg(feature = "compression")]
            Self::Zstd => {
                let mut decoder = zstd::Decoder::with_buffer(file)?;
                decoder.window_log_max(Self::MEMORY_BYTES.ilog2())?;
                Box::new(decoder)
            }
            Self::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(file)),
            #[cfg(feature = "compression")]
            Self::Xz => {
                let stream = Stream::new_stream_decoder(Self::MEMORY_BYTES, CONCATENATED)?;
                Box::new(XzDecoder::new_stream(file, stream))
            }
            #[cfg(not(feature = "compression"))]
            Self::Zstd | Self::Xz => return Err(self.not_built()),
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

impl Compression {
    /// How a file called `name` is compressed by convention, and the name without the ending that says so.
    #[must_use]
    pub fn of_name(name: &str) -> (Self, &str) {
        let endings = [(Self::Zstd, ".zst"), (Self::Gzip, ".gz"), (Self::Xz, ".xz")];
        let found = endings.iter().find_map(|(compression, ending)| Some((*compression, name.strip_suffix(ending)?)));
        found.unwrap_or((Self::None, name))
    }

    /// Compresses what is written, into `sink`.
    pub(super) fn encode<W: Write>(self, sink: W) -> io::Result<Encoder<W>> {
        Ok(match self {
            Self::None => Encoder::Plain(sink),
            #[cfg(feature = "compression")]
            Self::Zstd => Encoder::Zstd(zstd::Encoder::new(sink, zstd::DEFAULT_COMPRESSION_LEVEL)?),
            Self::Gzip => Encoder::Gzip(GzEncoder::new(sink, flate2::Compression::default())),
            #[cfg(feature = "compression")]
            Self::Xz => Encoder::Xz(XzEncoder::new(sink, XZ_PRESET)),
            #[cfg(not(feature = "compression"))]
            Self::Zstd | Self::Xz => return Err(self.not_built()),
        })
    }

    #[cfg(not(feature = "compression"))]
    fn not_built(self) -> io::Error {
        let reason = format!("this build knows no {self}; build Imbrex with its feature compression");
        io::Error::new(io::ErrorKind::Unsupported, reason)
    }
}

/// The preset that `xz` uses when none is asked for.
#[cfg(feature = "compression")]
const XZ_PRESET: u32 = 6;

/// A compressor.
pub(super) enum Encoder<W: Write> {
    Plain(W),
    #[cfg(feature = "compression")]
    Zstd(zstd::Encoder<'static, W>),
    Gzip(GzEncoder<W>),
    #[cfg(feature = "compression")]
    Xz(XzEncoder<W>),
}

impl<W: Write> Encoder<W> {
    /// Writes what ends a file.
    pub(super) fn finish(self) -> io::Result<()> {
        let mut sink = match self {
            Self::Plain(sink) => sink,
            #[cfg(feature = "compression")]
            Self::Zstd(encoder) => encoder.finish()?,
            Self::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "compression")]
            Self::Xz(encoder) => encoder.finish()?,
        };
        sink.flush()
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(sink) => sink.write(bytes),
            #[cfg(feature = "compression")]
            Self::Zstd(encoder) => encoder.write(bytes),
            Self::Gzip(encoder) => encoder.write(bytes),
            #[cfg(feature = "compression")]
            Self::Xz(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(sink) => sink.flush(),
            #[cfg(feature = "compression")]
            Self::Zstd(encoder) => encoder.flush(),
            Self::Gzip(encoder) => encoder.flush(),
            #[cfg(feature = "compression")]
            Self::Xz(encoder) => encoder.flush(),
        }
    }
}
