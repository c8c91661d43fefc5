//! The Model Context Protocol over standard input and output: the tools of a server, without one.
//!
//! Searches are kept in memory, so that they can be read, compared and followed while the client runs.

use std::io;
use std::time::{Duration, Instant};

use super::error::Failure;
use super::maintenance::Maintenance;
use super::services::Services;
use crate::api::mcp;
use crate::config::{EngineConfig, SuppressionConfig};

/// The most searches that are driven at once.
const MAX_RUNS: usize = 8;
/// The time in which searches stop at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Answers the messages on standard input until its end.
///
/// # Errors
/// Fails if the parts cannot be started, or if standard input cannot be read.
pub fn serve_lines(engine: &EngineConfig, suppression: &SuppressionConfig) -> Result<(), Failure> {
    let (services, caller, watch) = Services::local(engine, suppression, MAX_RUNS, true)?;
    let maintenance = Maintenance::start(&services, 0, watch, None)?;
    let served = mcp::serve(&services.api, &caller, io::stdin().lock(), io::stdout());
    services.runs().shut_down(Instant::now() + STOP_WITHIN);
    let _ = maintenance.join();
    served.map_err(|error| Failure::failed(error).at("cannot read standard input"))
}
