//! How a program talks with people, and with the files that it writes for them: tables, results in several formats,
//! messages, bars of progress, Ctrl-C, and files that are there when they are complete.
//!
//! Nothing here knows what the program is about.
#![forbid(unsafe_code)]
#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod duration;
mod leftover;
pub mod names;
pub mod new_file;
pub mod new_folder;
pub mod output;
pub mod progress;
pub mod say;
pub mod stop;
pub mod table;
