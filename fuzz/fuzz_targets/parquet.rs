//! Parquet files of anything: an error or requests that keep their promises, and never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|content: Vec<u8>| {
    let Ok(mut source) = imbrex::trace::parquet::read("fuzzed", content) else { return };
    let (mut batch, mut last_ns) = (Vec::new(), 0);
    while source.fill(&mut batch, 1000).is_ok() && !batch.is_empty() {
        for request in &batch {
            assert!(request.arrival_ns >= last_ns && request.bytes > 0);
            last_ns = request.arrival_ns;
            let _ = request.end_bytes();
        }
    }
});
