//! Times that are fixed, except in tests, and options that are gone.

use std::time::Duration;

use super::value;

/// A time that is fixed, except in tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Time {
    /// After this time, another instance on the same database continues the searches of a silent one.
    Lease,
    /// A stream that is silent for this time sends a comment, so that proxies keep it open.
    KeepAlive,
    /// The start waits this long for a PostgreSQL server that cannot be reached.
    DatabaseWait,
    /// An answer of a site is shared this long with other searches of the account for the same query.
    ShareAnswers,
    /// After this time, a host that kept several checks from a conclusion is tried again. It doubles with each failure.
    HostRetry,
    /// After this time, a module that failed its control checks is tried again. It doubles with each failure.
    QuarantineRetry,
    /// The verdict of a control check is valid for this time.
    ControlTtl,
    /// A session of the web app that is not used for this time ends.
    SessionIdle,
    /// A request with `wait=true` waits this long.
    Wait,
    /// A stream ends after this time with a reconnect frame.
    Stream,
    /// The catalogue feed is fetched at this interval.
    CatalogFeed,
}

/// The times, with their names for tests and their standard values in seconds.
const TIMES: [(Time, &str, u64); 11] = [
    (Time::Lease, "lease", 20),
    (Time::KeepAlive, "keep-alive", 15),
    (Time::DatabaseWait, "database-wait", 30),
    (Time::ShareAnswers, "share-answers", 60),
    (Time::HostRetry, "host-retry", 60),
    (Time::QuarantineRetry, "quarantine-retry", 10 * 60),
    (Time::ControlTtl, "control-ttl", 60 * 60),
    (Time::SessionIdle, "session-idle", 14 * 86_400),
    (Time::Wait, "wait", 30),
    (Time::Stream, "stream", 180),
    (Time::CatalogFeed, "catalog-feed", 86_400),
];

impl Time {
    pub(super) fn standard(self) -> Duration {
        let seconds = TIMES.iter().find(|(time, ..)| *time == self).map_or(0, |(_, _, seconds)| *seconds);
        Duration::from_secs(seconds)
    }

    /// Parses `NAME=DURATION`.
    pub(super) fn setting(text: &str) -> Result<(Self, Duration), String> {
        let (name, duration) = text.split_once('=').unwrap_or_default();
        let time = TIMES.iter().find(|(_, of, _)| *of == name).ok_or("NAME=DURATION is allowed")?;
        Ok((time.0, value::duration("0s", "365d")(duration)?))
    }
}

const FIXED: &str = "its value is fixed now";
const RATE_LIMITS: &str = "use --rate-limits (SIGHTLINE_RATE_LIMITS), such as search=30,stream=60,read=120";
const BROWSER: &str = "use --browser (SIGHTLINE_BROWSER): auto starts Chromium, http://HOST:PORT is one that runs with \
                       --remote-debugging-port; Firefox, geckodriver and grids are no longer used";

/// The options that are gone, and what holds instead.
const GONE: [(&str, &str); 18] = [
    ("answer-memory-mb", FIXED),
    ("browser-client", "the host of --browser may use the egress proxy without it"),
    ("control-ttl", FIXED),
    ("database-wait", FIXED),
    ("host-retry", FIXED),
    ("keep-alive", FIXED),
    ("lease", FIXED),
    ("quarantine-retry", FIXED),
    ("rate-limit-read", RATE_LIMITS),
    ("rate-limit-search", RATE_LIMITS),
    ("rate-limit-stream", RATE_LIMITS),
    ("request-workers", FIXED),
    ("session-idle", FIXED),
    ("session-longest", FIXED),
    ("share-answers", FIXED),
    ("stream-timeout", FIXED),
    ("wait-timeout", FIXED),
    ("webdriver", BROWSER),
];

/// Returns what to say about an option that is gone. `given` is its flag, also with a value, or its variable.
pub(crate) fn gone(given: &str) -> Option<String> {
    let flag = given.split('=').next().and_then(|flag| flag.strip_prefix("--"));
    let (name, instead) = GONE.iter().find(|(name, _)| flag == Some(*name) || given == variable(name))?;
    Some(format!("--{name} ({}): this option is gone: {instead}", variable(name)))
}

fn variable(name: &str) -> String {
    format!("SIGHTLINE_{}", name.to_ascii_uppercase().replace('-', "_"))
}
