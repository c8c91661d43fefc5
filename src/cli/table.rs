//! Lists: tables for people, or JSON. Text from outside is escaped for terminals.

use std::io::{self, Write};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::database::open_store;
use super::exit::Failure;
use crate::base::text::{columns, padded, write_json};
use crate::config::StorageConfig;
use crate::store::Store;

/// The format of an output that is for people, or JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TextFormat {
    /// A table, or lines, for people
    #[value(alias = "table")]
    Text,
    /// The same as JSON
    Json,
}

/// The options of a command that lists something of the database.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

impl ListArgs {
    /// Opens the database and writes what `read` returns: see [`write_list`].
    pub(crate) fn write<T: Serialize>(
        &self,
        out: &mut dyn Write,
        members: &[&str],
        read: impl FnOnce(Arc<Store>) -> Result<Vec<T>, Failure>,
    ) -> Result<(), Failure> {
        Ok(write_list(out, self.format, &read(open_store(&self.storage)?)?, members)?)
    }
}

/// Writes a list: its items as they are serialized, or a table with these members as columns.
pub(crate) fn write_list<T: Serialize>(
    out: &mut dyn Write,
    format: TextFormat,
    items: &[T],
    members: &[&str],
) -> io::Result<()> {
    if format == TextFormat::Json {
        return write_json(out, &items);
    }
    let row = |item: &T| -> io::Result<Vec<String>> {
        let item = serde_json::to_value(item)?;
        Ok(members.iter().map(|member| shown(&item[*member])).collect())
    };
    let rows = items.iter().map(row).collect::<io::Result<Vec<Vec<String>>>>()?;
    let heads: Vec<String> = members.iter().map(|member| member.to_uppercase().replace('_', " ")).collect();
    write_table(out, &heads.iter().map(String::as_str).collect::<Vec<_>>(), &rows)
}

/// Returns a member as a cell: of a list, the number of its items.
pub(super) fn shown(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Bool(is_so) => if *is_so { "yes" } else { "no" }.to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.len().to_string(),
        Value::Object(members) => members.values().map(shown).collect::<Vec<_>>().join(" "),
        Value::Number(number) => number.to_string(),
    }
}

/// Writes a table whose columns are as wide as their widest cell, with two spaces between them.
pub(crate) fn write_table(out: &mut dyn Write, head: &[&str], rows: &[Vec<String>]) -> io::Result<()> {
    let mut widths: Vec<usize> = head.iter().map(|name| columns(name)).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(columns(cell));
        }
    }
    let mut line = |cells: &mut dyn Iterator<Item = &str>| {
        let cells: Vec<String> = cells.zip(&widths).map(|(cell, width)| padded(cell, *width)).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())
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

    #[test]
    fn columns_align_for_wide_characters() {
        let mut out = Vec::new();
        let zalgo = format!("z{}", "\u{0301}".repeat(300));
        let rows = [zalgo.as_str(), "名前", "plain"].map(|name| vec![name.to_owned(), "x".to_owned()]);
        write_table(&mut out, &["NAME", "B"], &rows).unwrap();
        let shown = String::from_utf8(out).unwrap();
        let at: Vec<usize> =
            shown.lines().skip(1).map(|line| columns(line.strip_suffix('x').unwrap())).collect();
        assert_eq!(at, [7, 7, 7], "{shown}");
        assert!(shown.len() < 100, "{shown:?}");
    }
}
