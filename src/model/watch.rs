//! Watches: searches that are repeated, and the changes that they find.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, RunId, WatchChangeId, WatchId, WebhookId};
use crate::base::words::words;
use crate::model::diff::Difference;
use crate::model::refusal::Refusal;
use crate::model::run::RunOptions;
use crate::model::search::Search;
use crate::model::start::Idempotency;
use crate::modules::catalog::Choice;
use crate::modules::query::SearchType;

/// The most watches of an account.
pub const MOST_WATCHES: usize = 1000;

/// A watch to be created. The store dates it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWatch {
    /// The id of the watch.
    pub id: WatchId,
    /// The account that is charged for its runs.
    pub account: AccountId,
    /// The search that is repeated. It follows no leads.
    pub search: Search,
    /// Whether its runs query the simulated web.
    pub simulated: bool,
    /// The time between two runs.
    pub every: Interval,
    /// The kinds of changes that are reported to webhooks, sorted, each once. There is at least one.
    pub notify_on: Vec<ChangeKind>,
    /// The webhook that gets its events. If it is `None`, all webhooks that have subscribed to them get them.
    pub webhook: Option<WebhookId>,
    /// The run that takes the place of the first one, if the watch goes on from it.
    pub since: Option<RunId>,
    /// The key of the request, so that a repeated one gets the same watch.
    pub idempotency: Option<Idempotency>,
}

/// A watch: a search that is repeated.
// It follows no leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Watch {
    /// Identifies the watch.
    pub id: WatchId,
    /// The account that is charged for its runs.
    #[serde(skip)]
    pub account: AccountId,
    /// Kind of identifier that is searched.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: String,
    /// Whether modules that need a browser take part.
    pub premium: bool,
    /// How long its checks may take.
    #[serde(skip)]
    pub options: RunOptions,
    /// The chosen modules.
    #[serde(skip)]
    pub choice: Choice,
    /// Time between two runs.
    #[schema(value_type = String, pattern = "^[0-9]{1,5}[mhd]$", examples("1d"))]
    pub every: Interval,
    /// Kinds of changes that webhooks get.
    // Sorted, each once.
    #[schema(min_items = 1)]
    pub notify_on: Vec<ChangeKind>,
    /// Webhook that gets the events; null if all get them that have subscribed to `watch.changed`.
    #[serde(rename = "webhook_id")]
    pub webhook: Option<WebhookId>,
    /// Whether runs are started.
    pub state: WatchState,
    /// Reason why no runs are started; null if the watch is active.
    #[serde(rename = "paused_reason")]
    pub paused: Option<PauseReason>,
    /// Time at which the next run is due: RFC 3339, UTC, milliseconds.
    // Or was due.
    #[serde(rename = "next_run_at", serialize_with = "millis")]
    pub next_at: Timestamp,
    /// The last run, which may have been deleted since; null if there was none.
    #[serde(rename = "last_run_id")]
    pub last_run: Option<RunId>,
    /// The time at which the last run was started, unless there was none or it was deleted.
    #[serde(skip)]
    pub last_run_at: Option<Timestamp>,
    /// Whether the last run has not ended, or has not been compared.
    #[serde(skip)]
    pub is_open: bool,
    /// Time at which the watch was created: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// The number of changes that were found and are still stored.
    #[serde(skip)]
    pub changes: u64,
}

impl Watch {
    /// Returns the search that is repeated.
    pub fn search(&self) -> Search {
        let Self { search_type, premium, options, .. } = *self;
        let (query, choice) = (self.query.clone(), self.choice.clone());
        Search { search_type, query, premium, options, choice, follow: None, purpose: None }
    }
}

words! {
    /// The state of a watch.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum WatchState {
        /// Runs are started.
        Active = "active",
        /// No runs are started.
        Paused = "paused",
    }
}

words! {
    /// The reason why a watch is paused.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchPauseReason)]
    pub enum PauseReason {
        /// The owner has paused it.
        User = "user",
        /// The account had too few credits, or a plan without premium searches. The watch becomes active again when the
        /// account can pay for a run.
        Credits = "credits",
    }
}

/// The changes of a watch by its owner. `None` leaves a part as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchUpdate {
    /// The new time between two runs.
    pub every: Option<Interval>,
    /// The new kinds of changes that are reported.
    pub notify_on: Option<Vec<ChangeKind>>,
    /// The new webhook, or `Some(None)` for all webhooks that have subscribed.
    pub webhook: Option<Option<WebhookId>>,
    /// The new state. Making a watch active that is paused because of credits tries to start a run if one is due.
    pub state: Option<WatchState>,
}

words! {
    /// The kind of a change.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = WatchChangeKind)]
    pub enum ChangeKind {
        /// A result that was not there before.
        Added = "added",
        /// A result that is no longer there.
        Removed = "removed",
        /// A result whose data differs.
        Changed = "changed",
    }
}

/// A change that a watch has found.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
#[schema(as = WatchChange)]
pub struct StoredChange {
    /// Identifies the change.
    // The ids are in the order of the changes.
    pub id: WatchChangeId,
    /// Kind of the change.
    pub kind: ChangeKind,
    /// Run with which the result was compared: the last one in which its module came to a conclusion. It may have been
    /// deleted since.
    #[serde(rename = "run_before_id")]
    pub run_before: RunId,
    /// Run in which the change was found. It may have been deleted since.
    #[serde(rename = "run_after_id")]
    pub run_after: RunId,
    /// Time at which the change was found: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub at: Timestamp,
    /// The result, with the data that differs.
    #[serde(rename = "result")]
    #[schema(value_type = Difference)]
    pub difference: Value,
}

/// The last run of a watch, which has ended, or was deleted, and was not compared yet.
#[derive(Debug, Clone, PartialEq)]
pub struct EndedRun {
    /// The watch.
    pub watch: WatchId,
    /// Its account.
    pub account: AccountId,
    /// The run.
    pub run: RunId,
    /// The last conclusions before the run, as JSON. `None` if it is the watch's first run.
    pub baseline: Option<String>,
}

/// A change that a comparison has found.
#[derive(Debug, Clone, PartialEq)]
pub struct FoundChange {
    /// The kind.
    pub kind: ChangeKind,
    /// The run with which the result was compared. It may have been deleted since.
    pub run_before: RunId,
    /// The result, with the fields that differ.
    pub difference: Value,
}

/// What the comparison of a run has shown.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    /// The changes.
    pub changes: Vec<FoundChange>,
    /// The baseline of the next run as JSON, or `None` if it stays as it is.
    pub baseline: Option<String>,
}

const MINUTE: u32 = 60;

const HOUR: u32 = 60 * MINUTE;

const DAY: u32 = 24 * HOUR;

const UNITS: [(char, u32); 3] = [('d', DAY), ('h', HOUR), ('m', MINUTE)];

/// The range over which the moments of watches that were created at once are spread, in milliseconds.
const SPREAD_MS: u64 = HOUR as u64 * 1000;

/// The time between two runs: 1 hour to 30 days, in whole minutes. Its text is a number with a unit, such as `12h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval(u32);

impl Interval {
    /// The shortest interval.
    pub const SHORTEST: Self = Self(HOUR);
    /// The longest interval.
    pub const LONGEST: Self = Self(30 * DAY);

    /// Returns the interval of that many seconds, or `None` if it is not allowed.
    pub fn from_secs(secs: u64) -> Option<Self> {
        let interval = u32::try_from(secs).ok().filter(|secs| secs % MINUTE == 0).map(Self)?;
        (Self::SHORTEST..=Self::LONGEST).contains(&interval).then_some(interval)
    }

    /// Returns the number of seconds.
    pub fn secs(self) -> u32 {
        self.0
    }

    /// Returns the first moment after `now` at which a run of the watch is due. The moments lie one interval apart. The
    /// first one is one interval after the creation, and up to an hour later: that part follows from the id, so that
    /// watches which were created at once do not start their runs at once.
    pub fn next_after(self, watch: WatchId, created_at: Timestamp, now: Timestamp) -> Timestamp {
        // The lower half of an id of version 7 is random.
        let random = watch.0.as_u64_pair().1 & (u64::MAX >> 2);
        let jitter = i64::try_from(random % SPREAD_MS).unwrap_or_default();
        let first = created_at.as_millisecond().saturating_add(jitter);
        let every = i64::from(self.0) * 1000;
        let passed = now.as_millisecond().saturating_sub(first).div_euclid(every).max(0);
        let next = first.saturating_add(every.saturating_mul(passed + 1));
        Timestamp::from_millisecond(next).unwrap_or(Timestamp::MAX)
    }
}

impl Serialize for Interval {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, secs) =
            UNITS.into_iter().find(|(_, secs)| self.0.is_multiple_of(*secs)).unwrap_or(('m', MINUTE));
        write!(f, "{}{unit}", self.0 / secs)
    }
}

impl FromStr for Interval {
    type Err = Refusal;

    /// The error names the text, which is cut if it is long.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let shown: String = text.chars().take(20).filter(|c| !c.is_control()).collect();
        let secs = UNITS.into_iter().find_map(|(unit, secs)| {
            let number = text.strip_suffix(unit).filter(|text| !text.is_empty())?;
            let is_number = number.bytes().all(|byte| byte.is_ascii_digit());
            // Only a number that is too large fails to parse.
            is_number.then(|| number.parse().ok().and_then(|n: u32| n.checked_mul(secs)).unwrap_or(u32::MAX))
        });
        let why = match secs.map(Self) {
            None => "not a number with the unit m, h or d, such as 12h".to_owned(),
            Some(every) if every < Self::SHORTEST => format!("below the minimum of {}", Self::SHORTEST),
            Some(every) if every > Self::LONGEST => format!("above the maximum of {}", Self::LONGEST),
            Some(every) => return Ok(every),
        };
        let allowed = format!("{} to {}, such as 12h", Self::SHORTEST, Self::LONGEST);
        Err(Refusal::invalid_request("every", format!("invalid `every`: {shown} is {why}"), allowed))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ten_thousand_watches_of_one_moment_are_spread_over_an_hour() {
        let created_at = Timestamp::from_second(1_800_000_000).unwrap();
        let mut minutes: BTreeMap<i64, usize> = BTreeMap::new();
        for _ in 0..10_000 {
            let next = Interval::SHORTEST.next_after(WatchId::new(), created_at, created_at);
            *minutes.entry((next.as_second() - created_at.as_second()) / 60).or_default() += 1;
        }
        assert_eq!((minutes.keys().next(), minutes.keys().next_back()), (Some(&60), Some(&119)));
        // 167 are expected in each minute. More than twice as many have a probability below 10^-30.
        assert!(minutes.values().all(|count| *count < 334), "{minutes:?}");
    }

    proptest! {
        /// The moments are fixed: whenever the next one is computed, it is one of a single series.
        #[test]
        fn the_next_moment_is_fixed_and_at_most_one_interval_away(
            random in any::<u64>(), minutes in 60u64..=43_200, created in 0i64..4_000_000_000_000, later in 0i64..400_000_000_000,
        ) {
            let every = Interval::from_secs(minutes * 60).unwrap();
            let watch = WatchId(uuid::Uuid::from_u64_pair(7, random));
            let created_at = Timestamp::from_millisecond(created).unwrap();
            let now = Timestamp::from_millisecond(created + later).unwrap();
            let first = every.next_after(watch, created_at, created_at);
            let next = every.next_after(watch, created_at, now);
            let every_ms = i64::try_from(minutes * 60_000).unwrap();
            prop_assert!(next > now);
            prop_assert!(next.as_millisecond() - now.as_millisecond() <= every_ms + 3_600_000);
            prop_assert!(next == first || next.as_millisecond() - now.as_millisecond() <= every_ms);
            prop_assert_eq!((next.as_millisecond() - first.as_millisecond()) % every_ms, 0);
        }
    }
}
