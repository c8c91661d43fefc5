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
const LAYERS: [(&str, &[&str]); 19] = [
    ("base", &[]),
    ("manual", &[]),
    ("modules", &["base"]),
    ("account", &["base"]),
    ("http", &["base"]),
    ("runs", &["base", "modules", "account"]),
    ("watches", &["base", "modules", "account", "runs"]),
    ("webhooks", &["base", "modules", "account", "runs"]),
    ("store", &["base", "modules", "account", "runs", "watches", "webhooks"]),
    ("net", &["base", "modules", "account", "runs"]),
    ("report", &["base", "modules", "account", "runs", "watches", "webhooks"]),
    ("api", &["base", "manual", "modules", "account", "runs", "watches", "webhooks", "http", "report"]),
    ("web", &["base", "modules", "account", "runs", "watches", "webhooks", "http", "report"]),
    ("admin", &["base", "modules", "account", "runs", "webhooks", "store", "http", "api"]),
    ("config", &["base", "account", "http", "net"]),
    ("sandbox", &["base", "modules", "account", "runs", "http", "store", "net", "api", "web"]),
    (
        "app",
        &[
            "base", "modules", "account", "http", "runs", "watches", "webhooks", "store", "net", "report",
            "api", "web", "admin", "config", "sandbox",
        ],
    ),
    (
        "cli",
        &[
            "base", "manual", "modules", "account", "http", "runs", "watches", "store", "net", "report",
            "api", "web", "config", "sandbox", "app",
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
fn the_checker_sees_every_circle() {
    let file = |name: &str, source: &str| (format!("src/{name}.rs"), source.to_owned());
    let through_a_reexport = [
        file("a/mod", "pub mod b; mod c; pub use c::C; pub use self::b::{B as D};"),
        file("a/b", "use super::C; struct B;"),
        file("a/c", "use crate::a::D; struct C;"),
    ];
    let a_child_and_its_parent = [file("a/mod", "mod b; fn f() { b::g() }"), file("a/b", "use super::f;")];
    let in_code = [
        file("a/mod", "mod b; mod c;"),
        file("a/b", "fn f() -> Vec<super::c::C> { }"),
        file("a/c", "struct C(crate::a::b::B);"),
    ];
    let inside_an_inline_module = [
        file("a/mod", "mod b; mod c;"),
        file("a/b", "mod x { use super::super::c::C; }"),
        file("a/c", "use super::b::x;"),
    ];
    for files in [&through_a_reexport[..], &a_child_and_its_parent, &in_code, &inside_an_inline_module] {
        assert_eq!(Crate::read(files).circles().len(), 1, "{files:?}");
    }
    let only_in_tests = [
        file("a/mod", "mod b; mod c; pub use b::B; #[cfg(test)] mod tests;"),
        file("a/b", "use super::c::C; #[cfg(test)] mod tests { use super::super::B; }"),
        file("a/c", "#[cfg(test)]\nmod tests { use crate::a::b::B; }"),
        file("a/tests", "use super::b::B;"),
    ];
    let only_in_a_visibility = [
        file("a/mod", "mod b; pub use b::B;"),
        file("a/b", "pub(in crate::a) struct B; pub(in super::a) fn f() {}"),
    ];
    for files in [&only_in_tests[..], &only_in_a_visibility] {
        assert_eq!(Crate::read(files).circles(), BTreeSet::new(), "{files:?}");
    }
}

#[test]
fn a_layer_imports_only_layers_above_it_in_the_table() {
    for (index, (layer, allowed)) in LAYERS.iter().enumerate() {
        for target in *allowed {
            assert!(LAYERS[..index].iter().any(|(below, _)| below == target), "{layer} → {target}");
        }
    }
}

#[test]
fn the_checker_sees_every_forbidden_import() {
    for (file, source, want) in [
        ("src/base/a.rs", "use crate::runs::run;", "`base` may not import `runs`"),
        (
            "src/account/a.rs",
            "use crate::{base::ids, modules::{query, x}};",
            "`account` may not import `modules`",
        ),
        (
            "src/modules/a.rs",
            "use crate::{\n    base::{a, b},\n    account,\n};",
            "`modules` may not import `account`",
        ),
        ("src/api/a.rs", "fn f() -> crate::store::Error { todo() }", "`api` may not import `store`"),
        ("src/api/a.rs", "fn f(x: Vec<crate::net::A>) {}", "`api` may not import `net`"),
        ("src/http/mod.rs", "use super::api::x;", "`http` may not import `api`"),
        ("src/store/sqlite/a.rs", "use super::super::super::net::x;", "`store` may not import `net`"),
        ("src/store/a.rs", "use self::super::super::http;", "`store` may not import `http`"),
        (
            "src/net/a.rs",
            "mod tests { use super::super::super::sandbox::x; }",
            "`net` may not import `sandbox`",
        ),
        ("src/runs/a.rs", "macro_rules! m { () => { $crate::api::x() } }", "`runs` may not import `api`"),
        ("src/runs/a.rs", "pub(crate) use crate :: /* c */ store :: x;", "`runs` may not import `store`"),
        ("src/config/a.rs", "use crate::app::x;", "`config` may not import `app`"),
        ("src/runs/a.rs", "use crate::*;", "`crate::*` is not a known layer"),
        ("src/runs/a.rs", "use crate::{self as c};", "`crate::self` is not a known layer"),
        ("src/runs/a.rs", "use crate::nowhere::x;", "`crate::nowhere` is not a known layer"),
        ("src/runs.rs", "use super::cli;", "`runs` may not import `cli`"),
        ("src/attic/a.rs", "", "`attic` is not a known layer"),
    ] {
        let found = violations(file, source);
        assert!(found.len() == 1 && found[0].contains(want), "{file}: {source}\n{found:?}");
    }
}
