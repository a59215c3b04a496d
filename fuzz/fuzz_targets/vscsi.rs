#![no_main]
//! Binary records, recognised and as either version.

use imbrex::trace::{FileOptions, TraceFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: &[u8]| {
    for format in [None, Some(TraceFormat::Vscsi1), Some(TraceFormat::Vscsi2)] {
        imbrex_fuzz::read(content.to_vec(), &FileOptions { format, ..FileOptions::default() });
    }
});
