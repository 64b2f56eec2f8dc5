//! Tables as Go's tabwriter sets them: columns as wide as their widest cell, but for the last one, which has no width.

use super::escape;

/// A table.
#[derive(Clone, Debug)]
pub struct Columns {
    narrowest: usize,
    gap: usize,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table whose columns are three spaces apart.
    pub fn new(header: &[&str]) -> Self {
        Self::with_widths(0, 3, header)
    }

    /// A table whose columns are at least so wide, with so many spaces between them.
    pub fn with_widths(narrowest: usize, gap: usize, header: &[&str]) -> Self {
        let mut table = Self::headless(narrowest, gap);
        table
            .rows
            .push(header.iter().map(|cell| (*cell).to_owned()).collect());
        table
    }

    /// The same, without a header.
    pub fn headless(narrowest: usize, gap: usize) -> Self {
        Self {
            narrowest,
            gap,
            rows: Vec::new(),
        }
    }

    /// Adds a row. The last cell may have several lines: they stay in the last column.
    pub fn push(&mut self, cells: &[&str], last: &str) {
        let mut cells: Vec<_> = cells.iter().map(|cell| escape::line(cell)).collect();
        let mut lines = last.split('\n').map(escape::line);
        let blank = vec![String::new(); cells.len()];
        cells.push(lines.next().unwrap_or_default());
        self.rows.push(cells);
        for line in lines {
            let mut row = blank.clone();
            row.push(line);
            self.rows.push(row);
        }
    }

    fn widths(&self) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or_default();
            self.narrowest.max(widest + self.gap)
        };
        (0..columns.saturating_sub(1)).map(width).collect()
    }
}

impl std::fmt::Display for Columns {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let widths = self.widths();
        for row in &self.rows {
            for (column, cell) in row.iter().enumerate() {
                match widths.get(column) {
                    // Widths of format strings end at 65,535.
                    Some(width) => {
                        let padding = width.saturating_sub(cell.chars().count());
                        write!(formatter, "{cell}{}", " ".repeat(padding))?;
                    }
                    None => formatter.write_str(cell)?,
                }
            }
            formatter.write_str("\n")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_columns_but_the_last_have_the_width_of_their_widest_cell() {
        let mut table = Columns::new(&["NAME", "EST", "MESSAGE"]);
        table.push(&["a-long-name", "?"], "");
        table.push(&["b", "+10m"], "one\ntwo");
        assert_eq!(
            table.to_string(),
            "NAME          EST    MESSAGE\n\
             a-long-name   ?      \n\
             b             +10m   one\n                     two\n"
        );
    }

    #[test]
    fn a_cell_may_be_wider_than_format_strings_can_say() {
        let mut table = Columns::new(&["NAME", "MESSAGE"]);
        table.push(&["a".repeat(70_000).as_str()], "m");
        assert_eq!(table.to_string().lines().last().map(str::len), Some(70_004));
    }

    #[test]
    fn columns_may_have_a_least_width() {
        let mut table = Columns::with_widths(14, 1, &["  VERSION", "ISSUES"]);
        table.push(&["  4.14.1"], "none");
        assert_eq!(table.to_string(), "  VERSION     ISSUES\n  4.14.1      none\n");
        let mut long = Columns::headless(14, 1);
        long.push(&["  4.19.0-okd-scos.17"], "none");
        assert_eq!(long.to_string(), "  4.19.0-okd-scos.17 none\n");
    }
}
