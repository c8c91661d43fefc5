//! The list of an account's runs, page by page, newest first.

use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use uuid::Uuid;

use super::journal::ListFilter;
use super::run::RunSummary;
use super::service::Runs;
use crate::base::ids::{AccountId, RunId};
use crate::base::storage::StorageError;

/// One page of the list.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// Its runs; live ones as they are now.
    pub runs: Vec<RunSummary>,
    /// Where the next page begins, where there is one.
    pub next: Option<Cursor>,
}

/// A place in the list: after this run. Written as one word of letters, digits and a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor(Timestamp, RunId);

impl Cursor {
    fn after(run: &RunSummary) -> Self {
        Self(run.created_at, run.id)
    }

    /// As [`ListFilter::before`] has it.
    pub fn place(self) -> (Timestamp, RunId) {
        (self.0, self.1)
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:x}.{}", self.0.as_millisecond(), self.1.0.simple())
    }
}

impl FromStr for Cursor {
    type Err = NotACursor;

    fn from_str(text: &str) -> Result<Self, NotACursor> {
        let (at, id) = text.split_once('.').ok_or(NotACursor)?;
        // Eleven digits last until the year 2527; `from_str_radix` would take a sign.
        if at.len() > 11 || id.len() != 32 || !at.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotACursor);
        }
        let at = i64::from_str_radix(at, 16).map_err(|_| NotACursor)?;
        let at = Timestamp::from_millisecond(at).map_err(|_| NotACursor)?;
        Ok(Self(at, RunId(Uuid::try_parse(id).map_err(|_| NotACursor)?)))
    }
}

/// A text that no page gave as its next one's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotACursor;

impl Runs {
    /// The runs of an account that the filter lets pass, at most `limit`.
    ///
    /// # Errors
    /// The store's failure.
    pub fn page(&self, account: AccountId, filter: &ListFilter, limit: usize) -> Result<Page, StorageError> {
        // One more than asked for tells whether there are more.
        let mut runs = self.journal().list(account, filter, limit.saturating_add(1))?;
        let has_more = runs.len() > limit;
        runs.truncate(limit);
        let next = runs.last().filter(|_| has_more).map(Cursor::after);
        for summary in &mut runs {
            if let Some(run) = self.live(summary.id) {
                *summary = run.summary();
            }
        }
        // What was running a moment ago may have ended.
        runs.retain(|run| filter.status.is_none_or(|status| run.status == status));
        Ok(Page { runs, next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_reads_as_it_was_written_and_nothing_else_does() {
        let cursor = Cursor("2026-05-06T07:08:09.010Z".parse().unwrap(), RunId::new());
        assert_eq!(cursor.to_string().parse(), Ok(cursor));
        for bad in [
            "",
            ".",
            "x.y",
            "-1.00",
            "-1.00000000000000000000000000000000",
            "100000000000.00000000000000000000000000000000",
            "ffffffffffffffff.00000000000000000000000000000000",
            &cursor.1.to_string(),
        ] {
            assert_eq!(bad.parse::<Cursor>(), Err(NotACursor), "{bad}");
        }
    }
}
