//! Modules for servers under test: a part of the built-in catalogue, or the test's own.

use std::path::Path;
use std::sync::LazyLock;

use serde_json::{Value, json};
use sightline::modules::catalog::Catalog;

use super::folder::Folder;

/// Some modules of each type.
const FILES: [&str; 4] = ["domain-dns", "domain-reference", "email-coding", "username-coding-hosting"];

/// Returns the built-in catalogue, which the process loads once.
pub(crate) fn builtin() -> &'static Catalog {
    static CATALOG: LazyLock<Catalog> =
        LazyLock::new(|| Catalog::builtin().unwrap_or_else(|error| panic!("{error}")));
    &CATALOG
}

/// Returns the flags that choose some of the built-in modules.
pub(crate) fn few() -> Vec<String> {
    let sites = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/modules/catalog/sites");
    let flag = |name: &str| format!("--catalog={}", sites.join(name).with_extension("json").display());
    std::iter::once("--no-builtin".to_owned()).chain(FILES.map(flag)).collect()
}

/// Returns a module for usernames, for which 200 is a hit and 404 is a miss.
pub(crate) fn entry(id: &str, url: &str) -> Value {
    json!({
        "id": id, "platform": id, "type": "username", "category": "test", "control": false,
        "probes": [{"url": url}], "hit": [{"status": [200]}], "miss": [{"status": [404]}]
    })
}

/// Returns an object with changed members. Null removes a member.
pub(crate) fn with(mut base: Value, changes: &Value) -> Value {
    for (name, value) in changes.as_object().unwrap() {
        if value.is_null() {
            base.as_object_mut().unwrap().remove(name);
        } else {
            base[name] = value.clone();
        }
    }
    base
}

/// Returns the flags that choose only these modules, whose sites are on this machine.
pub(crate) fn own_flags(folder: &Folder, modules: &[Value]) -> Vec<String> {
    let catalog = folder.path("catalog.json");
    std::fs::write(&catalog, Value::from(modules).to_string()).unwrap();
    let flags = ["--no-builtin", "--allow-private-targets", &format!("--catalog={catalog}")];
    flags.map(str::to_owned).to_vec()
}

/// Returns whether a flag chooses other modules, or asks the real web.
pub(crate) fn is_choice(flag: &str) -> bool {
    flag.starts_with("--catalog") || ["--no-builtin", "--sandbox=off"].contains(&flag)
}
