//! The modules that searches may ask, and the queries that are never searched.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::service::{ModuleCounts, Runs};
use super::suppression::Suppressed;
use crate::modules::catalog::{Catalog, Choice, ChoiceError, Selection};
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};

impl Runs {
    /// Returns the modules that a search uses.
    ///
    /// # Errors
    /// Returns an error if the choice is not valid.
    pub fn modules_for(
        &self,
        query: &Query,
        premium: bool,
        choice: &Choice,
    ) -> Result<Vec<Arc<Module>>, ChoiceError> {
        let switches = Selection {
            search_type: query.search_type(),
            premium,
            discovery: self.context.discovery,
            nsfw: choice.nsfw,
        };
        self.catalog().choose(&switches, choice)
    }

    /// Replaces the list of identifiers that are never searched, and removes all shared answers. Runs that are being
    /// driven are not stopped.
    pub fn suppress(&self, list: Suppressed) {
        self.context.suppression.set(Arc::new(list));
        self.context.scheduler.answers().clear();
    }

    /// Returns whether a query is suppressed.
    pub fn is_suppressed(&self, query: &Query) -> bool {
        self.context.suppression.get().holds(query)
    }

    /// Returns the catalogue that searches choose from now.
    pub fn catalog(&self) -> Arc<Catalog> {
        self.context.catalog.get()
    }

    /// Replaces the catalogue for new searches. Removes all shared answers and verdicts of control checks, since a changed
    /// entry may give others. Runs that are being driven keep their modules.
    pub fn use_catalog(&self, catalog: Arc<Catalog>) {
        self.context.catalog.set(catalog);
        self.context.scheduler.answers().clear();
        self.context.checker.forget_verdicts();
    }

    /// Returns the number of modules that a search without a choice uses.
    pub fn module_counts(&self) -> ModuleCounts {
        let (catalog, discovery) = (self.catalog(), self.context.discovery);
        let count = |search_type, premium| {
            catalog.select(&Selection { search_type, premium, discovery, nsfw: false }).len()
        };
        let standard: BTreeMap<_, _> =
            SearchType::ALL.into_iter().map(|kind| (kind, count(kind, false))).collect();
        let usernames = standard.get(&SearchType::Username).copied().unwrap_or_default();
        ModuleCounts { premium: count(SearchType::Username, true) - usernames, standard }
    }

    /// Returns whether a browser is available for premium searches.
    pub fn can_browse(&self) -> bool {
        self.context.browsing.is_available()
    }
}
