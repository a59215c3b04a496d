#![no_main]
//! Compressed files: the first byte chooses whether the rest is compressed properly, or damaged behind the first bytes
//! of a compressed file, or taken as it is.

use std::io::{self, Read};

use imbrex::trace::FileOptions;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((choice, content)) = input.split_first() else { return };
    let file = match choice % 7 {
        0 => zstd::encode_all(content, 1),
        1 => all(flate2::bufread::GzEncoder::new(content, flate2::Compression::fast())),
        2 => all(liblzma::bufread::XzEncoder::new(content, 0)),
        3 => Ok([b"\x28\xb5\x2f\xfd", content].concat()),
        4 => Ok([b"\x1f\x8b\x08", content].concat()),
        5 => Ok([b"\xfd7zXZ\0", content].concat()),
        _ => Ok(content.to_vec()),
    };
    imbrex_fuzz::read(file.expect("memory can be written"), &FileOptions::default());
});

fn all(mut encoder: impl Read) -> io::Result<Vec<u8>> {
    let mut file = Vec::new();
    encoder.read_to_end(&mut file)?;
    Ok(file)
}
