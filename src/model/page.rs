//! The filters and pages of lists of runs.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use uuid::Uuid;

use crate::base::ids::{RunId, WatchId};
use crate::model::run::{RunSummary, Status};
use crate::modules::query::SearchType;

/// A selection of runs for a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListFilter {
    /// Selects only runs of this type.
    pub search_type: Option<SearchType>,
    /// Selects only runs with this status.
    pub status: Option<Status>,
    /// Selects only runs whose query contains this text, ignoring case. On SQLite, only the case of ASCII letters is
    /// ignored.
    pub text: Option<String>,
    /// Selects only this run and the runs that its leads and theirs have started.
    pub root: Option<RunId>,
    /// Selects only runs that this watch has started. The other filters do not apply.
    pub watch: Option<WatchId>,
    /// Selects only runs with this tag.
    pub tag: Option<String>,
    /// Selects only runs before this one in the order of `(created_at, id)`. It is the last run of the previous page.
    pub before: Option<Cursor>,
}

/// A position in the list, after a run. Its text form consists of letters, digits and a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(pub Timestamp, pub RunId);

impl Cursor {
    /// The position before the newest run.
    pub const START: Self = Self(Timestamp::MAX, RunId(Uuid::max()));

    /// Returns the position after a run.
    pub fn after(run: &RunSummary) -> Self {
        Self(run.created_at, run.id)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.0.as_millisecond(), self.1.0.simple())
    }
}

impl FromStr for Cursor {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let (at, id) = text.split_once('.').ok_or(())?;
        // Eleven digits suffice until the year 2527. `from_str_radix` would also accept a sign.
        if at.len() > 11 || id.len() != 32 || !at.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(());
        }
        let at = i64::from_str_radix(at, 16).ok().and_then(|at| Timestamp::from_millisecond(at).ok());
        at.zip(Uuid::try_parse(id).ok()).map(|(at, id)| Self(at, RunId(id))).ok_or(())
    }
}

/// Cuts items, of which one more than `limit` was read, to a page. Returns the last one if there are more.
pub fn cut<T>(items: &mut Vec<T>, limit: usize) -> Option<&T> {
    let has_more = items.len() > limit;
    items.truncate(limit);
    items.last().filter(|_| has_more)
}
