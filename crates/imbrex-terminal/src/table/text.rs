//! Texts beside tables, and how wide both may be.

use std::env;

use console::Term;
use unicode_width::UnicodeWidthStr;

/// Columns of text where no terminal shows it.
const WIDTH: usize = 100;
/// The narrowest terminal that is believed.
const NARROWEST: usize = 40;

/// Columns of text that fit: those of the terminal on standard output; in a pipe what the variable `COLUMNS` says, or
/// 100.
pub fn width() -> usize {
    let size = Term::stdout().size_checked().map(|(_, columns)| columns.into());
    let said = || env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let columns: Option<usize> = size.filter(|columns| *columns > 0).or_else(said);
    columns.map_or(WIDTH, |columns| columns.max(NARROWEST))
}

/// How many columns a text takes.
pub fn letters(text: &str) -> usize {
    text.width()
}

/// A text over as many lines as it needs, each line of it on lines of its own. A word that is longer than a line is not
/// broken.
pub fn paragraphs(text: &str) -> String {
    text.lines().map(|line| pieces(line, width(), false).join("\n")).collect::<Vec<_>>().join("\n")
}

/// The lines of a text. Where words may be broken, only one that is longer than a line is.
pub fn pieces(text: &str, width: usize, may_break: bool) -> Vec<String> {
    let mut lines = Vec::new();
    for line in text.split('\n') {
        let mut last = String::new();
        for (at, word) in line.split(' ').enumerate() {
            if at > 0 && letters(&last) + 1 + letters(word) <= width {
                last.push(' ');
            } else if at > 0 {
                lines.push(std::mem::take(&mut last));
            }
            last += word;
            while may_break && letters(&last) > width {
                let rest = last.split_off(end_of_line(&last, width));
                lines.push(std::mem::replace(&mut last, rest));
            }
        }
        lines.push(last);
    }
    lines
}

/// Where a line of this width ends that begins with the text: behind a character at least.
fn end_of_line(text: &str, width: usize) -> usize {
    let ends = text.char_indices().map(|(at, letter)| at + letter.len_utf8());
    let fitting = ends.clone().take_while(|&end| letters(&text[..end]) <= width).last();
    fitting.or_else(|| ends.clone().next()).unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_broken_between_words() {
        assert_eq!(pieces("one two three", 7, false), ["one two", "three"]);
        assert_eq!(pieces("one two three", 13, false), ["one two three"]);
        assert_eq!(pieces("  in  two", 20, false), ["  in  two"]);
        assert_eq!(pieces("", 8, false), [""]);
    }

    #[test]
    fn words_are_broken_only_where_they_may_be() {
        assert_eq!(pieces("/a/very/long/path is", 8, false), ["/a/very/long/path", "is"]);
        assert_eq!(pieces("/a/very/long/path is", 8, true), ["/a/very/", "long/pat", "h is"]);
        assert_eq!(pieces("漢字漢字", 4, true), ["漢字", "漢字"]);
    }
}
