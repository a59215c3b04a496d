//! What every reader owes for any content; a fuzz target only says in which format the content is read.

use std::io::Cursor;

use imbrex::trace::{FileOptions, TraceError, TraceSource, formats};

/// Reads `content` and checks what comes of it.
pub fn read(content: Vec<u8>, options: &FileOptions) {
    check(formats::read_with("fuzz", Cursor::new(content), options));
}

/// Reads a source to its end or its first error, and panics when a promise about requests is broken.
pub fn check(opened: Result<Box<dyn TraceSource>, TraceError>) {
    let Ok(mut source) = opened else { return };
    let (mut batch, mut last_ns, mut requests) = (Vec::new(), None, 0);
    while source.fill(&mut batch, 64).is_ok() {
        if batch.is_empty() {
            assert!(requests > 0, "a trace without requests is an error");
            return;
        }
        assert!(batch.len() <= 64);
        requests += batch.len();
        for request in &batch {
            assert!(request.arrival_ns >= last_ns.unwrap_or(0), "time goes back");
            assert!(last_ns.is_some() || request.arrival_ns == 0, "arrivals count from the first request");
            assert!(request.bytes > 0 && request.offset_bytes.checked_add(request.bytes.into()).is_some());
            last_ns = Some(request.arrival_ns);
        }
    }
}
