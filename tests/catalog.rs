//! The catalogue: mistakes are reported with their place and a correction, and valid entries load.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use serde_json::{Value, json};
use sightline::modules::catalog::{Catalog, Choice, Selection};
use sightline::modules::keys::OperatorKeys;
use sightline::modules::query::{Query, SearchType};

use crate::support::modules::{builtin, with};

mod answers;
mod builtin;
mod feed;
mod files;
pub(crate) mod import;
mod learning;
mod loading;
mod mistakes;
mod proof;
mod schema;

fn entry() -> Value {
    json!({
        "id": "site", "platform": "Site", "type": "username", "category": "test",
        "probes": [{"url": "https://site.example/{query}"}], "hit": [{"status": [200]}], "miss": [{"status": [404]}],
    })
}

/// A file with this entry and these fields changed (`null`: removed).
fn changed(changes: &Value) -> Value {
    json!([with(entry(), changes)])
}

/// Returns the message of the loader.
fn faults(changes: &Value) -> Vec<String> {
    match Catalog::from_text("f.json", &changed(changes).to_string()) {
        Ok(_) => Vec::new(),
        Err(error) => error.to_string().lines().map(str::to_owned).collect(),
    }
}
