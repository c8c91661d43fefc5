//! The Model Context Protocol over standard input and output: the tools of a server, without one.
//!
//! Searches are kept in a temporary SQLite database, which is removed at the end, so that they can be read, compared and
//! followed while the client runs.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{io, thread};

use log::warn;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use uuid::Uuid;

use super::error::AppError;
use super::first_start::{LOCAL_ACCOUNT, best_plan};
use super::parts::{Engine, catalog_sources, load_catalog};
use super::{keys, suppression};
use crate::account::plan::PlanTable;
use crate::account::rate_limit::{RateLimiter, RateLimits};
use crate::account::service::{Accounts, Caller};
use crate::api::cache::Snapshots;
use crate::api::mcp::Lines;
use crate::api::{Api, ApiConfig};
use crate::base::clock::{Clock, SystemClock};
use crate::config::{EngineConfig, SuppressionConfig};
use crate::model::audit::{Actor, Origin};
use crate::model::credits::STANDARD_COST;
use crate::runs::batches::service::Batches;
use crate::runs::service::{RunHooks, Runs};
use crate::store::{self, DatabaseUrl, Store};
use crate::webhooks::registry::Webhooks;

/// The most searches that are driven at once.
const MAX_RUNS: usize = 8;
/// The lease of a run. No other process uses the database.
const LEASE: Duration = Duration::from_secs(60);
/// Pause between two rounds of the periodic tasks.
const PAUSE: Duration = Duration::from_secs(1);
/// The time in which searches stop at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Answers the messages on standard input until its end.
///
/// # Errors
/// Fails if the parts cannot be started, or if standard input cannot be read.
pub fn serve_lines(engine: &EngineConfig, suppressed: &SuppressionConfig) -> Result<(), AppError> {
    let (suppressed, _) = suppression::load(suppressed)?.unzip();
    let catalog = load_catalog(&catalog_sources(engine))?;
    keys::check(engine, &catalog)?;
    let folder = Folder::create()?;
    folder.remove_on_signal()?;
    let url = DatabaseUrl::sqlite(folder.0.join("searches.db"));
    let store = store::open(&url, store::Role::Server).map_err(AppError::failed)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let accounts = Arc::new(Accounts::new(store.clone(), PlanTable::default(), Arc::clone(&clock)));
    let hooks = hooks(&accounts);
    let built = Engine::build(engine, catalog, MAX_RUNS, LEASE, store.clone(), Arc::clone(&clock), hooks)?;
    if let Some(list) = suppressed {
        built.runs.suppress(list);
    }
    let runs = Arc::clone(&built.runs);
    let api = api(engine, &built, &store, &accounts, &clock);
    let lines = Lines::new(Arc::new(api), local_caller(&accounts)?, io::stdout());
    let tasks = start_tasks(Arc::clone(&runs))?;
    let served = lines.serve(io::stdin().lock());
    runs.shut_down(Instant::now() + STOP_WITHIN);
    if tasks.join().is_err() {
        warn!("the maintenance thread panicked");
    }
    served.map_err(|error| AppError::failed(error).at("cannot read standard input"))
}

fn hooks(accounts: &Arc<Accounts>) -> RunHooks {
    let accounts = Arc::clone(accounts);
    let charge_of = Box::new(move |account| accounts.charge_of(account, STANDARD_COST));
    RunHooks { charge_of, ..RunHooks::default() }
}

fn api(
    engine: &EngineConfig,
    built: &Engine,
    store: &Arc<Store>,
    accounts: &Arc<Accounts>,
    clock: &Arc<dyn Clock>,
) -> Api {
    let simulated = built.sandbox.is_some();
    let config = ApiConfig {
        base_url: "http://localhost".to_owned(),
        sync_wait: engine.run_timeout,
        stream_timeout: engine.run_timeout,
        keep_alive: PAUSE,
        sandbox: simulated,
        cors_origins: Vec::new(),
    };
    let runs = Arc::clone(&built.runs);
    Api::new(
        config,
        Arc::clone(accounts),
        Arc::new(RateLimiter::new(RateLimits::default(), store.clone())),
        Arc::clone(&runs),
        store.clone(),
        Arc::new(Batches::new(store.clone(), runs, Arc::clone(clock), simulated)),
        Arc::new(Webhooks::new(store.clone(), None, Arc::clone(clock), false)),
        Arc::new(Snapshots::default()),
        Arc::clone(clock),
    )
}

/// Creates the account of the user of this process.
fn local_caller(accounts: &Accounts) -> Result<Caller, AppError> {
    let plan = best_plan(accounts.plans()).ok_or_else(|| AppError::failed("no plan has API access"))?.clone();
    let account = accounts
        .create_account(LOCAL_ACCOUNT, &plan.name, &Origin::CLI)
        .map_err(|error| AppError::failed(error).at("cannot create the account"))?;
    Ok(Caller { account, plan, actor: Actor::Cli, key: None })
}

/// Starts the periodic tasks of runs. They end when the runs are shut down.
fn start_tasks(runs: Arc<Runs>) -> Result<thread::JoinHandle<()>, AppError> {
    let work = move || {
        while !runs.wait(Instant::now() + PAUSE) {
            // A panic is printed. It must not end the thread.
            let _ = catch_unwind(AssertUnwindSafe(|| runs.run_due_tasks()));
        }
    };
    thread::Builder::new()
        .name("maintenance".to_owned())
        .spawn(work)
        .map_err(|error| AppError::failed(error).at("cannot start the maintenance thread"))
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
