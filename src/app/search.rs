//! One search without a server: the same engine, in this process, kept nowhere.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::parts::{Engine, load_catalog};
use super::{AppError, suppression};
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
use crate::runs::service::{Order, OrderError, Receipt, Runs};
use crate::runs::unrecorded::Unrecorded;

const SUPPRESSED: &str = "the query is suppressed: it is on the list of what is never searched (--suppress)";
/// Nobody else could take the run over: it is recorded nowhere.
const LEASE: Duration = Duration::from_secs(60);

/// One search without a server.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Which modules, and how they are asked.
    pub engine: EngineConfig,
    /// What is searched.
    pub query: Query,
    /// Whether browser modules take part.
    pub premium: bool,
    /// Which modules are asked.
    pub choice: Choice,
    /// What is never searched.
    pub suppression: SuppressionConfig,
}

/// What happens during a search.
#[derive(Debug, Clone, Copy)]
pub enum SearchEvent<'a> {
    /// A result was numbered.
    Result(&'a ResultRecord),
    /// Modules came to their end.
    Progress(Progress),
}

/// Runs one search to its end, or until `sink` breaks it off; then gives the run, as far as it came.
///
/// # Errors
/// It could not start. A run that fails is a record, not an error.
pub fn search(
    request: &SearchRequest,
    mut sink: impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<RunRecord, AppError> {
    let suppressed = suppression::load(&request.suppression)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let engine = Engine::build(
        &request.engine,
        load_catalog(&request.engine)?,
        1,
        LEASE,
        Arc::new(Unrecorded),
        Arc::clone(&clock),
    )?;
    if let Some((list, _)) = suppressed {
        engine.runs.suppress(list);
    }
    if engine.runs.is_suppressed(&request.query) {
        return Err(AppError::Config(SUPPRESSED.to_owned()));
    }
    let now = clock.now();
    let order = Order {
        account: AccountId::new(),
        query: request.query.clone(),
        premium: request.premium,
        choice: request.choice.clone(),
        charge: Charge { credits: 0, allowed: None, cycle: Cycle::at(now, now) },
        idempotency: None,
        origin: Origin::CLI,
    };
    let run = match engine.runs.start(order) {
        Ok(Receipt::Started(run)) => run,
        Err(OrderError::Choice(error)) => return Err(AppError::Config(error.to_string())),
        Err(OrderError::NoBrowser) => return Err(no_browser(&engine)),
        Ok(_) | Err(_) => return Err(AppError::Failed("the search could not be started".to_owned())),
    };
    follow(&engine.runs, &run, &mut sink);
    let record = run.record(clock.now());
    // A run that has ended lets its driver go at once; one that was broken off needs a moment.
    engine.runs.shut_down(Instant::now() + Duration::from_secs(2));
    Ok(record)
}

/// A premium search without a browser: none is configured, or none answers.
fn no_browser(engine: &Engine) -> AppError {
    match engine.runs.browsers() {
        (_, 0) => AppError::Config(
            "premium searches need a browser, and none is configured (--webdriver)".to_owned(),
        ),
        _ => AppError::Failed(
            "premium searches need a browser, and none that is configured answers".to_owned(),
        ),
    }
}

/// Hands on what the run publishes, until it ends or the sink has had enough.
fn follow(runs: &Runs, run: &LiveRun, sink: &mut impl FnMut(SearchEvent<'_>) -> ControlFlow<()>) {
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
        runs.keep_house();
    }
}
