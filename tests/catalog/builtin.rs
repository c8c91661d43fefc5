//! The built-in catalogue has enough modules and uses every feature of the rule language.

use sightline::modules::catalog::json_schema;
use sightline::modules::definition::{METADATA, ResultType};

use super::loading::sites;
use super::*;

/// Conditions that no built-in module uses, with the reason. The list is empty if each is used.
const UNUSED: [(&str, &str); 0] = [];

fn chosen(search_type: SearchType) -> BTreeSet<String> {
    let selection = Selection { search_type, premium: false, discovery: false, nsfw: false };
    let catalog = builtin();
    catalog.select(&selection).iter().map(|module| module.id().to_string()).collect()
}

#[test]
fn a_default_search_uses_enough_modules() {
    for (search_type, least) in
        [(SearchType::Username, 540), (SearchType::Email, 84), (SearchType::Domain, 102)]
    {
        let count = chosen(search_type).len();
        assert!(count >= least, "{count} {search_type} modules take part; {least} are promised");
    }
}

#[test]
fn the_manual_promises_no_more_modules_than_there_are() {
    let catalog = builtin();
    let of = |kind| catalog.modules().iter().filter(|module| module.search_type() == kind).count();
    let page = sightline::manual::topic("catalogue").unwrap().markdown;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for (what, count) in [
        ("modules are built in", catalog.modules().len()),
        ("for usernames", of(SearchType::Username)),
        ("for domains", of(SearchType::Domain)),
        ("for email addresses", of(SearchType::Email)),
    ] {
        let before = page.split(&format!(" {what}")).next().unwrap();
        let (_, promised) = before.rsplit_once("more than ").unwrap();
        let promised: usize = promised.parse().unwrap();
        assert!((promised..promised * 3 / 2).contains(&count), "{count} {what}, not {promised}");
    }
}

#[test]
fn every_disabled_module_has_a_reason() {
    let catalog = builtin();
    let disabled: Vec<_> =
        catalog.modules().iter().map(|it| it.entry()).filter(|entry| !entry.enabled).collect();
    assert!(!disabled.is_empty());
    for entry in disabled {
        assert!(entry.off.is_some(), "{}", entry.id);
        assert!(entry.verified.is_none(), "{}: the evidence speaks against it", entry.id);
    }
}

#[test]
fn no_built_in_module_pretends_to_be_a_browser() {
    let catalog = builtin();
    let probes = catalog.modules().iter().flat_map(|module| {
        let entry = module.entry();
        entry.probes.iter().map(move |probe| (&entry.id, &probe.headers))
    });
    for (id, headers) in probes {
        for (name, value) in headers {
            let name = name.to_ascii_lowercase();
            let is_of_browsers = name.starts_with("sec-") || name == "upgrade-insecure-requests";
            assert!(!is_of_browsers && name != "cookie", "{id}: {name}");
            assert!(name != "user-agent" || !value.contains("Mozilla"), "{id}: {value:?}");
        }
    }
}

/// The fields of conditions, as `rule.FIELD`, `json.FIELD` and `css.FIELD`.
fn conditions() -> BTreeSet<String> {
    let schema = json_schema();
    let objects = [("rule", "matcher"), ("json", "json_rule"), ("css", "css_rule")];
    let objects = objects.map(|(object, name)| (object, &schema["$defs"][name]["properties"]));
    let fields = objects.iter().flat_map(|(object, properties)| {
        properties.as_object().unwrap().keys().map(move |field| format!("{object}.{field}"))
    });
    fields.collect()
}

fn note(object: &str, condition: &Value, used: &mut BTreeSet<String>) {
    // The short form of a CSS condition is a text.
    let fields = condition.as_object().into_iter().flat_map(|members| members.keys());
    used.extend(fields.map(|field| format!("{object}.{field}")));
}

/// The fields that the rules of the built-in modules of these types use.
fn used_by(is_wanted: impl Fn(&str) -> bool) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    for path in sites() {
        let entries: Vec<Value> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let wanted = entries.iter().filter(|entry| is_wanted(entry["type"].as_str().unwrap()));
        let lists = wanted.flat_map(|entry| ["barrier", "hit", "miss"].map(|list| &entry[list]));
        for rule in lists.filter_map(Value::as_array).flatten() {
            note("rule", rule, &mut used);
            for object in ["json", "css"] {
                for condition in rule[object].as_array().into_iter().flatten() {
                    note(object, condition, &mut used);
                }
            }
        }
    }
    used
}

#[test]
fn every_condition_of_the_language_is_used() {
    let conditions = conditions();
    assert!(conditions.len() > 30 && conditions.contains("json.equals_query"), "{conditions:?}");
    let mut of_usernames = used_by(|search_type| search_type == "username");
    // Only records of the DNS need it.
    of_usernames.insert("json.not_matches".to_owned());
    for used in [used_by(|_| true), of_usernames] {
        let unused: Vec<&String> = conditions.difference(&used).collect();
        assert_eq!(unused, UNUSED.map(|(condition, _)| condition));
        assert!(used.is_subset(&conditions));
    }
}

#[test]
fn username_modules_name_the_metadata_of_accounts_as_the_manual_does() {
    let fields = METADATA.fields.iter().map(|field| field.name);
    let known: BTreeSet<&str> =
        fields.chain(METADATA.services.iter().copied()).chain(["profile_url"]).collect();
    let mut unknown = Vec::new();
    for module in builtin().modules().iter().filter(|module| module.search_type() == SearchType::Username) {
        let entry = module.entry();
        let main = entry.result.iter().map(|result| (result.result_type, &result.metadata));
        let lists = entry.results.iter().map(|list| (list.result_type, &list.metadata));
        let of_accounts =
            main.chain(lists).filter(|(kind, _)| matches!(kind, ResultType::Account | ResultType::Profile));
        let names = of_accounts.flat_map(|(_, metadata)| metadata.keys());
        let others = names.filter(|name| !known.contains(name.as_str()));
        unknown.extend(others.map(|name| format!("{}: {name}", entry.id)));
    }
    assert!(unknown.is_empty(), "not in METADATA: {unknown:#?}");
}
