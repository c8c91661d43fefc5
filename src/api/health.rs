//! `/v1/health`.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Serialize;
use utoipa::ToSchema;

use super::capabilities::API_VERSION;
use super::context::{Api, Call, ok_json};
use super::error::ApiError;
use crate::base::clock::millis;
use crate::http::Reply;

/// State of the service. Contains nothing about any user, and no load figures.
#[derive(Debug, Serialize, ToSchema)]
pub struct Health {
    /// `ok`, or `degraded` if the database does not answer, or refused a write in the last five seconds.
    pub status: HealthStatus,
    /// Name of the service.
    #[schema(examples("sightline"))]
    pub service: &'static str,
    /// Version of the API.
    #[schema(pattern = "^v[0-9]+$", examples("v1"))]
    pub version: &'static str,
    /// Whether the database answers and accepts writes.
    pub database: DatabaseStatus,
    /// Whether streams are available.
    pub streaming: bool,
    /// Time by the server's clock: RFC 3339, UTC, milliseconds.
    #[serde(with = "millis")]
    pub time: Timestamp,
    /// Version of the program.
    #[schema(examples("0.1.0"))]
    pub release: &'static str,
    /// Present only if true: the web is simulated, and no result is real.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sandbox: bool,
}

/// The state of the service.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum HealthStatus {
    /// The database answers and accepts writes.
    Ok,
    /// The database does not answer, or refuses writes.
    Degraded,
}

/// The state of the database.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DatabaseStatus {
    /// The database answers and accepts writes.
    Ok,
    /// The database does not answer, or refuses writes.
    Unavailable,
}

/// Reports the state of the service.
///
/// Needs no key and is not counted. The status is 200 even if the database does not answer: see `status`.
#[utoipa::path(get, path = "/v1/health",
    responses((status = 200, description = "The state of the service.", body = Health)))]
pub fn get_health(api: &Arc<Api>, _: &Call<'_>) -> Result<Reply, ApiError> {
    let ok = api.has_store();
    Ok(ok_json(&Health {
        status: if ok { HealthStatus::Ok } else { HealthStatus::Degraded },
        service: "sightline",
        version: API_VERSION,
        database: if ok { DatabaseStatus::Ok } else { DatabaseStatus::Unavailable },
        streaming: true,
        time: api.clock.now(),
        release: env!("CARGO_PKG_VERSION"),
        sandbox: api.config.sandbox,
    }))
}
