//! What volumes promise to those who serve them. One program: where each file was its own, what is generic in the library
//! was optimised and linked once for every one of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod attachment;
mod checksums;
mod damage;
mod degraded;
mod engine;
mod extents;
mod full_host;
mod generations;
mod give_back;
mod growth;
mod hostile;
mod hybrid;
mod journal_length;
mod losses;
mod map_memory;
mod offline;
mod overlay;
mod own_flush;
mod paced;
mod real_drives;
#[cfg(feature = "recording")]
mod recording;
mod service;
