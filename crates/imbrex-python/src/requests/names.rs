//! What columns of requests are called, and what can be wrong with a value in one.

use imbrex::trace::Problem;

/// What a column of a request table may be called, by what it says. Of each row exactly one must be there.
pub const NAMES: [[&str; 2]; 4] =
    [["arrival_ns", "arrival_s"], ["offset_bytes", "lba"], ["bytes", "blocks"], ["write", "operation"]];

/// What is wrong with a value, and in which row of its batch.
pub struct Wrong {
    pub row: usize,
    pub problem: Problem,
}
