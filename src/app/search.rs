//! Searches without a server: they run in this process and are not stored.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::engine::{Engine, load_catalog};
use super::error::AppError;
use super::{keys, suppression};
use crate::base::clock::{Clock, SystemClock};
use crate::base::ids::AccountId;
use crate::config::{EngineConfig, SuppressionConfig};
use crate::model::account::{Account, Role};
use crate::model::audit::Origin;
use crate::model::credits::{Charge, Cycle};
use crate::model::follow::FollowOrder;
use crate::model::run::{Progress, ResultRecord, RunOptions};
use crate::model::search::Search;
use crate::model::start::Cause;
use crate::modules::catalog::{Catalog, Choice};
use crate::modules::probe::ProbeError;
use crate::modules::profile_index::NamedAccount;
use crate::modules::query::Query;
use crate::runs::family::plan::NextSearch;
use crate::runs::live::LiveRun;
use crate::runs::proof::Stop;
use crate::runs::record::RunRecord;
use crate::runs::service::{Found, RunHooks, Runs, StartError, StartRequest, StartResult};
use crate::store::{self, Store};

const SUPPRESSED: &str = "the query is suppressed: it is on the list of what is never searched (--suppress)";
/// The interval at which a search looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The number of searches of a list that run at once. More would ask the same sites at the same time.
const AT_ONCE: usize = 4;

/// A request for searches without a server.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The modules, and the limits for checks.
    pub engine: EngineConfig,
    /// Whether browser modules take part.
    pub premium: bool,
    /// How long the checks may take.
    pub options: RunOptions,
    /// The modules that are asked.
    pub choice: Choice,
    /// How leads are followed, if they are.
    pub follow: Option<FollowOrder>,
    /// The identifiers that are never searched.
    pub suppression: SuppressionConfig,
}

/// Something that happens during a search.
#[derive(Clone, Copy)]
pub enum SearchEvent<'a> {
    /// A lead starts a further search.
    Child(&'a NextSearch),
    /// A result got its number.
    Result(&'a ResultRecord),
    /// Some modules have ended.
    Progress(Progress),
    /// A search of a list has ended. It is the last event of this search.
    Ended(&'a RunRecord, &'a Catalog),
    /// The query of a list is suppressed, so nothing is asked. It is the only event of this search.
    Suppressed,
}

/// The searches that a request has started, and the catalogue that they have used. Its browsers stay open until it is
/// dropped.
pub struct Searched {
    /// The search, and those that its leads have started, in this order.
    pub records: Vec<RunRecord>,
    /// The catalogue.
    pub catalog: Arc<Catalog>,
    engine: Engine,
}

impl Searched {
    /// Prints an HTML page that loads nothing as a PDF.
    ///
    /// # Errors
    /// Fails if no configured browser prints it.
    pub fn print(&self, page: &str) -> Result<Vec<u8>, ProbeError> {
        self.engine.runs.browsing().print(page)
    }
}

/// Returns the first of the pasted addresses that is the profile of an account, with the account.
///
/// # Errors
/// Fails if the catalogue cannot be loaded.
pub fn account_in<'t>(
    engine: &EngineConfig,
    texts: &[&'t str],
) -> Result<Option<(&'t str, NamedAccount)>, AppError> {
    let catalog = load_catalog(engine)?;
    let profiles = catalog.profiles();
    Ok(texts.iter().find_map(|text| Some((*text, profiles.account_in(text)?))))
}

/// Runs one search until it ends or `sink` breaks it off, and then the searches that its leads start. If `stop` is set, the
/// search ends with what it has, and no further one is started. Returns the run as far as it came, and the others in the
/// order in which they were started.
///
/// # Errors
/// Fails if the search cannot start. A run that fails is a record, not an error.
pub fn search(
    request: &SearchRequest,
    query: &Query,
    stop: &Stop,
    mut sink: impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<Searched, AppError> {
    // Searches follow each other, but the driver of one may end a moment after the next has begun.
    let most_runs = 1 + request.follow.as_ref().map_or(0, |order| usize::from(order.max_searches));
    let local = LocalSearches::open(request, most_runs)?;
    let runs = &local.engine.runs;
    if runs.is_suppressed(query) {
        return Err(AppError::config(SUPPRESSED));
    }
    let start = local.start_request(request, query);
    let run = local.start(start.clone())?;
    let mut goes_on = local.watch(&run, stop, &mut sink).is_continue();
    let mut records = vec![local.record(&run)];
    let (mut known, limit) =
        (HashSet::new(), start.search.follow.as_ref().map_or(0, |order| order.max_searches));
    while goes_on && !stop.is_set() && known.len() < usize::from(limit) {
        // One at a time: the leads of one level come before those of the next one.
        let Some(next) = runs.families.next(&records, &known).into_iter().next() else { break };
        known.insert(next.member.lead);
        goes_on = sink(SearchEvent::Child(&next)).is_continue();
        if goes_on && let Some(run) = start_child(runs, &start, next) {
            goes_on = local.watch(&run, stop, &mut sink).is_continue();
            records.push(local.record(&run));
        }
    }
    local.close();
    Ok(Searched { records, catalog: local.engine.runs.catalog(), engine: local.engine })
}

/// Runs a search for each query, some at once, until all have ended or `sink` breaks off. Events come in the order of the
/// queries, each with the index of its query. If `stop` is set, the searches that have begun end with what they have, and
/// no further one is started.
///
/// # Errors
/// Fails if a search cannot start. A run that fails is a record, not an error.
pub fn search_all(
    request: &SearchRequest,
    queries: &[Query],
    stop: &Stop,
    mut sink: impl FnMut(usize, SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<(), AppError> {
    let local = LocalSearches::open(request, 2 * AT_ONCE)?;
    let runs = &local.engine.runs;
    let mut waiting = queries.iter();
    let mut started: VecDeque<Option<Arc<LiveRun>>> = VecDeque::new();
    for index in 0..queries.len() {
        let free = if stop.is_set() { 0 } else { AT_ONCE - started.len() };
        for query in waiting.by_ref().take(free) {
            let is_suppressed = runs.is_suppressed(query);
            let start = (!is_suppressed).then(|| local.start(local.start_request(request, query)));
            started.push_back(start.transpose()?);
        }
        // A list that was stopped ends here.
        let Some(next) = started.pop_front() else { break };
        let shown = match next {
            None => sink(index, SearchEvent::Suppressed),
            Some(run) => {
                let goes_on = local.watch(&run, stop, &mut |event| sink(index, event));
                goes_on
                    .is_continue()
                    .then(|| local.record(&run))
                    .map_or(goes_on, |record| sink(index, SearchEvent::Ended(&record, &runs.catalog())))
            }
        };
        if shown.is_break() {
            break;
        }
    }
    local.close();
    Ok(())
}

/// The engine of searches that are not stored.
struct LocalSearches {
    engine: Engine,
    store: Arc<Store>,
    account: AccountId,
    clock: Arc<dyn Clock>,
}

impl LocalSearches {
    fn open(request: &SearchRequest, most_runs: usize) -> Result<Self, AppError> {
        let suppressed = suppression::load(&request.suppression)?;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = store::in_memory().map_err(AppError::failed)?;
        let now = clock.now();
        let (id, email, plan) = (AccountId::new(), "local".to_owned(), String::new());
        let account = Account { id, email, plan, anchor: now, created_at: now, role: Role::default() };
        store.add_account(&account, &Origin::CLI).map_err(AppError::failed)?;
        let catalog = load_catalog(&request.engine)?;
        keys::check(&request.engine, &catalog)?;
        let engine = Engine::build(
            &request.engine,
            catalog,
            most_runs,
            Arc::clone(&store),
            Arc::clone(&clock),
            RunHooks::default(),
        )?;
        if let Some((list, _)) = suppressed {
            engine.runs.suppress(list);
        }
        Ok(Self { engine, store, account: account.id, clock })
    }

    fn start_request(&self, request: &SearchRequest, query: &Query) -> StartRequest {
        let choice = self.engine.runs.catalog().with_ids(query.search_type(), request.choice.clone());
        let follow = request.follow.clone().map(|order| FollowOrder { choice: choice.clone(), ..order });
        let now = self.clock.now();
        StartRequest {
            account: self.account,
            search: Search {
                premium: request.premium,
                options: request.options,
                follow: follow.map(Arc::new),
                choice,
                ..Search::plain(query)
            },
            cause: Cause::Request,
            charge: Charge { credits: 0, allowed: None, cycle: Cycle::at(now, now) },
            idempotency: None,
            origin: Origin::CLI,
        }
    }

    fn start(&self, request: StartRequest) -> Result<Arc<LiveRun>, AppError> {
        match self.engine.runs.start(request) {
            Ok(StartResult::Started(Found::Live(run))) => Ok(run),
            Err(StartError::Choice(error)) => Err(AppError::config(error)),
            Err(StartError::NoBrowser) => Err(browser_error(&self.engine)),
            Ok(_) | Err(_) => Err(AppError::failed("cannot start the search")),
        }
    }

    fn record(&self, run: &LiveRun) -> RunRecord {
        let mut record = run.record(self.clock.now());
        // They are in memory, so this does not fail.
        record.thumbnails = self.store.thumbnails(record.summary.id).unwrap_or_default();
        record
    }

    /// Passes the events of the run to `sink` until the run ends or the sink breaks off. Ends the run early if `stop` is set.
    fn watch(
        &self,
        run: &LiveRun,
        stop: &Stop,
        sink: &mut impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (mut shown, mut completed) = (0, None);
        loop {
            if stop.is_set() {
                run.end_early(self.clock.now());
            }
            let (summary, results, version) = run.snapshot();
            for result in &results[shown..] {
                sink(SearchEvent::Result(result))?;
            }
            shown = results.len();
            if completed != Some(summary.progress.modules_completed) {
                completed = Some(summary.progress.modules_completed);
                sink(SearchEvent::Progress(summary.progress))?;
            }
            if summary.status.is_terminal() || run.stopped().is_some() {
                return ControlFlow::Continue(());
            }
            run.wait_for_change(version, Instant::now() + LOOK_EVERY);
            self.engine.runs.run_due_tasks();
        }
    }

    /// Ends all runs. The driver of an ended run stops at once; that of a cancelled run needs a moment.
    fn close(&self) {
        self.engine.runs.shut_down(Instant::now() + Duration::from_secs(2));
    }
}

/// Starts the search for a lead. Returns `None` if it cannot be started now.
fn start_child(runs: &Arc<Runs>, root: &StartRequest, next: NextSearch) -> Option<Arc<LiveRun>> {
    let order = root.search.follow.as_ref()?;
    let NextSearch { member, query, .. } = next;
    let search = Search {
        options: root.search.options,
        choice: order.choice_for(query.search_type(), root.search.search_type),
        follow: root.search.follow.clone(),
        ..Search::plain(&query)
    };
    let request = StartRequest { search, cause: Cause::Lead(member), ..root.clone() };
    match runs.start(request) {
        Ok(StartResult::Started(Found::Live(run))) => Some(run),
        _ => None,
    }
}

/// Returns the error for a premium search without a browser: none is configured, or none answers.
fn browser_error(engine: &Engine) -> AppError {
    match engine.runs.browsing().sessions() {
        0 => AppError::config("no browser is configured: a premium search needs one (--browser auto)"),
        _ => AppError::failed("the configured browser does not answer: a premium search needs one"),
    }
}
