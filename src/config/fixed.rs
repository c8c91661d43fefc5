//! Times that are fixed, except in tests, and options that are gone.

use std::convert::Infallible;
use std::time::Duration;

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::checked::secret;
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

/// The options that are gone: name, variable, and what holds instead.
const GONE: [(&str, &str, &str); 18] = [
    ("answer-memory-mb", "SIGHTLINE_ANSWER_MEMORY_MB", FIXED),
    (
        "browser-client",
        "SIGHTLINE_BROWSER_CLIENT",
        "the host of --browser may use the egress proxy without it",
    ),
    ("control-ttl", "SIGHTLINE_CONTROL_TTL", FIXED),
    ("database-wait", "SIGHTLINE_DATABASE_WAIT", FIXED),
    ("host-retry", "SIGHTLINE_HOST_RETRY", FIXED),
    ("keep-alive", "SIGHTLINE_KEEP_ALIVE", FIXED),
    ("lease", "SIGHTLINE_LEASE", FIXED),
    ("quarantine-retry", "SIGHTLINE_QUARANTINE_RETRY", FIXED),
    ("rate-limit-read", "SIGHTLINE_RATE_LIMIT_READ", RATE_LIMITS),
    ("rate-limit-search", "SIGHTLINE_RATE_LIMIT_SEARCH", RATE_LIMITS),
    ("rate-limit-stream", "SIGHTLINE_RATE_LIMIT_STREAM", RATE_LIMITS),
    ("request-workers", "SIGHTLINE_REQUEST_WORKERS", FIXED),
    ("session-idle", "SIGHTLINE_SESSION_IDLE", FIXED),
    ("session-longest", "SIGHTLINE_SESSION_LONGEST", FIXED),
    ("share-answers", "SIGHTLINE_SHARE_ANSWERS", FIXED),
    ("stream-timeout", "SIGHTLINE_STREAM_TIMEOUT", FIXED),
    ("wait-timeout", "SIGHTLINE_WAIT_TIMEOUT", FIXED),
    (
        "webdriver",
        "SIGHTLINE_WEBDRIVER",
        "use --browser (SIGHTLINE_BROWSER): auto starts Chromium, http://HOST:PORT is one that runs with \
         --remote-debugging-port; Firefox, geckodriver and grids are no longer used",
    ),
];

/// Refuses the options that are gone.
#[derive(Debug, Clone)]
pub(super) struct Gone;

impl FromArgMatches for Gone {
    fn from_arg_matches(_: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), clap::Error> {
        Ok(())
    }
}

impl Args for Gone {
    fn augment_args(command: Command) -> Command {
        GONE.iter().fold(command, |command, (name, variable, instead)| {
            let refuse = move |_: &str| Err::<Infallible, _>(format!("this option is gone: {instead}"));
            let option = Arg::new(*name).long(*name).env(*variable).value_name("VALUE").hide(true);
            command.arg(option.help("An earlier option, which is refused").value_parser(secret(refuse)))
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}
