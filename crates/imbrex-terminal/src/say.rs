//! Messages that nobody has to read: where they cannot be written, the work they speak of goes on.

use std::fmt::Display;
use std::io::{self, Write};
use std::thread;

/// A line on standard error.
pub fn note(line: impl Display) {
    written(&mut io::stderr().lock(), line);
}

/// A line on standard output that is no result.
pub fn tell(line: impl Display) {
    written(&mut io::stdout().lock(), line);
}

/// A line on standard output that waits for nobody to read it: a server does not stand still for a reader.
pub fn tell_who_listens(line: impl Display) {
    let line = line.to_string();
    thread::spawn(move || tell(line));
}

/// In one piece, so that lines of several threads and programs do not mix.
fn written(to: &mut impl Write, line: impl Display) {
    // There is nobody left to tell that it cannot be written.
    let _ = to.write_all(format!("{line}\n").as_bytes()).and_then(|()| to.flush());
}

/// A message without the excerpt that TOML errors draw: the place and the reason remain.
pub fn one_line(message: &str) -> String {
    let is_excerpt = |line: &str| line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(" |");
    let lines = message.lines().filter(|line| !line.trim().is_empty() && !line.trim_start().starts_with('|'));
    lines.filter(|line| !is_excerpt(line)).collect::<Vec<_>>().join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A device without room.
    struct Full;

    impl Write for Full {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::StorageFull.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn what_cannot_be_written_is_left_out() {
        written(&mut Full, "nobody reads this");
        let mut lines = Vec::new();
        written(&mut lines, "one");
        written(&mut lines, 2);
        assert_eq!(lines, b"one\n2\n");
    }
}
