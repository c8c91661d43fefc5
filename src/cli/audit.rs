//! `audit`.

use std::io::Write;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Serialize;
use serde_json::{Map, Value};

use super::account::open_store;
use super::exit::{Exit, Failure};
use crate::account::account::Account;
use crate::account::audit::{AuditFilter, Entry};
use crate::account::service::AccountError;
use crate::base::clock::{millis, rfc3339_millis};
use crate::base::ids::AccountId;
use crate::base::text::{json, plain};
use crate::config::{StorageConfig, checked};
use crate::store::Store;

/// Entries read from the store at once.
const PAGE: usize = 1000;

/// Show who did what, when, oldest first
///
/// Accounts created, moved to another plan, exported, deleted; keys created, revoked; searches started,
/// deleted, removed for their age; changes of the schema. Never what was searched or found.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline audit --account me@example.org
  sightline audit --since 2026-11-01 --format json | jq -r '.[] | select(.action == \"key.created\") | .object'")]
pub(crate) struct AuditArgs {
    /// Only what concerns the account with this email address or id; a deleted one has its id alone
    #[arg(long, value_name = "EMAIL|ID")]
    account: Option<String>,
    /// Only from this moment or day (UTC) on: 2026-11-01T12:00:00Z or 2026-11-01
    #[arg(long, value_name = "TIME", value_parser = checked(moment))]
    since: Option<Timestamp>,
    /// How entries are written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    storage: StorageConfig,
}

/// How entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// One line an entry
    Text,
    /// One JSON array
    Json,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let day = || Date::from_str(text).ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    text.parse().ok().or_else(day).ok_or_else(|| {
        "a moment or a day (UTC) is allowed, such as 2026-11-01T12:00:00Z or 2026-11-01".to_owned()
    })
}

/// An entry as `--format json` shows it.
#[derive(Serialize)]
pub(super) struct AuditLine<'a> {
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

pub(crate) fn run(args: &AuditArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let store = open_store(&args.storage)?;
    let account = args.account.as_deref().map(|name| find(&*store, name)).transpose()?;
    let filter = AuditFilter { account, since: args.since, after: 0 };
    match args.format {
        Format::Text => each_entry(&*store, filter, |entry| Ok(writeln!(out, "{}", line(entry))?))?,
        Format::Json => {
            let mut before = "[\n  ";
            each_entry(&*store, filter, |entry| {
                let text = serde_json::to_string(&AuditLine::from(entry))?;
                write!(out, "{before}{}", json(&text))?;
                before = ",\n  ";
                Ok(())
            })?;
            writeln!(out, "{}", if before.starts_with('[') { "[]" } else { "\n]" })?;
        }
    }
    Ok(Exit::Done)
}

/// An id is taken as it is: the account may be gone.
fn find(store: &Store, name: &str) -> Result<AccountId, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    let account: Option<Account> = store.account_by_email(&name.trim().to_lowercase())?;
    Ok(account.ok_or(AccountError::UnknownAccount)?.id)
}

/// All entries of a filter, page by page.
pub(super) fn each_entry(
    store: &Store,
    mut filter: AuditFilter,
    mut show: impl FnMut(&Entry) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        let page = store.audit(&filter, PAGE)?;
        page.iter().try_for_each(&mut show)?;
        match page.last() {
            Some(last) if page.len() == PAGE => filter.after = last.id,
            _ => return Ok(()),
        }
    }
}

/// `2026-11-01T12:00:00.000Z key.created by cli account 0198… object 0198…`
fn line(entry: &Entry) -> String {
    let mut line = format!("{} {} by {}", rfc3339_millis(entry.at), plain(&entry.action), entry.actor);
    let mut add = |name: &str, value: &str| line += &format!(" {name}={}", plain(value));
    if let Some(account) = entry.account {
        add("account", &account.to_string());
    }
    if let Some(object) = &entry.object {
        add("object", object);
    }
    if let Some(request) = &entry.request {
        add("request", request);
    }
    for (name, value) in &entry.detail {
        match value {
            Value::String(text) => add(name, text),
            other => add(name, &other.to_string()),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_a_time_or_a_day_of_utc() {
        for (text, want) in [
            ("2026-11-01", "2026-11-01T00:00:00.000Z"),
            ("2026-11-01T12:00:00Z", "2026-11-01T12:00:00.000Z"),
            ("2026-11-01T12:00:00+02:00", "2026-11-01T10:00:00.000Z"),
        ] {
            assert_eq!(rfc3339_millis(moment(text).unwrap()), want);
        }
        for bad in ["", "yesterday", "2026-13-01", "12:00"] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
