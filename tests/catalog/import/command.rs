//! Lists of other tools in the commands.

use super::*;
use crate::cli::{Folder, ran};

/// A list with an entry that is imported, one that is changed and one that is left out.
fn mixed() -> String {
    let lake = json!({"url": "https://lake.example/{}", "regexCheck": "(?=a)"});
    let list = [("Pond", json!({})), ("Bad", json!({"url": "x", "errorType": "y"})), ("Lake", lake)];
    sherlock(&list).to_string().replace("site.example", "pond.example")
}

#[test]
fn every_command_that_loads_a_list_reports_what_is_left_out() {
    let folder = Folder::new();
    let file = folder.file("data.json", &mixed());
    let left = "Bad: left out: `x` is not a web address";
    let list = ran(&["catalog", "list", "--no-builtin", "--catalog", &file], &[]).code_is(0).err_has(left);
    assert!(list.err.ends_with("2 of 3 entries imported, 1 left out\n"), "{}", list.err);
    let show = ["catalog", "show", "sherlock.pond", "--no-builtin", "--catalog", &file];
    let shown = ran(&show, &[]).code_is(0).err_has(left).out;
    ran(&["catalog", "format", "--check", &folder.file("pond.json", &shown)], &[]).code_is(0);
    let search = ["search", "username", "everybody", "--sandbox=perfect", "--no-builtin", "--catalog", &file];
    let found = ran(&[&search[..], &["--format", "ndjson"]].concat(), &[]).code_is(0).err_has(left);
    assert_eq!(found.out.lines().count(), 2, "{}", found.out);
    let told = ran(&[&search[..], &["--log-level", "info"]].concat(), &[]).code_is(0);
    told.err_has("list of Sherlock: 2 of 3 entries imported").err_has("Lake: imported, but");
}
