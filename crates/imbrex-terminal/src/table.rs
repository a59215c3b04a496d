//! Tables for people, no wider than what shows them.

mod cells;
mod fit;
mod sheet;
mod text;

pub use cells::{bytes, count, milliseconds, nanoseconds, number, percent, seconds};
pub use fit::Cell;
pub use sheet::Sheet;
pub use text::{paragraphs, width};

use fit::{Column, GAP};
use text::{letters, pieces};

/// A table. Columns whose heading begins with `>` are numbers: aligned to the right and never broken.
pub fn table<const N: usize, C: Into<Cell>>(headings: [&str; N], rows: impl IntoIterator<Item = [C; N]>) -> String {
    grid(&headings, rows)
}

/// A table of as many columns as there are headings. Where it would be wider than what shows it, texts go over several
/// lines; where its numbers would be, the columns that do not fit follow in a second table, beside the first column
/// again.
pub fn grid<C: Into<Cell>>(headings: &[&str], rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>) -> String {
    fitted(headings, rows, width())
}

fn fitted<C: Into<Cell>>(
    headings: &[&str],
    rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
    width: usize,
) -> String {
    let rows: Vec<Vec<Cell>> = rows.into_iter().map(|row| row.into_iter().map(Into::into).collect()).collect();
    let columns = fit::columns(headings, &rows);
    let parts = fit::parts(&columns, width);
    parts.iter().map(|part| drawn(part, &rows, width)).collect::<Vec<_>>().join("\n\n")
}

/// Some columns of a table.
fn drawn(part: &[&Column<'_>], rows: &[Vec<Cell>], width: usize) -> String {
    let widths = fit::widths(part, width);
    let headings = part.iter().map(|column| Cell::Text(column.heading.to_owned())).collect::<Vec<_>>();
    let mut drawn = row(part, &headings.iter().collect::<Vec<_>>(), &widths, width);
    drawn += &"─".repeat(widths.iter().sum::<usize>() + GAP * (widths.len() - 1));
    for cells in rows {
        let nothing = Cell::Continued;
        let cells: Vec<_> = part.iter().map(|column| cells.get(column.at).unwrap_or(&nothing)).collect();
        drawn = drawn + "\n" + row(part, &cells, &widths, width).trim_end_matches('\n');
    }
    drawn
}

/// A row over as many lines as its longest cell needs. A text that has a row to itself may go on beyond the table.
fn row(part: &[&Column<'_>], cells: &[&Cell], widths: &[usize], most: usize) -> String {
    let mut begun = (0..cells.len()).filter(|&at| at == 0 || matches!(cells[at], Cell::Text(_))).collect::<Vec<_>>();
    begun.push(cells.len());
    let is_alone = begun.len() == 2;
    let spans = begun.windows(2).map(|ends| {
        let own = widths[ends[0]..ends[1]].iter().sum::<usize>() + GAP * (ends[1] - ends[0] - 1);
        let width = if is_alone { own.max(most) } else { own };
        (part[ends[0]].is_number, width, pieces(cells[ends[0]].text(), width, true))
    });
    let spans: Vec<_> = spans.collect();
    let height = spans.iter().map(|(.., pieces)| pieces.len()).max().unwrap_or(0);
    let mut drawn = String::new();
    for line in 0..height {
        let mut text = String::new();
        for (is_number, width, pieces) in &spans {
            let piece = pieces.get(line).map_or("", String::as_str);
            let space = " ".repeat(width.saturating_sub(letters(piece)));
            text += &if *is_number { space + piece } else { piece.to_owned() + &space };
            text += &" ".repeat(GAP);
        }
        drawn = drawn + text.trim_end() + "\n";
    }
    drawn
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Vec<Vec<String>> {
        rows.iter().map(|row| row.iter().map(|cell| (*cell).to_owned()).collect()).collect()
    }

    fn widest(table: &str) -> usize {
        table.lines().map(letters).max().unwrap_or(0)
    }

    #[test]
    fn what_fits_is_left_as_it_is() {
        let table = fitted(&["name", ">size"], rows(&[&["a", "1"], &["bcd", "22"]]), 20);
        assert_eq!(table, "name  size\n──────────\na        1\nbcd     22");
    }

    #[test]
    fn long_texts_go_over_lines_and_numbers_do_not() {
        let said = "words that go on and on, one after the other";
        let table = fitted(&["layer", ">count", "what it does"], rows(&[&["name", "12,345,678", said]]), 40);
        assert!(widest(&table) <= 40 && table.contains("12,345,678") && table.lines().count() > 3, "{table}");
        for word in said.split(' ') {
            assert!(table.contains(word), "{word} is broken:\n{table}");
        }
    }

    #[test]
    fn columns_that_do_not_fit_follow_beside_the_names() {
        let rows = rows(&[&["first", "11,111", "22,222", "33,333"], &["second", "4", "5", "6"]]);
        let table = fitted(&["name", ">one", ">two", ">three"], rows, 24);
        assert!(widest(&table) <= 24, "{table}");
        assert_eq!(table.matches("first").count(), 2, "{table}");
        assert!(["11,111", "22,222", "33,333", "three"].iter().all(|cell| table.contains(cell)), "{table}");
    }

    #[test]
    fn what_a_row_is_called_stands_on_its_line() {
        let rows = [["  seagate-two-phase, disk full", "155 ms", "105,416", "16.9 x", "2.24"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        let table = fitted(&["layer", ">mean", ">RMW", ">vs conv.", ">WA"], rows, 44);
        assert_eq!(table.lines().nth(2), Some("  seagate-two-phase, disk full  155 ms"), "{table}");
        assert_eq!(table.matches("  seagate-two-phase, disk full  ").count(), 3, "{table}");
    }

    #[test]
    fn a_word_that_is_too_long_is_broken() {
        let path = "a".repeat(300);
        let table = fitted(&["store", ">drive"], rows(&[&[&path, "1 GiB"]]), 60);
        assert!(widest(&table) <= 60, "{table}");
        assert_eq!(table.matches('a').count(), 300, "{table}");
    }

    #[test]
    fn a_text_that_has_a_row_to_itself_goes_on_beyond_the_table() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let heading = [text("a workload on a disk of 1 TiB"), Cell::Continued];
        let table = fitted(&["layer", ">RMW"], [heading, [text("fast"), text("8")]], 40);
        assert_eq!(table.lines().nth(2), Some("a workload on a disk of 1 TiB"), "{table}");
        assert_eq!(table.lines().nth(3), Some("fast     8"), "{table}");
    }

    #[test]
    fn a_text_goes_on_over_the_columns_behind_it() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let slow = [text("slow"), text("cannot keep up"), Cell::Continued, text("7")];
        let fast = [text("fast"), text("1 ms"), text("2 ms"), text("8")];
        let table = fitted(&["layer", ">mean", ">max", ">RMW"], [slow, fast], 100);
        assert_eq!(table.lines().nth(2), Some("slow   cannot keep up    7"), "{table}");
        assert_eq!(table.lines().nth(3), Some("fast   1 ms      2 ms    8"), "{table}");
    }
}
