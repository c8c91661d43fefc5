//! Entries of the audit as JSON, read page by page.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::base::clock::millis;
use crate::base::ids::AccountId;
use crate::base::storage::StorageError;
use crate::model::audit::{AuditFilter, Entry};
use crate::store::Store;

/// The number of entries that are read from the store at once.
const PAGE: usize = 1000;

/// An entry of the audit in its JSON form.
#[derive(Serialize)]
pub struct AuditLine<'a> {
    id: u64,
    #[serde(with = "millis")]
    at: Timestamp,
    actor: &'static str,
    actor_id: Option<String>,
    action: &'a str,
    account: Option<AccountId>,
    object: Option<&'a str>,
    request_id: Option<&'a str>,
    detail: &'a Map<String, Value>,
}

impl<'a> From<&'a Entry> for AuditLine<'a> {
    fn from(entry: &'a Entry) -> Self {
        Self {
            id: entry.id,
            at: entry.at,
            actor: entry.actor.kind(),
            actor_id: entry.actor.id().map(|id| id.to_string()),
            action: &entry.action,
            account: entry.account,
            object: entry.object.as_deref(),
            request_id: entry.request.as_deref(),
            detail: &entry.detail,
        }
    }
}

/// Calls `show` with every entry that a filter selects. The entries are read page by page.
///
/// # Errors
/// Returns an error if the store or `show` fails.
pub fn each_entry<E: From<StorageError>>(
    trail: &Store,
    mut filter: AuditFilter,
    mut show: impl FnMut(&Entry) -> Result<(), E>,
) -> Result<(), E> {
    loop {
        let page = trail.audit(&filter, PAGE)?;
        page.iter().try_for_each(&mut show)?;
        match page.last() {
            Some(last) if page.len() == PAGE => filter.after = last.id,
            _ => return Ok(()),
        }
    }
}
