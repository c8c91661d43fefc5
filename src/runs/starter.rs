//! Starting a search: it is charged and created in one transaction, and then driven by this process or queued.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::drivers::Slot;
use super::live::LiveRun;
use super::service::{ModuleCounts, Runs, StartError, StartRequest, StartResult};
use super::suppression::Suppressed;
use crate::base::ids::RunId;
use crate::model::drive::InstanceId;
use crate::model::search::Search;
use crate::model::start::{Cause, NewRun, Refused, Started};
use crate::modules::catalog::{Catalog, Choice, ChoiceError, Selection};
use crate::modules::module::Module;
use crate::modules::query::{Query, SearchType};

impl Runs {
    /// Charges a search, and starts it if a driver is free. Otherwise it waits in the queue of all instances.
    ///
    /// # Errors
    /// Returns [`StartError::Suppressed`] before anything else is checked. Returns [`StartError::Refused`],
    /// [`StartError::ShuttingDown`], [`StartError::Choice`] and [`StartError::NoBrowser`] before anything is charged.
    /// Returns [`StartError::Storage`] if the store fails.
    pub fn start(self: &Arc<Self>, request: StartRequest) -> Result<StartResult, StartError> {
        self.begin(request, || self.drivers.reserve(1).pop())
    }

    /// Charges a search that nobody waits for, and adds it to the queue of all instances even if a driver is free here.
    ///
    /// # Errors
    /// Returns the errors of [`Self::start`].
    pub fn start_later(self: &Arc<Self>, request: StartRequest) -> Result<StartResult, StartError> {
        self.begin(request, || None)
    }

    /// Charges a search, and gives it to the driver that `reserve` returns. Without one it waits in the queue.
    ///
    /// # Errors
    /// Returns the errors of [`Self::start`].
    pub(super) fn begin(
        self: &Arc<Self>,
        mut request: StartRequest,
        reserve: impl FnOnce() -> Option<Slot>,
    ) -> Result<StartResult, StartError> {
        let modules = match self.check(&request) {
            Ok(checked) => checked,
            Err(StartError::Suppressed) => return Err(StartError::Suppressed),
            Err(error) => return self.known_run(&request, error),
        };
        let slot = reserve();
        if slot.is_none() && self.is_queue_full(&request)? {
            return self.known_run(&request, StartError::Refused(Refused::Overloaded));
        }
        let charge = request.charge;
        let Search { choice, options, .. } = &mut request.search;
        options.named = !choice.modules.is_empty();
        (options.nsfw, options.passive) = (choice.nsfw, choice.passive);
        // A picture may be on the searched domain itself.
        options.avatars &= !choice.passive;
        let new = self.new_run(request, modules, slot.as_ref().map(|_| self.instance));
        match self.store.start(&new, &charge).map_err(StartError::Storage)? {
            Started::Repeated(id) => return Ok(StartResult::Repeated(id)),
            Started::Refused(refused) => return Err(StartError::Refused(refused)),
            Started::Created => self.figures.note_start(new.search.search_type, charge.credits),
        }
        let opening = new.opening(charge.credits);
        if let Some(slot) = slot {
            let (lease, changes) = (self.instance.lease(0), self.changes_of(new.id));
            let run = Arc::new(LiveRun::new(opening.clone(), lease, new.modules, changes));
            self.insert(&run);
            if self.drivers.is_shutting_down() {
                // The commit may have been completed after all leases were released.
                self.release_leases();
            }
            self.figures.queue_durations.note(Duration::ZERO);
            self.start_driver(slot, &run);
        } else {
            // A driver that has become free meanwhile takes it.
            self.drivers.queue().waiting += 1;
            self.wake();
        }
        Ok(StartResult::Started(Box::new(opening)))
    }

    /// Checks everything that can be checked before a charge. Returns the ids of the search's modules.
    fn check(&self, request: &StartRequest) -> Result<Vec<String>, StartError> {
        let Search { search_type, query, premium, choice, .. } = &request.search;
        let query = Query::parse(*search_type, query).map_err(StartError::Query)?;
        if self.is_suppressed(&query) {
            return Err(StartError::Suppressed);
        }
        if self.drivers.is_shutting_down() {
            return Err(StartError::ShuttingDown);
        }
        let modules = self.modules_for(*search_type, *premium, choice).map_err(StartError::Choice)?;
        if *premium && !self.can_browse() {
            return Err(StartError::NoBrowser);
        }
        Ok(modules.iter().map(|module| module.id().to_string()).collect())
    }

    /// Returns whether the queue is full, so far as this process knows: the limit may be exceeded by a few runs. The number of
    /// runs that leads start has its own limit. It is not checked in the transaction of the start, which would delay the
    /// drivers that empty the queue.
    fn is_queue_full(&self, request: &StartRequest) -> Result<bool, StartError> {
        if request.cause.member().is_some() || self.drivers.waiting() < self.config.max_waiting {
            return Ok(false);
        }
        let (simulated, account) = (self.config.simulated, Some(request.account));
        let length = self.store.queue_length(simulated, account).map_err(StartError::Storage)?;
        Ok(!length.allows_another(self.config.max_waiting))
    }

    fn new_run(&self, request: StartRequest, modules: Vec<String>, owner: Option<InstanceId>) -> NewRun {
        NewRun {
            id: RunId::new(),
            account: request.account,
            search: request.search,
            cause: request.cause,
            simulated: self.config.simulated,
            modules,
            created_at: self.clock.now(),
            owner,
            holds: self.config.limits.lease,
            is_unconfirmed: request.idempotency.is_none()
                && matches!(request.cause, Cause::Request | Cause::Retry(_)),
            idempotency: request.idempotency,
            origin: request.origin,
        }
    }

    /// Returns the run of a known idempotency key, or else the error. A request that would be refused now may have
    /// been accepted before, with another catalogue, with a browser, or before the shutdown.
    fn known_run(&self, request: &StartRequest, error: StartError) -> Result<StartResult, StartError> {
        let Some(idempotency) = &request.idempotency else { return Err(error) };
        match self.store.known_request(request.account, idempotency).map_err(StartError::Storage)? {
            Some(Started::Repeated(id)) => Ok(StartResult::Repeated(id)),
            Some(Started::Refused(refused)) => Err(StartError::Refused(refused)),
            _ => Err(error),
        }
    }
}

impl Runs {
    /// Returns the modules that a search uses.
    ///
    /// # Errors
    /// Returns an error if the choice is not valid.
    pub fn modules_for(
        &self,
        search_type: SearchType,
        premium: bool,
        choice: &Choice,
    ) -> Result<Vec<Arc<Module>>, ChoiceError> {
        let (discovery, nsfw) = (self.config.discovery, choice.nsfw);
        self.catalog().choose(&Selection { search_type, premium, discovery, nsfw }, choice)
    }

    /// Replaces the list of identifiers that are never searched, and removes all shared answers. Runs that are being
    /// driven are not stopped.
    pub fn suppress(&self, list: Suppressed) {
        *self.suppression.write() = Arc::new(list);
        self.scheduler.answers().clear();
    }

    /// Returns whether a query is suppressed.
    pub fn is_suppressed(&self, query: &Query) -> bool {
        self.suppressed().holds(query)
    }

    /// Returns the identifiers that are never searched.
    pub(super) fn suppressed(&self) -> Arc<Suppressed> {
        Arc::clone(&self.suppression.read())
    }

    /// Returns the catalogue that searches choose from now.
    pub fn catalog(&self) -> Arc<Catalog> {
        Arc::clone(&self.catalog.read())
    }

    /// Replaces the catalogue for new searches. Removes all shared answers and verdicts of control checks, since a changed
    /// entry may give others. Runs that are being driven keep their modules.
    pub fn use_catalog(&self, catalog: Arc<Catalog>) {
        *self.catalog.write() = catalog;
        self.scheduler.answers().clear();
        self.checker.forget_verdicts();
    }

    /// Returns the number of modules that a search without a choice uses.
    pub fn module_counts(&self) -> ModuleCounts {
        let (catalog, discovery) = (self.catalog(), self.config.discovery);
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
        self.browsers.is_available()
    }
}
