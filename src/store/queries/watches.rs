//! Watches and their changes, as their owners see them, and the runs of watches: which are due, the transaction that takes
//! the place of one, and the comparison of one that has ended.

use super::accounts::{lock, too_many};
use super::credits::{New, note_request};
use super::outbox::report_watch;
use super::*;
use crate::modules::query::Query;

row! {
    Watch from "" {
        id, account, search_type, query, premium, options, choice, every = "every_secs", notify_on, webhook,
        state = "CASE WHEN paused IS NULL THEN 'active' ELSE 'paused' END", paused, next_at, created_at, last_run,
        last_run_at = "(SELECT r.created_at FROM runs r WHERE r.id = watches.last_run)", is_open,
        changes = "(SELECT count(*) FROM watch_changes c WHERE c.watch = watches.id)"
    }
}

row! { StoredChange from "" { id, kind, run_before, run_after, at, difference } }
row! { EndedRun from "" { watch = "id", account, run = "last_run", baseline } }

const COUNT: &str = "SELECT count(*) FROM watches WHERE account = ?1";
const WEBHOOK: &str = "SELECT 1 FROM webhooks WHERE id = ?1 AND account = ?2";
/// Adds a watch whose first run is due now.
const INSERT: &str = "WITH begun (at) AS MATERIALIZED (SELECT {now}) INSERT \
     INTO watches (id, account, search_type, query, premium, options, choice, simulated, every_secs, \
     notify_on, webhook, unconfirmed, next_at, created_at) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, \
     ?11, ?12, begun.at, begun.at FROM begun RETURNING {row}";
const DONE: &str = "SELECT 1 FROM runs WHERE id = ?1 AND account = ?2 AND search_type = ?3 AND normal = ?4 \
     AND simulated = ?5 AND status = 'completed'";
const WATCH: &str = "SELECT {row} FROM watches WHERE id = ?1 AND account = ?2";
const LIST: &str = "SELECT {row} FROM watches WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
/// Locks a watch, and reads the time by which it is dated.
const LOCK: &str = "SELECT {row}, {now} FROM watches WHERE id = ?1 \
     AND account = ?2 /*pg FOR NO KEY UPDATE */";
const CHANGE: &str = "UPDATE watches SET every_secs = ?3, notify_on = ?4, webhook = ?5, paused = ?6, \
     next_at = ?7 WHERE id = ?1 AND account = ?2 RETURNING {row}";
const DELETE: &str = "DELETE FROM watches WHERE id = ?1 AND account = ?2 RETURNING 1";
const CHANGES: &str = "SELECT {row} FROM watch_changes WHERE watch = ?1 AND id < ?2 ORDER BY id DESC \
     LIMIT ?3";

const DUE: &str = "SELECT next_at, id, {row} FROM watches WHERE {idle} AND next_at <= now() \
     AND (next_at, id) > (?2, ?3) AND simulated = ?1 ORDER BY next_at, id LIMIT ?4";
/// Selects a run unless it was undone.
const EXISTS: &str = "SELECT 1 FROM runs WHERE id = ?1 AND NOT (unconfirmed AND status <> 'running')";
const BEGIN: &str = "UPDATE watches SET last_run = ?2, is_open = true, next_at = ?3 WHERE id = ?1";
const PAUSE: &str = "UPDATE watches SET paused = 'credits' WHERE id = ?1 AND next_at = ?2 AND {idle} \
     RETURNING 1";
const MOVE: &str = "UPDATE watches SET next_at = ?2 WHERE id = ?1";
const UNPAID: &str = "SELECT DISTINCT account FROM watches WHERE paused = 'credits' AND account > ?1 ORDER BY account LIMIT ?2";
/// Makes watches active. `?2` and `?3` tell whether standard and premium runs can be paid.
const RESUME: &str = "UPDATE watches SET paused = NULL WHERE id IN (SELECT id FROM watches WHERE account = ?1 \
     AND paused = 'credits' AND CASE WHEN premium THEN CAST(?3 AS boolean) ELSE CAST(?2 AS boolean) END ORDER BY id /*pg FOR NO KEY UPDATE */)";
const ENDED: &str = "SELECT {row} FROM watches WHERE is_open AND simulated = ?1 AND id > ?3 \
     AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = watches.last_run AND r.status = 'running') ORDER BY id \
     LIMIT ?2";
const CLOSE: &str = "UPDATE watches SET is_open = false, baseline = coalesce(?3, baseline) \
     WHERE id = ?1 AND last_run = ?2 AND is_open";
const ADD_CHANGE: &str = "INSERT INTO watch_changes (id, watch, kind, run_before, run_after, at, difference) \
     VALUES (?1, ?2, ?3, ?4, ?5, {now}, ?6)";

impl Store {
    /// Adds a watch and an audit entry. Its first run is due at once, unless it goes on from another one. Returns the watch of
    /// the first request if the idempotency key is known.
    pub fn add_watch(&self, new: &NewWatch, by: &Origin) -> Result<Watch, Refusal> {
        let (id, may_be_undone) = (new.id.value(), new.idempotency.is_none());
        let create =
            New { operation: "add_watch", confirm: "{confirm watches}", id, may_be_undone, is_driven: false };
        self.create(&create, Result::is_ok, |tx| add(tx, new, by))?
    }

    /// Returns a watch of an account.
    pub fn watch(&self, account: AccountId, id: WatchId) -> Result<Option<Watch>> {
        self.first("watch", WATCH, values![id, account])
    }

    /// Returns at most `count` watches of an account with ids below `before`, the newest first.
    pub fn watches(&self, account: AccountId, before: Option<WatchId>, count: usize) -> Result<Vec<Watch>> {
        let before = before.unwrap_or(WatchId(Uuid::max()));
        self.all("watches", LIST, values![account, before, count])
    }

    /// Changes a watch and adds an audit entry. With another interval, the next run is due at the next moment of that
    /// interval unless it is due already.
    pub fn change_watch(
        &self,
        account: AccountId,
        id: WatchId,
        update: &WatchUpdate,
        by: &Origin,
    ) -> Result<Watch, Refusal> {
        self.write("change_watch", |tx| {
            let locked = tx.first::<(Watch, Timestamp)>(LOCK, values![id, account])?;
            let Some((watch, now)) = locked else { return Ok(Err(Refusal::no_such("watch"))) };
            let webhook = update.webhook.unwrap_or(watch.webhook);
            if update.webhook.is_some() && !is_known(tx, account, webhook)? {
                return Ok(Err(unknown_webhook()));
            }
            let every = update.every.unwrap_or(watch.every);
            let is_postponed = every != watch.every && watch.next_at > now;
            let next_at =
                if is_postponed { every.next_after(id, watch.created_at, now) } else { watch.next_at };
            let notify_on = encode(update.notify_on.as_ref().unwrap_or(&watch.notify_on))?;
            let paused = match update.state {
                None => watch.paused,
                Some(WatchState::Active) => None,
                Some(WatchState::Paused) => Some(PauseReason::User),
            };
            let values = values![id, account, every.secs(), notify_on, webhook, paused, next_at];
            let watch = tx.one(CHANGE, values)?;
            let event = AuditEvent::of_object(Action::WatchChanged, account, id).with_parts([
                ("every", update.every.is_some()),
                ("notify_on", update.notify_on.is_some()),
                ("webhook_id", update.webhook.is_some()),
                ("state", update.state.is_some()),
            ]);
            tx.note(&event, by)?;
            Ok(Ok(watch))
        })?
    }

    /// Deletes a watch with its changes and adds an audit entry. Its runs stay. Returns `false` if the account has no such
    /// watch.
    pub fn delete_watch(&self, account: AccountId, id: WatchId, by: &Origin) -> Result<bool> {
        let (operation, values) = (Operation::from("delete_watch").erasing(), values![id, account]);
        let event = AuditEvent::of_object(Action::WatchDeleted, account, id);
        Ok(self.noted::<i64>(operation, DELETE, values, &event, by)?.is_some())
    }

    /// Returns at most `count` changes of a watch with ids below `before`, the newest first.
    pub fn watch_changes(
        &self,
        watch: WatchId,
        before: Option<WatchChangeId>,
        count: usize,
    ) -> Result<Vec<StoredChange>> {
        let before = before.unwrap_or(WatchChangeId(Uuid::max()));
        self.all("watch_changes", CHANGES, values![watch, before, count])
    }

    /// Returns at most `count` active watches of the simulated or the real web whose next run is due, after this one in
    /// the order of `(next_at, id)`. Writes nothing. One that cannot be read has an error instead.
    pub fn due_watches(
        &self,
        simulated: bool,
        after: Option<(Timestamp, WatchId)>,
        count: usize,
    ) -> Result<Vec<(Timestamp, WatchId, Result<Watch>)>> {
        let (at, id) = after.unwrap_or((Timestamp::UNIX_EPOCH, WatchId(Uuid::nil())));
        self.all(background("due_watches"), DUE, values![simulated, at, id, count])
    }

    /// Pauses an active watch whose account cannot pay for the run that is due at this moment. Returns `false` if that run
    /// was started or skipped meanwhile.
    pub fn pause_unpaid(&self, id: WatchId, due_at: Timestamp) -> Result<bool> {
        Ok(!self.change(background("pause_unpaid").light(), PAUSE, values![id, due_at])?.is_empty())
    }

    /// Gives up the run of a watch that is due. The next one is due at the next moment of the interval.
    pub fn skip_run(&self, due: &Watch) -> Result<()> {
        self.write(background("skip_run").light(), |tx| {
            let locked = tx.first::<(Watch, Timestamp)>(LOCK, values![due.id, due.account])?;
            let Some((watch, now)) = locked.filter(|(watch, _)| is_next(watch, due.next_at)) else {
                return Ok(());
            };
            let next_at = watch.every.next_after(watch.id, watch.created_at, now);
            tx.execute(MOVE, values![watch.id, next_at]).map(drop)
        })
    }

    /// Returns at most `count` accounts with ids above `after` that have watches which are paused because of credits.
    pub fn unpaid_accounts(&self, after: Option<AccountId>, count: usize) -> Result<Vec<AccountId>> {
        let after = after.unwrap_or(AccountId(Uuid::nil()));
        self.all(background("unpaid_accounts"), UNPAID, values![after, count])
    }

    /// Makes the watches of an account active that are paused because of credits, if a run costs at most that many
    /// credits.
    pub fn resume_paid(&self, account: AccountId, credits: u64, premium: bool) -> Result<()> {
        let (standard, premium) = (credits >= STANDARD_COST, premium && credits >= PREMIUM_COST);
        self.change(background("resume_paid").light(), RESUME, values![account, standard, premium]).map(drop)
    }

    /// Returns at most `count` runs that have ended or were deleted, and were not compared, of watches with ids above
    /// `after`.
    pub fn ended_runs(&self, simulated: bool, after: Option<WatchId>, count: usize) -> Result<Vec<EndedRun>> {
        let after = after.unwrap_or(WatchId(Uuid::nil()));
        self.all(background("ended_runs"), ENDED, values![simulated, count, after])
    }

    /// Records that the last run of a watch was compared, with what that has shown, and adds the deliveries that report it.
    /// Does nothing and returns `false` if the run was compared before.
    pub fn close_run(&self, ended: &EndedRun, shown: &Comparison) -> Result<bool> {
        let watch = ended.watch;
        self.write(background("close_run"), |tx| {
            if tx.execute(CLOSE, values![watch, ended.run, shown.baseline.as_deref()])? == 0 {
                return Ok(false);
            }
            for change in &shown.changes {
                let difference = encode(&change.difference)?;
                let (id, kind) = (WatchChangeId::new(), change.kind.as_str());
                let values = values![id, watch, kind, change.run_before, ended.run, difference];
                tx.execute(ADD_CHANGE, values)?;
            }
            report_watch(tx, watch, ended.run, &shown.changes)?;
            Ok(true)
        })
    }
}

fn add(tx: &mut Tx, new: &NewWatch, by: &Origin) -> Result<Result<Watch, Refusal>> {
    // So that two are not added at once.
    if !lock(tx, new.account)? {
        return Ok(Err(Refusal::unknown_key()));
    }
    // Before the other checks, which the watch of the first request may have changed. A key belongs to one run,
    // one batch or one watch.
    if let Some(idempotency) = &new.idempotency
        && let Some(known) = note_request(tx, new.account, RunId(new.id.0), idempotency)?
    {
        let Started::Repeated(RunId(id)) = known else { return Ok(Err(Refusal::idempotency_mismatch())) };
        let watch = tx.first(WATCH, values![id, new.account])?;
        return Ok(watch.ok_or_else(|| Refusal::no_such("watch")));
    }
    if !is_known(tx, new.account, new.webhook)? {
        return Ok(Err(unknown_webhook()));
    }
    if !is_done(tx, new)? {
        let allowed = "the id of a completed search of this account for the same type and query";
        return Ok(Err(Refusal::invalid_request("since_run_id", "no such search", allowed)));
    }
    if tx.one::<usize>(COUNT, values![new.account])? >= MOST_WATCHES {
        return Ok(Err(too_many(&format!("{MOST_WATCHES} watches: delete"))));
    }
    let NewWatch { id, account, search, simulated, every, notify_on, webhook, since, idempotency } =
        new.clone();
    let Search { search_type, query, premium, choice, options, .. } = search;
    let mut values = values![id, account, search_type, query, premium, encode(&options)?, encode(&choice)?];
    let notify_on = encode(&notify_on)?;
    values.extend(values![simulated, every.secs(), notify_on, webhook, idempotency.is_none()]);
    let mut watch: Watch = tx.one(INSERT, values)?;
    if let Some(run) = since {
        // It is compared like the first run of the watch, with nothing.
        let next_at = watch.every.next_after(id, watch.created_at, watch.created_at);
        tx.execute(BEGIN, values![id, run, next_at])?;
        watch = tx.one(WATCH, values![id, account])?;
    }
    let event = AuditEvent::of_object(Action::WatchCreated, new.account, new.id)
        .with("type", search_type.as_str())
        .with("every", new.every.to_string());
    tx.note(&event, by)?;
    Ok(Ok(watch))
}

/// Returns whether the account has the webhook, if one is given.
fn is_known(tx: &mut Tx, account: AccountId, webhook: Option<WebhookId>) -> Result<bool> {
    let Some(webhook) = webhook else { return Ok(true) };
    tx.has(WEBHOOK, values![webhook, account])
}

/// Returns whether the run that a watch goes on from, if it does, is a completed one for its query.
fn is_done(tx: &mut Tx, NewWatch { since, account, simulated, search, .. }: &NewWatch) -> Result<bool> {
    let query = Query::parse(search.search_type, &search.query);
    let (Some(run), Ok(query)) = (since, query) else { return Ok(since.is_none()) };
    tx.has(DONE, values![*run, *account, search.search_type, query.normal(), *simulated])
}

/// Returns whether the next run of a watch is the one of that moment, and may be started.
fn is_next(watch: &Watch, due_at: Timestamp) -> bool {
    watch.paused.is_none() && !watch.is_open && watch.next_at == due_at
}

fn unknown_webhook() -> Refusal {
    Refusal::invalid_request("webhook_id", "unknown webhook", "the id of a webhook of this account")
}

/// Locks the watch of a run that is being started. Returns the moment at which its next run will be due, or why the run
/// must not be started. Of two transactions for one watch, the second waits here for the end of the first.
pub(super) fn take_place(tx: &mut Tx, run: &NewRun, start: WatchStart) -> Result<Result<Timestamp, Started>> {
    let locked = tx.first::<(Watch, Timestamp)>(LOCK, values![start.watch, run.account])?;
    let Some((watch, now)) = locked else { return Ok(Err(Started::Refused(Refusal::no_such("watch")))) };
    Ok(match (start.due_at, watch.last_run) {
        // The last run may have been deleted, and the watch not closed yet.
        (None, Some(last)) if watch.is_open && tx.has(EXISTS, values![last])? => Err(Started::Repeated(last)),
        (None, _) => Ok(watch.next_at),
        (Some(due_at), _) if is_next(&watch, due_at) && due_at <= now => {
            Ok(watch.every.next_after(watch.id, watch.created_at, now))
        }
        (Some(_), _) => Err(Started::Refused(Refusal::no_such("watch"))),
    })
}

/// Records that a run of a watch was started.
pub(super) fn begin(tx: &mut Tx, run: &NewRun, watch: WatchId, next_at: Option<Timestamp>) -> Result<()> {
    tx.execute(BEGIN, values![watch, run.id, next_at]).map(drop)
}
