//! The paths that a source file names, made absolute.

use std::collections::{BTreeMap, BTreeSet};

use super::source::{Token, tokens};

/// The most `use` declarations that are followed to the definition of an item.
const MOST_STEPS: usize = 8;

/// A path of a source file that leads into the crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Import {
    /// The line of the path, from 1.
    pub(super) line: usize,
    /// The segments from the crate's root. `*` and `self` are kept as written.
    pub(super) path: Vec<String>,
    /// The name that a `use` brings into the module of the file; `None` for a path in code.
    pub(super) name: Option<String>,
}

/// Returns the module path of a source file: `src/api/error.rs` is `[api, error]`, `src/api/mod.rs` is
/// `[api]`.
pub(super) fn module_path(file: &str) -> Vec<String> {
    let inner = file.strip_prefix("src/").unwrap_or(file).trim_end_matches(".rs");
    let mut path: Vec<String> = inner.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|name| name == "mod" || name == "lib") {
        path.pop();
    }
    path
}

/// Returns every path of `source` that starts at the crate's root, at the file's module or at one of its
/// `children`. Inline modules behind `#[cfg(test)]` are left out unless `with_tests`.
pub(super) fn imports(
    file: &str,
    source: &str,
    children: &BTreeSet<String>,
    with_tests: bool,
) -> Vec<Import> {
    let mut reader = Reader { tokens: tokens(source), at: 0, found: Vec::new() };
    let mut module = module_path(file);
    // Whether each open brace belongs to an inline module.
    let mut braces: Vec<bool> = Vec::new();
    while reader.at < reader.tokens.len() {
        if !with_tests && reader.skip_test_module() {
            continue;
        }
        if reader.is_sign(reader.at, '{') {
            let is_module = reader.at >= 2 && reader.is_word(reader.at - 2, "mod");
            if is_module {
                module.push(reader.text(reader.at - 1));
            }
            braces.push(is_module);
        } else if reader.is_sign(reader.at, '}') && braces.pop() == Some(true) {
            module.pop();
        }
        reader.read_path(&module, children);
    }
    reader.found
}

struct Reader<'a> {
    tokens: Vec<(usize, Token<'a>)>,
    at: usize,
    found: Vec<Import>,
}

impl Reader<'_> {
    fn is_word(&self, at: usize, text: &str) -> bool {
        self.tokens.get(at).is_some_and(|(_, token)| *token == Token::Word(text))
    }

    fn is_sign(&self, at: usize, sign: char) -> bool {
        self.tokens.get(at).is_some_and(|(_, token)| *token == Token::Sign(sign))
    }

    fn are_colons(&self, at: usize) -> bool {
        self.is_sign(at, ':') && self.is_sign(at + 1, ':')
    }

    fn text(&self, at: usize) -> String {
        match self.tokens.get(at).map(|(_, token)| token) {
            Some(Token::Word(name)) => (*name).to_owned(),
            Some(Token::Sign(sign)) => sign.to_string(),
            None => "end of file".to_owned(),
        }
    }

    /// Skips `#[cfg(test)] mod … { … }`.
    fn skip_test_module(&mut self) -> bool {
        let head = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
        if !head.iter().enumerate().all(|(index, text)| self.text(self.at + index) == *text) {
            return false;
        }
        self.at += head.len() + 1;
        let mut depth = 0;
        while self.at < self.tokens.len() {
            depth += i32::from(self.is_sign(self.at, '{')) - i32::from(self.is_sign(self.at, '}'));
            let is_over = depth == 0 && (self.is_sign(self.at, '}') || self.is_sign(self.at, ';'));
            self.at += 1;
            if is_over {
                break;
            }
        }
        true
    }

    /// Reads the path that starts here, or skips one token.
    fn read_path(&mut self, module: &[String], children: &BTreeSet<String>) {
        let start = self.at;
        let continues_a_path = start >= 2 && self.are_colons(start - 2);
        // `pub(in crate::…)` is a visibility, not an import.
        let is_visibility = start >= 2 && self.is_sign(start - 2, '(') && self.is_word(start - 1, "in");
        let is_import = !continues_a_path && !is_visibility;
        let Some(base) = self.base(module, children).filter(|_| is_import) else {
            self.at = start + 1;
            return;
        };
        let is_use = start > 0 && self.is_word(start - 1, "use");
        self.read_tree(base, self.tokens[start].0, is_use);
    }

    /// Returns the module at which the path at this token starts, or `None` if no path into the crate starts
    /// here.
    fn base(&mut self, module: &[String], children: &BTreeSet<String>) -> Option<Vec<String>> {
        if self.is_word(self.at, "crate") && self.are_colons(self.at + 1) {
            self.at += 3;
            return Some(Vec::new());
        }
        let is_relative = ["self", "super"].iter().any(|word| self.is_word(self.at, word));
        if is_relative && self.are_colons(self.at + 1) {
            if self.is_word(self.at, "self") {
                self.at += 3;
            }
            let mut base = module.to_vec();
            while self.is_word(self.at, "super") && self.are_colons(self.at + 1) {
                base.pop();
                self.at += 3;
            }
            return Some(base);
        }
        let is_child = children.contains(&self.text(self.at)) && self.are_colons(self.at + 1);
        is_child.then(|| module.to_vec())
    }

    /// Reads the rest of a path: names, and groups in braces.
    fn read_tree(&mut self, mut path: Vec<String>, line: usize, is_use: bool) {
        loop {
            if self.is_sign(self.at, '{') {
                self.at += 1;
                while self.at < self.tokens.len() && !self.is_sign(self.at, '}') {
                    let line = self.tokens[self.at].0;
                    self.read_tree(path.clone(), line, is_use);
                    if self.is_sign(self.at, ',') {
                        self.at += 1;
                    }
                }
                self.at += 1;
                return;
            }
            path.push(self.text(self.at));
            self.at += 1;
            if !self.are_colons(self.at) || self.is_sign(self.at + 2, '<') {
                break;
            }
            self.at += 2;
        }
        let mut name = path.last().cloned().filter(|_| is_use);
        if is_use && self.is_word(self.at, "as") {
            name = Some(self.text(self.at + 1));
            self.at += 2;
        }
        self.found.push(Import { line, path, name });
    }
}

/// All files of a crate by their module path, with their imports.
pub(super) struct Crate {
    files: BTreeMap<Vec<String>, Vec<Import>>,
}

impl Crate {
    /// Reads `files`: (path from the project's root, source). Test code does not count.
    pub(super) fn read(files: &[(String, String)]) -> Self {
        let files: Vec<(Vec<String>, &(String, String))> = files
            .iter()
            .map(|file| (module_path(&file.0), file))
            .filter(|(path, _)| !path.is_empty() && path.last().is_some_and(|name| name != "tests"))
            .collect();
        let paths: BTreeSet<&Vec<String>> = files.iter().map(|(path, _)| path).collect();
        let read = |path: &Vec<String>, (file, source): &(String, String)| {
            let children =
                paths.iter().filter(|other| other.len() == path.len() + 1 && other.starts_with(path));
            let children: BTreeSet<String> = children.filter_map(|child| child.last().cloned()).collect();
            (path.clone(), imports(file, source, &children, false))
        };
        Self { files: files.iter().map(|(path, file)| read(path, file)).collect() }
    }

    /// Returns the file that defines the item at `path`, following `use` declarations.
    fn definition(&self, path: &[String], steps: usize) -> Option<&Vec<String>> {
        let (module, imports) =
            (1..=path.len()).rev().find_map(|length| self.files.get_key_value(&path[..length]))?;
        let mut rest = path[module.len()..].iter();
        let item = rest.next();
        let used = imports.iter().find(|import| import.name.is_some() && import.name.as_ref() == item);
        let Some(import) = used.filter(|_| steps > 0) else { return Some(module) };
        let target: Vec<String> = import.path.iter().chain(rest).cloned().collect();
        self.definition(&target, steps - 1).or(Some(module))
    }

    /// Returns the imported files of each file.
    fn graph(&self) -> BTreeMap<&Vec<String>, BTreeSet<&Vec<String>>> {
        let targets = |file: &Vec<String>, imports: &[Import]| {
            let found = imports.iter().filter_map(|import| self.definition(&import.path, MOST_STEPS));
            found.filter(|target| *target != file).collect()
        };
        self.files.iter().map(|(file, imports)| (file, targets(file, imports))).collect()
    }

    /// Returns the groups of files that import each other in a circle, each sorted.
    pub(super) fn circles(&self) -> BTreeSet<Vec<String>> {
        let graph = self.graph();
        let reached: BTreeMap<_, _> = graph.keys().map(|file| (*file, reachable(&graph, file))).collect();
        let circle = |file: &Vec<String>| -> Vec<String> {
            let others = reached[file].iter().filter(|other| reached[*other].contains(file));
            others.map(|other| other.join("/")).collect()
        };
        graph.keys().map(|file| circle(file)).filter(|circle| !circle.is_empty()).collect()
    }
}

fn reachable<'a>(
    graph: &BTreeMap<&'a Vec<String>, BTreeSet<&'a Vec<String>>>,
    from: &Vec<String>,
) -> BTreeSet<&'a Vec<String>> {
    let mut found = BTreeSet::new();
    let mut left: Vec<&Vec<String>> = graph[from].iter().copied().collect();
    while let Some(file) = left.pop() {
        if found.insert(file) {
            left.extend(&graph[file]);
        }
    }
    found
}
