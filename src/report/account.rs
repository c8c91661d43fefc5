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
use crate::base::pages::{all_pages, each_item};
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

/// An error that leaves the document incomplete.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// The store has failed.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// The document could not be written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ExportError {
    /// Logs that the export of `what` failed, unless its reader has disconnected.
    pub fn log(&self, what: &str, request_id: &RequestId) {
        if !matches!(self, Self::Io(_)) {
            warn!(request_id = request_id.as_str(); "the export of {what} failed: {self}");
        }
    }
}

/// Calls `show` with every entry of the audit that a filter selects.
///
/// # Errors
/// Returns an error if the store or `show` fails.
pub fn each_entry<E: From<StorageError>>(
    store: &Store,
    filter: AuditFilter,
    show: impl FnMut(&Entry) -> Result<(), E>,
) -> Result<(), E> {
    let read = |last: Option<&Entry>| {
        store.audit(&AuditFilter { after: last.map_or(filter.after, |last| last.id), ..filter }, PAGE)
    };
    each_item(PAGE, read, show)
}

/// Writes everything that is stored about an account. Keys and sessions appear without their hashes, and webhooks without their secrets. The
/// export is recorded in the audit before anything is written.
///
/// # Errors
/// Returns [`ExportError`] if the document is incomplete.
pub fn write_account(
    store: &Store,
    account: &Account,
    now: Timestamp,
    by: &Origin,
    out: &mut dyn Write,
) -> Result<(), ExportError> {
    store.note(&AuditEvent::of_account(Action::AccountExported, account.id), by)?;
    write!(out, "{{\n\"exported_at\": \"{}\",\n\"account\": ", rfc3339_millis(now))?;
    let mut export = Export { out, is_empty: true };
    export.value(account)?;
    let id = account.id;
    export.list("keys", |list| list.items(&store.keys(Some(id))?))?;
    export.list("sessions", |list| list.items(&store.sessions(id, now)?))?;
    export.list("ledger", |list| list.items(&store.bookings(id)?))?;
    export.list("cycles", |list| list.items(&store.cycle_uses(id)?))?;
    export.list("idempotency_keys", |list| list.items(&store.noted_requests(id)?))?;
    export.list("watches", |list| {
        let watches = |last: Option<&Watch>| store.watches(id, last.map(|last| last.id), PAGE);
        each_item(PAGE, watches, |watch| {
            let changes = all_pages(PAGE, |last: Option<&StoredChange>| {
                let page = store.watch_changes(id, watch.id, last.map(|last| last.id), PAGE)?;
                Ok::<_, StorageError>(page.unwrap_or_default())
            })?;
            let more = json!({ "options": watch.options, "modules": watch.choice, "changes": changes });
            list.item(&With { item: watch, more })
        })
    })?;
    export.list("webhooks", |list| {
        store.webhooks(id)?.iter().try_for_each(|webhook| {
            let deliveries = all_pages(PAGE, |last: Option<&Delivery>| {
                let page = store.deliveries(id, webhook.id, last.map(|last| last.id), PAGE)?;
                Ok::<_, StorageError>(page.unwrap_or_default())
            })?;
            list.item(&With { item: webhook, more: json!({ "deliveries": deliveries }) })
        })
    })?;
    export.list("batches", |list| {
        let batches = |last: Option<&Batch>| store.batches(id, last.map(|it| (it.created_at, it.id)), PAGE);
        each_item(PAGE, batches, |batch| {
            list.item(&batch_block(batch, &store.batch_rows(batch.id, 0, MAX_SEARCHES)?))
        })
    })?;
    export.list("audit", |list| {
        let filter = AuditFilter { account: Some(id), ..AuditFilter::default() };
        each_entry(store, filter, |entry| list.item(entry))
    })?;
    export.list("runs", |list| {
        let runs = |last: Option<&RunSummary>| {
            let before = last.map(Cursor::after);
            store.list(id, &ListFilter { before, ..ListFilter::default() }, PAGE)
        };
        each_item(PAGE, runs, |run| {
            let mut run = read_run(store, run.clone(), run.created_at)?;
            store.notes(run.summary.id)?.annotate(&mut run.results);
            // The profile pictures as PNGs in base64, by the ids of their results.
            let thumbnails = store.thumbnails(run.summary.id)?;
            let thumbnails: BTreeMap<_, _> =
                thumbnails.iter().map(|(id, png)| (id, STANDARD.encode(png))).collect();
            let more = if thumbnails.is_empty() { json!({}) } else { json!({ "thumbnails": thumbnails }) };
            list.item(&With { item: &run, more })
        })
    })?;
    writeln!(export.out, "\n}}")?;
    Ok(export.out.flush()?)
}

/// A document that is being written.
struct Export<'a> {
    out: &'a mut dyn Write,
    /// Whether the list that is being written has no item yet.
    is_empty: bool,
}

impl Export<'_> {
    fn list(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut Self) -> Result<(), ExportError>,
    ) -> Result<(), ExportError> {
        write!(self.out, ",\n\"{name}\": [")?;
        self.is_empty = true;
        write(self)?;
        Ok(self.out.write_all(b"]")?)
    }

    fn items(&mut self, items: &[impl Serialize]) -> Result<(), ExportError> {
        items.iter().try_for_each(|item| self.item(item))
    }

    fn item(&mut self, item: &impl Serialize) -> Result<(), ExportError> {
        self.out.write_all(if self.is_empty { b"\n  " } else { b",\n  " })?;
        self.is_empty = false;
        self.value(item)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        let text = serde_json::to_string(value).map_err(io::Error::from)?;
        Ok(self.out.write_all(printable(&text).as_bytes())?)
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

/// Returns a batch with what it searches. Its runs are among all runs.
fn batch_block(batch: &Batch, rows: &[BatchRow]) -> Value {
    let search = |row: &BatchRow| {
        let mut search = json!(row.search);
        search["row"] = row.position.into();
        search["status"] = row.status().into();
        search["run_id"] = json!(row.run().map(|run| run.id));
        search
    };
    json!({
        "id": batch.id, "name": batch.name, "status": batch.status, "created_at": rfc3339_millis(batch.created_at),
        "ended_at": batch.ended_at.map(rfc3339_millis), "searches": rows.iter().map(search).collect::<Vec<_>>(),
    })
}
