#![no_main]
//! Binary records, recognised and as either version.

use imbrex::trace::{FileOptions, TraceFormat};
use libfuzzer_sys::fuzz_target;

/// What makes the rest of an input records of SRT.
const TEXT: &[u8] = b"$$TR_IOREC-1.3\ndisks = { 0 -> { sectorsize = 256 } 1 -> { sectorsize = 512 } };\n\x0c";

fuzz_target!(|content: &[u8]| {
    for format in [None, Some(TraceFormat::Vscsi1), Some(TraceFormat::Vscsi2), Some(TraceFormat::Srt)] {
        imbrex_fuzz::read(content.to_vec(), &FileOptions { format, ..FileOptions::default() });
    }
    imbrex_fuzz::read([TEXT, content].concat(), &FileOptions::default());
});
