//! The command `catalog convert`, and lists in the other commands.

use super::*;
use crate::cli::{Folder, ran};

/// A list with an entry that is imported, one that is changed and one that is left out.
fn mixed() -> String {
    let mut list =
        json!({"Pond": sherlock::site(), "Bad": {"url": "x", "errorType": "y"}, "Lake": sherlock::site()});
    list["Lake"]["url"] = json!("https://lake.example/{}");
    list["Lake"]["regexCheck"] = json!("(?=a)");
    list.to_string().replace("site.example", "pond.example")
}

#[test]
fn a_list_is_written_in_canonical_form_and_passes_the_check() {
    let folder = Folder::new();
    let (file, output) = (folder.file("data.json", &mixed()), folder.file("out.json", "old"));
    let done = ran(&["catalog", "convert", &file, "--output", &output], &[]).code_is(0);
    assert_eq!(done.out, "");
    let want = format!(
        "{file}: Bad: left out: `x` is not a web address\n\
         {file}: Lake: imported, but: `regexCheck` is ignored: it uses look-around, which takes more than linear time\n\
         {file}: list of Sherlock: 2 of 3 entries imported, 1 left out\n"
    );
    assert_eq!(done.err, want);
    assert_eq!(ran(&["catalog", "format", "--check", &output], &[]).code_is(0).out, "");
    assert_eq!(ran(&["catalog", "check-syntax", &output], &[]).code_is(0).out, "2 modules, no mistakes\n");
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 2, "something was left behind");
    // A converted list is an ordinary catalogue file, which can be used together with the built-in modules.
    let both = ["catalog", "list", "--catalog", &output, "--catalog", &file, "--format", "json"];
    let both = ran(&both, &[]).code_is(0).err_has("0 of 3 entries imported, 2 already covered, 1 left out");
    assert!(both.out.contains("\"sherlock.pond\""), "{}", both.out);

    let to_output = ran(&["catalog", "convert", &file], &[]).code_is(0);
    assert_eq!(to_output.out, std::fs::read_to_string(&output).unwrap());
    let new = folder.path("new.json");
    ran(&["catalog", "convert", &file, "--output", &new], &[]).code_is(0);
    assert_eq!(std::fs::read_to_string(&new).unwrap(), to_output.out);
}

#[test]
fn the_report_can_be_a_json_document() {
    let folder = Folder::new();
    let file = folder.file("data.json", &mixed());
    let done = ran(&["catalog", "convert", &file, "--report", "json"], &[]).code_is(0);
    let report: Value = serde_json::from_str(&done.err).unwrap();
    let want = json!({
        "file": file, "format": "sherlock", "entries": 3, "off": 0, "taken_over": 2, "enabled_taken_over": 2,
        "notes": [
            {"name": "Bad", "outcome": "left_out", "reason": "`x` is not a web address"},
            {"name": "Lake", "outcome": "changed", "reason": "`regexCheck` is ignored: it uses look-around, which takes more than linear time"},
        ],
    });
    assert_eq!(report, want);
}

#[test]
fn a_failed_conversion_is_reported_and_changes_no_file() {
    let folder = Folder::new();
    let output = folder.file("out.json", "old");
    let none = "{\"Bad\": {\"url\": \"x\", \"errorType\": \"y\"}}";
    for (content, why) in [
        ("{\"a\": 1}", "Maigret has an object `sites`"),
        ("{", "it is not valid JSON"),
        ("[]", "already in Sightline's own format"),
        (none, "Bad: left out: `x` is not a web address"),
    ] {
        let file = folder.file("data.json", content);
        ran(&["catalog", "convert", &file, "--output", &output], &[]).code_is(1).err_has(why);
        assert_eq!(std::fs::read_to_string(&output).unwrap(), "old");
    }
    let file = folder.file("data.json", &mixed());
    ran(&["catalog", "convert", &file, "--output", &file], &[])
        .code_is(2)
        .err_has("--output is the same file as the list");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), mixed());
    let nowhere = folder.path("none/out.json");
    ran(&["catalog", "convert", &file, "--output", &nowhere], &[]).code_is(3).err_has("cannot write ");
    ran(&["catalog", "convert", &nowhere], &[]).code_is(2).err_has("cannot read the file");
}

#[test]
fn every_command_that_loads_a_list_reports_what_is_left_out() {
    let folder = Folder::new();
    let file = folder.file("data.json", &mixed());
    let left = "Bad: left out: `x` is not a web address";
    let list = ran(&["catalog", "list", "--no-builtin", "--catalog", &file], &[]).code_is(0).err_has(left);
    assert!(list.err.ends_with("2 of 3 entries imported, 1 left out\n"), "{}", list.err);
    let show = ["catalog", "show", "sherlock.pond", "--no-builtin", "--catalog", &file];
    ran(&show, &[]).code_is(0).err_has(left);
    ran(&["catalog", "check-syntax", &file], &[]).code_is(0).err_has(left);
    let search = ["search", "username", "everybody", "--sandbox=perfect", "--no-builtin", "--catalog", &file];
    let found = ran(&[&search[..], &["--format", "ndjson"]].concat(), &[]).code_is(0).err_has(left);
    assert_eq!(found.out.lines().count(), 2, "{}", found.out);
    let told = ran(&[&search[..], &["--log-level", "info"]].concat(), &[]).code_is(0);
    told.err_has("list of Sherlock: 2 of 3 entries imported").err_has("Lake: imported, but");
}
