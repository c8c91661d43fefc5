//! Times that are fixed, except in tests, and options that are gone.

use std::time::Duration;

use super::value;

/// A time that is fixed, except in tests: its name for them, and its value in seconds.
#[derive(Debug, Clone, Copy)]
pub struct Time(pub(super) &'static str, pub(super) u64);

impl Time {
    /// After this time, another instance on the same database continues the searches of a silent one.
    pub const LEASE: Self = Self("lease", 20);
    /// A stream that is silent for this time sends a comment, so that proxies keep it open.
    pub const KEEP_ALIVE: Self = Self("keep-alive", 15);
    /// The start waits this long for a PostgreSQL server that cannot be reached.
    pub const DATABASE_WAIT: Self = Self("database-wait", 30);
    /// An answer of a site is shared this long with other searches of the account for the same query.
    pub const SHARE_ANSWERS: Self = Self("share-answers", 60);
    /// After this time, a host that kept several checks from a conclusion is tried again. It doubles with each failure.
    pub const HOST_RETRY: Self = Self("host-retry", 60);
    /// After this time, a module that failed its control checks is tried again. It doubles with each failure.
    pub const QUARANTINE_RETRY: Self = Self("quarantine-retry", 10 * 60);
    /// The verdict of a control check is valid for this time.
    pub const CONTROL_TTL: Self = Self("control-ttl", 60 * 60);
    /// A session of the web app that is not used for this time ends.
    pub const SESSION_IDLE: Self = Self("session-idle", 14 * 86_400);
    /// A request with `wait=true` waits this long.
    pub const WAIT: Self = Self("wait", 30);
    /// A stream ends after this time with a reconnect frame.
    pub const STREAM: Self = Self("stream", 180);
    /// The catalogue feed is fetched at this interval.
    pub const CATALOG_FEED: Self = Self("catalog-feed", 86_400);
}

/// Parses the `NAME=DURATION` of a time.
pub(super) fn time_setting(text: &str) -> Result<(String, Duration), String> {
    let (name, duration) = text.split_once('=').ok_or("expected NAME=DURATION")?;
    Ok((name.to_owned(), value::duration("0s", "365d")(duration)?))
}

const RATE_LIMITS: &str = "use --rate-limits (SIGHTLINE_RATE_LIMITS), such as search=30,stream=60,read=120";
const BROWSER: &str = "use --browser (SIGHTLINE_BROWSER): auto starts Chromium, http://HOST:PORT is one that runs with \
                       --remote-debugging-port; Firefox, geckodriver and grids are no longer used";

/// The options that are gone, and what replaces them.
const GONE: [(&str, &str); 5] = [
    ("browser-client", "the host of --browser may use the egress proxy without it"),
    ("rate-limit-read", RATE_LIMITS),
    ("rate-limit-search", RATE_LIMITS),
    ("rate-limit-stream", RATE_LIMITS),
    ("webdriver", BROWSER),
];

/// Returns what to say about an option that is gone. `given` is its flag, also with a value, or its variable.
pub(crate) fn gone(given: &str) -> Option<String> {
    let name = given.split('=').next()?.to_ascii_lowercase().replace('_', "-");
    let name = name.strip_prefix("--").or_else(|| name.strip_prefix("sightline-"))?;
    let (_, instead) = GONE.iter().find(|(gone, _)| *gone == name)?;
    let variable = name.to_ascii_uppercase().replace('-', "_");
    Some(format!("--{name} (SIGHTLINE_{variable}): this option is gone: {instead}"))
}
