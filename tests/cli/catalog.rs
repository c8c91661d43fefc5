//! `catalog` on the built-in modules and on files of one's own.

use serde_json::{Value, json};

use super::{Folder, Ran, ran};

fn entry(id: &str) -> Value {
    json!({
        "id": id, "platform": "A", "type": "username", "category": "testing",
        "probes": [{"url": "https://a.example/{query}"}], "hit": [{"status": [200]}],
        "miss": [{"status": [404]}],
    })
}

fn json_of(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn the_built_in_modules_are_listed_and_shown() {
    let list = json_of(&ran(&["catalog", "list", "--format", "json"], &[]).code_is(0));
    let modules = list.as_array().unwrap();
    assert!(!modules.is_empty());
    let id = modules[0]["id"].as_str().unwrap();
    let shown = json_of(&ran(&["catalog", "show", id], &[]).code_is(0));
    for field in ["id", "platform", "type", "category"] {
        assert_eq!(shown[field], modules[0][field]);
    }
    assert!(shown["probes"][0]["url"].is_string());
    let table = ran(&["catalog", "list"], &[]).code_is(0).out;
    assert_eq!(table.lines().count(), modules.len() + 1);
    assert!(table.starts_with("ID"), "{table}");
}

#[test]
fn a_list_can_be_narrowed() {
    let folder = Folder::new();
    let mut other = entry("b");
    other["type"] = "domain".into();
    other["probes"][0]["url"] = "https://a.example/?q={domain}".into();
    let file = folder.file("own.json", &json!([entry("a"), other]).to_string());
    for (filter, want) in [
        (["--type", "domain"], vec!["b"]),
        (["--type", "email"], vec![]),
        (["--category", "testing"], vec!["a", "b"]),
        (["--category", "social"], vec![]),
    ] {
        let args = ["catalog", "list", "--no-builtin", "--catalog", &file, "--format", "json"];
        let args: Vec<&str> = args.into_iter().chain(filter).collect();
        let list = json_of(&ran(&args, &[]).code_is(0));
        let ids: Vec<&str> = list.as_array().unwrap().iter().map(|it| it["id"].as_str().unwrap()).collect();
        assert_eq!(ids, want, "{filter:?}");
    }
}

#[test]
fn a_mistake_is_shown_with_file_module_and_field() {
    let folder = Folder::new();
    let mut wrong = entry("a");
    wrong["probes"][0]["metod"] = "GET".into();
    let file = folder.file("own.json", &json!([wrong]).to_string());
    let checked = ran(&["catalog", "check-syntax", &file], &[]).code_is(1);
    assert!(
        checked.out.starts_with(&format!("{file}: a: probes[0]: unknown field `metod`")),
        "{}",
        checked.out
    );
    let refused = ran(&["catalog", "list", "--catalog", &file], &[]).code_is(2);
    refused.err_has("the catalogue is not in order").err_has("unknown field `metod`");

    let good = folder.file("good.json", &json!([entry("a"), entry("b")]).to_string());
    assert_eq!(ran(&["catalog", "check-syntax", &good], &[]).code_is(0).out, "2 modules, no mistakes\n");
    ran(&["catalog", "check-syntax", &good, &good], &[]).code_is(1);
}

#[test]
fn formatting_sorts_once_and_then_changes_nothing() {
    let folder = Folder::new();
    let file = folder.file("own.json", &json!([entry("b"), entry("a")]).to_string());
    let unchanged = std::fs::read_to_string(&file).unwrap();
    ran(&["catalog", "format", "--check", &file], &[]).code_is(1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), unchanged);

    ran(&["catalog", "format", &file], &[]).code_is(0);
    let formatted = std::fs::read_to_string(&file).unwrap();
    assert!(formatted.find("\"a\"") < formatted.find("\"b\"") && formatted.ends_with("\n]\n"), "{formatted}");
    assert_eq!(ran(&["catalog", "format", "--check", &file], &[]).code_is(0).out, "");
    assert_eq!(ran(&["catalog", "format", &file], &[]).code_is(0).out, "");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn a_file_that_is_no_catalogue_stays_as_it_is() {
    let folder = Folder::new();
    let file = folder.file("own.json", "{\"a\": 1");
    let refused = ran(&["catalog", "format", &file], &[]).code_is(1);
    assert!(refused.out.contains("has mistakes"), "{}", refused.out);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"a\": 1");
}
