//! The Model Context Protocol over standard input and output: the tools of a server, without one.
//!
//! Searches are kept in a temporary SQLite database, which is removed at the end, so that they can be read, compared and
//! followed while the client runs.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use std::{io, thread};

use log::warn;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use uuid::Uuid;

use super::engine::load_catalog;
use super::error::AppError;
use super::first_start::{LOCAL_ACCOUNT, best_plan};
use super::maintenance::Maintenance;
use super::services::Services;
use super::{keys, suppression};
use crate::account::service::{Accounts, Caller};
use crate::api::mcp;
use crate::config::{EngineConfig, ServeConfig, SuppressionConfig, Time};
use crate::model::audit::{Actor, Origin};
use crate::store::{self, DatabaseUrl};

/// The most searches that are driven at once.
const MAX_RUNS: usize = 8;
/// The time in which searches stop at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Answers the messages on standard input until its end.
///
/// # Errors
/// Fails if the parts cannot be started, or if standard input cannot be read.
pub fn serve_lines(engine: &EngineConfig, suppressed: &SuppressionConfig) -> Result<(), AppError> {
    let (suppressed, watch) = suppression::load(suppressed)?.unzip();
    let catalog = load_catalog(engine)?;
    keys::check(engine, &catalog)?;
    let folder = Folder::create()?;
    folder.remove_on_signal()?;
    let mut config = ServeConfig::from_flags::<&str>([]).map_err(AppError::failed)?;
    config.engine = engine.clone();
    config.server.max_runs = MAX_RUNS;
    config.engine.set_time(Time::Wait, engine.run_timeout);
    config.engine.set_time(Time::Stream, engine.run_timeout);
    config.storage.database = DatabaseUrl::Sqlite(folder.0.join("searches.db"));
    let store = store::open(&config.storage.database, store::Role::Server).map_err(AppError::failed)?;
    let services = Services::build(&config, catalog, suppressed, store, "http://localhost".to_owned())?;
    let caller = local_caller(&services.accounts)?;
    let maintenance = Maintenance::new(&services, &config, watch, None).start()?;
    let served = mcp::serve(&services.api, &caller, io::stdin().lock(), io::stdout());
    services.runs().shut_down(Instant::now() + STOP_WITHIN);
    if maintenance.join().is_err() {
        warn!("the maintenance thread panicked");
    }
    served.map_err(|error| AppError::failed(error).at("cannot read standard input"))
}

/// Creates the account of the user of this process.
fn local_caller(accounts: &Accounts) -> Result<Caller, AppError> {
    let plan = best_plan(accounts.plans()).ok_or_else(|| AppError::failed("no plan has API access"))?.clone();
    let account = accounts
        .create_account(LOCAL_ACCOUNT, &plan.name, &Origin::CLI)
        .map_err(|error| AppError::failed(error).at("cannot create the account"))?;
    Ok(Caller { account, plan, actor: Actor::Cli, key: None })
}

/// A folder that only this user can read. It is removed when this is dropped.
struct Folder(PathBuf);

impl Folder {
    fn create() -> Result<Self, AppError> {
        let path = std::env::temp_dir().join(format!("sightline-mcp-{}", Uuid::new_v4().simple()));
        DirBuilder::new().mode(0o700).create(&path).map_err(|error| {
            AppError::failed(error).at(format!("cannot create the folder {}", path.display()))
        })?;
        Ok(Self(path))
    }

    /// Removes the folder if a signal ends the process.
    fn remove_on_signal(&self) -> Result<(), AppError> {
        let failed = |error: io::Error| AppError::failed(error).at("signals");
        let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(failed)?;
        let path = self.0.clone();
        let work = move || {
            if let Some(signal) = signals.forever().next() {
                let _ = fs::remove_dir_all(&path);
                let _ = emulate_default_handler(signal);
            }
        };
        thread::Builder::new().name("signals".to_owned()).spawn(work).map_err(failed)?;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
