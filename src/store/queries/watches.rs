//! Watches and their changes, as their owners see them. The transactions that start and close runs are in
//! `watch_runs`.

use std::collections::BTreeMap;

use jiff::Timestamp;
use uuid::Uuid;

use super::accounts::lock;
use super::audit::note;
use super::start::{known_request, note_request};
use super::watch_row::watch_columns;
use crate::base::ids::{AccountId, RunId, WatchChangeId, WatchId, WebhookId};
use crate::base::storage::StorageError;
use crate::model::audit::{Action, AuditEvent, Origin};
use crate::model::search::Search;
use crate::model::start::Started;
use crate::model::watch::{
    MOST_WATCHES, NewWatch, PauseReason, StoredChange, Watch, WatchActivity, WatchError, WatchState,
    WatchUpdate,
};
use crate::store::Store;
use crate::store::backend::{Operation, Statements};
use crate::store::document::encode;
use crate::store::value::{row, values};

const COUNT: &str = "SELECT count(*) FROM watches WHERE account = ?1";
const WEBHOOK: &str = "SELECT 1 FROM webhooks WHERE id = ?1 AND account = ?2";
/// Adds a watch whose first run is due now.
const INSERT: &str = concat!(
    "WITH begun (at) AS MATERIALIZED (SELECT date_trunc('milliseconds', now())) INSERT INTO watches (id, account, search_type, query, premium, options, choice, simulated, every_secs, notify_on, \
     webhook, unconfirmed, next_at, created_at) \
     SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, begun.at, begun.at FROM begun RETURNING ",
    watch_columns!()
);
const WATCH: &str = concat!("SELECT ", watch_columns!(), " FROM watches WHERE id = ?1 AND account = ?2");
const LIST: &str = concat!(
    "SELECT ",
    watch_columns!(),
    " FROM watches WHERE account = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);
const ACTIVITY: &str = "SELECT w.id, (SELECT count(*) FROM watch_changes c WHERE c.watch = w.id), r.created_at \
     FROM watches w LEFT JOIN runs r ON r.id = w.last_run WHERE w.account = ?1 AND w.id >= ?2 AND w.id <= ?3";
/// Locks a watch, and reads the time by which it is dated.
const LOCK: &str = concat!(
    "SELECT ",
    watch_columns!(),
    ", date_trunc('milliseconds', now()) FROM watches WHERE id = ?1 AND account = ?2 /*pg FOR NO KEY UPDATE */"
);
const CHANGE: &str = concat!(
    "UPDATE watches SET every_secs = ?3, notify_on = ?4, webhook = ?5, paused = ?6, next_at = ?7 \
     WHERE id = ?1 AND account = ?2 RETURNING ",
    watch_columns!()
);
const DELETE: &str = "DELETE FROM watches WHERE id = ?1 AND account = ?2";
const KNOWN: &str = "SELECT 1 FROM watches WHERE id = ?1 AND account = ?2";
row! { change_columns: StoredChange from "" { id, kind, run_before, run_after, at, difference } }

const CHANGES: &str = concat!(
    "SELECT ",
    change_columns!(),
    " FROM watch_changes WHERE watch = ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3"
);

/// Returns the watch of a request whose idempotency key is known.
fn answer(
    statements: &mut dyn Statements,
    account: AccountId,
    known: &Started,
) -> Result<Result<Watch, WatchError>, StorageError> {
    let Started::Repeated(RunId(id)) = known else { return Ok(Err(WatchError::Mismatch)) };
    Ok(statements.first(WATCH, values![WatchId(*id), account])?.ok_or(WatchError::UnknownWatch))
}

impl Store {
    /// Adds a watch, whose first run is due at once, and an audit entry. Returns the watch of the first request if the
    /// idempotency key is known.
    pub fn add_watch(
        &self,
        new: &NewWatch,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Result<Watch, WatchError>, StorageError> {
        self.write(Operation::new("add_watch"), |statements| {
            // So that two are not added at once.
            if !lock(statements, new.account)? {
                return Ok(Err(WatchError::UnknownAccount));
            }
            // Before the other checks, which the watch of the first request may have changed.
            if let Some(idempotency) = &new.idempotency
                && let Some(known) = known_request(statements, new.account, idempotency)?
            {
                return answer(statements, new.account, &known);
            }
            if !is_known(statements, new.account, new.webhook)? {
                return Ok(Err(WatchError::UnknownWebhook));
            }
            if statements.first::<usize>(COUNT, values![new.account])? >= Some(MOST_WATCHES) {
                return Ok(Err(WatchError::TooMany));
            }
            // A key stands for one run, one batch or one watch.
            if let Some(idempotency) = &new.idempotency
                && let Some(known) = note_request(statements, new.account, RunId(new.id.0), at, idempotency)?
            {
                return answer(statements, new.account, &known);
            }
            let Search { search_type, query, premium, choice, options, .. } = &new.search;
            let (options, choice) = (encode(options)?, encode(choice)?);
            let values = values![
                new.id,
                new.account,
                search_type.as_str(),
                query,
                *premium,
                options,
                choice,
                new.simulated,
                new.every.secs(),
                encode(&new.notify_on)?,
                new.webhook,
                new.idempotency.is_none(),
            ];
            let watch = statements.first(INSERT, values)?;
            let event = AuditEvent::of_object(Action::WatchCreated, new.account, new.id)
                .with("type", search_type.as_str())
                .with("every", new.every.to_string());
            note(statements, &event, at, by)?;
            watch.ok_or_else(no_watch).map(Ok)
        })
    }

    /// Returns a watch of an account.
    pub fn watch(&self, account: AccountId, id: WatchId) -> Result<Option<Watch>, StorageError> {
        self.first(Operation::new("watch"), WATCH, values![id, account])
    }

    /// Returns at most `count` watches of an account with ids below `before`, the newest first.
    pub fn watches(
        &self,
        account: AccountId,
        before: Option<WatchId>,
        count: usize,
    ) -> Result<Vec<Watch>, StorageError> {
        let before = before.unwrap_or(WatchId(Uuid::max()));
        self.all(Operation::new("watches"), LIST, values![account, before, count])
    }

    /// Returns what these watches of an account have done: those of one page of [`Store::watches`], or one watch.
    pub fn watch_activity(
        &self,
        watches: &[Watch],
    ) -> Result<BTreeMap<WatchId, WatchActivity>, StorageError> {
        let (Some(newest), Some(oldest)) = (watches.first(), watches.last()) else {
            return Ok(BTreeMap::new());
        };
        let values = values![newest.account, oldest.id, newest.id];
        let known = self.all(Operation::new("watch_activity"), ACTIVITY, values)?;
        let activity = |(id, changes, last_run_at)| (id, WatchActivity { changes, last_run_at });
        Ok(known.into_iter().map(activity).collect())
    }

    /// Changes a watch and adds an audit entry. With another interval, the next run is due at the next moment of that
    /// interval unless it is due already.
    pub fn change_watch(
        &self,
        account: AccountId,
        id: WatchId,
        update: &WatchUpdate,
        at: Timestamp,
        by: &Origin,
    ) -> Result<Result<Watch, WatchError>, StorageError> {
        self.write(Operation::new("change_watch"), |statements| {
            let locked = statements.first::<(Watch, Timestamp)>(LOCK, values![id, account])?;
            let Some((watch, now)) = locked else { return Ok(Err(WatchError::UnknownWatch)) };
            let webhook = update.webhook.unwrap_or(watch.webhook);
            if update.webhook.is_some() && !is_known(statements, account, webhook)? {
                return Ok(Err(WatchError::UnknownWebhook));
            }
            let every = update.every.unwrap_or(watch.every);
            let is_postponed = every != watch.every && watch.next_at > now;
            let next_at = match is_postponed {
                _ if update.is_due => watch.next_at.min(now),
                true => every.next_after(id, watch.created_at, now),
                false => watch.next_at,
            };
            let notify_on = encode(update.notify_on.as_ref().unwrap_or(&watch.notify_on))?;
            let paused = match update.state {
                None => watch.paused,
                Some(WatchState::Active) => None,
                Some(WatchState::Paused) => Some(PauseReason::User),
            };
            let values = values![id, account, every.secs(), notify_on, webhook, paused, next_at];
            let watch = statements.first(CHANGE, values)?;
            let event = AuditEvent::of_object(Action::WatchChanged, account, id);
            note(statements, &event.with("parts", update.parts()), at, by)?;
            watch.ok_or_else(no_watch).map(Ok)
        })
    }

    /// Deletes a watch with its changes and adds an audit entry. Its runs stay. Returns `false` if the account has no such
    /// watch.
    pub fn delete_watch(
        &self,
        account: AccountId,
        id: WatchId,
        at: Timestamp,
        by: &Origin,
    ) -> Result<bool, StorageError> {
        self.write(Operation::new("delete_watch").erasing(), |statements| {
            let is_deleted = statements.execute(DELETE, values![id, account])? == 1;
            if is_deleted {
                note(statements, &AuditEvent::of_object(Action::WatchDeleted, account, id), at, by)?;
            }
            Ok(is_deleted)
        })
    }

    /// Returns at most `count` changes of a watch with ids below `before`, the newest first. Returns `None` if the account
    /// has no such watch.
    pub fn watch_changes(
        &self,
        account: AccountId,
        id: WatchId,
        before: Option<WatchChangeId>,
        count: usize,
    ) -> Result<Option<Vec<StoredChange>>, StorageError> {
        self.read(Operation::new("watch_changes"), |statements| {
            if !statements.has(KNOWN, values![id, account])? {
                return Ok(None);
            }
            let before = before.unwrap_or(WatchChangeId(Uuid::max()));
            statements.all(CHANGES, values![id, before, count]).map(Some)
        })
    }
}

/// Returns whether the account has the webhook, if one is given.
fn is_known(
    statements: &mut dyn Statements,
    account: AccountId,
    webhook: Option<WebhookId>,
) -> Result<bool, StorageError> {
    let Some(webhook) = webhook else { return Ok(true) };
    statements.has(WEBHOOK, values![webhook, account])
}

fn no_watch() -> StorageError {
    StorageError::broken("a statement has returned no watch")
}
