//! Starting the runs of a family: after each run that ends, by whichever process drove it, and again by maintenance if
//! that process ended in between. Several processes may do so at once: a run is started once for each lead, and the
//! limits are checked in the transaction that starts it.

use std::collections::HashSet;

use log::log;
use uuid::Uuid;

use super::plan::next_searches;
use super::start::Start;
use super::view::{rules, settle};
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;
use crate::model::audit::Origin;
use crate::model::family::StoredFamily;
use crate::model::follow::{FollowEnd, FollowOrder, LeadCounts, StopReason};
use crate::model::run::{RunSummary, count};
use crate::model::start::{Refused, Started};
use crate::runs::context::RunContext;
use crate::runs::leads::lead::LeadStatus;
use crate::runs::record::{Findings, RunRecord};
use crate::runs::stored_run::read_run;

/// The number of idle families that are read at once.
const IDLE_FAMILIES: usize = 100;

/// Starts the runs whose turn has come, and records the end of the following if there is nothing left. `ending` is a
/// run that has ended, or has all its results and is about to end: while others of its level run, nothing is to be done,
/// and the family is not read. Failures are logged: maintenance tries again.
pub(in crate::runs) fn advance(context: &RunContext, root: RunId, account: AccountId, ending: Option<RunId>) {
    if context.lifecycle.is_shutting_down() {
        return;
    }
    if let Err(error) = try_to_advance(context, root, account, ending) {
        log!(error.log_level(), "run {root}: cannot follow its leads for now: {error}");
    }
}

fn try_to_advance(
    context: &RunContext,
    root: RunId,
    account: AccountId,
    ending: Option<RunId>,
) -> Result<(), StorageError> {
    let Some(family) = context.store.family(root, account)? else { return Ok(()) };
    let Some(first) = family.members.first().filter(|first| first.id == root) else { return Ok(()) };
    let Some(order) = first.follow.clone().filter(|_| family.is_following) else { return Ok(()) };
    let is_ended = |run: &RunSummary| run.status.is_terminal() || Some(run.id) == ending;
    // Leads of one level are followed together, after all runs that may name some have ended.
    let running = family.members.iter().filter(|run| !is_ended(run));
    let level = running.map(depth_of).min().unwrap_or(u8::MAX);
    let ending = ending.and_then(|id| family.members.iter().find(|run| run.id == id));
    if level == 0 || ending.is_some_and(|run| level <= depth_of(run)) {
        return Ok(());
    }
    let ended = family.members.iter().filter(|run| is_ended(run)).cloned();
    let read = |run| read_run(&context.store, run, context.clock.now());
    let members = ended.map(read).collect::<Result<Vec<RunRecord>, _>>()?;
    let stopped = match first.stopped_at {
        Some(_) => Some(StopReason::Stopped),
        None => start_next(context, &family, &members, &order, level)?,
    };
    let newer = context.store.family(root, account)?;
    // Runs that have ended since may name further leads. Maintenance continues with them.
    let was_read = |run: &RunSummary| members.iter().any(|member| member.summary.id == run.id);
    let is_over =
        |family: &StoredFamily| family.members.iter().all(|run| run.status.is_terminal() && was_read(run));
    if let Some(newer) = newer.filter(is_over) {
        end(context, &newer, &members, stopped)?;
    }
    Ok(())
}

fn depth_of(run: &RunSummary) -> u8 {
    run.family.map_or(0, |place| place.depth)
}

/// Starts the runs for leads up to this level. Returns why it stopped before the last one.
fn start_next(
    context: &RunContext,
    family: &StoredFamily,
    members: &[RunRecord],
    order: &FollowOrder,
    level: u8,
) -> Result<Option<StopReason>, StorageError> {
    let Some(root) = family.members.first() else { return Ok(None) };
    let (catalog, suppressed) = (context.catalog.get(), context.suppression.get());
    let rules = rules(context, order, root.search_type, &catalog, &suppressed);
    let known: HashSet<Uuid> = family.followed.iter().map(|followed| followed.lead).collect();
    let findings: Vec<Findings<'_>> = members.iter().filter_map(RunRecord::findings).collect();
    let mut next = next_searches(&rules, &findings, root.id, &known, level);
    let mut stopped = None;
    let left = usize::from(order.max_searches).saturating_sub(known.len());
    if next.len() > left {
        stopped = Some(StopReason::Limit);
        next.truncate(left);
    }
    for search in next {
        let Some(charge) = (context.charge_of)(root.account)? else { return Ok(None) };
        let named = !order.choice_for(search.query.search_type(), root.search_type).modules.is_empty();
        let (like, max_searches, origin) = (root, order.max_searches, Origin::SYSTEM);
        match (Start { like, search, named, max_searches, is_on_request: false, origin })
            .start(context, &charge)?
            .1
        {
            Started::Refused(Refused::InsufficientCredits { .. }) => {
                return Ok(Some(StopReason::InsufficientCredits));
            }
            Started::Refused(Refused::FamilyFull) => return Ok(Some(StopReason::Limit)),
            Started::Refused(Refused::FamilyGone | Refused::UnknownAccount) => return Ok(None),
            _ => {}
        }
    }
    Ok(stopped)
}

/// Records that the following has ended, with the numbers of leads.
fn end(
    context: &RunContext,
    family: &StoredFamily,
    members: &[RunRecord],
    stopped: Option<StopReason>,
) -> Result<(), StorageError> {
    let Some(root) = family.members.first() else { return Ok(()) };
    let leads = settle(context, family, members).all;
    let has =
        |status: &[LeadStatus]| count(leads.iter().filter(|lead| status.contains(&lead.status)).count());
    let leads = LeadCounts {
        followed: has(&[LeadStatus::LookedUp, LeadStatus::Followed]),
        not_followed: has(&[LeadStatus::NotFollowed, LeadStatus::Pending]),
    };
    context.store.end_following(root.id, &FollowEnd { leads, stopped })
}

/// Continues the families that no run continues, because the process that drove their last run ended before it did so.
pub(in crate::runs) fn advance_idle(context: &RunContext) {
    // In pages, so that a family that cannot be continued hides no other.
    let mut after = RunId(Uuid::nil());
    loop {
        match context.store.idle_families(context.simulated, after, IDLE_FAMILIES) {
            Ok(idle) => {
                idle.iter().for_each(|(root, account)| advance(context, *root, *account, None));
                match idle.last() {
                    Some((last, _)) if idle.len() == IDLE_FAMILIES => after = *last,
                    _ => return,
                }
            }
            Err(error) => return log!(error.log_level(), "cannot look for families of runs: {error}"),
        }
    }
}
