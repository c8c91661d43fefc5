//! What the API and the web app do alike: start a search, ask again, follow a lead, run a watch. Each makes its checks in
//! one order, and says why not by one [`Refusal`].

pub mod refusal;

use std::sync::Arc;

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::account::rate_limit::RateLimiter;
use crate::account::service::{Accounts, Caller};
use crate::base::clock::Clock;
use crate::base::ids::{BatchId, RunId};
use crate::model::audit::Origin;
use crate::model::credits::{Charge, STANDARD_COST};
use crate::model::follow::LeadReason;
use crate::model::run::RunSummary;
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, Refused, Started};
use crate::model::watch::Watch;
use crate::modules::query::Query;
use crate::runs::batches::draft::Draft;
use crate::runs::family::FollowResult;
use crate::runs::retry::retry;
use crate::runs::service::{Runs, StartError, StartRequest, StartResult};
use crate::store::Store;
use crate::watches::keeper;
use crate::webhooks::registry::Webhooks;
use refusal::{Code, Refusal};

/// What the API and the web app are made of.
#[derive(Clone)]
pub struct Services {
    /// The accounts with their plans and credits.
    pub accounts: Arc<Accounts>,
    /// The limiter of requests per minute.
    pub limiter: Arc<RateLimiter>,
    /// The searches.
    pub runs: Arc<Runs>,
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
            return Err(Refusal::suppressed());
        }
        if !has_key {
            self.runs.modules_for(search.search_type, search.premium, &search.choice)?;
        }
        self.check_plan(caller, search.premium)
    }

    /// Checks whether the plan of the caller includes a search.
    ///
    /// # Errors
    /// Returns the refusal of a premium search that it does not include.
    pub fn check_plan(&self, caller: &Caller, premium: bool) -> Result<(), Refusal> {
        if !premium || caller.plan.premium {
            return Ok(());
        }
        let plans = self.accounts.plans().names_where(|plan| plan.premium);
        Err(Refusal::plan_required("premium searches", &plans))
    }

    /// Returns the idempotency of a request that is repeated with the same key within 24 hours.
    pub fn idempotency(&self, key: String, body_hash: [u8; 32]) -> Idempotency {
        Idempotency { key, body_hash, at: self.clock.now() }
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
    ) -> Result<RunSummary, Refusal> {
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
        run: &RunSummary,
        key: Option<String>,
        origin: Origin,
    ) -> Result<RunSummary, Refusal> {
        let reports = self.store.modules(run.id)?;
        let search = retry(run, &reports, &self.runs.catalog())
            .map_err(|error| Refusal::new(Code::Conflict, error.to_string()))?;
        self.check_plan(caller, search.premium)?;
        let idempotency =
            key.map(|key| self.idempotency(key, Sha256::digest(format!("retry {}", run.id)).into()));
        let charge = self.accounts.charge(caller, search.cost());
        let (account, cause) = (run.account, Cause::Retry(run.id));
        let started = self.runs.start(StartRequest { account, search, cause, charge, idempotency, origin });
        self.started(caller, charge, started)
    }

    /// Starts the search for a lead of a run, or finds the one that it has.
    ///
    /// # Errors
    /// Returns why no search did start.
    pub fn follow(
        &self,
        caller: &Caller,
        run: &RunSummary,
        lead: Uuid,
        origin: Origin,
    ) -> Result<RunSummary, Refusal> {
        let family = self.runs.family(self.runs.record(run.clone())?)?;
        let charge = self.accounts.charge(caller, STANDARD_COST);
        let followed = self.runs.follow_lead(&family, lead, &charge, origin);
        match followed.map_err(|error| refusal_of(error, charge))? {
            FollowResult::Run(id) => self.find(caller, id, "lead"),
            FollowResult::NoSuchLead => Err(Refusal::no_such("lead")),
            FollowResult::NotFollowable(Some(LeadReason::Suppressed)) => Err(Refusal::suppressed()),
            FollowResult::NotFollowable(Some(reason)) => {
                let reason = serde_json::to_value(reason).unwrap_or_default();
                let reason = reason.as_str().unwrap_or_default();
                Err(Refusal::new(Code::Conflict, format!("this lead cannot be followed: {reason}")))
            }
            FollowResult::NotFollowable(None) => {
                Err(Refusal::new(Code::Conflict, "the search has found this lead already"))
            }
        }
    }

    /// Starts a run of a watch, or finds its last one if that has not ended, or that of an earlier request with the same
    /// key.
    ///
    /// # Errors
    /// Returns why no run did start.
    pub fn run_watch(
        &self,
        caller: &Caller,
        watch: &Watch,
        key: Option<String>,
        origin: Origin,
    ) -> Result<RunSummary, Refusal> {
        self.check_plan(caller, watch.premium)?;
        let charge = self.accounts.charge(caller, watch.search().cost());
        let idempotency =
            key.map(|key| self.idempotency(key, Sha256::digest(format!("watch {}", watch.id)).into()));
        match keeper::run_now(&self.runs, watch, charge, idempotency, origin) {
            Ok(started) => self.started(caller, charge, started),
            Err(error) => Err(error.into()),
        }
    }

    /// Accepts a batch of searches, or finds that of an earlier request with the same key. Returns its id.
    ///
    /// # Errors
    /// Returns why it was not accepted.
    pub fn create_batch(
        &self,
        caller: &Caller,
        name: Option<String>,
        draft: &Draft,
        key: Option<String>,
        origin: &Origin,
    ) -> Result<BatchId, Refusal> {
        let idempotency = key.map(|key| self.idempotency(key, draft.fingerprint(name.as_deref())));
        let rows = draft.rows.clone();
        match self.runs.create_batch(caller.account.id, name, rows, idempotency, origin)? {
            (_, Started::Refused(refused)) => Err(refused.into()),
            (id, Started::Created | Started::Repeated(_)) => Ok(id),
        }
    }

    fn started(
        &self,
        caller: &Caller,
        charge: Charge,
        started: Result<StartResult, StartError>,
    ) -> Result<RunSummary, Refusal> {
        match started {
            Ok(StartResult::Started(run)) => Ok(*run),
            Ok(StartResult::Repeated(id)) => self.find(caller, id, "run"),
            Err(error) => Err(refusal_of(error, charge)),
        }
    }

    fn find(&self, caller: &Caller, id: RunId, thing: &'static str) -> Result<RunSummary, Refusal> {
        self.runs.find(id, caller.account.id)?.ok_or_else(|| Refusal::no_such(thing))
    }
}

fn refusal_of(error: StartError, charge: Charge) -> Refusal {
    match error {
        StartError::Refused(Refused::InsufficientCredits { used }) => {
            Refusal::insufficient_credits(charge, used)
        }
        error => error.into(),
    }
}
