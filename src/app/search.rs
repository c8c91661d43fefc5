//! One search without a server: it runs in this process and is not stored.

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
use crate::runs::live::LiveRun;
use crate::runs::record::RunRecord;
use crate::runs::run::{Progress, ResultRecord};
use crate::runs::run_options::RunOptions;
use crate::runs::service::{Runs, StartError, StartRequest, StartResult};
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
    /// The identifiers that are never searched.
    pub suppression: SuppressionConfig,
}

/// Something that happens during a search.
#[derive(Debug, Clone, Copy)]
pub enum SearchEvent<'a> {
    /// A result got its number.
    Result(&'a ResultRecord),
    /// Some modules have ended.
    Progress(Progress),
}

/// Runs one search until it ends or `sink` breaks it off. Returns the run as far as it came.
///
/// # Errors
/// Fails if the search cannot start. A run that fails is a record, not an error.
pub fn search(
    request: &SearchRequest,
    mut sink: impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<RunRecord, AppError> {
    let suppressed = suppression::load(&request.suppression)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let catalog = load_catalog(&catalog_sources(&request.engine))?;
    keys::check(&request.engine, &catalog)?;
    let engine = Engine::build(
        &request.engine,
        catalog,
        1,
        LEASE,
        Arc::new(Unrecorded),
        Arc::clone(&clock),
        Box::new(|_| {}),
    )?;
    if let Some((list, _)) = suppressed {
        engine.runs.starter.suppress(list);
    }
    if engine.runs.starter.is_suppressed(&request.query) {
        return Err(AppError::config(SUPPRESSED));
    }
    let now = clock.now();
    let request = StartRequest {
        account: AccountId::new(),
        query: request.query.clone(),
        premium: request.premium,
        options: request.options,
        choice: request.choice.clone(),
        charge: Charge { credits: 0, allowed: None, cycle: Cycle::at(now, now) },
        idempotency: None,
        origin: Origin::CLI,
    };
    let run = match engine.runs.starter.start(request) {
        Ok(StartResult::Started(run)) => run,
        Err(StartError::Choice(error)) => return Err(AppError::config(error)),
        Err(StartError::NoBrowser) => return Err(browser_error(&engine)),
        Ok(_) | Err(_) => return Err(AppError::failed("cannot start the search")),
    };
    follow(&engine.runs, &run, &mut sink);
    let record = run.record(clock.now());
    // The driver of an ended run stops at once; that of a cancelled run needs a moment.
    engine.runs.maintenance.shut_down(Instant::now() + Duration::from_secs(2));
    Ok(record)
}

/// Returns the error for a premium search without a browser: none is configured, or none answers.
fn browser_error(engine: &Engine) -> AppError {
    match engine.runs.activity.browsers() {
        (_, 0) => AppError::config("no browser is configured: a premium search needs one (--webdriver)"),
        _ => AppError::failed("no configured browser answers: a premium search needs one"),
    }
}

/// Passes the events of the run to `sink` until the run ends or the sink breaks off.
fn follow(runs: &Arc<Runs>, run: &LiveRun, sink: &mut impl FnMut(SearchEvent<'_>) -> ControlFlow<()>) {
    let (mut shown, mut completed) = (0, None);
    loop {
        let (summary, results, version) = run.snapshot();
        for result in &results[shown..] {
            if sink(SearchEvent::Result(&result.record)).is_break() {
                return;
            }
        }
        shown = results.len();
        if completed != Some(summary.progress.modules_completed) {
            completed = Some(summary.progress.modules_completed);
            if sink(SearchEvent::Progress(summary.progress)).is_break() {
                return;
            }
        }
        if summary.status.is_terminal() || run.stopped().is_some() {
            return;
        }
        run.wait_for_change(version, Instant::now() + Duration::from_secs(1));
        runs.maintenance.run_due_tasks();
    }
}
