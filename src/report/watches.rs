//! The watches of an account, with their changes, as they appear in its export.

use serde::Serialize;

use crate::base::ids::AccountId;
use crate::base::pages::all_pages;
use crate::base::storage::StorageError;
use crate::model::run::RunOptions;
use crate::model::watch::{StoredChange, Watch, WatchRecord};
use crate::modules::catalog::Choice;
use crate::store::Store;

/// The number of watches, or of changes of one watch, that are read from the store at once.
const PAGE: usize = 500;

/// A watch with its changes.
#[derive(Serialize)]
pub(super) struct WatchBlock {
    #[serde(flatten)]
    watch: WatchRecord,
    options: RunOptions,
    modules: Choice,
    changes: Vec<StoredChange>,
}

/// Returns all watches of an account, the newest first.
pub(super) fn all_watches(store: &Store, account: AccountId) -> Result<Vec<WatchBlock>, StorageError> {
    let watches =
        all_pages(PAGE, |last: Option<&Watch>| store.watches(account, last.map(|last| last.id), PAGE))?;
    let block_of = |watch: Watch| {
        let changes = all_changes(store, &watch)?;
        let (options, modules) = (watch.search.options, watch.search.choice.clone());
        Ok(WatchBlock { watch: watch.into(), options, modules, changes })
    };
    watches.into_iter().map(block_of).collect()
}

fn all_changes(store: &Store, watch: &Watch) -> Result<Vec<StoredChange>, StorageError> {
    all_pages(PAGE, |last: Option<&StoredChange>| {
        let page = store.watch_changes(watch.account, watch.id, last.map(|last| last.id), PAGE)?;
        Ok(page.unwrap_or_default())
    })
}
