//! The catalogue: loading, validating, formatting and choosing entries.
//!
//! A file is a JSON array of entries ([`Entry`](super::definition::Entry)). The built-in files stand in
//! `sites/`, split by type and category, in the form that [`format`](mod@format) gives them.
//!
//! To add a module: write its entry, run `sightline catalog format` on the file, and name a new file in
//! [`builtin`].

mod builtin;
mod error;
pub mod format;
mod read;
mod shape;
mod strict;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

pub use error::{CatalogError, Fault};
pub use shape::json_schema;

use super::module::Module;
use super::query::SearchType;

/// The largest catalogue file that is read.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// All modules, by id.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    modules: Vec<Arc<Module>>,
    by_id: BTreeMap<Arc<str>, usize>,
}

/// Which modules take part in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// What kind of query.
    pub search_type: SearchType,
    /// Also those that need a browser.
    pub premium: bool,
    /// Also those that touch a sign-in page.
    pub discovery: bool,
    /// Also adult sites.
    pub nsfw: bool,
}

impl Catalog {
    /// The built-in modules.
    ///
    /// # Errors
    /// A mistake in a built-in file: a defect of this program.
    pub fn builtin() -> Result<Self, CatalogError> {
        Self::load(true, &[])
    }

    /// The built-in modules, if wanted, and those of these files, in this order.
    ///
    /// # Errors
    /// Every mistake of every file; a file that cannot be read; an id that is there twice.
    pub fn load(builtin: bool, files: &[PathBuf]) -> Result<Self, CatalogError> {
        let mut texts: Vec<(String, Result<String, String>)> = Vec::new();
        if builtin {
            texts.extend(
                builtin::FILES.iter().map(|(name, text)| ((*name).to_owned(), Ok((*text).to_owned()))),
            );
        }
        texts.extend(files.iter().map(|path| (path.display().to_string(), read_file(path))));
        let mut catalog = Self::default();
        let mut faults = Vec::new();
        for (name, text) in texts {
            match text {
                Ok(text) => catalog.add(&name, &text, &mut faults),
                Err(message) => faults.push(Fault::of_file(&name, message)),
            }
        }
        if faults.is_empty() { Ok(catalog) } else { Err(CatalogError::new(faults)) }
    }

    /// The modules of one text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn from_text(name: &str, text: &str) -> Result<Self, CatalogError> {
        let mut catalog = Self::default();
        let mut faults = Vec::new();
        catalog.add(name, text, &mut faults);
        if faults.is_empty() { Ok(catalog) } else { Err(CatalogError::new(faults)) }
    }

    fn add(&mut self, file: &str, text: &str, faults: &mut Vec<Fault>) {
        for entry in read::entries(file, text, faults) {
            let id: Arc<str> = entry.id.as_str().into();
            if self.by_id.contains_key(&id) {
                let message = "this id is there already; ids are unique over all files";
                faults.push(Fault::of_entry(file, &id, "id", message));
                continue;
            }
            match Module::compile(entry) {
                Ok(module) => {
                    self.by_id.insert(id, self.modules.len());
                    self.modules.push(Arc::new(module));
                }
                Err(mistakes) => {
                    let mistakes = mistakes.into_iter();
                    faults.extend(mistakes.map(|it| Fault::of_entry(file, &id, &it.path, it.message)));
                }
            }
        }
    }

    /// The canonical form of a catalogue file, as `sightline catalog format` writes it.
    ///
    /// # Errors
    /// What is wrong with the file's form.
    pub fn format(text: &str) -> Result<String, CatalogError> {
        format::format(text)
    }

    /// All of them, in the order of the files.
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// The module of that id.
    pub fn get(&self, id: &str) -> Option<&Arc<Module>> {
        self.modules.get(*self.by_id.get(id)?)
    }

    /// The enabled modules that take part, popular ones first, then by id.
    pub fn select(&self, selection: &Selection) -> Vec<Arc<Module>> {
        let mut chosen: Vec<Arc<Module>> = self
            .modules
            .iter()
            .filter(|module| {
                let entry = module.entry();
                entry.enabled
                    && module.search_type() == selection.search_type
                    && (selection.premium || !module.is_premium())
                    && (selection.discovery || !entry.discovery)
                    && (selection.nsfw || !entry.nsfw)
            })
            .cloned()
            .collect();
        chosen.sort_by(|a, b| rank(a).cmp(&rank(b)).then_with(|| a.id().cmp(b.id())));
        chosen
    }
}

fn rank(module: &Module) -> u32 {
    module.entry().rank.unwrap_or(u32::MAX)
}

fn read_file(path: &PathBuf) -> Result<String, String> {
    let explain = |error: std::io::Error| format!("it cannot be read: {error}");
    let size = fs::metadata(path).map_err(explain)?.len();
    if size > MAX_FILE_BYTES {
        return Err(format!("it has {size} bytes; at most {MAX_FILE_BYTES} are read"));
    }
    fs::read_to_string(path).map_err(explain)
}
