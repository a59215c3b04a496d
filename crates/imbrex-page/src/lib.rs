//! Pages that show what Imbrex measured: a report of results, and how a volume that is served stands.
//!
//! A page is one file. Its scripts, its style and the library that draws its charts lie in it, and its content policy
//! names each of them by its hash and allows nothing else: it loads nothing from anywhere.
#![forbid(unsafe_code)]

mod html;
mod report;
mod rows;
mod table;
mod units;

pub use html::live;
pub use report::{About, Report};
pub use rows::{Row, RowError};
