//! The watches of an account, with their changes, as they appear in its export.

use jiff::Timestamp;
use serde::Serialize;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId, WatchId, WebhookId};
use crate::base::pages::all_pages;
use crate::base::storage::StorageError;
use crate::model::run::RunOptions;
use crate::model::watch::{ChangeKind, PauseReason, StoredChange, Watch};
use crate::modules::catalog::Choice;
use crate::modules::query::SearchType;
use crate::store::Store;

/// The number of watches, or of changes of one watch, that are read from the store at once.
const PAGE: usize = 500;

/// A watch with its changes.
#[derive(Serialize)]
pub(super) struct WatchBlock {
    id: WatchId,
    #[serde(rename = "type")]
    search_type: SearchType,
    query: String,
    premium: bool,
    options: RunOptions,
    modules: Choice,
    every: String,
    notify_on: Vec<ChangeKind>,
    webhook_id: Option<WebhookId>,
    paused_reason: Option<PauseReason>,
    #[serde(with = "millis")]
    next_run_at: Timestamp,
    last_run_id: Option<RunId>,
    #[serde(with = "millis")]
    created_at: Timestamp,
    changes: Vec<StoredChange>,
}

/// Returns all watches of an account, the newest first.
pub(super) fn all_watches(store: &Store, account: AccountId) -> Result<Vec<WatchBlock>, StorageError> {
    let watches =
        all_pages(PAGE, |last: Option<&Watch>| store.watches(account, last.map(|last| last.id), PAGE))?;
    let block_of = |watch| Ok(block(all_changes(store, &watch)?, watch));
    watches.into_iter().map(block_of).collect()
}

fn all_changes(store: &Store, watch: &Watch) -> Result<Vec<StoredChange>, StorageError> {
    all_pages(PAGE, |last: Option<&StoredChange>| {
        let page = store.watch_changes(watch.account, watch.id, last.map(|last| last.id), PAGE)?;
        Ok(page.unwrap_or_default())
    })
}

fn block(changes: Vec<StoredChange>, watch: Watch) -> WatchBlock {
    WatchBlock {
        id: watch.id,
        search_type: watch.search.search_type,
        query: watch.search.query,
        premium: watch.search.premium,
        options: watch.search.options,
        modules: watch.search.choice,
        every: watch.every.to_string(),
        notify_on: watch.notify_on,
        webhook_id: watch.webhook,
        paused_reason: watch.paused,
        next_run_at: watch.next_at,
        last_run_id: watch.last_run,
        created_at: watch.created_at,
        changes,
    }
}
