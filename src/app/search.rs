//! One search without a server: it runs in this process and is not stored.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::error::AppError;
use super::keys;
use super::parts::{Engine, catalog_sources, load_catalog};
use super::suppression;
use crate::account::audit::Origin;
use crate::account::credits::{Charge, Cycle};
use crate::base::clock::{Clock, SystemClock};
use crate::base::ids::AccountId;
use crate::config::{EngineConfig, SuppressionConfig};
use crate::modules::catalog::Choice;
use crate::modules::query::Query;
use crate::runs::family::member::{FollowOrder, NewMember};
use crate::runs::family::plan::NextSearch;
use crate::runs::journal::Journal;
use crate::runs::live::LiveRun;
use crate::runs::record::RunRecord;
use crate::runs::run::{Progress, ResultRecord};
use crate::runs::run_options::RunOptions;
use crate::runs::service::{RunHooks, Runs, StartError, StartRequest, StartResult};
use crate::runs::unrecorded::Unrecorded;

const SUPPRESSED: &str = "the query is suppressed: it is on the list of what is never searched (--suppress)";
/// The lease of a run that no other process can take over, since it is not stored.
const LEASE: Duration = Duration::from_secs(60);

/// A request for one search without a server.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// The modules, and the limits for checks.
    pub engine: EngineConfig,
    /// The query.
    pub query: Query,
    /// Whether browser modules take part.
    pub premium: bool,
    /// How long its checks may take.
    pub options: RunOptions,
    /// The modules that are asked.
    pub choice: Choice,
    /// How leads are followed, if they are.
    pub follow: Option<FollowOrder>,
    /// The identifiers that are never searched.
    pub suppression: SuppressionConfig,
}

/// Something that happens during a search.
#[derive(Debug, Clone, Copy)]
pub enum SearchEvent<'a> {
    /// A lead starts a further search.
    Child(&'a NextSearch),
    /// A result got its number.
    Result(&'a ResultRecord),
    /// Some modules have ended.
    Progress(Progress),
}

/// Runs one search until it ends or `sink` breaks it off, and then the searches that its leads start. Returns the run as
/// far as it came, and the others in the order in which they were started.
///
/// # Errors
/// Fails if the search cannot start. A run that fails is a record, not an error.
pub fn search(
    request: &SearchRequest,
    mut sink: impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<Vec<RunRecord>, AppError> {
    let suppressed = suppression::load(&request.suppression)?;
    let (clock, journal): (Arc<dyn Clock>, _) = (Arc::new(SystemClock), Arc::new(Unrecorded::default()));
    let catalog = load_catalog(&catalog_sources(&request.engine))?;
    keys::check(&request.engine, &catalog)?;
    // Searches follow each other, but the driver of one may end a moment after the next has begun.
    let most_runs = 1 + request.follow.as_ref().map_or(0, |order| usize::from(order.max_searches));
    let engine = Engine::build(
        &request.engine,
        catalog,
        most_runs,
        LEASE,
        Arc::clone(&journal) as Arc<dyn Journal>,
        Arc::clone(&clock),
        RunHooks::default(),
    )?;
    if let Some((list, _)) = suppressed {
        engine.runs.starter.suppress(list);
    }
    if engine.runs.starter.is_suppressed(&request.query) {
        return Err(AppError::config(SUPPRESSED));
    }
    let follow = request.follow.clone().map(|order| FollowOrder { choice: request.choice.clone(), ..order });
    let now = clock.now();
    let start = StartRequest {
        account: AccountId::new(),
        query: request.query.clone(),
        premium: request.premium,
        options: request.options,
        family: None,
        watch: None,
        batch: None,
        follow: follow.map(Arc::new),
        purpose: None,
        choice: request.choice.clone(),
        charge: Charge { credits: 0, allowed: None, cycle: Cycle::at(now, now) },
        idempotency: None,
        origin: Origin::CLI,
    };
    let run = match engine.runs.starter.start(start.clone()) {
        Ok(StartResult::Started(run)) => run,
        Err(StartError::Choice(error)) => return Err(AppError::config(error)),
        Err(StartError::NoBrowser) => return Err(browser_error(&engine)),
        Ok(_) | Err(_) => return Err(AppError::failed("cannot start the search")),
    };
    let mut goes_on = watch(&engine.runs, &run, &mut sink).is_continue();
    let mut records = vec![run.record(clock.now())];
    let (mut known, limit) = (HashSet::new(), start.follow.as_ref().map_or(0, |order| order.max_searches));
    while goes_on && known.len() < usize::from(limit) {
        // One at a time: the leads of one level come before those of the next one.
        let Some(next) = engine.runs.families.next(&records, &known).into_iter().next() else { break };
        known.insert(next.lead);
        goes_on = sink(SearchEvent::Child(&next)).is_continue();
        if goes_on && let Some(run) = start_child(&engine.runs, &start, next) {
            goes_on = watch(&engine.runs, &run, &mut sink).is_continue();
            records.push(run.record(clock.now()));
        }
    }
    for record in &mut records {
        // The journal has them in memory, so this does not fail.
        record.thumbnails = journal.thumbnails(record.summary.id).unwrap_or_default();
    }
    // The driver of an ended run stops at once; that of a cancelled run needs a moment.
    engine.runs.maintenance.shut_down(Instant::now() + Duration::from_secs(2));
    Ok(records)
}

/// Starts the search for a lead. Returns `None` if it cannot be started now.
fn start_child(runs: &Runs, root: &StartRequest, next: NextSearch) -> Option<Arc<LiveRun>> {
    let order = root.follow.as_ref()?;
    let NextSearch { lead, class, query, place, .. } = next;
    let max_searches = order.max_searches;
    let request = StartRequest {
        choice: order.choice_for(query.search_type(), root.query.search_type()),
        query,
        premium: false,
        family: Some(NewMember { place, lead, class, max_searches }),
        ..root.clone()
    };
    match runs.starter.start(request) {
        Ok(StartResult::Started(run)) => Some(run),
        _ => None,
    }
}

/// Returns the error for a premium search without a browser: none is configured, or none answers.
fn browser_error(engine: &Engine) -> AppError {
    match engine.runs.activity.browsers() {
        (_, 0) => AppError::config("no browser is configured: a premium search needs one (--webdriver)"),
        _ => AppError::failed("no configured browser answers: a premium search needs one"),
    }
}

/// Passes the events of the run to `sink` until the run ends or the sink breaks off.
fn watch(
    runs: &Arc<Runs>,
    run: &LiveRun,
    sink: &mut impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let (mut shown, mut completed) = (0, None);
    loop {
        let (summary, results, version) = run.snapshot();
        for result in &results[shown..] {
            sink(SearchEvent::Result(&result.record))?;
        }
        shown = results.len();
        if completed != Some(summary.progress.modules_completed) {
            completed = Some(summary.progress.modules_completed);
            sink(SearchEvent::Progress(summary.progress))?;
        }
        if summary.status.is_terminal() || run.stopped().is_some() {
            return ControlFlow::Continue(());
        }
        run.wait_for_change(version, Instant::now() + Duration::from_secs(1));
        runs.maintenance.run_due_tasks();
    }
}
