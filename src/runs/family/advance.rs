//! Starting the runs of a family: after each run that ends, by whichever process drove it, and again by maintenance if
//! that process ended in between. Several processes may do so at once: a run is started once for each lead, and the
//! limits are checked in the transaction that starts it.

use std::collections::HashSet;
use std::sync::Arc;

use log::{info, log};
use uuid::Uuid;

use super::plan::{NextSearch, Rules, next_searches};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::base::threads;
use crate::model::audit::Origin;
use crate::model::credits::Charge;
use crate::model::family::StoredFamily;
use crate::model::follow::{FollowEnd, LeadCounts, LeadReason};
use crate::model::notes::Verdict;
use crate::model::refusal::{Code, Refusal};
use crate::model::run::{RunOptions, RunSummary, count};
use crate::model::search::Search;
use crate::model::start::Cause;
use crate::runs::leads::links::{RunLinks, Subjects};
use crate::runs::leads::{Lead, LeadStatus, Leads, leads};
use crate::runs::service::{Runs, StartResult};

/// Starts the runs whose turn has come, and records the end of the following if there is nothing left. `ending` is a
/// run that has ended, or has all its results and is about to end: while others of its level run, nothing is to be done,
/// and the family is not read. Failures are logged: maintenance tries again.
pub(in crate::runs) fn advance(runs: &Arc<Runs>, root: RunId, account: AccountId, ending: Option<RunId>) {
    if runs.is_shutting_down() {
        return;
    }
    // A run that has ended does not fail because of what its leads start.
    threads::guard(format_args!("run {root}: following its leads"), || {
        if let Err(error) = try_to_advance(runs, root, account, ending) {
            log!(error.log_level(), "run {root}: cannot follow its leads for now: {error}");
        }
    });
}

fn try_to_advance(
    runs: &Arc<Runs>,
    root: RunId,
    account: AccountId,
    ending: Option<RunId>,
) -> Result<(), Refusal> {
    let Some(family) = runs.store.family(root, account)? else { return Ok(()) };
    let Some(first) = family.members.first().filter(|first| first.id == root) else { return Ok(()) };
    let Some(order) = first.follow.clone().filter(|_| family.is_following) else { return Ok(()) };
    let is_ended = |run: &RunSummary| run.status.is_terminal() || Some(run.id) == ending;
    // Leads of one level are followed together, after all runs that may name some have ended.
    let running = family.members.iter().filter(|run| !is_ended(run));
    let level = running.map(RunSummary::depth).min().unwrap_or(u8::MAX);
    let ending = ending.and_then(|id| family.members.iter().find(|run| run.id == id));
    if level == 0 || ending.is_some_and(|run| level <= run.depth()) {
        return Ok(());
    }
    let ended: Vec<&RunSummary> = family.members.iter().filter(|run| is_ended(run)).collect();
    let leads = leads(links(runs, &ended, root)?);
    let rules = Rules::of(runs, &order, first.search_type);
    let (has_started, stopped) = match first.stopped_at {
        Some(_) => (false, Some(LeadReason::Stopped)),
        None => start_next(runs, &family, &leads, &rules, level)?,
    };
    // Runs that end later may name further leads. Their ends, or maintenance, continue with them.
    if has_started || family.members.iter().any(|run| !run.status.is_terminal()) {
        return Ok(());
    }
    let exists = |run: RunId| family.members.iter().any(|member| member.id == run);
    let started = family.followed.iter().filter(|it| exists(it.run)).map(|it| it.lead);
    let mut followed: HashSet<Uuid> = started.collect();
    for run in &ended {
        let looked_up = runs.store.lookups(run.id)?.into_iter().filter(|it| it.outcome.is_some());
        followed.extend(looked_up.map(|it| it.lead_id));
    }
    let (followed, others): (Vec<&Lead>, Vec<&Lead>) =
        leads.all.iter().partition(|lead| followed.contains(&lead.lead_id));
    let not_followed = others.iter().filter(|lead| lead.status != LeadStatus::Found).count();
    let leads = LeadCounts { followed: count(followed.len()), not_followed: count(not_followed) };
    Ok(runs.store.end_following(root, &FollowEnd { leads, stopped })?)
}

/// Returns what the results of runs point to. The results are read only of runs that have ended without success or in an
/// earlier version, or with results that are not mine: others have stored it.
fn links(runs: &Arc<Runs>, ended: &[&RunSummary], root: RunId) -> Result<Vec<RunLinks>, StorageError> {
    let mut links = Vec::new();
    for (id, stored) in runs.store.family_links(root)? {
        let Some(run) = ended.iter().find(|run| run.id == id) else { continue };
        let notes = runs.store.notes(id)?.results;
        let stored = stored.filter(|_| notes.values().all(|it| it.verdict != Some(Verdict::NotMine)));
        if let Some(stored) = stored.and_then(|text| serde_json::from_str(&text).ok()) {
            links.push(stored);
        } else {
            let record = runs.record((*run).clone())?;
            let catalog = runs.catalog();
            let findings = record.findings();
            links.extend(findings.map(|run| RunLinks::of(&Subjects::of(&run, catalog.profiles()))));
        }
    }
    Ok(links)
}

/// Starts the runs for leads up to this level. Returns whether any process has started one since the family was read, and
/// why it stopped before the last one.
fn start_next(
    runs: &Arc<Runs>,
    family: &StoredFamily,
    leads: &Leads,
    rules: &Rules<'_>,
    level: u8,
) -> Result<(bool, Option<LeadReason>), Refusal> {
    let Some(root) = family.members.first() else { return Ok((false, None)) };
    let known: HashSet<Uuid> = family.followed.iter().map(|followed| followed.lead).collect();
    let mut next = next_searches(rules, leads, root, &known, level);
    let (mut has_started, mut stopped) = (false, None);
    let left = usize::from(rules.order.max_searches).saturating_sub(known.len());
    if next.len() > left {
        stopped = Some(LeadReason::Limit);
        next.truncate(left);
    }
    for search in next {
        let Some((charge, _)) = (runs.charge_of)(root.account)? else { return Ok((has_started, None)) };
        let Err(refusal) = start(runs, root, search, Origin::SYSTEM, charge) else {
            has_started = true;
            continue;
        };
        match refusal.code {
            Code::InsufficientCredits => return Ok((has_started, Some(LeadReason::InsufficientCredits))),
            // Another process has filled the family, or its root was deleted or stopped.
            Code::Conflict | Code::InvalidApiKey => return Ok((true, None)),
            // If the queue or the share of batches is full, the end of another run or maintenance tries again.
            code if code == Code::Overloaded || refusal.is_failure() => return Err(refusal),
            _ => {}
        }
    }
    Ok((has_started, stopped))
}

impl Runs {
    /// Continues the families that no run continues, because the process that drove their last run ended before it did so.
    pub fn advance_idle(self: &Arc<Self>) {
        match self.store.idle_families(self.config.simulated) {
            Ok(idle) => idle.iter().for_each(|(root, account)| advance(self, *root, *account, None)),
            Err(error) => log!(error.log_level(), "cannot look for families of runs: {error}"),
        }
    }
}

/// Charges the run for a lead, and queues it for any instance. Returns its id, or that of the known run for it. It has the
/// account and the options of `like`, a run of the family, and the share of batches if that has it, unless its owner asked
/// for the lead. If the answer of the commit is lost, the next try finds the run by its lead.
///
/// # Errors
/// Returns why it was not started.
pub(super) fn start(
    runs: &Arc<Runs>,
    like: &RunSummary,
    NextSearch { member, query, choice }: NextSearch,
    origin: Origin,
    charge: Charge,
) -> Result<RunId, Refusal> {
    let parent = member.place.parent;
    let of_batch = like.is_of_batch() && !member.is_on_request;
    let (options, follow) = (RunOptions { of_batch, ..like.options }, like.follow.clone());
    let search = Search { options, follow, choice, ..Search::plain(&query) };
    let new = runs.new_run(like.account, search, Cause::Lead(member), charge, origin);
    let started = if of_batch { runs.start_of_batch(new) } else { runs.start_later(new) };
    match started? {
        StartResult::Started(run) => {
            info!("run {}: started for a lead of run {parent}", run.id);
            Ok(run.id)
        }
        StartResult::Repeated(earlier) => Ok(earlier),
    }
}
