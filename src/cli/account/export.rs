//! `account export`: everything that is kept of an account, as one JSON document.
//!
//! It is written piece by piece: an account may have more searches than fit into memory.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use jiff::Timestamp;
use serde::Serialize;

use super::open_store;
use crate::account::account::Account;
use crate::account::audit::{Action, AuditFilter, Deed, Origin};
use crate::account::key::KeyRecord;
use crate::account::records::{Booking, CycleUse, NotedRequest};
use crate::account::service::AccountError;
use crate::base::clock::{Clock as _, SystemClock, millis};
use crate::base::ids::{AccountId, KeyId, RunId};
use crate::base::storage::StorageError;
use crate::base::text::{json, plain};
use crate::cli::audit::{AuditLine, each_entry};
use crate::cli::exit::Failure;
use crate::cli::replace::Replacement;
use crate::config::StorageConfig;
use crate::report::body::{ReportBody, RunBody};
use crate::runs::journal::ListFilter;
use crate::runs::run::{ResultRecord, RunSummary};
use crate::store::Store;

/// Runs, and results of one run, read from the store at once.
const PAGE: usize = 500;

/// Write everything that is kept of an account as JSON: itself, keys, ledger, searches with results, audit
///
/// Of keys there is what `key list` shows. That it was done is noted in the audit.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline account export --email me@example.org --output me.json
  sightline account export --email me@example.org | jq -r '.runs[].query'")]
pub(super) struct ExportArgs {
    /// Email address of the account
    #[arg(long)]
    email: String,
    /// Where it goes, instead of standard output; a file that is there is replaced, a new one is readable
    /// for its owner alone
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    storage: StorageConfig,
}

#[derive(Serialize)]
struct AccountBlock<'a> {
    id: AccountId,
    email: &'a str,
    plan: &'a str,
    #[serde(with = "millis")]
    created_at: Timestamp,
    #[serde(with = "millis")]
    billing_anchor: Timestamp,
}

#[derive(Serialize)]
struct KeyBlock<'a> {
    id: KeyId,
    label: &'a str,
    last_four: &'a str,
    #[serde(with = "millis")]
    created_at: Timestamp,
    #[serde(with = "millis::option")]
    last_used_at: Option<Timestamp>,
    #[serde(with = "millis::option")]
    revoked_at: Option<Timestamp>,
}

#[derive(Serialize)]
struct BookingBlock<'a> {
    run_id: RunId,
    kind: &'a str,
    credits: u64,
    #[serde(with = "millis")]
    cycle_start: Timestamp,
    #[serde(with = "millis")]
    at: Timestamp,
}

#[derive(Serialize)]
struct CycleBlock {
    #[serde(with = "millis")]
    cycle_start: Timestamp,
    credits_used: u64,
}

#[derive(Serialize)]
struct RequestBlock<'a> {
    key: &'a str,
    run_id: RunId,
    #[serde(with = "millis")]
    at: Timestamp,
}

pub(super) fn run(args: &ExportArgs, out: &mut dyn Write) -> Result<(), Failure> {
    let store = open_store(&args.storage)?;
    let email = args.email.trim().to_lowercase();
    let account = store.account_by_email(&email)?.ok_or(AccountError::UnknownAccount)?;
    if account.is_being_deleted() {
        return Err(AccountError::BeingDeleted.into());
    }
    let Some(path) = &args.output else { return Export::new(&*store, &account, out).write() };
    let failed = |error: io::Error| {
        let shown = path.display().to_string();
        Failure::Failed(format!("{} cannot be written: {}", plain(&shown), plain(&error.to_string())))
    };
    let mut file = Replacement::begin_private(path).map_err(failed)?;
    let mut buffered = io::BufWriter::new(&mut file);
    Export::new(&*store, &account, &mut buffered).write()?;
    buffered.flush().map_err(failed)?;
    drop(buffered);
    file.finish().map_err(failed)?;
    writeln!(out, "exported {} to {}", account.email, plain(&path.display().to_string()))?;
    Ok(())
}

struct Export<'a> {
    store: &'a Store,
    account: &'a Account,
    out: &'a mut dyn Write,
}

impl<'a> Export<'a> {
    fn new(store: &'a Store, account: &'a Account, out: &'a mut dyn Write) -> Self {
        Self { store, account, out }
    }

    fn write(mut self) -> Result<(), Failure> {
        let (id, now) = (self.account.id, SystemClock.now());
        // First: nothing is handed out that is not noted.
        self.store.note(&Deed::of_account(Action::AccountExported, id), now, &Origin::CLI)?;
        let exported_at = crate::base::clock::rfc3339_millis(now);
        write!(self.out, "{{\n\"exported_at\": \"{exported_at}\",\n\"account\": ")?;
        self.value(&account_block(self.account))?;
        self.list("keys", self.store.keys(Some(id))?.iter().map(key_block))?;
        self.list("ledger", self.store.bookings(id)?.iter().map(booking_block))?;
        self.list("cycles", self.store.cycle_uses(id)?.iter().map(cycle_block))?;
        self.list("idempotency_keys", self.store.noted_requests(id)?.iter().map(request_block))?;
        self.audit()?;
        self.runs()?;
        writeln!(self.out, "\n}}")?;
        Ok(self.out.flush()?)
    }

    fn list<T: Serialize>(&mut self, name: &str, items: impl Iterator<Item = T>) -> Result<(), Failure> {
        let mut list = self.begin(name)?;
        for item in items {
            self.item(&mut list, &item)?;
        }
        self.end()
    }

    fn audit(&mut self) -> Result<(), Failure> {
        let mut list = self.begin("audit")?;
        let filter = AuditFilter { account: Some(self.account.id), ..AuditFilter::default() };
        each_entry(self.store, filter, |entry| self.item(&mut list, &AuditLine::from(entry)))?;
        self.end()
    }

    /// Newest first.
    fn runs(&mut self) -> Result<(), Failure> {
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

    fn run(&mut self, list: &mut List, run: &RunSummary) -> Result<(), Failure> {
        let results = all_results(self.store, run.id)?;
        let modules = self.store.modules(run.id)?;
        let run = RunBody { head: run.into(), results: results.iter().collect() };
        self.item(list, &ReportBody { run, modules: &modules })
    }

    fn begin(&mut self, name: &str) -> Result<List, Failure> {
        write!(self.out, ",\n\"{name}\": [")?;
        Ok(List { is_empty: true })
    }

    fn item(&mut self, list: &mut List, item: &impl Serialize) -> Result<(), Failure> {
        self.out.write_all(if list.is_empty { b"\n  " } else { b",\n  " })?;
        list.is_empty = false;
        self.value(item)
    }

    fn end(&mut self) -> Result<(), Failure> {
        Ok(self.out.write_all(b"]")?)
    }

    fn value(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        let text = serde_json::to_string(value)?;
        Ok(self.out.write_all(json(&text).as_bytes())?)
    }
}

/// A list that is being written.
struct List {
    is_empty: bool,
}

fn all_results(store: &Store, run: RunId) -> Result<Vec<ResultRecord>, StorageError> {
    let mut results: Vec<ResultRecord> = Vec::new();
    loop {
        let page = store.results(run, results.last().map_or(0, |last| last.id), PAGE)?;
        let is_last = page.len() < PAGE;
        results.extend(page);
        if is_last {
            return Ok(results);
        }
    }
}

fn account_block(account: &Account) -> AccountBlock<'_> {
    AccountBlock {
        id: account.id,
        email: &account.email,
        plan: &account.plan,
        created_at: account.created_at,
        billing_anchor: account.anchor,
    }
}

fn key_block(key: &KeyRecord) -> KeyBlock<'_> {
    KeyBlock {
        id: key.id,
        label: &key.label,
        last_four: &key.last_four,
        created_at: key.created_at,
        last_used_at: key.last_used_at,
        revoked_at: key.revoked_at,
    }
}

fn booking_block(booking: &Booking) -> BookingBlock<'_> {
    BookingBlock {
        run_id: booking.run,
        kind: &booking.kind,
        credits: booking.credits,
        cycle_start: booking.cycle_start,
        at: booking.at,
    }
}

fn cycle_block(cycle: &CycleUse) -> CycleBlock {
    CycleBlock { cycle_start: cycle.cycle_start, credits_used: cycle.used }
}

fn request_block(request: &NotedRequest) -> RequestBlock<'_> {
    RequestBlock { key: &request.key, run_id: request.run, at: request.at }
}
