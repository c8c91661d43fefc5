//! What the API and the web app do alike: start a search, ask again, follow a lead, run a watch. Each makes its checks in
//! one order, and says why not by one [`Refusal`].

use std::sync::Arc;

use uuid::Uuid;

use crate::account::rate_limit::RateLimiter;
use crate::account::service::{Accounts, Caller};
use crate::base::clock::Clock;
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::credits::{Charge, STANDARD_COST};
use crate::model::follow::MAX_SEARCHES;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, Refused};
use crate::model::watch::{Watch, WatchError};
use crate::modules::catalog::ChoiceError;
use crate::modules::query::{Query, QueryError};
use crate::runs::batches::service::Batches;
use crate::runs::family::service::FollowResult;
use crate::runs::retry::Retry;
use crate::runs::service::{Found, Runs, StartError, StartRequest, StartResult, idempotency_valid_since};
use crate::store::Store;
use crate::watches::keeper;
use crate::webhooks::registry::Webhooks;

/// Why no search was started. Nothing was charged, unless the store failed.
#[derive(Debug)]
pub enum Refusal {
    /// The query is not valid.
    Query(QueryError),
    /// The choice of modules is not valid.
    Choice(ChoiceError),
    /// The identifier is never searched.
    Suppressed,
    /// The plan does not include premium searches.
    Premium {
        /// The plan of the account.
        plan: String,
        /// The plans that do.
        plans: Vec<String>,
    },
    /// The credits are not enough.
    Credits {
        /// What the search costs, and when the cycle ends.
        charge: Charge,
        /// The credits that were used in the cycle.
        used: u64,
    },
    /// The idempotency key was used for another request, or for a search that was deleted.
    KeyUsed,
    /// The account is being deleted.
    UnknownAccount,
    /// The account has no such run, lead or watch.
    NoSuch(&'static str),
    /// The state of the run, the lead or the watch does not allow it.
    Conflict(String),
    /// No browser is available, which premium searches need.
    NoBrowser,
    /// Too many searches wait.
    Overloaded,
    /// The process is shutting down.
    ShuttingDown,
    /// The store failed. The search may have started if the store was lost.
    Storage(StorageError),
    /// A defect of the service.
    Internal(String),
}

impl From<StorageError> for Refusal {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// What the API and the web app are made of.
#[derive(Clone)]
pub struct Services {
    /// The accounts with their plans and credits.
    pub accounts: Arc<Accounts>,
    /// The limiter of requests per minute.
    pub limiter: Arc<RateLimiter>,
    /// The searches.
    pub runs: Arc<Runs>,
    /// The batches of searches.
    pub batches: Arc<Batches>,
    /// The webhooks.
    pub webhooks: Arc<Webhooks>,
    /// The stored data.
    pub store: Arc<Store>,
    /// The clock that gives the time of day.
    pub clock: Arc<dyn Clock>,
}

impl Services {
    /// Checks a search in the order in which all are checked: whether it is suppressed comes before anything about the
    /// caller or the search is revealed. A request with an idempotency key may repeat a choice of modules from an earlier
    /// catalogue, so the choice is then checked only when the search starts.
    ///
    /// # Errors
    /// Returns why the search would not start.
    pub fn check(
        &self,
        caller: &Caller,
        query: &Query,
        search: &Search,
        has_key: bool,
    ) -> Result<(), Refusal> {
        if self.runs.is_suppressed(query) {
            return Err(Refusal::Suppressed);
        }
        if !has_key {
            self.runs.modules_for(query, search.premium, &search.choice).map_err(Refusal::Choice)?;
        }
        self.check_plan(caller, search.premium)
    }

    fn check_plan(&self, caller: &Caller, premium: bool) -> Result<(), Refusal> {
        if !premium || caller.plan.premium {
            return Ok(());
        }
        let plans = self.accounts.plans().names_where(|plan| plan.premium);
        let plans = plans.into_iter().map(str::to_owned).collect();
        Err(Refusal::Premium { plan: caller.plan.name.clone(), plans })
    }

    /// Returns the idempotency of a request that is repeated with the same key within 24 hours.
    pub fn idempotency(&self, key: String, body_hash: [u8; 32]) -> Idempotency {
        Idempotency { key, body_hash, valid_since: idempotency_valid_since(self.clock.now()) }
    }

    /// Charges and starts a search, or finds the run of an earlier request with the same key.
    ///
    /// # Errors
    /// Returns why it did not start.
    pub fn start(
        &self,
        caller: &Caller,
        search: Search,
        idempotency: Option<Idempotency>,
        origin: Origin,
    ) -> Result<Found, Refusal> {
        let charge = self.accounts.charge(caller, search.cost());
        let (account, cause) = (caller.account.id, Cause::Request);
        let started = self.runs.start(StartRequest { account, search, cause, charge, origin, idempotency });
        self.started(caller, charge, started)
    }

    /// Asks the modules of a run again that came to no conclusion.
    ///
    /// # Errors
    /// Returns why no search did start.
    pub fn retry(
        &self,
        caller: &Caller,
        run: &Found,
        key: Option<String>,
        origin: Origin,
    ) -> Result<Found, Refusal> {
        let reports = self.runs.reader.reports(run)?;
        let summary = run.summary();
        let retry = Retry::of(&summary, &reports, &self.runs.catalog())
            .map_err(|error| Refusal::Conflict(error.to_string()))?;
        self.check_plan(caller, retry.is_premium())?;
        let idempotency = key.map(|key| self.idempotency(key, retry.fingerprint()));
        let charge = self.accounts.charge(caller, retry.cost());
        self.started(caller, charge, retry.start(&self.runs, charge, idempotency, origin))
    }

    /// Starts the search for a lead of a run, or finds the one that it has.
    ///
    /// # Errors
    /// Returns why no search did start.
    pub fn follow(&self, caller: &Caller, run: &Found, lead: Uuid, origin: Origin) -> Result<Found, Refusal> {
        let families = &self.runs.families;
        let family = families.of(self.runs.reader.record(run)?)?;
        let charge = self.accounts.charge(caller, STANDARD_COST);
        match families.follow(&family, lead, &charge, origin)? {
            FollowResult::Run(id) => self.find(caller, id, "lead"),
            FollowResult::NoSuchLead => Err(Refusal::NoSuch("lead")),
            FollowResult::NotFollowable(Some(reason)) => {
                let reason = serde_json::to_value(reason).unwrap_or_default();
                let reason = reason.as_str().unwrap_or_default();
                Err(Refusal::Conflict(format!("this lead cannot be followed: {reason}")))
            }
            FollowResult::NotFollowable(None) => {
                Err(Refusal::Conflict("the search has found this lead already".to_owned()))
            }
            FollowResult::Suppressed => Err(Refusal::Suppressed),
            FollowResult::Refused(refused) => Err(self::refused(refused, charge)),
        }
    }

    /// Starts a run of a watch, or finds its last one if that has not ended.
    ///
    /// # Errors
    /// Returns why no run did start.
    pub fn run_watch(&self, caller: &Caller, watch: &Watch, origin: Origin) -> Result<Found, Refusal> {
        self.check_plan(caller, watch.premium)?;
        let charge = self.accounts.charge(caller, watch.search().cost());
        match keeper::run_now(&self.runs, watch, charge, origin) {
            Ok(started) => self.started(caller, charge, started),
            Err(WatchError::Storage(error)) => Err(error.into()),
            Err(error) => Err(Refusal::Conflict(error.to_string())),
        }
    }

    fn started(
        &self,
        caller: &Caller,
        charge: Charge,
        started: Result<StartResult, StartError>,
    ) -> Result<Found, Refusal> {
        Err(match started {
            Ok(StartResult::Started(run)) => return Ok(run),
            Ok(StartResult::Repeated(id)) => return self.find(caller, id, "run"),
            Err(StartError::Query(error)) => Refusal::Query(error),
            Err(StartError::Suppressed) => Refusal::Suppressed,
            Err(StartError::Refused(refused)) => self::refused(refused, charge),
            Err(StartError::ShuttingDown) => Refusal::ShuttingDown,
            Err(StartError::Choice(error)) => Refusal::Choice(error),
            Err(StartError::NoBrowser) => Refusal::NoBrowser,
            Err(StartError::Storage(error)) => Refusal::Storage(error),
        })
    }

    fn find(&self, caller: &Caller, id: RunId, thing: &'static str) -> Result<Found, Refusal> {
        self.runs.reader.find(id, caller.account.id)?.ok_or(Refusal::NoSuch(thing))
    }
}

fn refused(refused: Refused, charge: Charge) -> Refusal {
    match refused {
        Refused::Mismatch => Refusal::KeyUsed,
        Refused::UnknownAccount => Refusal::UnknownAccount,
        Refused::Overloaded => Refusal::Overloaded,
        Refused::FamilyGone => Refusal::Conflict("the first search of the family was deleted".to_owned()),
        Refused::FamilyFull => {
            Refusal::Conflict(format!("leads have started {MAX_SEARCHES} searches, which is the most"))
        }
        Refused::WatchNotDue => Refusal::NoSuch("watch"),
        Refused::InsufficientCredits { used } => Refusal::Credits { charge, used },
        // No request starts the run of a batch.
        Refused::RowGone => Refusal::Internal("the start was refused for a row of a batch".to_owned()),
    }
}
