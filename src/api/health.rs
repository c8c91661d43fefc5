//! `GET /v1/health`: asked by load balancers, many times a second.

use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;

use super::error::ApiError;
use super::service::{Api, Call, ok_json};
use crate::base::clock::rfc3339_millis;
use crate::http::{Load, Reply};

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
    fn is_ok(&self, ping: impl FnOnce() -> bool) -> bool {
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

#[derive(Serialize)]
struct Health {
    status: &'static str,
    service: &'static str,
    version: &'static str,
    database: &'static str,
    streaming: bool,
    time: String,
    release: &'static str,
    load: WholeLoad,
    #[serde(skip_serializing_if = "Option::is_none")]
    sandbox: Option<bool>,
}

#[derive(Serialize)]
struct WholeLoad {
    runs_driven: usize,
    runs_waiting: usize,
    check_workers_busy: usize,
    check_workers: usize,
    #[serde(flatten)]
    server: Option<ServerLoad>,
}

#[derive(Serialize)]
struct ServerLoad {
    request_workers_busy: usize,
    request_workers: usize,
    requests_queued: usize,
    requests_queued_max: usize,
    streams_open: usize,
    streams_max: usize,
    connections: usize,
    connections_max: usize,
    refused_total: u64,
    accept_loop_rebuilds_total: u64,
}

/// `GET /v1/health`.
///
/// # Errors
/// Never: a database that does not answer is `degraded`.
pub fn health(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let ok = api.ping.is_ok(|| api.accounts.ping().is_ok());
    let (runs_driven, runs_waiting) = api.runs.counts();
    let (check_workers_busy, check_workers) = api.runs.workers();
    let server = api.gauge.get().map(|gauge| gauge.load().into());
    Ok(ok_json(&Health {
        status: if ok { "ok" } else { "degraded" },
        service: "sightline",
        version: "v1",
        database: if ok { "ok" } else { "unavailable" },
        streaming: true,
        time: rfc3339_millis(api.clock.now()),
        release: env!("CARGO_PKG_VERSION"),
        load: WholeLoad { runs_driven, runs_waiting, check_workers_busy, check_workers, server },
        sandbox: api.config.sandbox.then_some(true),
    }))
}

impl From<Load> for ServerLoad {
    fn from(load: Load) -> Self {
        Self {
            request_workers_busy: load.workers_busy,
            request_workers: load.workers_max,
            requests_queued: load.requests_queued,
            requests_queued_max: load.requests_queued_max,
            streams_open: load.streams_open,
            streams_max: load.streams_max,
            connections: load.connections,
            connections_max: load.connections_max,
            refused_total: load.refused_total,
            accept_loop_rebuilds_total: load.rebuilds_total,
        }
    }
}
