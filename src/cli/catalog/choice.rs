//! Reads catalogues and files for these commands, and selects modules by type, category and tag, or by id.

use std::collections::BTreeSet;
use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use clap::Args;

use crate::base::text::plain;
use crate::cli::exit::Failure;
use crate::config::CatalogConfig;
use crate::modules::catalog::{Catalog, CatalogError};
use crate::modules::import::report::NoteKind;
use crate::modules::module::Module;
use crate::modules::near::did_you_mean;
use crate::modules::query::SearchType;

/// Selects modules of the catalogue. An option that is repeated matches any of its values.
#[derive(Debug, Args)]
pub(super) struct Choice {
    /// Only modules for this kind of query
    #[arg(long = "type", value_name = "TYPE")]
    search_type: Option<SearchType>,
    /// Only modules of this category (repeatable)
    #[arg(long = "category", value_name = "CATEGORY")]
    categories: Vec<String>,
    /// Only modules with this tag (repeatable)
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Also the sites of engines, which searches ask with `--engines`
    #[arg(long)]
    engines: bool,
}

impl Choice {
    /// Returns the selected modules, by id.
    ///
    /// # Errors
    /// Fails if no module has a given category or tag.
    pub(super) fn modules<'c>(&self, catalog: &'c Catalog) -> Result<Vec<&'c Arc<Module>>, Failure> {
        let all = catalog.modules();
        let categories: BTreeSet<&str> = all.iter().map(|module| module.entry().category.as_str()).collect();
        let tags: BTreeSet<&str> =
            all.iter().flat_map(|module| &module.entry().tags).map(String::as_str).collect();
        are_known("category", &self.categories, &categories)?;
        are_known("tag", &self.tags, &tags)?;
        let mut chosen: Vec<&Arc<Module>> = all.iter().filter(|module| self.takes(module)).collect();
        chosen.sort_by(|one, other| one.id().cmp(other.id()));
        Ok(chosen)
    }

    fn takes(&self, module: &Module) -> bool {
        let entry = module.entry();
        (self.engines || !entry.needs_engines())
            && self.search_type.is_none_or(|wanted| module.search_type() == wanted)
            && (self.categories.is_empty() || self.categories.contains(&entry.category))
            && (self.tags.is_empty() || self.tags.iter().any(|tag| entry.tags.contains(tag)))
    }
}

fn are_known(what: &str, given: &[String], known: &BTreeSet<&str>) -> Result<(), Failure> {
    let Some(unknown) = given.iter().find(|given| !known.contains(given.as_str())) else { return Ok(()) };
    let known: Vec<&str> = known.iter().copied().collect();
    Err(no_module(what, unknown, &format!("expected one of: {}", known.join(", ")), &known))
}

/// Returns the module with this id.
///
/// # Errors
/// Fails if there is none. The message suggests a similar id.
pub(super) fn by_id<'c>(catalog: &'c Catalog, id: &str) -> Result<&'c Arc<Module>, Failure> {
    catalog.get(id).ok_or_else(|| {
        let ids: Vec<&str> = catalog.modules().iter().map(|module| &**module.id()).collect();
        no_module("id", id, "`sightline catalog list` shows all ids", &ids)
    })
}

fn no_module(what: &str, given: &str, allowed: &str, known: &[&str]) -> Failure {
    let meant = did_you_mean([given], || known.iter().copied());
    Failure::Usage(format!("no module has the {what} \"{}\": {allowed}{meant}", plain(given)))
}

/// Loads the catalogue. Writes the left-out entries of other tools' lists to standard error.
///
/// # Errors
/// Fails if the catalogue has mistakes. The message contains all of them.
pub(crate) fn load(config: &CatalogConfig) -> Result<Catalog, Failure> {
    let catalog = Catalog::load(!config.no_builtin, &config.files, None).map_err(|why| has_mistakes(&why))?;
    let mut err = io::stderr().lock();
    for list in catalog.lists() {
        for line in list.lines(NoteKind::LeftOut).chain([list.summary()]) {
            // A closed standard error does not change the catalogue.
            let _ = writeln!(err, "{line}");
        }
    }
    Ok(catalog)
}

pub(super) fn has_mistakes(error: &CatalogError) -> Failure {
    Failure::Usage(format!("the catalogue has mistakes\n{}", faults(error)))
}

/// Formats the mistakes, one on each line. Control characters are removed, since files may come from
/// anywhere.
pub(super) fn faults(error: &CatalogError) -> String {
    let text = error.to_string();
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

/// Returns the text of a file.
pub(super) fn read(file: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| {
        Failure::Failed(format!("cannot read {}: {error}", plain(&file.display().to_string())))
    })
}
