//! Searches without a server: they run in this process and are not stored.

use std::collections::{HashSet, VecDeque};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::error::Failure;
use super::services::Services;
use crate::base::ids::AccountId;
use crate::config::{EngineConfig, SuppressionConfig};
use crate::model::audit::Origin;
use crate::model::credits::{Charge, Cycle};
use crate::model::refusal::Code;
use crate::model::run::{Progress, ResultRecord};
use crate::model::search::Search;
use crate::model::start::Cause;
use crate::runs::family::plan::NextSearch;
use crate::runs::live::LiveRun;
use crate::runs::proof::Stop;
use crate::runs::record::{RunRecord, results_after};
use crate::runs::service::{Runs, StartResult};

/// The interval at which a search looks for Ctrl-C.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The number of searches of a list that run at once. More would ask the same sites at the same time.
const AT_ONCE: usize = 4;

/// Something that happens during a search.
#[derive(Clone, Copy)]
pub enum SearchEvent<'a> {
    /// A lead starts a further search.
    Child(&'a NextSearch),
    /// A result got its number.
    Result(&'a ResultRecord),
    /// Some modules have ended.
    Progress(Progress),
    /// The search has ended, and those that its leads have started: the search first, and the others in this order. It is
    /// the last event of this search. A run that fails is a record, too.
    Ended(&'a [RunRecord], &'a Runs),
    /// The query is suppressed, so nothing is asked. It is the only event of this search.
    Suppressed,
}

type Sink<'s> = dyn FnMut(SearchEvent<'_>) -> ControlFlow<()> + 's;

/// Runs searches, some at once, and those that their leads start, until all have ended or `sink` breaks off. Events come in the
/// order of `searches`, each with the index of its search. If `stop` is set, the searches that have begun end with what they
/// have, and no further one is started. `suppression` names the identifiers that are never searched.
///
/// # Errors
/// Fails if a search cannot start.
pub fn search(
    engine: &EngineConfig,
    suppression: &SuppressionConfig,
    searches: Vec<Search>,
    stop: &Stop,
    mut sink: impl FnMut(usize, SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<(), Failure> {
    // The driver of a search may end a moment after the next one has begun. Leads are followed here.
    let (services, caller, _) = Services::local(engine, suppression, 2 * AT_ONCE, false)?;
    let local = LocalSearches { stop, services, account: caller.account.id };
    if searches.iter().any(|search| search.premium) && !local.browser_answers() {
        return Err(local.browser_error());
    }
    let (count, mut waiting) = (searches.len(), searches.into_iter());
    let mut started: VecDeque<Option<Arc<LiveRun>>> = VecDeque::new();
    for index in 0..count {
        let free = if index > 0 && stop.is_set() { 0 } else { AT_ONCE - started.len() };
        for search in waiting.by_ref().take(free) {
            started.push_back(local.start(with_ids(local.services.runs(), search), Cause::Request)?);
        }
        // A list that was stopped ends here.
        let Some(next) = started.pop_front() else { break };
        let sink = &mut |event: SearchEvent<'_>| sink(index, event);
        let shown = match next {
            Some(run) => local.follow(&run, sink),
            None => sink(SearchEvent::Suppressed),
        };
        if shown.is_break() {
            break;
        }
    }
    // The driver of an ended run stops at once; that of a cancelled run needs a moment.
    local.services.runs().shut_down(Instant::now() + Duration::from_secs(2));
    Ok(())
}

/// Returns the search with the ids of the modules that its choice names otherwise. Its leads have the same choice.
fn with_ids(runs: &Runs, mut search: Search) -> Search {
    search.choice = runs.catalog().with_ids(search.search_type, search.choice);
    if let Some(order) = &mut search.follow {
        Arc::make_mut(order).choice = search.choice.clone();
    }
    search
}

/// The engine of searches that are not stored.
struct LocalSearches<'s> {
    stop: &'s Stop,
    services: Arc<Services>,
    account: AccountId,
}

impl LocalSearches<'_> {
    /// Starts a search. Returns `None` if its query is suppressed.
    fn start(&self, search: Search, cause: Cause) -> Result<Option<Arc<LiveRun>>, Failure> {
        let now = self.services.shared.clock.now();
        let charge = Charge { credits: 0, allowed: None, cycle: Cycle::at(now, now) };
        let (runs, failed) = (self.services.runs(), || Failure::failed("cannot start the search"));
        match runs.start(runs.new_run(self.account, search, cause, charge, Origin::CLI)) {
            Ok(StartResult::Started(run)) => runs.live(run.id).ok_or_else(failed).map(Some),
            Err(refusal) if refusal.code == Code::Suppressed => Ok(None),
            Err(refusal) if refusal.code == Code::InvalidRequest => Err(Failure::usage(refusal)),
            Err(refusal) if refusal.code == Code::PremiumUnavailable => Err(self.browser_error()),
            Ok(_) | Err(_) => Err(failed()),
        }
    }

    /// Returns the error for a premium search without a browser: none is configured, none answers, or it was not waited for.
    fn browser_error(&self) -> Failure {
        match self.services.runs().browsers.sessions() {
            0 => Failure::usage("no browser is configured: a premium search needs one (--browser auto)"),
            _ if self.stop.is_set() => Failure::Interrupted,
            _ => Failure::failed("the configured browser does not answer: a premium search needs one"),
        }
    }

    /// Waits until the browser answers or cannot start. Ctrl-C ends the browser, and with it the wait.
    fn browser_answers(&self) -> bool {
        let browsers = &self.services.runs().browsers;
        let (answer, answered) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || answer.send(browsers.is_available()));
            loop {
                match answered.recv_timeout(LOOK_EVERY) {
                    Err(RecvTimeoutError::Timeout) if self.stop.is_set() => browsers.stop(),
                    Err(RecvTimeoutError::Timeout) => {}
                    answer => return answer.unwrap_or(false),
                }
            }
        })
    }

    /// Passes the events of a run to `sink`, and then those of the searches that its leads start.
    fn follow(&self, run: &LiveRun, sink: &mut Sink<'_>) -> ControlFlow<()> {
        let runs = self.services.runs();
        let mut records = vec![self.watch(run, sink)?];
        let order = records[0].summary.follow.clone();
        let (mut known, limit) = (HashSet::new(), order.as_ref().map_or(0, |order| order.max_searches));
        while !self.stop.is_set() && known.len() < usize::from(limit) {
            // One at a time: the leads of one level come before those of the next one.
            let Some(next) = runs.next_searches(&records, &known).into_iter().next() else { break };
            known.insert(next.member.lead);
            sink(SearchEvent::Child(&next))?;
            let NextSearch { member, query, choice } = next;
            let (options, follow) = (records[0].summary.options, order.clone());
            let search = Search { options, choice, follow, ..Search::plain(&query) };
            // A lead whose search cannot be started now is skipped.
            if let Ok(Some(run)) = self.start(search, Cause::Lead(member)) {
                records.push(self.watch(&run, sink)?);
            }
        }
        sink(SearchEvent::Ended(&records, runs))
    }

    /// Passes the events of the run to `sink` until the run ends or the sink breaks off. Returns the run as it is stored. Ends
    /// it early if the searches are stopped.
    fn watch(&self, run: &LiveRun, sink: &mut Sink<'_>) -> ControlFlow<(), RunRecord> {
        let (mut shown, mut completed) = (0, None);
        loop {
            if self.stop.is_set() {
                run.end_early(self.services.shared.clock.now());
            }
            let (version, summary) = (run.version(), run.summary());
            for result in results_after(&self.services.shared.store, run.id(), shown).unwrap_or_default() {
                sink(SearchEvent::Result(&result))?;
                shown = result.id;
            }
            if completed != Some(summary.progress.modules_completed) {
                completed = Some(summary.progress.modules_completed);
                sink(SearchEvent::Progress(summary.progress))?;
            }
            if summary.status.is_terminal() || run.stopped().is_some() {
                // The store is in memory, so this does not fail.
                let record = self.services.runs().record_with_thumbnails(run.summary());
                return record.map_or(ControlFlow::Break(()), ControlFlow::Continue);
            }
            run.wait_for_change(version, Instant::now() + LOOK_EVERY);
            self.services.runs().sweep();
        }
    }
}
