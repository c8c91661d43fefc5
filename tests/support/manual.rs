//! Tables of the manual that are generated from the program.

use std::path::Path;

/// Asserts that the part of a page, such as `catalogue.md`, between the two marks is `table`. With
/// `SIGHTLINE_TEST_UPDATE=1`, the part is rewritten instead.
#[track_caller]
pub(crate) fn page_has_table(page: &str, marks: [&str; 2], table: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/manual").join(page);
    let text = std::fs::read_to_string(&path).unwrap();
    let [start, end] = marks;
    let (before, rest) = text.split_once(start).expect("the table's start mark");
    let (shown, after) = rest.split_once(end).expect("the table's end mark");
    if std::env::var_os("SIGHTLINE_TEST_UPDATE").is_some() {
        std::fs::write(&path, format!("{before}{start}{table}{end}{after}")).unwrap();
    } else {
        let hint = "to rewrite it: SIGHTLINE_TEST_UPDATE=1 cargo test --test main the_manual_lists";
        assert_eq!(shown, table, "{hint}");
    }
}
