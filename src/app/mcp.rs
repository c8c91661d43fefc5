//! The Model Context Protocol over standard input and output: the tools of a server, without one.
//!
//! Searches are kept in memory, so that they can be read, compared and followed while the client runs.

use std::io;
use std::time::{Duration, Instant};

use log::warn;

use super::engine::{check_keys, load_catalog};
use super::error::Failure;
use super::first_start::{LOCAL_ACCOUNT, best_plan};
use super::maintenance::Maintenance;
use super::services::Services;
use super::suppression;
use crate::account::service::{Accounts, Caller};
use crate::api::mcp;
use crate::config::{EngineConfig, ServeConfig, SuppressionConfig, Time};
use crate::model::audit::{Actor, Origin};
use crate::store;

/// The most searches that are driven at once.
const MAX_RUNS: usize = 8;
/// The time in which searches stop at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Answers the messages on standard input until its end.
///
/// # Errors
/// Fails if the parts cannot be started, or if standard input cannot be read.
pub fn serve_lines(engine: &EngineConfig, suppressed: &SuppressionConfig) -> Result<(), Failure> {
    let (suppressed, watch) = suppression::load(suppressed)?.unzip();
    let catalog = load_catalog(engine)?;
    check_keys(engine, &catalog)?;
    let mut config = ServeConfig::from_flags::<&str>([]).map_err(Failure::failed)?;
    config.engine = engine.clone();
    config.server.max_runs = MAX_RUNS;
    config.engine.set_time(Time::WAIT, engine.run_timeout);
    config.engine.set_time(Time::STREAM, engine.run_timeout);
    let (store, base_url) = (store::in_memory().map_err(Failure::failed)?, "http://localhost".to_owned());
    let services = Services::build(&config, catalog, suppressed, store, None, base_url)?;
    let caller = local_caller(&services.shared.accounts)?;
    let maintenance = Maintenance::new(&services, &config, watch, None).start()?;
    let served = mcp::serve(&services.api, &caller, io::stdin().lock(), io::stdout());
    services.runs().shut_down(Instant::now() + STOP_WITHIN);
    if maintenance.join().is_err() {
        warn!("the maintenance thread panicked");
    }
    served.map_err(|error| Failure::failed(error).at("cannot read standard input"))
}

/// Creates the account of the user of this process.
fn local_caller(accounts: &Accounts) -> Result<Caller, Failure> {
    let plan = best_plan(accounts.plans()).ok_or_else(|| Failure::failed("no plan has API access"))?.clone();
    let account = accounts
        .create_account(LOCAL_ACCOUNT, &plan.name, &Origin::CLI)
        .map_err(|error| Failure::failed(error).at("cannot create the account"))?;
    Ok(Caller { account, plan, actor: Actor::Cli, key: None })
}
