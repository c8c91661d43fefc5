//! Moments and the like, for people.

use std::fmt;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::base::clock::rfc3339_millis;

/// A moment in a template: `<time datetime="{{ at.iso() }}">{{ at }}</time>`. Shown in UTC, which scripts may change to
/// the reader's own time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// For machines.
    pub fn iso(&self) -> String {
        rfc3339_millis(self.0)
    }

    /// The day alone.
    pub fn day(&self) -> String {
        self.0.to_zoned(TimeZone::UTC).strftime("%-d %B %Y").to_string()
    }
}

/// `22 November 2026, 05:37 UTC`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.to_zoned(TimeZone::UTC).strftime("%-d %B %Y, %H:%M UTC"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_shown_in_utc() {
        let at = Moment("2026-03-01T09:08:07.006+02:00".parse().unwrap());
        assert_eq!(at.to_string(), "1 March 2026, 07:08 UTC");
        assert_eq!((at.iso(), at.day()), ("2026-03-01T07:08:07.006Z".to_owned(), "1 March 2026".to_owned()));
    }
}
