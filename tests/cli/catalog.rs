//! `catalog` on the built-in modules and on other files.

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
        assert_eq!(shown[0][field], modules[0][field]);
    }
    assert!(shown[0]["probes"][0]["url"].is_string() && shown[1].is_null());
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
    let refused = ran(&["catalog", "list", "--catalog", &file], &[]).code_is(2);
    refused.err_has("the catalogue has mistakes").err_has("unknown field `metod`");

    let good = folder.file("good.json", &json!([entry("a"), entry("b")]).to_string());
    let twice = ["catalog", "list", "--no-builtin", "--catalog", &good, "--catalog", &good];
    ran(&twice[..5], &[]).code_is(0);
    ran(&twice, &[]).code_is(2).err_has("the catalogue has mistakes");
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
    assert_eq!(std::fs::read_dir(folder.path("")).unwrap().count(), 1);

    let mut wrong = entry("a");
    wrong["probes"][0]["metod"] = "GET".into();
    let wrong = folder.file("wrong.json", &json!([wrong]).to_string());
    let told = ran(&["catalog", "format", &wrong], &[]).code_is(1).out;
    assert!(told.contains(&format!("\n{wrong}:1: a: probes[0].metod: unknown field `metod`")), "{told}");
}

#[test]
fn a_file_that_is_not_a_catalogue_is_unchanged() {
    let folder = Folder::new();
    let file = folder.file("own.json", "{\"a\": 1");
    let refused = ran(&["catalog", "format", &file], &[]).code_is(1);
    assert!(refused.out.contains("has mistakes"), "{}", refused.out);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "{\"a\": 1");
}

/// Returns a file with two modules: an API that repeats the name, and one that only reports existence.
fn two_kinds(folder: &Folder) -> String {
    let mut api = entry("api");
    api["tags"] = json!(["open source", "code"]);
    api["hit"] = json!([{"json": [{"at": "/login", "equals_query": true}]}]);
    api["result"] = json!({"type": "profile", "metadata": {"bio": "json:/bio", "name": "json:/name"}});
    api["known"] = json!(["alice"]);
    let mut bare = entry("bare");
    bare["platform"] = json!("=Bare");
    bare["miss"] = json!([]);
    bare["enabled"] = json!(false);
    bare["off"] = json!({"date": "2026-08-06", "reason": "the site is closed, they say"});
    api["verified"] = json!({"by": "list", "date": "2026-07"});
    bare["contact"] = json!("target_web");
    folder.file("own.json", &json!([bare, api]).to_string())
}

#[test]
fn a_list_shows_the_evidence_of_hits() {
    let folder = Folder::new();
    let file = two_kinds(&folder);
    let list = |more: &[&str]| {
        let args = ["catalog", "list", "--no-builtin", "--catalog", &file];
        ran(&args.iter().chain(more).collect::<Vec<_>>(), &[]).code_is(0).out
    };
    let lines = |more: &[&str]| -> Vec<Value> {
        serde_json::from_str(&list(&[&["--format", "json"], more].concat())).unwrap()
    };
    let tagged = lines(&["--tag", "code", "--tag", "open source"]);
    assert!(tagged.len() == 1 && tagged[0]["id"] == "api", "{tagged:?}");
    let lines = lines(&[]);
    assert_eq!(lines.len(), 2);
    for (line, evidence, both_rules, metadata) in
        [(&lines[0], "api_echo", true, json!(["bio", "name"])), (&lines[1], "status", false, json!([]))]
    {
        assert_eq!((&line["evidence"], &line["both_rules"]), (&json!(evidence), &json!(both_rules)));
        assert_eq!(line["metadata"], metadata);
    }
    let table = list(&[]);
    assert!(
        table.contains("api echo") && table.contains("off 2026-08-06, no miss rule, target web"),
        "{table}"
    );
    assert!(table.lines().nth(1).unwrap().contains("list 2026-07"), "{table}");
    assert_eq!(lines[0]["verified"], json!({"by": "list", "date": "2026-07"}));
    assert_eq!(lines[1]["off"]["reason"], "the site is closed, they say");
}

#[test]
fn a_shown_module_is_a_valid_catalogue_file() {
    let folder = Folder::new();
    let shown = ran(&["catalog", "show", "github"], &[]).code_is(0).out;
    let file = folder.file("github.json", &shown);
    ran(&["catalog", "format", "--check", &file], &[]).code_is(0);
}

/// Returns a file with two modules: one that needs a key, and one that uses an optional key.
fn keyed(folder: &Folder) -> String {
    let (mut one, mut two) = (entry("a"), entry("b"));
    one["needs"] = json!(["config.a_key"]);
    one["probes"][0]["headers"] = json!({"X-Key": "{config.a_key}"});
    two["probes"][0]["headers"] = json!({"X-Key": "{config.b_key?}"});
    folder.file("own.json", &json!([one, two]).to_string())
}

#[test]
fn the_keys_of_a_module_are_shown() {
    let folder = Folder::new();
    let file = keyed(&folder);
    let list = |format| {
        ran(&["catalog", "list", "--no-builtin", "--catalog", &file, "--format", format], &[]).code_is(0)
    };
    let lines = json_of(&list("json"));
    assert_eq!((&lines[0]["needs"], &lines[0]["takes"]), (&json!(["config.a_key"]), &json!([])));
    assert_eq!((&lines[1]["needs"], &lines[1]["takes"]), (&json!([]), &json!(["config.b_key"])));
    let table = list("table").out;
    assert!(table.contains("needs --key a_key") && table.contains("uses --key b_key"), "{table}");
}

#[test]
fn a_key_that_no_module_uses_is_refused_and_a_variable_only_warned_of() {
    let folder = Folder::new();
    let file = keyed(&folder);
    let search = |more: &[&str], variables: &[(&str, &str)]| {
        let args =
            ["search", "username", "everybody", "--sandbox=perfect", "--no-builtin", "--catalog", &file];
        ran(&[&args, more].concat(), variables)
    };
    search(&["--key", "A_KEY=1", "--key", "c_key=hunter2"], &[])
        .code_is(2)
        .err_has("--key c_key: no module uses a key with this name; allowed: a_key, b_key")
        .never_prints("hunter2");
    search(&["--key", "B_KEY=1"], &[("SIGHTLINE_KEY_C_KEY", "hunter2"), ("SIGHTLINE_KEY_A_KEY", "1")])
        .code_is(0)
        .err_has("SIGHTLINE_KEY_C_KEY: no module uses a key with this name; allowed: a_key, b_key")
        .never_prints("hunter2");
    let plain = folder.file("plain.json", &json!([entry("a")]).to_string());
    ran(&["search", "username", "everybody", "--no-builtin", "--catalog", &plain, "--key", "k=1"], &[])
        .code_is(2)
        .err_has("--key k: no module of the catalogue uses a key");
}
