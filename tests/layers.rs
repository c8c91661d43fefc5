//! Guards the house: imports go downwards only, rooms are known, files stay small, the top level stays tidy.
//!
//! Paths in code count (`use` lists, inline paths, macros, visibility aside), tests inside `src` included.
//! Comments do not: documentation may point upwards.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::support::source::{Token, tokens};

/// Every room, and the rooms that it may import. What stands nowhere in here may not exist.
const FLOORS: [(&str, &[&str]); 16] = [
    ("base", &[]),
    ("modules", &["base"]),
    ("account", &["base"]),
    ("http", &["base"]),
    ("runs", &["base", "modules", "account"]),
    ("store", &["base", "modules", "account", "runs"]),
    ("net", &["base", "modules", "account", "runs"]),
    ("report", &["base", "modules", "account", "runs"]),
    ("api", &["base", "modules", "account", "runs", "http", "report"]),
    ("web", &["base", "modules", "account", "runs", "http", "report"]),
    ("admin", &["base", "modules", "account", "runs", "store", "http", "api"]),
    ("config", &["base", "account", "http"]),
    ("sandbox", &["base", "modules", "account", "runs", "http", "store", "net", "api", "web"]),
    (
        "app",
        &[
            "base", "modules", "account", "http", "runs", "store", "net", "report", "api", "web", "admin",
            "config", "sandbox",
        ],
    ),
    (
        "cli",
        &[
            "base", "modules", "account", "http", "runs", "store", "net", "report", "api", "web", "config",
            "sandbox", "app",
        ],
    ),
    // The library's tour and the binary stand above all rooms.
    ("main", &["app", "cli", "config", "base"]),
];

/// What may stand at the top level, beside dotfiles. `target` and `data` are made by building and serving.
const TOP_LEVEL: [&str; 10] =
    ["Cargo.toml", "Cargo.lock", "src", "sql", "tests", "scripts", "README.md", "LICENSE", "target", "data"];

const MOST_LINES: usize = 450;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// All files below `folder`, as (path from the project's root, absolute path).
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

/// The module path of a source file: `src/api/error.rs` is `[api, error]`, `src/api/mod.rs` is `[api]`.
fn module_path(file: &str) -> Vec<String> {
    let inner = file.strip_prefix("src/").unwrap_or(file).trim_end_matches(".rs");
    let mut path: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|name| name == "mod" || name == "lib") {
        path.pop();
    }
    path
}

/// The first segments of all paths in `source` that start at the crate's root, with their lines.
fn imported_rooms(file: &str, source: &str) -> Vec<(usize, String)> {
    let tokens = tokens(source);
    let word = |at: usize, text: &str| tokens.get(at).is_some_and(|(_, token)| *token == Token::Word(text));
    let sign = |at: usize, text: char| tokens.get(at).is_some_and(|(_, token)| *token == Token::Sign(text));
    let colons = |at: usize| sign(at, ':') && sign(at + 1, ':');
    let mut rooms = Vec::new();
    // For each open brace: whether it belongs to an inline module.
    let mut braces: Vec<bool> = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if sign(at, '{') {
            braces.push(at >= 2 && word(at - 2, "mod"));
        } else if sign(at, '}') {
            braces.pop();
        }
        let depth = module_path(file).len() + braces.iter().filter(|is_module| **is_module).count();
        let continues_a_path = at >= 2 && colons(at - 2);
        let mut end = at;
        let reaches_root = if continues_a_path {
            false
        } else if word(at, "crate") && colons(at + 1) {
            end = at + 3;
            true
        } else {
            if word(at, "self") && colons(at + 1) {
                end = at + 3;
            }
            let mut climbed = 0;
            while word(end, "super") && colons(end + 1) {
                climbed += 1;
                end += 3;
            }
            climbed > 0 && climbed >= depth
        };
        if reaches_root {
            let line = tokens[at].0;
            rooms.extend(first_segments(&tokens, end).into_iter().map(|room| (line, room)));
            at = end;
        } else {
            at += 1;
        }
    }
    rooms
}

/// The segment at `at`; of a group in braces, the first segment of each member. What is no name (`*`) is
/// given back as it stands, so that it names no room.
fn first_segments(tokens: &[(usize, Token<'_>)], at: usize) -> Vec<String> {
    let text = |at: usize| match tokens.get(at).map(|(_, token)| token) {
        Some(Token::Word(name)) => (*name).to_owned(),
        Some(Token::Sign(sign)) => sign.to_string(),
        None => "end of file".to_owned(),
    };
    if text(at) != "{" {
        return vec![text(at)];
    }
    let mut found = Vec::new();
    let (mut depth, mut at, mut is_first) = (1, at + 1, true);
    while depth > 0 && at < tokens.len() {
        match text(at).as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            "," if depth == 1 => is_first = true,
            name if is_first => {
                found.push(name.to_owned());
                is_first = false;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// What is wrong with the imports of one file.
fn violations(file: &str, source: &str) -> Vec<String> {
    let floors: BTreeMap<_, _> = FLOORS.into_iter().collect();
    let path = module_path(file);
    // `lib.rs` declares the rooms; it has nothing to import.
    let room = path.first().map_or("main", String::as_str);
    let Some(allowed) = floors.get(room) else {
        return vec![format!(
            "{file}: room `{room}` stands on no floor: add it to FLOORS in tests/layers.rs"
        )];
    };
    let mut found = Vec::new();
    for (line, target) in imported_rooms(file, source) {
        if target == room || allowed.contains(&target.as_str()) {
            continue;
        }
        found.push(if floors.contains_key(target.as_str()) {
            format!("{file}:{line}: `{room}` may not import `{target}` (allowed: {allowed:?})")
        } else {
            format!("{file}:{line}: `crate::{target}` names no room")
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
    assert!(found.is_empty(), "{} imports break the floors:\n{}", found.len(), found.join("\n"));
}

#[test]
fn a_room_may_import_only_rooms_that_stand_before_it_in_the_table() {
    for (index, (room, allowed)) in FLOORS.iter().enumerate() {
        for target in *allowed {
            assert!(FLOORS[..index].iter().any(|(below, _)| below == target), "{room} → {target}");
        }
    }
}

#[test]
fn files_stay_small() {
    let mut found = Vec::new();
    for folder in ["src", "tests"] {
        for (file, path) in files_below(folder).into_iter().filter(|(file, _)| is_rust(file)) {
            let lines = fs::read_to_string(path).unwrap().lines().count();
            if lines > MOST_LINES {
                found.push(format!("{file}: {lines} lines, at most {MOST_LINES}"));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_top_level_holds_nothing_else() {
    let mut found: Vec<String> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| !name.starts_with('.') && !TOP_LEVEL.contains(&name.as_str()))
        .collect();
    found.sort();
    assert!(found.is_empty(), "not allowed at the top level: {found:?}");
}

#[test]
fn the_tour_names_every_room() {
    let tour = fs::read_to_string(root().join("src/lib.rs")).unwrap();
    let rooms = fs::read_dir(root().join("src")).unwrap();
    for name in rooms.map(|entry| entry.unwrap().file_name().into_string().unwrap()) {
        let room = name.trim_end_matches(".rs");
        if !["lib", "main"].contains(&room) {
            assert!(tour.contains(&format!("[`{room}`]")), "the table in src/lib.rs leaves out `{room}`");
        }
    }
}

#[test]
fn the_checker_sees_every_way_to_break_a_floor() {
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
        ("src/runs/a.rs", "use crate::*;", "`crate::*` names no room"),
        ("src/runs/a.rs", "use crate::{self as c};", "`crate::self` names no room"),
        ("src/runs/a.rs", "use crate::nowhere::x;", "`crate::nowhere` names no room"),
        ("src/runs.rs", "use super::cli;", "`runs` may not import `cli`"),
        ("src/attic/a.rs", "", "room `attic` stands on no floor"),
    ] {
        let found = violations(file, source);
        assert!(found.len() == 1 && found[0].contains(want), "{file}: {source}\n{found:?}");
    }
}

#[test]
fn the_checker_lets_pass_what_is_allowed() {
    for (file, source) in [
        (
            "src/runs/a.rs",
            "use crate::{account::key::{self, ApiKey}, base::{ids, clock}, modules::*, runs::run};",
        ),
        ("src/base/a.rs", "//! [`crate::runs::x`]\n/* crate::api /* nested crate::net::x */ */ fn f() {}"),
        (
            "src/base/a.rs",
            r##"const A: &str = "use crate::api::x; \" crate::net::y"; const B: &str = r#"crate::net::"z"#;"##,
        ),
        (
            "src/base/a.rs",
            "fn f<'a>(x: &'a str) -> char { '\"' }\nconst C: char = '\\''; pub(crate) fn g() {}",
        ),
        (
            "src/store/sqlite/a.rs",
            "use super::super::error; mod tests { use super::super::super::error::x; }",
        ),
        ("src/store/a.rs", "mod tests { use super::super::error; } use super::sqlite::net::x;"),
        ("src/main.rs", "use sightline::cli; fn main() {}"),
        ("src/lib.rs", "pub mod api;"),
    ] {
        let found = violations(file, source);
        assert!(found.is_empty(), "{file}: {source}\n{found:?}");
    }
}
