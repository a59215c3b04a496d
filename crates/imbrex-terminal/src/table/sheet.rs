//! A table that is shown in more than one form.

use super::grid;

/// Headings, of which those of numbers begin with `>`, and what stands below them.
pub struct Sheet {
    headings: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Sheet {
    /// A table of as many columns as there are headings.
    pub fn new<H: AsRef<str>>(
        headings: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = String>>,
    ) -> Self {
        let headings = headings.into_iter().map(|heading| heading.as_ref().to_owned()).collect();
        Self { headings, rows: rows.into_iter().map(|row| row.into_iter().collect()).collect() }
    }

    /// For people, as [`grid`] has it.
    pub fn text(&self) -> String {
        let headings: Vec<_> = self.headings.iter().map(String::as_str).collect();
        grid(&headings, self.rows.iter().map(|row| row.iter().cloned()))
    }

    /// For a document: a table of Markdown, as wide as it is.
    pub fn markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |text: &str| text.replace('|', "\\|");
        let named = self.headings.iter().map(|heading| plain(heading.trim_start_matches('>'))).collect();
        let ruled = self.headings.iter().map(|heading| if heading.starts_with('>') { "---:" } else { "---" });
        let mut text = line(named) + &line(ruled.map(str::to_owned).collect());
        text.extend(self.rows.iter().map(|row| line(row.iter().map(|cell| plain(cell)).collect())));
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_show_the_same_cells() {
        let rows = [["a|b", "1"], ["c", "22"]].map(|row| row.map(str::to_owned));
        let sheet = Sheet::new(["name", ">size"], rows);
        assert_eq!(sheet.text(), "name  size\n──────────\na|b      1\nc       22");
        assert_eq!(sheet.markdown(), "| name | size |\n| --- | ---: |\n| a\\|b | 1 |\n| c | 22 |\n");
    }
}
