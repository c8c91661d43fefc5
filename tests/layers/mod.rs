//! The structure of the project: imports between layers, and circles of files.
//!
//! Imports are all paths in code: `use` lists, inline paths and macros, also in tests inside `src`. Visibilities and
//! comments do not count, so documentation may refer to higher layers.

mod imports;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use imports::{Crate, imports, module_path};

/// Every layer with the layers that it may import. A folder of `src` that is not listed fails the test.
const LAYERS: [(&str, &[&str]); 20] = [
    ("base", &[]),
    ("manual", &[]),
    ("modules", &["base"]),
    ("model", &["base", "modules"]),
    ("http", &["base"]),
    ("net", &["base", "modules", "model"]),
    ("store", &["base", "modules", "model"]),
    ("account", &["base", "model", "store"]),
    ("runs", &["base", "modules", "model", "store", "account"]),
    ("watches", &["base", "modules", "model", "store", "account", "runs"]),
    ("webhooks", &["base", "modules", "model", "store", "runs"]),
    ("report", &["base", "modules", "model", "store", "account", "runs", "watches", "webhooks"]),
    (
        "api",
        &[
            "base", "manual", "modules", "model", "store", "account", "runs", "watches", "webhooks", "http",
            "report",
        ],
    ),
    (
        "web",
        &["base", "modules", "model", "store", "account", "runs", "watches", "webhooks", "http", "report"],
    ),
    ("admin", &["base", "modules", "model", "store", "account", "runs", "webhooks", "http", "api"]),
    ("config", &["base", "account", "http", "net"]),
    ("sandbox", &["base", "modules", "model", "store", "account", "runs", "http", "net", "api", "web"]),
    (
        "app",
        &[
            "base", "modules", "model", "store", "account", "http", "runs", "watches", "webhooks", "net",
            "report", "api", "web", "admin", "config", "sandbox",
        ],
    ),
    (
        "cli",
        &[
            "base", "manual", "modules", "model", "store", "account", "http", "runs", "watches", "net",
            "report", "api", "web", "config", "sandbox", "app",
        ],
    ),
    // `lib.rs` and the binary are above all layers.
    ("main", &["app", "cli", "config", "base"]),
];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all files below `folder`, as (path from the project's root, absolute path).
fn files_below(folder: &str) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join(folder)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                found.push((path.strip_prefix(root()).unwrap().display().to_string(), path));
            }
        }
    }
    found.sort();
    found
}

fn is_rust(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "rs")
}

/// Returns the forbidden imports of one file.
fn violations(file: &str, source: &str) -> Vec<String> {
    let layers: BTreeMap<_, _> = LAYERS.into_iter().collect();
    let path = module_path(file);
    // `lib.rs` only declares the layers.
    let layer = path.first().map_or("main", String::as_str);
    let Some(allowed) = layers.get(layer) else {
        return vec![format!(
            "{file}: `{layer}` is not a known layer: add it to LAYERS in tests/layers/mod.rs"
        )];
    };
    let mut found = Vec::new();
    let imports = imports(file, source, &BTreeSet::new(), true);
    let targets: BTreeSet<_> =
        imports.into_iter().map(|import| (import.line, import.path[0].clone())).collect();
    for (line, target) in targets {
        if target == layer || allowed.contains(&target.as_str()) {
            continue;
        }
        found.push(if layers.contains_key(target.as_str()) {
            format!("{file}:{line}: `{layer}` may not import `{target}` (allowed: {allowed:?})")
        } else {
            format!("{file}:{line}: `crate::{target}` is not a known layer")
        });
    }
    found
}

#[test]
fn imports_go_downwards_only() {
    let mut found = Vec::new();
    for (file, path) in files_below("src").into_iter().filter(|(file, _)| is_rust(file)) {
        found.extend(violations(&file, &fs::read_to_string(path).unwrap()));
    }
    assert!(found.is_empty(), "{} imports break the order of layers:\n{}", found.len(), found.join("\n"));
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let files = files_below("src").into_iter().filter(|(file, _)| is_rust(file));
    let files: Vec<_> = files.map(|(file, path)| (file, fs::read_to_string(path).unwrap())).collect();
    let circles = Crate::read(&files).circles();
    assert!(circles.is_empty(), "files that import each other in circles:\n{circles:#?}");
}

#[test]
fn a_layer_imports_only_layers_above_it_in_the_table() {
    for (index, (layer, allowed)) in LAYERS.iter().enumerate() {
        for target in *allowed {
            assert!(LAYERS[..index].iter().any(|(below, _)| below == target), "{layer} → {target}");
        }
    }
}
