#![no_main]
//! Parquet.

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: Vec<u8>| {
    imbrex_fuzz::check(imbrex::trace::parquet::read("fuzz", content));
});
