//! The catalogue: loading, validating, formatting and choosing entries.
//!
//! A file is a JSON array of entries ([`Entry`](super::definition::Entry)). The built-in files stand in
//! `sites/`, split by type and category, in the form that [`format`](mod@format) gives them. A file may
//! also be another tool's list: see [`super::import`].
//!
//! To add a module: write its entry, run `sightline catalog format` on the file, and name a new file in
//! `builtin`.

mod builtin;
mod choice;
mod error;
pub mod format;
mod near;
mod place;
mod read;
mod same;
mod shape;
mod source;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

pub use choice::{Choice, ChoiceError, MAX_NAMES, Part};
use error::Faults;
pub use error::{CatalogError, Fault};
pub use near::nearest;
pub use shape::json_schema;

use self::same::Asked;
use super::import::report::ListReport;
use super::import::{self, Imported};
use super::mistake::Mistake;
use super::module::Module;
use super::query::SearchType;
use super::text;
use read::Placed;

/// All modules, by id.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    modules: Vec<Arc<Module>>,
    by_id: BTreeMap<Arc<str>, usize>,
    lists: Vec<ListReport>,
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

    /// The built-in modules, if wanted, those of the files in our own format, in this order, and then
    /// those of other tools' lists ([`import`]) that do no earlier module's work.
    ///
    /// # Errors
    /// Every mistake of every file of our own format; a file that cannot be read or is in no known
    /// format; an id that is there twice. What a list has that cannot be taken over is no error:
    /// see [`Catalog::lists`].
    pub fn load(builtin: bool, files: &[PathBuf]) -> Result<Self, CatalogError> {
        let texts: Vec<(String, Result<String, String>)> =
            files.iter().map(|path| (path.display().to_string(), source::read(path))).collect();
        let mut loading = Loading::default();
        if builtin {
            builtin::FILES.iter().for_each(|(name, text)| loading.add(name, text));
        }
        let mut lists = Vec::new();
        for (name, text) in &texts {
            match text {
                Ok(text) if source::is_ours(text) => loading.add(name, text),
                Ok(text) => match import::take_over(name, text) {
                    Ok(list) => lists.push(list),
                    Err(message) => loading.faults.push(Fault::of_file(name, message)),
                },
                Err(message) => loading.faults.push(Fault::of_file(name, message)),
            }
        }
        let mut catalog = loading.faults.or(loading.catalog)?;
        catalog.add_lists(lists);
        Ok(catalog)
    }

    /// The modules of one text; `name` stands for the file in messages.
    ///
    /// # Errors
    /// Every mistake in it.
    pub fn from_text(name: &str, text: &str) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        loading.add(name, text);
        loading.faults.or(loading.catalog)
    }

    /// Adds the modules of lists that do no earlier module's work. Two entries of one list both stay.
    fn add_lists(&mut self, lists: Vec<Imported>) {
        let mut asked = Asked::default();
        if !lists.is_empty() {
            self.modules.iter().for_each(|module| asked.add(module));
        }
        for Imported { modules, mut report } in lists {
            let first = self.modules.len();
            let mut others = Vec::new();
            for module in modules {
                let earlier = asked.by(&module).or_else(|| {
                    // The same file twice, or two versions of a list.
                    self.by_id.get_key_value(module.id()).map(|(id, _)| id)
                });
                if let Some(earlier) = earlier {
                    others.push((module.platform().to_owned(), earlier.clone(), module.entry().enabled));
                    continue;
                }
                self.by_id.insert(module.id().clone(), self.modules.len());
                self.modules.push(Arc::new(module));
            }
            self.modules[first..].iter().for_each(|module| asked.add(module));
            report.leave_to_others(&others);
            self.lists.push(report);
        }
    }

    /// What became of other tools' lists, in the order of the files.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// The canonical form of a catalogue file, as `sightline catalog format` writes it. `file` is its name
    /// in messages.
    ///
    /// # Errors
    /// What is wrong with the file's form.
    pub fn format(file: &str, text: &str) -> Result<String, CatalogError> {
        format::format(file, text)
    }

    /// All of them, in the order of the files.
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// The module of that id.
    pub fn get(&self, id: &str) -> Option<&Arc<Module>> {
        self.modules.get(*self.by_id.get(id)?)
    }

    /// The names of all keys that its modules use (`config.NAME`, `config.NAME?`), without `config.`.
    pub fn key_names(&self) -> BTreeSet<&str> {
        self.modules.iter().flat_map(|module| module.keys()).map(|key| key.name).collect()
    }

    /// The categories of the modules of that type.
    pub fn categories(&self, search_type: SearchType) -> BTreeSet<&str> {
        let of_type = self.modules.iter().filter(|module| module.search_type() == search_type);
        of_type.map(|module| module.entry().category.as_str()).collect()
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

/// A catalogue under construction.
#[derive(Default)]
struct Loading {
    catalog: Catalog,
    /// Where each module stands, in the order of the modules: `FILE:LINE`.
    places: Vec<String>,
    faults: Faults,
}

impl Loading {
    fn add(&mut self, file: &str, text: &str) {
        for Placed { entry, place } in read::entries(file, text, &mut self.faults) {
            let id: Arc<str> = entry.id.as_str().into();
            if let Some(known) = self.catalog.by_id.get(&id) {
                let platform = text::cut(self.catalog.modules[*known].platform(), 80);
                let message = format!(
                    "{} has an entry of this id already ({platform}); ids are unique over all files",
                    self.places[*known]
                );
                self.faults.push(place.fault(&id, Mistake { path: "id".to_owned(), message }));
                continue;
            }
            match Module::compile(entry) {
                Ok(module) => {
                    self.catalog.by_id.insert(id, self.catalog.modules.len());
                    self.catalog.modules.push(Arc::new(module));
                    self.places.push(format!("{}:{}", place.file, place.line));
                }
                Err(mistakes) => {
                    let faults = mistakes.into_iter().map(|mistake| place.fault(&id, mistake));
                    faults.for_each(|fault| self.faults.push(fault));
                }
            }
        }
    }
}
