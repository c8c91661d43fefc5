//! [`Start`]: starts a run for a lead.

use log::info;

use super::plan::NextSearch;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::follow::NewMember;
use crate::model::run::{RunOptions, RunSummary};
use crate::model::search::Search;
use crate::model::start::{Cause, NewRun, Started};
use crate::runs::context::RunContext;

/// A run that a lead is to start.
pub(super) struct Start<'a> {
    /// A run of the family, whose account and options it has.
    pub(super) like: &'a RunSummary,
    /// What it searches for.
    pub(super) search: NextSearch,
    /// Whether its modules were named.
    pub(super) named: bool,
    /// The maximum number of runs that leads start in the family.
    pub(super) max_searches: u8,
    /// Whether its owner asked for it, and not the following of leads.
    pub(super) is_on_request: bool,
    /// Who asked for it.
    pub(super) origin: Origin,
}

impl Start<'_> {
    /// Charges the run, and queues it for any instance. Returns its id, which is in use only if it was created. If the
    /// answer of the commit is lost, the next try finds the run by its lead.
    ///
    /// # Errors
    /// Returns an error if the store fails.
    pub(super) fn start(
        self,
        context: &RunContext,
        charge: &Charge,
    ) -> Result<(RunId, Started), StorageError> {
        let Self { like, search, named, max_searches, is_on_request, origin } = self;
        let NextSearch { lead, class, query, modules, place } = search;
        let new = NewRun {
            id: RunId::new(),
            account: like.account,
            search: Search {
                options: RunOptions { named, ..like.options },
                follow: like.follow.clone(),
                ..Search::plain(&query)
            },
            cause: Cause::Lead(NewMember { place, lead, class, max_searches, is_on_request }),
            simulated: like.simulated,
            modules: modules.iter().map(|module| module.id().to_string()).collect(),
            created_at: context.clock.now(),
            owner: None,
            holds: context.limits.lease,
            max_waiting: None,
            // A lead is searched once.
            is_unconfirmed: false,
            idempotency: None,
            origin,
        };
        let started = context.store.start(&new, charge)?;
        if started == Started::Created {
            info!("run {}: started for a lead of run {}", new.id, place.parent);
            context.figures.note_start(new.search.search_type, charge.credits);
            context.lifecycle.wake_maintenance();
        }
        Ok((new.id, started))
    }
}
