//! Samples compressed, each in two pieces one behind the other, as files are that were appended to.

use std::io::Write;

use flate2::write::GzEncoder;
use liblzma::write::XzEncoder;

/// How a sample is compressed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Packing {
    /// Two frames of Zstandard.
    Zstd,
    /// Two members of gzip.
    Gzip,
    /// Two streams of xz.
    Xz,
}

impl Packing {
    /// Every one.
    pub const ALL: [Self; 3] = [Self::Zstd, Self::Gzip, Self::Xz];
}

/// `content` compressed.
#[must_use]
pub fn packed(content: &[u8], packing: Packing) -> Vec<u8> {
    let (head, tail) = content.split_at(content.len() / 3);
    let mut file = piece(head, packing);
    file.extend(piece(tail, packing));
    file
}

fn piece(content: &[u8], packing: Packing) -> Vec<u8> {
    const IN_MEMORY: &str = "memory takes all";
    match packing {
        Packing::Zstd => zstd::encode_all(content, 3).expect(IN_MEMORY),
        Packing::Gzip => {
            let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).expect(IN_MEMORY);
            encoder.finish().expect(IN_MEMORY)
        }
        Packing::Xz => {
            let mut encoder = XzEncoder::new(Vec::new(), 6);
            encoder.write_all(content).expect(IN_MEMORY);
            encoder.finish().expect(IN_MEMORY)
        }
    }
}
