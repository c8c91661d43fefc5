//! Loading, choosing and formatting valid files.

use super::*;

pub(super) fn sites() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files.push(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/engines/sites.json"));
    files
}

#[test]
fn the_builtin_catalogue_loads() {
    let catalog = builtin();
    assert!(catalog.modules().len() >= 560, "{}", catalog.modules().len());
    assert_eq!(catalog.get("github").unwrap().platform(), "GitHub");
    assert!(catalog.get("nowhere").is_none());
    // At run time the built-in files are not searched for mistakes. Here they are.
    let from_files = Catalog::load(false, &sites(), None).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(from_files.modules().len(), catalog.modules().len());
    for (built_in, checked) in catalog.modules().iter().zip(from_files.modules()) {
        assert_eq!(built_in.entry(), checked.entry());
    }
}

#[test]
fn the_builtin_files_are_in_canonical_form() {
    for path in sites() {
        let text = std::fs::read_to_string(&path).unwrap();
        let formatted = sightline::modules::catalog::format::format("f.json", &text)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(formatted == text, "run `sightline catalog format` on {}", path.display());
    }
}

#[test]
fn rules_of_a_site_are_those_of_its_engine_on_its_host_or_its_own() {
    let site = |id: &str, host: &str| json!({"engine": "lemmy", "host": host, "id": id});
    let lines = json!([site("one", "a.example"), site("same", "a.example"), site("other", "b.example")]);
    let catalog = Catalog::from_text("sites.json", &lines.to_string()).unwrap();
    // The same entry with all its rules, and one with another rule.
    let whole = json!(catalog.get("one").unwrap().entry());
    let stricter =
        with(whole.clone(), &json!({"id": "stricter", "accepts": "[a-z]{3}", "hit": [{"status": [299]}]}));
    let own = Catalog::from_text("own.json", &json!([whole, stricter]).to_string()).unwrap();
    let version = |catalog: &Catalog, id| catalog.get(id).unwrap().rules_version().clone();
    assert_eq!(version(&catalog, "one"), version(&catalog, "same"));
    assert_ne!(version(&catalog, "one"), version(&catalog, "other"));
    assert_eq!(version(&catalog, "one"), version(&own, "one"));
    assert_ne!(version(&own, "one"), version(&own, "stricter"));
    let skips = |catalog: &Catalog, id, name| {
        let query = Query::parse(SearchType::Username, name).unwrap();
        catalog.get(id).unwrap().why_skipped(&query, &OperatorKeys::default()).is_some()
    };
    assert!(skips(&own, "stricter", "alice") && !skips(&own, "stricter", "bob"));
    assert!(["one", "other"].iter().all(|id| !skips(&catalog, id, "alice") && skips(&catalog, id, "al")));
}

#[test]
fn selections_leave_out_what_was_not_asked_for() {
    let module = |id: &str, more: Value| {
        let mut entry = entry();
        entry["id"] = json!(id);
        with(entry, &more)
    };
    let list = json!([
        module("plain", json!({})),
        module("popular", json!({"rank": 2})),
        module("off", json!({"enabled": false})),
        module("adult", json!({"nsfw": true})),
        module("signin", json!({"discovery": true})),
        module(
            "browser",
            json!({"probes": [{"url": "https://a.example/{query}", "via": "browser"}],
                "hit": [{"css": ["h1"]}], "miss": [{"text": ["Nobody"]}]}),
        ),
        module("mail", json!({"type": "email"})),
        json!({"engine": "lemmy", "host": "engine.example"}),
        json!({"engine": "lemmy", "host": "usual.example", "by_default": true}),
    ]);
    let catalog = Catalog::from_text("list.json", &list.to_string()).unwrap();
    let ids = |premium, discovery, nsfw| {
        let selection = Selection { search_type: SearchType::Username, premium, discovery };
        let choice = Choice { nsfw, ..Choice::default() };
        catalog.select(&selection, &choice).iter().map(|module| module.id().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(ids(false, false, false), ["popular", "plain", "usual.example"]);
    assert_eq!(ids(true, true, true), ["popular", "adult", "browser", "plain", "signin", "usual.example"]);
    let selection = Selection { search_type: SearchType::Username, premium: false, discovery: false };
    let named = Choice { modules: vec!["engine.example".to_owned()], ..Choice::default() };
    assert_eq!(catalog.select(&selection, &named).len(), 1);
    assert_eq!(catalog.select(&selection, &Choice { engines: true, ..Choice::default() }).len(), 4);
    let fediverse = Choice { categories: vec!["forum".to_owned()], ..Choice::default() };
    let only = Choice { exclude_modules: vec!["usual.example".to_owned()], ..fediverse };
    let refused = catalog.choose(&selection, &only).unwrap_err().to_string();
    assert!(refused.contains("they are sites of engines, which `engines` includes"), "{refused}");
    assert!(catalog.get("browser").unwrap().is_premium() && !catalog.get("plain").unwrap().is_premium());
}

#[test]
fn formatting_sorts_orders_wraps_and_drops_defaults() {
    let want = include_str!("formatted.json");
    let Value::Array(mut entries) = want.parse().unwrap() else { panic!("{want}") };
    entries.reverse();
    // The fields in another order, and defaults.
    let entries = entries.iter().map(|entry| {
        let mut members: Vec<_> = entry.as_object().unwrap().clone().into_iter().collect();
        members.reverse();
        members.extend([("enabled".to_owned(), json!(true)), ("known".to_owned(), json!([]))]);
        members.into_iter().collect::<Value>()
    });
    let text = entries.collect::<Value>().to_string().replace("\"url\"", "\"method\":\"GET\",\"url\"");
    assert_eq!(sightline::modules::catalog::format::format("f.json", &text).unwrap(), want);
    assert_eq!(sightline::modules::catalog::format::format("f.json", want).unwrap(), want);
    assert_eq!(sightline::modules::catalog::format::format("f.json", "[]").unwrap(), "[]\n");
    assert!(sightline::modules::catalog::format::format("f.json", "[{}]").is_err());
}

#[test]
fn a_repeated_member_is_refused() {
    let text = changed(&json!({"probes": [{"url": "https://site.example/{query}", "headers": {"A": "1"}}]}))
        .to_string();
    for (once, twice, told) in [
        ("\"hit\"", "\"hit\":[{\"status\":[201]}],\"hit\"", "f.json: site: the member `hit` is repeated"),
        ("\"A\":", "\"A\":\"2\",\"\\u0041\":", "f.json: site: the member `A` is repeated"),
    ] {
        let error = Catalog::from_text("f.json", &text.replace(once, twice)).unwrap_err();
        assert_eq!(error.to_string(), told);
    }
}

proptest! {
    #[test]
    fn no_text_makes_the_loader_panic(text in "\\PC{0,60}|[\\[\\]{}\",:a-z0-9 ]{0,80}") {
        let _ = Catalog::from_text("f.json", &text);
        let _ = sightline::modules::catalog::format::format("f.json", &text);
    }

    #[test]
    fn no_field_value_makes_the_compiler_panic(field in "accepts|profile|strip|home", value in "\\PC{0,20}|[(){}\\[\\]|.?*+:/a-z\\\\^$]{0,20}") {
        let mut entry = entry();
        entry[field] = json!(value.clone());
        entry["hit"] = json!([{"regex": value.clone()}, {"css": [value.clone()]}, {"words": [value.clone()]}]);
        entry["results"] = json!([{"type": "url", "each": value.clone(), "value": value.clone()}]);
        let _ = Catalog::from_text("f.json", &json!([entry]).to_string());
    }
}
