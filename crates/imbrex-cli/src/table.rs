//! Tables for people.

use comfy_table::{Cell, CellAlignment, LineStyle, Table, TableStyle};

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table of texts. Columns whose heading begins with `>` are numbers and aligned to the right.
pub fn table<const N: usize>(headings: [&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    grid(&headings, rows)
}

/// A table of as many columns as there are headings.
pub fn grid(headings: &[&str], rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>) -> String {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(headings.iter().map(|heading| heading.trim_start_matches('>')));
    for (column, heading) in table.column_iter_mut().zip(headings) {
        column.set_padding((0, 2));
        if heading.starts_with('>') {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for row in rows {
        table.add_row(row.into_iter().map(Cell::new));
    }
    table.trim_fmt()
}

/// A whole number with its thousands apart.
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number to three digits or, above a hundred, to one.
pub fn number(value: f64) -> String {
    match value {
        _ if value.abs() < 10.0 => format!("{value:.2}"),
        _ if value.abs() < 100.0 => format!("{value:.1}"),
        _ => count(value.round() as u64),
    }
}

/// A ratio in percent.
pub fn percent(ratio: f64) -> String {
    format!("{:.1} %", ratio * 100.0)
}

/// A size in binary units.
pub fn bytes(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let steps = bytes.checked_ilog2().map_or(0, |bits| bits / 10) as usize;
    let value = bytes as f64 / (1u64 << (10 * steps)) as f64;
    let digits = usize::from(steps > 0 && value.fract() != 0.0);
    format!("{value:.digits$} {}", units[steps])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_people_write_them() {
        assert_eq!([0, 999, 1000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([0.0, 8.756, 87.56, 8756.4].map(number), ["0.00", "8.76", "87.6", "8,756"]);
        assert_eq!([0, 512, 1536, 16 << 30].map(bytes), ["0 B", "512 B", "1.5 KiB", "16 GiB"]);
    }
}
