//! The use cases that the API, the web app and MCP share: start a search, ask again, follow a lead, run a watch. Each makes its checks in
//! one order, and says why not by one [`Refusal`].

mod files;

use std::sync::Arc;

use serde::Serialize;
use serde_json::json;
use uuid::Uuid;

use crate::account::rate_limit::RateLimiter;
use crate::account::service::{Accounts, Caller};
use crate::account::sign_in::SignIns;
use crate::base::clock::Clock;
use crate::base::encoding::sha256;
use crate::base::ids::{AccountId, BatchId, RunId, WatchId};
use crate::http;
use crate::model::audit::Origin;
use crate::model::batch::Batch;
use crate::model::credits::STANDARD_COST;
use crate::model::diff::Diff;
use crate::model::notes::{Annotation, AnnotationUpdate, Verdict};
use crate::model::refusal::{Code, Refusal, in_order};
use crate::model::run::{ResultRecord, RunSummary};
use crate::model::search::Search;
use crate::model::start::{Cause, Idempotency, NewRun};
use crate::model::watch::{ChangeKind, NewWatch, Watch};
use crate::modules::profile_index::ProfileIndex;
use crate::modules::query::Query;
use crate::runs::batches::draft::Draft;
use crate::runs::record::{Findings, RunRecord};
use crate::runs::service::{Runs, StartResult};
use crate::store::Store;
use crate::watches::keeper;
use crate::webhooks::registry::Webhooks;

/// The parts that the API, the web app and MCP use.
#[derive(Clone)]
pub struct Services {
    /// The accounts with their plans and credits.
    pub accounts: Arc<Accounts>,
    /// The sessions of the web app, and the use cases of signing in.
    pub sign_ins: Arc<SignIns>,
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
    /// The address that clients use, without a slash at its end.
    pub base_url: String,
    /// The path of the base URL, without a slash at its end. Addresses in answers start with it.
    pub root: String,
    /// Whether a simulated web answers every search. Every answer then reports it.
    pub sandbox: bool,
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
        if self.runs.suppressed().holds(query) {
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
        Err(Refusal::plan_required("premium searches", plans))
    }

    /// Returns the idempotency of a request with a key that asks for this, within 24 hours.
    pub fn idempotency(&self, key: Option<String>, asked: impl Serialize) -> Option<Idempotency> {
        let body_hash = sha256(json!(asked).to_string());
        key.map(|key| Idempotency { key, body_hash, at: self.clock.now() })
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
        let new = self.runs.new_run(caller.account.id, search, Cause::Request, charge, origin);
        self.started(caller, self.runs.start(NewRun { idempotency, ..new }))
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
        let search = self.runs.retry(run, &reports)?;
        self.check_plan(caller, search.premium)?;
        let idempotency = self.idempotency(key, ("retry", run.id));
        let charge = self.accounts.charge(caller, search.cost());
        let new = self.runs.new_run(run.account, search, Cause::Retry(run.id), charge, origin);
        self.started(caller, self.runs.start(NewRun { idempotency, ..new }))
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
        let id = self.runs.follow_lead(&family, lead, &charge, origin)?;
        self.find_run(caller, id)
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
        let idempotency = self.idempotency(key, ("watch", watch.id));
        let new = keeper::new_run(&self.runs, watch, None, charge, origin);
        match self.runs.start(NewRun { idempotency, ..new }) {
            Err(refusal) if refusal.fact("field") == "query" => {
                let message = "the query of the watch is no longer valid: delete the watch";
                Err(Refusal::new(Code::Conflict, message))
            }
            started => self.started(caller, started),
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
        let idempotency = self.idempotency(key, draft.fingerprint(name.as_deref()));
        let rows = draft.rows.clone();
        self.runs.create_batch(caller.account.id, name, rows, idempotency, origin)
    }

    /// Creates a watch, or finds that of an earlier request with the same key. Of its search, what concerns a single run is
    /// dropped.
    ///
    /// # Errors
    /// Returns why it was not created.
    pub fn create_watch(
        &self,
        caller: &Caller,
        query: &Query,
        watch: NewWatch,
        key: Option<String>,
        origin: &Origin,
    ) -> Result<Watch, Refusal> {
        let mut watch = NewWatch { search: Search { follow: None, purpose: None, ..watch.search }, ..watch };
        watch.notify_on = notified_kinds(watch.notify_on)?;
        self.check(caller, query, &watch.search, false)?;
        let NewWatch { search, every, notify_on, webhook, since, .. } = &watch;
        watch.idempotency = self.idempotency(key, (search, every, notify_on, webhook, since));
        self.store.add_watch(&watch, origin)
    }

    /// Changes what is noted about a result. What is mine gets a screenshot if its run keeps evidence.
    ///
    /// # Errors
    /// Returns the refusal of an unknown result.
    pub fn annotate(
        &self,
        run: RunId,
        result: u32,
        account: AccountId,
        update: &AnnotationUpdate,
        by: &Origin,
    ) -> Result<Annotation, Refusal> {
        let annotation = self.store.annotate(run, result, account, update, by)?;
        let annotation = annotation.ok_or_else(|| Refusal::no_such("result"))?;
        if update.verdict == Some(Some(Verdict::Mine)) && annotation.screenshot.is_none() {
            // The verdict is stored, whatever becomes of this.
            let found = self.store.run(run, account).ok().flatten();
            if let (Some(run), Ok(record)) = (found, self.result(run, result)) {
                self.runs.take_screenshot(&run, &record);
            }
        }
        Ok(annotation)
    }

    /// Returns a result of a run.
    ///
    /// # Errors
    /// Returns the refusal of an unknown one.
    pub(super) fn result(&self, run: RunId, result: u32) -> Result<ResultRecord, Refusal> {
        let record = self.store.results(run, result.saturating_sub(1), 1)?.pop();
        record.filter(|record| record.id == result).ok_or_else(|| Refusal::no_such("result"))
    }

    fn started(&self, caller: &Caller, started: Result<StartResult, Refusal>) -> Result<RunSummary, Refusal> {
        match started? {
            StartResult::Started(run) => Ok(*run),
            StartResult::Repeated(id) => self.find_run(caller, id),
        }
    }

    /// Calls `make` with what a run has found, and with what the runs below it have found if `family` is true.
    ///
    /// # Errors
    /// Returns the refusal of a run whose query is no longer valid, and a failure of the store.
    pub fn of_family<T>(
        &self,
        run: RunRecord,
        family: bool,
        make: impl FnOnce(&[Findings<'_>], &ProfileIndex) -> T,
    ) -> Result<T, Refusal> {
        let catalog = self.runs.catalog();
        let found = findings(&run)?;
        if family {
            return Ok(make(&self.runs.family(run)?.findings(), catalog.profiles()));
        }
        Ok(make(&[found], catalog.profiles()))
    }

    /// Returns what changed from one run to another one.
    ///
    /// # Errors
    /// Returns the refusal of runs that cannot be compared, or whose query is no longer valid.
    pub fn diff(&self, before: &RunRecord, after: &RunRecord) -> Result<Diff, Refusal> {
        Diff::between(&findings(before)?, &findings(after)?, self.runs.catalog().profiles())
    }

    /// Returns a run of the caller.
    ///
    /// # Errors
    /// Returns the same refusal for an unknown, foreign and deleted one.
    pub fn find_run(&self, caller: &Caller, id: RunId) -> Result<RunSummary, Refusal> {
        self.store.run(id, caller.account.id)?.ok_or_else(|| Refusal::no_such("run"))
    }

    /// Returns a batch of the caller.
    ///
    /// # Errors
    /// Returns the same refusal for an unknown, foreign and deleted one.
    pub fn find_batch(&self, caller: &Caller, id: BatchId) -> Result<Batch, Refusal> {
        self.store.batch(caller.account.id, id)?.ok_or_else(|| Refusal::no_such("batch"))
    }

    /// Returns a watch of the caller.
    ///
    /// # Errors
    /// Returns the same refusal for an unknown, foreign and deleted one.
    pub fn find_watch(&self, caller: &Caller, id: WatchId) -> Result<Watch, Refusal> {
        self.store.watch(caller.account.id, id)?.ok_or_else(|| Refusal::no_such("watch"))
    }
}

fn findings(run: &RunRecord) -> Result<Findings<'_>, Refusal> {
    run.findings().ok_or_else(Refusal::outdated_query)
}

/// Returns the kinds of changes of a watch sorted, each once.
///
/// # Errors
/// Returns the refusal of none.
pub fn notified_kinds(kinds: Vec<ChangeKind>) -> Result<Vec<ChangeKind>, Refusal> {
    in_order("notify_on", kinds, &ChangeKind::ALL.map(ChangeKind::as_str))
}

impl From<http::Refusal> for Refusal {
    fn from(refusal: http::Refusal) -> Self {
        use http::Refusal as Why;
        let (status, field, mistake) = refusal.parts();
        match refusal {
            Why::NotFound => Self::no_such("address"),
            Why::MethodNotAllowed(allow) => {
                let message = format!("method not allowed: this address supports {allow}");
                let methods: Vec<&str> = allow.split(", ").collect();
                Self::new(Code::MethodNotAllowed, message).with("allowed", methods)
            }
            Why::BodyTooLarge => Self::new(Code::PayloadTooLarge, mistake)
                .with("field", field)
                .with("allowed", "at most 65536 bytes, and 2097152 bytes for a batch"),
            Why::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Why::ShuttingDown => Self::shutting_down(),
            Why::Internal(cause) => Self::internal(cause),
            _ => Self::new(Code::InvalidRequest, mistake).with("field", field).with_status(status),
        }
    }
}
