#![no_main]
//! Lines: the first byte chooses the format that they are read in, or none; then they are recognised.

use imbrex::trace::{BlockEvent, FORMATS, FileOptions, TraceFormat};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((choice, content)) = input.split_first() else { return };
    let choice = usize::from(*choice);
    let format = FORMATS.get(choice % (FORMATS.len() + 1)).map(|info| info.format);
    let event = (format == Some(TraceFormat::Blkparse) && choice >= 128).then_some(BlockEvent::Issued);
    imbrex_fuzz::read(content.to_vec(), &FileOptions { format, event, volume: None });
});
