//! Loads a catalogue and gives access to its modules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use serde::de::DeserializeOwned;
use url::Url;

use super::builtin;
use super::feed::{Feed, FeedReport};
use super::read::{self, CatalogError};
use crate::modules::definition::{Entry, Method, Site, mistake};
use crate::modules::import::report::ListReport;
use crate::modules::import::{self, Imported, slug};
use crate::modules::module::Module;
use crate::modules::profile_index::ProfileIndex;
use crate::modules::public_suffix::suffix_with_label;
use crate::modules::query::{Query, SearchType};
use crate::modules::text;

/// All modules, indexed by id.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    modules: Vec<Arc<Module>>,
    by_id: BTreeMap<Arc<str>, usize>,
    lists: Vec<ListReport>,
    profiles: OnceLock<Arc<ProfileIndex>>,
    feed: FeedReport,
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
}

impl Catalog {
    /// Returns the catalogue of the built-in modules.
    ///
    /// # Errors
    /// Returns an error if a built-in file has a mistake. That is a defect of this program.
    pub fn builtin() -> Result<Self, CatalogError> {
        Self::load(true, &[], None)
    }

    /// Loads the built-in modules if `builtin` is set, then those of the feed, then those of the files in the native
    /// format, and then those of other tools' lists ([`import`]). A module of a feed or a file replaces an earlier module
    /// with the same id, except one of another file. A module of a list is left out if an earlier module already sends the
    /// same request; if that is a site of an engine, searches ask it by default then.
    ///
    /// # Errors
    /// Returns every mistake in the feed and in files of the native format. Also returns an error if a file cannot be
    /// read, has an unknown format, or repeats an id. Entries of a list that cannot be imported are not errors: see
    /// [`Catalog::lists`].
    pub fn load(builtin: bool, files: &[PathBuf], feed: Option<&Feed>) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        if builtin {
            builtin::FILES
                .iter()
                .for_each(|(name, text)| loading.add_builtin(name, text, Ok::<Entry, String>));
            loading.add_builtin("engines/sites.json", builtin::SITES, Site::into_entry);
        }
        if let Some(feed) = feed {
            loading.add("catalogue feed", &feed.entries);
            // Files may replace the modules.
            loading.files.clear();
            loading.catalog.feed.in_use = Some(feed.version);
        }
        let mut lists = Vec::new();
        for path in files {
            let name = path.display().to_string();
            match read::file(path) {
                // Another tool's list is an object. A text that is neither has its mistakes reported as a catalogue file.
                Ok(text) if text.trim_start_matches('\u{feff}').trim_start().starts_with('{') => {
                    match import::take_over(&name, &text) {
                        Ok(list) => lists.push(list),
                        Err(message) => loading.faults.push(format!("{name}: {message}")),
                    }
                }
                Ok(text) => loading.add(&name, &text),
                Err(message) => loading.faults.push(format!("{name}: {message}")),
            }
        }
        let mut catalog = loading.faults.or(loading.catalog)?;
        catalog.add_lists(lists);
        Ok(catalog)
    }

    /// Returns the catalogue of the modules in one text. `name` is used as the file's name in error
    /// messages.
    ///
    /// # Errors
    /// Returns every mistake in the text.
    pub fn from_text(name: &str, text: &str) -> Result<Self, CatalogError> {
        let mut loading = Loading::default();
        loading.add(name, text);
        loading.faults.or(loading.catalog)
    }

    /// Adds a module, or replaces the one with its id.
    fn put(&mut self, module: Module) {
        let module = Arc::new(module);
        match self.by_id.get(module.id()) {
            Some(index) => self.modules[*index] = module,
            None => {
                self.by_id.insert(module.id().clone(), self.modules.len());
                self.modules.push(module);
            }
        }
    }

    /// Adds the modules of lists, without those that repeat an earlier module. Two entries of the same list
    /// are both kept.
    fn add_lists(&mut self, lists: Vec<Imported>) {
        let mut asked = HashMap::new();
        if !lists.is_empty() {
            add_requests(&mut asked, &self.modules);
        }
        for Imported { modules, mut report } in lists {
            let first = self.modules.len();
            for module in modules {
                let earlier = keys(&module).iter().find_map(|key| asked.get(key)).or_else(|| {
                    // A file may be given twice, or two versions of one list may be given.
                    self.by_id.get_key_value(module.id()).map(|(id, _)| id)
                });
                if let Some(earlier) = earlier.cloned() {
                    report.skip_covered(module.platform(), &earlier);
                    self.ask_by_default(&earlier);
                    continue;
                }
                self.put(module);
            }
            add_requests(&mut asked, &self.modules[first..]);
            self.lists.push(report);
        }
    }

    /// Asks a site of an engine by default, since a list of the operator has the site.
    fn ask_by_default(&mut self, id: &str) {
        if let Some(module) = self.get(id).filter(|module| module.entry().needs_engines()) {
            self.put(Module::new(Entry { by_default: true, ..module.entry().clone() }));
        }
    }

    /// Returns the state of the catalogue feed.
    pub fn feed(&self) -> &FeedReport {
        &self.feed
    }

    /// Returns the catalogue with the reason why its feed could not be renewed, or without one.
    #[must_use]
    pub fn with_feed_failure(&self, failed: Option<String>) -> Self {
        Self { feed: FeedReport { failed, ..self.feed }, ..self.clone() }
    }

    /// Returns the reports on the lists of other tools, in the order of the files.
    pub fn lists(&self) -> &[ListReport] {
        &self.lists
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
}

/// A catalogue that is being loaded.
#[derive(Default)]
struct Loading {
    catalog: Catalog,
    /// The file of each module of a file, by id. Files may replace any other module.
    files: HashMap<String, String>,
    faults: CatalogError,
}

impl Loading {
    /// Adds the entries of a built-in file, in which the tests find no mistake. This is faster than [`Loading::add`],
    /// which checks each part of an entry.
    fn add_builtin<T: DeserializeOwned>(
        &mut self,
        file: &str,
        text: &str,
        into_entry: impl Fn(T) -> Result<Entry, String>,
    ) {
        let entries = serde_json::from_str::<Vec<T>>(text).map_err(|error| error.to_string());
        match entries.and_then(|entries| entries.into_iter().map(into_entry).collect::<Result<Vec<_>, _>>()) {
            Ok(entries) => entries.into_iter().for_each(|entry| self.catalog.put(Module::new(entry))),
            Err(error) => self.faults.push(format!("{file}: {error}")),
        }
    }

    fn add(&mut self, file: &str, text: &str) {
        for (name, entry) in read::entries(file, text, &mut self.faults) {
            let id = entry.id.clone();
            let module = match self.files.get(&id).zip(self.catalog.get(&id)) {
                None => Module::compile(entry),
                Some((other, known)) => {
                    let platform = text::truncate(known.platform(), 80);
                    let message = format!(
                        "{other} already has an entry with this id ({platform}); ids must be unique over all files"
                    );
                    Err(vec![mistake("id", &message)])
                }
            };
            match module {
                Ok(module) => {
                    self.files.insert(id, file.to_owned());
                    self.catalog.put(module);
                }
                Err(mistakes) => self.faults.add(file, &name, &mistakes),
            }
        }
    }
}

/// The text that replaces the name in a key.
const NAME: &str = "-name-";

/// Adds the requests of modules, each with the id of the first module that sends it. A disabled module sends none.
///
/// A module of another tool's list is left out if an earlier module already sends the same request. So a search visits
/// each site only once, with the module that knows more about it.
fn add_requests(asked: &mut HashMap<String, Arc<str>>, modules: &[Arc<Module>]) {
    for module in modules.iter().filter(|module| module.entry().enabled) {
        for key in keys(module) {
            asked.entry(key).or_insert_with(|| module.id().clone());
        }
    }
}

/// Returns the keys of a module: its profile page, the address of its first probe, and its platform's name
/// with its site's domain.
fn keys(module: &Module) -> Vec<String> {
    let entry = module.entry();
    let kind = entry.search_type;
    let probe = entry.probes.first().filter(|probe| matches!(probe.method, Method::Get | Method::Head));
    let page = entry.profile.as_ref().and_then(|profile| address(profile));
    let addresses = page.into_iter().chain(probe.and_then(|probe| address(&probe.url)));
    let name = Some(slug(&entry.platform)).filter(|name| !name.is_empty());
    let name = name.as_deref().unwrap_or(&entry.platform);
    addresses
        .flat_map(|(address, site)| [format!("{kind} {address}"), format!("{kind} {name} @ {site}")])
        .collect()
}

/// Returns an address that contains the name, and the registrable domain of its host. Parts that make no
/// difference are removed: the scheme, `www.`, the case of the host, and trailing slashes.
fn address(template: &str) -> Option<(String, String)> {
    let url = Url::parse(&template.replace("{query}", NAME).replace("{query|lower}", NAME)).ok()?;
    let host = url.host_str()?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let rest = &url[url::Position::BeforePath..];
    if !host.contains(NAME) && !rest.contains(NAME) {
        return None;
    }
    let site = suffix_with_label(host).unwrap_or(host);
    // The site of `name.example.com` is `example.com`.
    let site = site.strip_prefix(NAME).unwrap_or(site).trim_start_matches('.');
    Some((format!("{host}{}", rest.trim_end_matches('/')), site.to_owned()))
}
