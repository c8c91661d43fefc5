//! The tables beside the catalogue: facts about the web that change without code.

use serde::Deserialize;

/// Reads a table that is compiled in. Tests read every table.
pub(crate) fn read<T: Deserialize<'static>>(text: &'static str) -> T {
    serde_json::from_str(text).expect("a built-in table is valid")
}
