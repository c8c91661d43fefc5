//! Loads a catalogue and gives access to its modules.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::bundle::{Bundle, BundleReport};
use super::error::{CatalogError, Fault};
use super::read::{self, Placed};
use super::same::Asked;
use super::source::{self, Sources};
use super::{builtin, format};
use crate::modules::definition::Entry;
use crate::modules::import::report::ListReport;
use crate::modules::import::{self, Imported};
use crate::modules::mistake::Mistake;
use crate::modules::module::Module;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::{Query, SearchType};
use crate::modules::text;

/// All modules, indexed by id.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    modules: Vec<Arc<Module>>,
    by_id: BTreeMap<Arc<str>, usize>,
    lists: Vec<ListReport>,
    profiles: OnceLock<Arc<ProfileIndex>>,
    bundle: Option<BundleReport>,
}

/// The criteria for the modules that take part in a search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Selection {
    /// The type of the query.
    pub search_type: SearchType,
    /// Whether modules that need a browser take part.
    pub premium: bool,
    /// Whether modules that touch a sign-in page take part.
    pub discovery: bool,
    /// Whether modules for adult sites take part.
    pub nsfw: bool,
}

impl Catalog {
    /// Returns the catalogue of the built-in modules.
    ///
    /// # Errors
    /// Returns an error if a built-in file has a mistake. That is a defect of this program.
    pub fn builtin() -> Result<Self, CatalogError> {
        Self::load(true, &[])
    }

    /// Loads the built-in modules if `builtin` is set, and the modules of the files: see [`Catalog::of`].
    ///
    /// # Errors
    /// Returns every mistake, as [`Catalog::of`] does.
    pub fn load(builtin: bool, files: &[PathBuf]) -> Result<Self, CatalogError> {
        Self::of(&Sources::read(builtin, files), None)
    }

    /// Loads the built-in modules, then those of the bundle, then those of the files in the native format, and then
    /// those of other tools' lists ([`import`]). A module of a bundle or a file replaces an earlier module with the
    /// same id, except one of another file. A module of a list is left out if an earlier module already sends the same
    /// request.
    ///
    /// # Errors
    /// Returns every mistake in the bundle and in files of the native format. Also returns an error if a file cannot be
    /// read, has an unknown format, or repeats an id. Entries of a list that cannot be imported are not errors: see
    /// [`Catalog::lists`].
    pub fn of(sources: &Sources, bundle: Option<&Bundle>) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        if sources.builtin {
            builtin::FILES.iter().for_each(|(name, text)| loading.add_builtin(name, text));
        }
        if let Some(bundle) = bundle {
            loading.add_bundle(bundle);
        }
        let mut lists = Vec::new();
        for (name, text) in &sources.files {
            match text {
                Ok(text) if source::is_catalog_file(text) => loading.add(name, text, 1),
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

    /// Returns the catalogue of only the modules of a bundle.
    ///
    /// # Errors
    /// Returns every mistake in the entries.
    pub fn of_bundle(bundle: &Bundle) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        loading.add_bundle(bundle);
        loading.faults.or(loading.catalog)
    }

    /// Returns the catalogue of the modules in one text. `name` is used as the file's name in error
    /// messages.
    ///
    /// # Errors
    /// Returns every mistake in the text.
    pub fn from_text(name: &str, text: &str) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        loading.add(name, text, 1);
        loading.faults.or(loading.catalog)
    }

    /// Adds the modules of lists, without those that repeat an earlier module. Two entries of the same list
    /// are both kept.
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
                    // A file may be given twice, or two versions of one list may be given.
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
            report.skip_covered(&others);
            self.lists.push(report);
        }
    }

    /// Returns the report on the stored bundle, if there is one.
    pub fn bundle(&self) -> Option<&BundleReport> {
        self.bundle.as_ref()
    }

    /// Adds the report on the stored bundle.
    #[must_use]
    pub fn with_bundle(self, report: BundleReport) -> Self {
        Self { bundle: Some(report), ..self }
    }

    /// Returns the reports on the lists of other tools, in the order of the files.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
    }

    /// Returns the canonical form of a catalogue file, as `sightline catalog format` writes it. `file` is
    /// the file's name in error messages.
    ///
    /// # Errors
    /// Returns the mistakes in the form of the file.
    pub fn format(file: &str, text: &str) -> Result<String, CatalogError> {
        format::format(file, text)
    }

    /// Returns all modules in the order of the files.
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// Returns the module with the given id.
    pub fn get(&self, id: &str) -> Option<&Arc<Module>> {
        self.modules.get(*self.by_id.get(id)?)
    }

    /// Returns the accounts of the modules' platforms by the addresses of their profiles.
    pub fn profiles(&self) -> &ProfileIndex {
        self.profiles.get_or_init(|| Arc::new(ProfileIndex::new(&self.modules)))
    }

    /// Returns the names of all keys that the modules use (`config.NAME`, `config.NAME?`), without
    /// `config.`.
    pub fn key_names(&self) -> BTreeSet<&str> {
        self.modules.iter().flat_map(|module| module.keys()).map(|key| key.name).collect()
    }

    /// Returns the categories of the modules of the given search type.
    pub fn categories(&self, search_type: SearchType) -> BTreeSet<&str> {
        let of_type = self.modules.iter().filter(|module| module.search_type() == search_type);
        of_type.map(|module| module.entry().category.as_str()).collect()
    }

    /// Returns whether an enabled module could have an account of that name.
    pub fn accepts(&self, query: &Query) -> bool {
        self.modules.iter().any(|module| module.entry().enabled && module.why_refused(query).is_none())
    }

    /// Returns the enabled modules that match the selection, popular ones first, then by id.
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

/// A catalogue that is being loaded.
#[derive(Default)]
struct Loading {
    catalog: Catalog,
    /// The file and the line of each module as `FILE:LINE`, in the order of the modules. A module that a later file
    /// may replace has none.
    places: Vec<Option<String>>,
    faults: CatalogError,
}

impl Loading {
    /// Adds the entries of a built-in file, in which the tests find no mistake. This is faster than [`Loading::add`],
    /// which notes where each part of an entry stands and checks it.
    fn add_builtin(&mut self, file: &str, text: &str) {
        let entries: Vec<Entry> = match serde_json::from_str(text) {
            Ok(entries) => entries,
            Err(error) => return self.faults.push(Fault::of_file(file, error.to_string())),
        };
        for entry in entries {
            let id: Arc<str> = entry.id.as_str().into();
            self.catalog.by_id.insert(id, self.catalog.modules.len());
            self.catalog.modules.push(Arc::new(Module::new(entry)));
            self.places.push(None);
        }
    }

    /// Adds the modules of a bundle. Files may replace them.
    fn add_bundle(&mut self, bundle: &Bundle) {
        let (text, first_line) = bundle.entries();
        self.add(bundle.name(), text, first_line);
        self.places.fill(None);
    }

    fn add(&mut self, file: &str, text: &str, first_line: usize) {
        for Placed { name, entry, place } in read::entries(file, text, first_line, &mut self.faults) {
            let id: Arc<str> = entry.id.as_str().into();
            let replaced = self.catalog.by_id.get(&id).copied();
            if let Some((known, at)) = replaced.and_then(|index| Some((index, self.places[index].clone()?))) {
                let platform = text::truncate(self.catalog.modules[known].platform(), 80);
                let message = format!(
                    "{at} already has an entry with this id ({platform}); ids must be unique over all files"
                );
                self.faults.push(place.fault(&id, Mistake { path: "id".to_owned(), message }));
                continue;
            }
            match Module::compile(entry) {
                Ok(module) => {
                    let at = Some(format!("{}:{}", place.file, place.line));
                    match replaced {
                        Some(index) => {
                            self.catalog.modules[index] = Arc::new(module);
                            self.places[index] = at;
                        }
                        None => {
                            self.catalog.by_id.insert(id, self.catalog.modules.len());
                            self.catalog.modules.push(Arc::new(module));
                            self.places.push(at);
                        }
                    }
                }
                Err(mistakes) => {
                    mistakes.into_iter().for_each(|mistake| self.faults.push(place.fault(&name, mistake)));
                }
            }
        }
    }
}
