//! What the program promises to those who run it. One program of tests, so that short ones run beside long ones.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]

mod advice;
mod bad_input;
mod bands;
mod bench;
mod bounds;
mod completion;
mod documentation;
mod frontier;
mod kept;
mod libraries;
mod lifetimes;
mod links;
mod manual;
mod map_memory;
mod notes;
mod numbers;
mod paged_volumes;
mod probe;
mod program;
mod rebuild;
mod recorded;
mod reproduce;
mod reproduction;
mod results;
mod sampling;
mod scrub;
mod steady;
mod tables;
mod trace;
mod ublk;
mod volumes;
