//! The catalogue: what is wrong is said with its place and its mend; what is right loads.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use sightline::modules::catalog::{Catalog, Selection};
use sightline::modules::query::SearchType;

mod builtin;
mod form;
mod loading;
mod rules;

fn entry() -> Value {
    json!({
        "id": "site", "platform": "Site", "type": "username", "category": "test",
        "probes": [{"url": "https://site.example/{query}"}], "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    })
}

/// The messages for an entry with these fields changed (`null`: taken out).
fn faults(changes: &Value) -> Vec<String> {
    let mut entry = entry();
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            entry.as_object_mut().unwrap().remove(name);
        } else {
            entry[name] = value.clone();
        }
    }
    match Catalog::from_text("f.json", &json!([entry]).to_string()) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}

fn assert_faults(cases: &[(Value, &str)]) {
    for (changes, want) in cases {
        assert_eq!(faults(changes), [*want], "{changes}");
    }
}

const URL: &str = "https://site.example/{query}";
