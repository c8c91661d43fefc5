//! A table for people; what it shows from outside is made fit for a terminal.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::base::text::plain;

/// A table for people: columns as wide as their widest cell, two spaces between.
pub(crate) fn write_table(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let mut widths: Vec<usize> = head.iter().map(|name| name.chars().count()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(plain(cell).chars().count());
        }
    }
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let mut text = String::new();
        for (cell, width) in cells.zip(&widths) {
            let _ = write!(text, "{:width$}  ", plain(cell));
        }
        writeln!(out, "{}", text.trim_end())
    };
    line(&mut head.iter().copied())?;
    rows.iter().try_for_each(|row| line(&mut row.iter().map(String::as_str)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_lines_up_and_has_no_trailing_spaces() {
        let mut out = Vec::new();
        let rows = vec![vec!["a".to_owned(), String::new()], vec!["long\x1bname".to_owned(), "x".to_owned()]];
        write_table(&mut out, &["NAME", "B"], &rows).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "NAME       B\na\nlong\u{fffd}name  x\n");
    }
}
