//! Times and durations as text for readers.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::base::clock::rfc3339_millis;

/// A time in a template: `<time datetime="{{ at.iso() }}">{{ at }}</time>`. It is shown in UTC, which scripts
/// change to the reader's time zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub Timestamp);

impl Moment {
    /// Returns a time for a template.
    pub fn of(at: &Timestamp) -> Self {
        Self(*at)
    }

    /// Returns the time in RFC 3339.
    pub fn iso(&self) -> String {
        rfc3339_millis(self.0)
    }

    /// Returns the day.
    pub fn day(&self) -> String {
        self.0.to_zoned(TimeZone::UTC).strftime("%-d\u{a0}%B\u{a0}%Y").to_string()
    }
}

/// Formats a time as `22 November 2026, 05:37 UTC`.
impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A line may break between the day and the hour only.
        write!(f, "{}, {}", self.day(), self.0.to_zoned(TimeZone::UTC).strftime("%H:%M\u{a0}UTC"))
    }
}

/// Returns the age of a time in one unit. Returns the day if it is more than two weeks ago.
pub fn ago(at: Timestamp, now: Timestamp) -> String {
    let secs = (now.as_second() - at.as_second()).max(0);
    let counted = |count: i64, unit: &str| format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" });
    match secs {
        0..60 => "just now".to_owned(),
        60..3_600 => counted(secs / 60, "minute"),
        3_600..86_400 => counted(secs / 3_600, "hour"),
        86_400..1_209_600 => counted(secs / 86_400, "day"),
        _ => Moment(at).day(),
    }
}

/// Returns a number of credits as text.
pub fn credits(count: &u64) -> String {
    if *count == 1 { "1 credit".to_owned() } else { format!("{count} credits") }
}

/// Returns a duration as text.
pub fn lasted(time: Duration) -> String {
    match time.as_secs() {
        0..10 => format!("{:.1} s", time.as_secs_f64()),
        secs @ 10..120 => format!("{secs} s"),
        secs @ 120..7_200 => format!("{} min", secs / 60),
        secs => format!("{} h {} min", secs / 3_600, secs % 3_600 / 60),
    }
}

/// Returns a short name of a browser from its `User-Agent`, such as `Firefox on Linux`. The header may
/// contain anything.
pub fn browser_name(user_agent: &str) -> String {
    // Each of these browsers also includes the names below it.
    const BROWSERS: [(&str, &str); 7] = [
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("SamsungBrowser", "Samsung Internet"),
        ("Firefox/", "Firefox"),
        ("Chrome/", "Chrome"),
        ("Safari/", "Safari"),
        ("curl/", "curl"),
    ];
    const SYSTEMS: [(&str, &str); 6] = [
        ("Windows", "Windows"),
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Mac OS X", "macOS"),
        ("Linux", "Linux"),
    ];
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(sign, _)| user_agent.contains(sign)).map(|(_, name)| *name)
    };
    match (named(&BROWSERS), named(&SYSTEMS)) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (Some(name), None) | (None, Some(name)) => name.to_owned(),
        (None, None) => "Unknown browser".to_owned(),
    }
}
/// Returns the first letter or digit of a name as a capital letter.
pub fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).unwrap_or('?').to_uppercase().collect()
}
