//! The manual's table of the names of metadata.

use std::fmt::Write;

use sightline::modules::definition::{FieldType, METADATA};

use crate::support::manual::page_has_table;

const TABLE_START: &str = "<!-- fields: generated, see tests/manual/fields.rs -->\n";
const TABLE_END: &str = "<!-- fields end -->";

fn table() -> String {
    let mut table = String::from("| name | value | means |\n|---|---|---|\n");
    for field in &METADATA.fields {
        let list = if field.is_list { "list: " } else { "" };
        let _ =
            writeln!(table, "| `{}` | {list}{} | {} |", field.name, field.field_type.as_str(), field.meaning);
    }
    let services: Vec<String> = METADATA.services.iter().map(|service| format!("`{service}`")).collect();
    let handle = FieldType::Handle.as_str();
    let _ = writeln!(table, "| {} | {handle} | the person's account there |", services.join(", "));
    table
}

/// To rewrite the table: `SIGHTLINE_TEST_UPDATE=1 cargo test --test main the_manual_lists`.
#[test]
fn the_manual_lists_the_names_of_metadata() {
    page_has_table("catalogue-entries.md", [TABLE_START, TABLE_END], &table());
}
