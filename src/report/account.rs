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
use serde_json::json;

use super::audit::{AuditLine, each_entry};
use super::batch::BatchRecord;
use super::body::{ReportBody, RunBody};
use crate::base::clock::rfc3339_millis;
use crate::base::ids::RequestId;
use crate::base::pages::all_pages;
use crate::base::storage::StorageError;
use crate::base::text::json as printable;
use crate::model::account::{Account, KeyRecord};
use crate::model::audit::{Action, AuditEvent, AuditFilter, Origin};
use crate::model::batch::MAX_SEARCHES;
use crate::model::page::ListFilter;
use crate::model::run::{RunOptions, RunSummary};
use crate::model::sign_in::Session;
use crate::model::watch::{StoredChange, Watch};
use crate::model::webhook::{Delivery, Webhook};
use crate::modules::catalog::Choice;
use crate::runs::record::results_after;
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
    /// A value has no JSON form.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl ExportError {
    /// Logs that the export of `what` failed, unless its reader has disconnected.
    pub fn log(&self, what: &str, request_id: &RequestId) {
        if !matches!(self, Self::Io(_)) {
            warn!(request_id = request_id.as_str(); "the export of {what} failed: {self}");
        }
    }
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
    store.note(&AuditEvent::of_account(Action::AccountExported, account.id), now, by)?;
    Export { store, account, out }.write(now)
}

#[derive(Serialize)]
struct RunBlock<'a> {
    #[serde(flatten)]
    report: ReportBody<'a>,
    /// The profile pictures as PNGs in base64, by the ids of their results.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    thumbnails: BTreeMap<u32, String>,
}

/// A watch with its changes.
#[derive(Serialize)]
struct WatchBlock {
    #[serde(flatten)]
    watch: Watch,
    options: RunOptions,
    modules: Choice,
    changes: Vec<StoredChange>,
}

#[derive(Serialize)]
struct WebhookBlock {
    #[serde(flatten)]
    webhook: Webhook,
    deliveries: Vec<Delivery>,
}

struct Export<'a> {
    store: &'a Store,
    account: &'a Account,
    out: &'a mut dyn Write,
}

impl<'a> Export<'a> {
    fn write(mut self, now: Timestamp) -> Result<(), ExportError> {
        let (id, store) = (self.account.id, self.store);
        let exported_at = rfc3339_millis(now);
        write!(self.out, "{{\n\"exported_at\": \"{exported_at}\",\n\"account\": ")?;
        let time = rfc3339_millis;
        let Account { email, plan, role, created_at, anchor, .. } = self.account;
        self.value(&json!({
            "id": id, "email": email, "plan": plan, "role": role.as_str(), "created_at": time(*created_at),
            "billing_anchor": time(*anchor),
        }))?;
        let key = |key: KeyRecord| {
            json!({
                "id": key.id, "label": key.label, "last_four": key.last_four, "created_at": time(key.created_at),
                "last_used_at": key.last_used_at.map(time), "revoked_at": key.revoked_at.map(time),
            })
        };
        self.list("keys", store.keys(Some(id))?.into_iter().map(key))?;
        let session = |session: Session| {
            json!({
                "id": session.id, "created_at": time(session.created_at), "last_seen_at": time(session.last_seen_at),
                "expires_at": time(session.expires_at), "user_agent": session.user_agent, "address": session.address,
            })
        };
        self.list("sessions", store.sessions(id, now)?.into_iter().map(session))?;
        self.list("ledger", store.bookings(id)?.iter())?;
        self.list("cycles", store.cycle_uses(id)?.iter())?;
        self.list("idempotency_keys", store.noted_requests(id)?.iter())?;
        self.watches()?;
        self.webhooks()?;
        self.batches()?;
        self.audit()?;
        self.runs()?;
        writeln!(self.out, "\n}}")?;
        Ok(self.out.flush()?)
    }

    fn list<T: Serialize>(&mut self, name: &str, items: impl Iterator<Item = T>) -> Result<(), ExportError> {
        let mut list = self.begin(name)?;
        for item in items {
            self.item(&mut list, &item)?;
        }
        self.end()
    }

    /// Writes the watches with their changes.
    fn watches(&mut self) -> Result<(), ExportError> {
        let (store, id) = (self.store, self.account.id);
        let mut list = self.begin("watches")?;
        for watch in
            all_pages(PAGE, |last: Option<&Watch>| store.watches(id, last.map(|last| last.id), PAGE))?
        {
            let changes = all_pages(PAGE, |last: Option<&StoredChange>| {
                let page = store.watch_changes(id, watch.id, last.map(|last| last.id), PAGE)?;
                Ok::<_, StorageError>(page.unwrap_or_default())
            })?;
            let (options, modules) = (watch.options, watch.choice.clone());
            self.item(&mut list, &WatchBlock { watch, options, modules, changes })?;
        }
        self.end()
    }

    /// Writes the webhooks with their deliveries.
    fn webhooks(&mut self) -> Result<(), ExportError> {
        let mut list = self.begin("webhooks")?;
        for webhook in self.store.webhooks(self.account.id)? {
            let deliveries = all_deliveries(self.store, &webhook)?;
            self.item(&mut list, &WebhookBlock { webhook, deliveries })?;
        }
        self.end()
    }

    /// Writes the batches with what they search, newest first. Their runs are among all runs.
    fn batches(&mut self) -> Result<(), ExportError> {
        let mut list = self.begin("batches")?;
        let mut before = None;
        loop {
            let page = self.store.batches(self.account.id, before, PAGE)?;
            for batch in &page {
                let rows = self.store.batch_rows(batch.id, 0, MAX_SEARCHES)?;
                self.item(&mut list, &BatchRecord::new(batch, &rows))?;
            }
            match page.last() {
                Some(last) if page.len() == PAGE => before = Some((last.created_at, last.id)),
                _ => return self.end(),
            }
        }
    }

    fn audit(&mut self) -> Result<(), ExportError> {
        let mut list = self.begin("audit")?;
        let filter = AuditFilter { account: Some(self.account.id), ..AuditFilter::default() };
        each_entry(self.store, filter, |entry| self.item(&mut list, &AuditLine::from(entry)))?;
        self.end()
    }

    /// Writes the runs, newest first.
    fn runs(&mut self) -> Result<(), ExportError> {
        let mut list = self.begin("runs")?;
        let mut filter = ListFilter::default();
        loop {
            let page = self.store.list(self.account.id, &filter, PAGE)?;
            for run in &page {
                self.run(&mut list, run)?;
            }
            match page.last() {
                Some(last) if page.len() == PAGE => filter.before = Some((last.created_at, last.id)),
                _ => return self.end(),
            }
        }
    }

    fn run(&mut self, list: &mut List, run: &RunSummary) -> Result<(), ExportError> {
        let mut results = results_after(self.store, run.id, 0)?;
        self.store.notes(run.id)?.annotate(&mut results);
        let modules = self.store.modules(run.id)?;
        let thumbnails = self.store.thumbnails(run.id)?;
        let thumbnails = thumbnails.iter().map(|(id, png)| (*id, STANDARD.encode(png))).collect();
        let run = RunBody { head: run.into(), results: results.iter().collect() };
        self.item(list, &RunBlock { report: ReportBody { run, modules: &modules }, thumbnails })
    }

    fn begin(&mut self, name: &str) -> Result<List, ExportError> {
        write!(self.out, ",\n\"{name}\": [")?;
        Ok(List { is_empty: true })
    }

    fn item(&mut self, list: &mut List, item: &impl Serialize) -> Result<(), ExportError> {
        self.out.write_all(if list.is_empty { b"\n  " } else { b",\n  " })?;
        list.is_empty = false;
        self.value(item)
    }

    fn end(&mut self) -> Result<(), ExportError> {
        Ok(self.out.write_all(b"]")?)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), ExportError> {
        let text = serde_json::to_string(value)?;
        Ok(self.out.write_all(printable(&text).as_bytes())?)
    }
}

/// A JSON list that is being written.
struct List {
    is_empty: bool,
}

fn all_deliveries(store: &Store, webhook: &Webhook) -> Result<Vec<Delivery>, StorageError> {
    all_pages(PAGE, |last: Option<&Delivery>| {
        let page = store.deliveries(webhook.account, webhook.id, last.map(|last| last.id), PAGE)?;
        Ok(page.unwrap_or_default())
    })
}
