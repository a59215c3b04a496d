//! The `imbrex` program.

fn main() {}
