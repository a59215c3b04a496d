//! What the library promises to those who use it. One program: where each file was its own, what is generic in the
//! library was optimised and linked once for every one of them.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod ahead;
mod architecture;
mod bands;
mod batches;
mod built_once;
mod checkpoint;
mod cleaning;
mod commits;
mod counts;
mod disksim;
mod explore;
#[path = "../fixture/mod.rs"]
mod fixture;
mod flash_caches;
mod growth;
mod log_structured;
mod lost;
mod notes;
mod places;
mod profiles;
mod replacement;
mod replay;
mod samples;
mod scheduling;
mod stacks;
mod swapper;
mod trace_files;
mod traces;
mod tracks;
mod two_places;
mod waiting;
mod warm_up;
mod watch_disk;
