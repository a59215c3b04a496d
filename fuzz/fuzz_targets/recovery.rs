#![no_main]
//! A volume of which any metadata was written to, checksums included: the first byte chooses it, the rest what is
//! changed.

use imbrex_live::explore::open_hostile;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|changes: &[u8]| open_hostile(changes));
