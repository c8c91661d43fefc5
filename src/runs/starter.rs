//! Starting a search: it is charged and created in one transaction, and then driven by this process or queued.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::dispatcher::Slot;
use super::service::{ModuleCounts, Runs, StartResult};
use super::suppression::Suppressed;
use crate::base::ids::{AccountId, RunId};
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::drive::Resumable;
use crate::model::refusal::{Code, Refusal};
use crate::model::run::{ModuleReport, RunOptions, RunSummary};
use crate::model::search::Search;
use crate::model::start::{Cause, NewRun, Started, WatchStart};
use crate::modules::catalog::{Catalog, Choice, ChoiceError, Selection};
use crate::modules::module::Module;
use crate::modules::outcome::Outcome;
use crate::modules::query::{Query, SearchType};
use crate::modules::reason::Reason;

impl Runs {
    /// Returns the run of a search that can be started.
    pub fn new_run(
        &self,
        account: AccountId,
        search: Search,
        cause: Cause,
        charge: Charge,
        origin: Origin,
    ) -> NewRun {
        NewRun {
            id: RunId::new(),
            account,
            search,
            cause,
            charge,
            simulated: self.config.simulated,
            modules: Vec::new(),
            created_at: self.clock.now(),
            owner: None,
            holds: self.config.lease,
            is_unconfirmed: false,
            idempotency: None,
            origin,
        }
    }

    /// Charges a search, and starts it if a driver is free. Otherwise it waits in the queue of all instances.
    ///
    /// # Errors
    /// Returns why it is refused. A suppressed query is refused before anything else is checked.
    pub fn start(self: &Arc<Self>, new: NewRun) -> Result<StartResult, Refusal> {
        let slot = self.reserve();
        self.begin(new, slot)
    }

    /// Charges a search that nobody waits for, and adds it to the queue of all instances even if a driver is free here.
    ///
    /// # Errors
    /// Returns the errors of [`Self::start`].
    pub fn start_later(self: &Arc<Self>, new: NewRun) -> Result<StartResult, Refusal> {
        self.begin(new, None)
    }

    /// Charges a search, and gives it to a driver. Without one it waits in the queue.
    ///
    /// # Errors
    /// Returns the errors of [`Self::start`].
    pub(super) fn begin(
        self: &Arc<Self>,
        mut new: NewRun,
        slot: Option<Slot>,
    ) -> Result<StartResult, Refusal> {
        new.modules = match self.check(&new) {
            Ok(modules) => modules,
            Err(refusal) if refusal.code == Code::Suppressed => return Err(refusal),
            Err(refusal) => return self.known_run(&new, refusal),
        };
        if slot.is_none() && self.is_queue_full(&new)? {
            return self.known_run(&new, Refusal::overloaded(5));
        }
        let Search { choice, options, .. } = &mut new.search;
        options.named = !choice.modules.is_empty();
        (options.nsfw, options.engines, options.passive) = (choice.nsfw, choice.engines, choice.passive);
        // A picture may be on the searched domain itself.
        options.avatars &= !choice.passive;
        new.owner = slot.as_ref().map(|_| self.instance);
        // A request for a lead needs no key, since a repetition finds the run by its lead.
        new.is_unconfirmed = new.idempotency.is_none()
            && matches!(
                new.cause,
                Cause::Request | Cause::Retry(_) | Cause::Watch(WatchStart { due_at: None, .. })
            );
        match self.store.start(&new)? {
            Started::Repeated(id) => return Ok(StartResult::Repeated(id)),
            Started::Refused(refusal) => return Err(refusal),
            Started::Created => self.figures.note_start(new.search.search_type, new.charge.credits),
        }
        let opening = new.opening();
        if let Some(slot) = slot {
            let from = Resumable::new(opening.clone(), self.instance.lease(0), new.modules);
            if let Some(run) = self.resume(from) {
                self.start_driver(slot, &run);
            }
        } else {
            self.queue.lock().waiting += 1;
            self.wake_if_free();
        }
        Ok(StartResult::Started(Box::new(opening)))
    }

    /// Checks everything that can be checked before a charge. Returns the ids of the search's modules.
    fn check(&self, new: &NewRun) -> Result<Vec<String>, Refusal> {
        let Search { search_type, query, premium, choice, .. } = &new.search;
        let query = Query::parse(*search_type, query)?;
        if self.suppressed().holds(&query) {
            return Err(Refusal::suppressed());
        }
        if self.is_shutting_down() {
            return Err(Refusal::shutting_down());
        }
        let modules = self.modules_for(*search_type, *premium, choice)?;
        if *premium && !self.browsers.is_available() {
            return Err(Refusal::premium_unavailable());
        }
        Ok(modules.iter().map(|module| module.id().to_string()).collect())
    }

    /// Returns whether the queue is full, by this process's count: the limit may be exceeded by a few runs. An account
    /// without a waiting run is never refused because of the runs of others. Runs that leads start without a request leave
    /// half of the queue to others: they are started later. It is not checked in the transaction of the start, which would
    /// delay the drivers that empty the queue.
    fn is_queue_full(&self, new: &NewRun) -> Result<bool, Refusal> {
        let is_followed = new.cause.member().is_some_and(|member| !member.is_on_request);
        let most = self.config.max_waiting / if is_followed { 2 } else { 1 };
        if self.queue.lock().waiting < most {
            return Ok(false);
        }
        let (all, of_account) = self.store.queue_length(self.config.simulated, Some(new.account))?;
        Ok(of_account > 0 && all >= most)
    }

    /// Returns the run of a known idempotency key, or else the refusal. A request that would be refused now may have
    /// been accepted before, with another catalogue, with a browser, or before the shutdown.
    fn known_run(&self, new: &NewRun, refusal: Refusal) -> Result<StartResult, Refusal> {
        let Some(idempotency) = &new.idempotency else { return Err(refusal) };
        match self.store.known_request(new.account, idempotency)? {
            Some(Started::Repeated(id)) => Ok(StartResult::Repeated(id)),
            Some(Started::Refused(mismatch)) => Err(mismatch),
            _ => Err(refusal),
        }
    }

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
        self.catalog().choose(&Selection { search_type, premium, discovery: self.config.discovery }, choice)
    }

    /// Replaces the list of identifiers that are never searched, and removes all shared answers. Runs that are being
    /// driven are not stopped.
    pub fn suppress(&self, list: Suppressed) {
        *self.suppression.write() = Arc::new(list);
        self.scheduler.answers.clear();
    }

    /// Returns the identifiers that are never searched.
    pub fn suppressed(&self) -> Arc<Suppressed> {
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
        self.scheduler.answers.clear();
        self.checker.forget_verdicts();
    }

    /// Returns the number of modules that a search without a choice uses.
    pub fn module_counts(&self) -> ModuleCounts {
        let (catalog, discovery) = (self.catalog(), self.config.discovery);
        let count = |search_type, premium, engines| {
            let choice = Choice { engines, ..Choice::default() };
            catalog.select(&Selection { search_type, premium, discovery }, &choice).len()
        };
        let standard: BTreeMap<_, _> =
            SearchType::ALL.into_iter().map(|kind| (kind, count(kind, false, false))).collect();
        let all = [(false, false), (true, false), (false, true)];
        let [usual, premium, engines] = all.map(|(by, of)| count(SearchType::Username, by, of));
        ModuleCounts { premium: premium - usual, engines: engines - usual, standard }
    }

    /// Returns the search of those modules of a run that came to no conclusion.
    ///
    /// # Errors
    /// Returns the reason if there is nothing to ask again.
    pub fn retry(&self, run: &RunSummary, reports: &[ModuleReport]) -> Result<Search, Refusal> {
        let refused = |why: &str| Refusal::new(Code::Conflict, why);
        if !run.status.is_terminal() {
            return Err(refused("the search has not ended: stop it first, or wait for its end"));
        }
        let query = Query::parse(run.search_type, &run.query).map_err(|_| Refusal::outdated_query())?;
        let (catalog, left) = (self.catalog(), reports.iter().filter(|report| may_conclude(report)));
        let modules: Vec<_> = left
            .filter_map(|report| catalog.get(&report.module))
            .filter(|module| module.entry().enabled && module.search_type() == run.search_type)
            .collect();
        if modules.is_empty() {
            // Each module came to a conclusion, cannot be asked for this query, or is no longer in the catalogue.
            return Err(refused("no module of the search can give another answer"));
        }
        let RunOptions { nsfw, engines, passive, .. } = run.options;
        let ids = modules.iter().map(|module| module.id().to_string()).collect();
        let choice = Choice { modules: ids, nsfw, engines, passive, ..Choice::default() };
        let premium = modules.iter().any(|module| module.is_premium());
        let options = RunOptions { of_batch: false, ..run.options };
        Ok(Search { premium, choice, options, ..Search::plain(&query) })
    }
}

/// Returns whether a module may come to a conclusion if it is asked again.
fn may_conclude(report: &ModuleReport) -> bool {
    match report.status {
        Outcome::Skipped => report.reason.is_some_and(|reason| {
            reason.is_local_fault()
                || matches!(reason, Reason::Stopped | Reason::DailyLimit | Reason::Unavailable)
        }),
        outcome => !outcome.is_conclusive(),
    }
}
