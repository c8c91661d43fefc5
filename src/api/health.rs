//! `GET /v1/health`: asked by load balancers, many times a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::error::ApiError;
use super::service::{Api, Call, ok_json};
use super::service_pages::API_VERSION;
use super::wire::service::{DatabaseStatus, Health, HealthLoad, HealthStatus};
use crate::http::Reply;

/// How long a ping's answer is believed: health may be asked thousands of times a second.
const PING_TTL: Duration = Duration::from_millis(500);
/// The last answer of the database to a ping.
#[derive(Default)]
pub struct PingCache {
    last: Mutex<Option<(Instant, bool)>>,
    pinging: Mutex<()>,
}

impl PingCache {
    /// Whether the database answers; asks it at most every [`PING_TTL`], one caller at a time. While one
    /// asks, the others take the last answer rather than queue up behind a database that hangs.
    pub(super) fn is_ok(&self, ping: impl FnOnce() -> bool) -> bool {
        let last = *self.last.lock();
        if let Some((_, ok)) = last.filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let _turn = match (self.pinging.try_lock(), last) {
            (Some(turn), _) => turn,
            (None, Some((_, ok))) => return ok,
            (None, None) => self.pinging.lock(),
        };
        // Whoever waited for its turn takes what the one before it learnt.
        if let Some((_, ok)) = self.last.lock().filter(|(at, _)| at.elapsed() < PING_TTL) {
            return ok;
        }
        let ok = ping();
        *self.last.lock() = Some((Instant::now(), ok));
        ok
    }
}

/// `GET /v1/health`.
///
/// # Errors
/// Never: a database that does not answer is `degraded`.
pub fn health(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let ok = api.has_store();
    let (runs_driven, runs_waiting) = api.runs.counts();
    let (check_workers_busy, check_workers) = api.runs.workers();
    let (browser_sessions_busy, browser_sessions) = api.runs.browsers();
    let server = api.gauge.get().map(|gauge| gauge.load().into());
    Ok(ok_json(&Health {
        status: if ok { HealthStatus::Ok } else { HealthStatus::Degraded },
        service: "sightline",
        version: API_VERSION,
        database: if ok { DatabaseStatus::Ok } else { DatabaseStatus::Unavailable },
        streaming: true,
        time: api.clock.now(),
        release: env!("CARGO_PKG_VERSION"),
        load: HealthLoad {
            runs_driven,
            runs_waiting,
            check_workers_busy,
            check_workers,
            browser_sessions_busy,
            browser_sessions,
            server,
        },
        sandbox: api.config.sandbox,
    }))
}
