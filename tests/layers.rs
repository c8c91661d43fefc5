//! The structure of the project: imports between layers, and circles of files.
//!
//! Imports are all paths in code: `use` lists, inline paths and macros. Test code does not count for circles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

/// Every layer with the layers that it may import. A folder of `src` that is not listed fails the test.
const LAYERS: [(&str, &str); 21] = [
    ("base", ""),
    ("manual", ""),
    ("modules", "base"),
    ("model", "base modules"),
    ("http", "base"),
    ("net", "base modules model"),
    ("store", "base modules model"),
    ("account", "base model store"),
    ("runs", "base modules model store account"),
    ("watches", "base modules model store account runs"),
    ("webhooks", "base modules model store runs"),
    ("report", "base modules model store account runs watches webhooks"),
    ("service", "base modules model store account runs watches webhooks http report"),
    ("api", "base manual modules model store account runs watches webhooks http report service"),
    ("web", "base modules model store account runs watches webhooks http report service"),
    ("admin", "base modules model store account runs webhooks http api"),
    ("config", "base model store account http net"),
    ("sandbox", "base modules model store account runs http net api web"),
    (
        "app",
        "base modules model store account http runs watches webhooks net report service api web admin config sandbox",
    ),
    (
        "cli",
        "base manual modules model store account http runs watches net report api web config sandbox app",
    ),
    // `lib.rs` and the binary are above all layers.
    ("main", "app cli config base"),
];

/// The most `use` declarations that are followed to the definition of an item.
const MOST_STEPS: usize = 8;

type Place = Vec<String>;

/// A path of a source file from the crate's root, with the name that a `use` gives it.
struct Import {
    path: Place,
    name: Option<String>,
}

/// The files of the crate by their module path, with their imports.
type Files = BTreeMap<Place, Vec<Import>>;

/// Reads all files below `src`.
fn files(with_tests: bool) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let tests = Regex::new(r"#\[cfg\(test\)\]\s*(?:pub(?:\([a-z]+\))? )?mod \w+ \{").unwrap();
    let (mut sources, mut folders) = (BTreeMap::new(), vec![root.clone()]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let module = path.strip_prefix(&root).unwrap().with_extension("");
                let mut module: Place = module.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
                module.pop_if(|last| last == "mod" || last == "lib");
                let source = fs::read_to_string(path).unwrap();
                let mut parts = tests.splitn(&source, 2).map(str::to_owned);
                let is_counted = with_tests || module.last().is_some_and(|name| name != "tests");
                let of_tests = module.iter().cloned().chain(["tests".to_owned()]).collect();
                sources.extend(parts.next().filter(|_| is_counted).map(|source| (module, source)));
                sources.extend(parts.next().filter(|_| with_tests).map(|source| (of_tests, source)));
            }
        }
    }
    let children = |path: &Place| {
        let below = sources.keys().filter(|other| other.len() == path.len() + 1 && other.starts_with(path));
        below.filter_map(|child| child.last().cloned()).collect::<Vec<_>>()
    };
    let read = |(path, source): (&Place, &String)| (path.clone(), imports(path, source, &children(path)));
    sources.iter().map(read).collect()
}

/// What is no code, or no import: comments and visibilities.
static NO_IMPORTS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)//.*$|\(in crate[\w:]*\)").unwrap());
static USES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub(?:\([^)]*\))? )?use ([^;]+);").unwrap());
static INLINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?:^|[^:\w])([a-z]\w*(?:::\w+)+)").unwrap());

/// Returns the paths of a source that start at the crate's root, at its module or at one of its children.
fn imports(module: &Place, source: &str, children: &[String]) -> Vec<Import> {
    let source = NO_IMPORTS.replace_all(source, "");
    let mut found = Vec::new();
    for used in USES.captures_iter(&source) {
        let text = used[1].split_whitespace().collect::<Vec<_>>().join(" ");
        expand(&text, "", &mut |path, name| found.push((path.to_owned(), Some(name.to_owned()))));
    }
    let code = USES.replace_all(&source, "");
    found.extend(INLINE.captures_iter(&code).map(|path| (path[1].to_owned(), None)));
    let import = |(path, name): (String, Option<String>)| {
        let mut parts = path.split("::").map(str::to_owned).peekable();
        let mut base = match parts.peek()?.as_str() {
            "crate" => Place::new(),
            "self" | "super" => module.clone(),
            first if children.iter().any(|child| child == first) => module.clone(),
            _ => return None,
        };
        parts.next_if(|part| part == "crate" || part == "self");
        while parts.next_if(|part| part == "super").is_some() {
            base.pop();
        }
        base.extend(parts.filter(|part| part != "self"));
        Some(Import { path: base, name })
    };
    found.into_iter().filter_map(import).collect()
}

/// Calls `found` with each path of a `use` list, and with its name.
fn expand(text: &str, base: &str, found: &mut dyn FnMut(&str, &str)) {
    let text = text.trim();
    if let Some((head, group)) = text.split_once('{') {
        let (mut depth, base) = (0, format!("{base}{head}"));
        let parts = group[..group.rfind('}').unwrap_or(group.len())].split(|sign| {
            depth += i32::from(sign == '{') - i32::from(sign == '}');
            sign == ',' && depth == 0
        });
        parts.filter(|part| !part.trim().is_empty()).for_each(|part| expand(part, &base, found));
        return;
    }
    let (path, name) = text.split_once(" as ").unwrap_or((text, text.rsplit("::").next().unwrap()));
    found(&format!("{base}{path}"), name);
}

/// Returns the file that defines the item at `path`, following `use` declarations.
fn definition<'a>(files: &'a Files, path: &[String], steps: usize) -> Option<&'a Place> {
    let (module, imports) = (1..=path.len()).rev().find_map(|length| files.get_key_value(&path[..length]))?;
    let mut rest = path[module.len()..].iter();
    let item = rest.next();
    let used = imports.iter().find(|import| import.name.is_some() && import.name.as_ref() == item);
    let Some(import) = used.filter(|_| steps > 0) else { return Some(module) };
    let target: Place = import.path.iter().chain(rest).cloned().collect();
    definition(files, &target, steps - 1).or(Some(module))
}

#[test]
fn imports_go_downwards_only() {
    let allowed = |layer: &str| LAYERS.iter().find(|(name, _)| *name == layer).map(|(_, allowed)| *allowed);
    let mut found = BTreeSet::new();
    for (file, imports) in files(true) {
        let layer = file.first().map_or("main", String::as_str);
        let targets =
            imports.iter().filter_map(|import| import.path.first()).filter(|target| *target != layer);
        let Some(allowed) = allowed(layer) else { panic!("{layer} is not in LAYERS") };
        let bad =
            targets.filter(|target| !file.is_empty() && !allowed.split(' ').any(|layer| layer == *target));
        found.extend(
            bad.map(|target| format!("{} may not import `{target}` (allowed: {allowed})", file.join("/"))),
        );
    }
    assert!(found.is_empty(), "{found:#?}");
    for (index, (layer, allowed)) in LAYERS.iter().enumerate() {
        for target in allowed.split_whitespace() {
            assert!(LAYERS[..index].iter().any(|(below, _)| *below == target), "{layer} → {target}");
        }
    }
}

#[test]
fn files_do_not_import_each_other_in_circles() {
    let files = files(false);
    let targets = |(file, imports): (&_, &Vec<Import>)| {
        let found = imports.iter().filter_map(|import| definition(&files, &import.path, MOST_STEPS));
        found.filter(|target| *target != file).collect::<BTreeSet<_>>()
    };
    let graph: BTreeMap<&Place, BTreeSet<&Place>> =
        files.iter().map(|file| (file.0, targets(file))).collect();
    let reached = |from: &Place| {
        let (mut found, mut left) = (BTreeSet::new(), graph[from].iter().collect::<Vec<_>>());
        while let Some(file) = left.pop() {
            if found.insert(*file) {
                left.extend(&graph[*file]);
            }
        }
        found
    };
    let circles = graph.keys().filter(|file| reached(file).contains(*file)).map(|file| file.join("/"));
    let circles: Vec<_> = circles.collect();
    assert!(circles.is_empty(), "files that import each other in circles: {circles:#?}");
}
