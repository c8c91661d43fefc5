//! The export of an account: everything that is stored about it, as one JSON document.
//!
//! It is written piece by piece, because an account can have more searches than fit into memory.

use std::collections::BTreeMap;
use std::io::{self, Write};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use log::warn;
use serde::Serialize;
use serde_json::{Value, json};

use crate::base::clock::rfc3339_millis;
use crate::base::ids::RequestId;
use crate::base::pages::items;
use crate::base::storage::StorageError;
use crate::base::text::json as printable;
use crate::model::account::Account;
use crate::model::audit::{Action, AuditEvent, AuditFilter, Entry, Origin};
use crate::model::batch::{Batch, BatchRow, MAX_SEARCHES};
use crate::model::page::{Cursor, ListFilter};
use crate::model::run::RunSummary;
use crate::model::watch::{StoredChange, Watch};
use crate::model::webhook::Delivery;
use crate::runs::record::read_run;
use crate::store::Store;

/// The number of items of a list that are read from the store at once.
const PAGE: usize = 500;

/// Logs that the export of `what` failed, unless its reader has disconnected.
pub fn log_failure(error: &io::Error, what: &str, request_id: &RequestId) {
    if StorageError::is_in(error) {
        warn!(request_id = request_id.as_str(); "the export of {what} failed: {error}");
    }
}

/// Returns every entry of the audit that a filter selects.
pub fn entries(store: &Store, filter: AuditFilter) -> impl Iterator<Item = Result<Entry, StorageError>> {
    let read = move |last: Option<&Entry>| {
        store.audit(&AuditFilter { after: last.map_or(filter.after, |last| last.id), ..filter }, PAGE)
    };
    items(PAGE, read)
}

/// Writes everything that is stored about an account. Keys and sessions appear without their hashes, and webhooks without their secrets. The
/// export is recorded in the audit before anything is written.
///
/// # Errors
/// Returns a failure of the store or of `out`. The document is then incomplete.
pub fn write_account(
    store: &Store,
    account: &Account,
    now: Timestamp,
    by: &Origin,
    out: &mut dyn Write,
) -> io::Result<()> {
    store.note(&AuditEvent::of_account(Action::AccountExported, account.id), by)?;
    let id = account.id;
    let head = json!({
        "exported_at": rfc3339_millis(now), "account": account, "keys": store.keys(Some(id))?,
        "sessions": store.sessions(id, now)?, "ledger": store.bookings(id)?, "cycles": store.cycle_uses(id)?,
        "idempotency_keys": store.noted_requests(id)?,
    });
    // Of the lists that follow, each item is read when it is written.
    let head = head.to_string();
    out.write_all(printable(head.strip_suffix('}').unwrap_or_default()).as_bytes())?;
    list(out, "watches", |list| {
        let watches = |last: Option<&Watch>| store.watches(id, last.map(|last| last.id), PAGE);
        items(PAGE, watches).try_for_each(|watch| {
            let watch = watch?;
            let read =
                |last: Option<&StoredChange>| store.watch_changes(watch.id, last.map(|last| last.id), PAGE);
            let changes = items(PAGE, read).collect::<Result<Vec<_>, _>>()?;
            let more = json!({ "options": watch.options, "modules": watch.choice, "changes": changes });
            list.item(&With { item: &watch, more })
        })
    })?;
    list(out, "webhooks", |list| {
        store.webhooks(id)?.iter().try_for_each(|webhook| {
            let read = |last: Option<&Delivery>| store.deliveries(webhook.id, last.map(|last| last.id), PAGE);
            let deliveries = items(PAGE, read).collect::<Result<Vec<_>, _>>()?;
            list.item(&With { item: webhook, more: json!({ "deliveries": deliveries }) })
        })
    })?;
    list(out, "batches", |list| {
        let batches = |last: Option<&Batch>| store.batches(id, last.map(|it| (it.created_at, it.id)), PAGE);
        items(PAGE, batches).try_for_each(|batch| {
            let batch = batch?;
            let rows = store.batch_rows(batch.id, 0, MAX_SEARCHES)?;
            let searches: Vec<Value> = rows.iter().map(search_of).collect();
            list.item(&With { item: &batch, more: json!({ "searches": searches }) })
        })
    })?;
    list(out, "audit", |list| {
        let filter = AuditFilter { account: Some(id), ..AuditFilter::default() };
        entries(store, filter).try_for_each(|entry| list.item(&entry?))
    })?;
    list(out, "runs", |list| {
        let runs = |last: Option<&RunSummary>| {
            let before = last.map(Cursor::after);
            store.list(id, &ListFilter { before, ..ListFilter::default() }, PAGE)
        };
        items(PAGE, runs).try_for_each(|run| {
            let run = run?;
            let created_at = run.created_at;
            let mut run = read_run(store, run, created_at)?;
            store.notes(run.summary.id)?.annotate(&mut run.results);
            // The profile pictures as PNGs in base64, by the ids of their results.
            let thumbnails = store.thumbnails(run.summary.id)?;
            let thumbnails: BTreeMap<_, _> =
                thumbnails.iter().map(|(id, png)| (id, STANDARD.encode(png))).collect();
            let more = if thumbnails.is_empty() { json!({}) } else { json!({ "thumbnails": thumbnails }) };
            list.item(&With { item: &run, more })
        })
    })?;
    writeln!(out, "\n}}")?;
    out.flush()
}

/// Writes a member of the document that is a list.
fn list(
    out: &mut dyn Write,
    name: &str,
    write: impl FnOnce(&mut JsonArray<'_>) -> io::Result<()>,
) -> io::Result<()> {
    write!(out, ",\n\"{name}\": ")?;
    let mut list = JsonArray::begin(out)?;
    write(&mut list)?;
    list.end()
}

/// A JSON array that is written item by item.
pub struct JsonArray<'o> {
    out: &'o mut dyn Write,
    is_empty: bool,
}

impl<'o> JsonArray<'o> {
    /// Begins an array.
    ///
    /// # Errors
    /// Returns the errors of `out`, as the other functions do.
    pub fn begin(out: &'o mut dyn Write) -> io::Result<Self> {
        out.write_all(b"[")?;
        Ok(Self { out, is_empty: true })
    }

    /// Writes an item on its own line.
    pub fn item(&mut self, item: &impl Serialize) -> io::Result<()> {
        let before = if self.is_empty { "\n  " } else { ",\n  " };
        self.is_empty = false;
        write!(self.out, "{before}{}", printable(&serde_json::to_string(item)?))
    }

    /// Ends the array.
    pub fn end(self) -> io::Result<()> {
        self.out.write_all(if self.is_empty { b"]" } else { b"\n]" })
    }
}

/// An item of a list with further members.
#[derive(Serialize)]
struct With<T> {
    #[serde(flatten)]
    item: T,
    #[serde(flatten)]
    more: Value,
}

/// Returns a search of a batch. Its run is among all runs.
fn search_of(row: &BatchRow) -> Value {
    let mut search = row.search.clone();
    search["row"] = row.position.into();
    search["status"] = row.status.as_str().into();
    search["run_id"] = json!(row.run);
    search
}
