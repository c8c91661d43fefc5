//! `audit`.

use std::io::Write;
use std::str::FromStr;

use clap::Args;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::database::{accounts_in, open_store};
use super::exit::{Exit, Failure};
use super::table::TextFormat;
use crate::base::clock::rfc3339_millis;
use crate::base::ids::AccountId;
use crate::base::text::plain;
use crate::config::{StorageConfig, checked};
use crate::model::audit::{AuditFilter, Entry};
use crate::report::account::{JsonArray, entries};
use crate::store::Store;

/// Show who changed what and when, oldest first
///
/// Contains accounts created, moved to another plan or role, exported, deleted; set-up links, passwords and
/// sessions of the web app; keys created, revoked; searches started, deleted, expired; changes of the schema.
/// Never contains queries or results.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline audit --account me@example.org
  sightline audit --since 2026-11-01 --format json | jq -r '.[] | select(.action == \"key.created\") | .object'")]
pub(crate) struct AuditArgs {
    /// Only entries of the account with this email address or id; a deleted account has only its id
    #[arg(long, value_name = "EMAIL|ID")]
    account: Option<String>,
    /// Only entries since this time or day (UTC): 2026-11-01T12:00:00Z or 2026-11-01
    #[arg(long, value_name = "TIME", value_parser = checked(moment))]
    since: Option<Timestamp>,
    /// Format of the entries: one line for each, or one JSON array
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    storage: StorageConfig,
}

fn moment(text: &str) -> Result<Timestamp, String> {
    let day = || Date::from_str(text).ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    text.parse().ok().or_else(day).ok_or_else(|| {
        "expected a time or a day (UTC), such as 2026-11-01T12:00:00Z or 2026-11-01".to_owned()
    })
}

pub(crate) fn run(args: &AuditArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let store = open_store(&args.storage)?;
    let account = args.account.as_deref().map(|name| find(&store, name)).transpose()?;
    let filter = AuditFilter { account, since: args.since, after: 0 };
    match args.format {
        TextFormat::Text => {
            entries(&store, filter).try_for_each(|entry| writeln!(out, "{}", line(&entry?)))?;
        }
        TextFormat::Json => {
            let mut list = JsonArray::begin(out)?;
            entries(&store, filter).try_for_each(|entry| list.item(&entry?))?;
            list.end()?;
            writeln!(out)?;
        }
    }
    Ok(Exit::Done)
}

/// Returns the account with this email address or id. An id is not looked up, since the account may be
/// deleted.
fn find(store: &Store, name: &str) -> Result<AccountId, Failure> {
    if let Ok(id) = name.parse() {
        return Ok(id);
    }
    Ok(accounts_in(store, Some(name))?[0].id)
}

/// Formats an entry: `2026-11-01T12:00:00.000Z key.created by cli account=0198… object=0198…`.
fn line(entry: &Entry) -> String {
    let mut line = format!("{} {} by {}", rfc3339_millis(entry.at), plain(&entry.action), plain(&entry.by()));
    let mut add = |name: &str, value: &str| line += &format!(" {name}={}", plain(value));
    let account = entry.account.map(|id| id.to_string());
    for (name, value) in [("account", &account), ("object", &entry.object), ("request", &entry.request)] {
        value.iter().for_each(|value| add(name, value));
    }
    for (name, value) in &entry.detail {
        add(name, &value.as_str().map_or_else(|| value.to_string(), str::to_owned));
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
