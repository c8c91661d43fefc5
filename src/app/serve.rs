//! The server, from its start to its end.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::admin::AdminSide;
use super::ears::Ears;
use super::front::Front;
use super::housekeeper::House;
use super::parts::{Engine, load_catalog};
use super::{AppError, housekeeper, notify, suppression, welcome};
use crate::account::rate_limit::{RateLimiter, RateLimits};
use crate::account::service::Accounts;
use crate::account::sign_in::SignIns;
use crate::account::sign_in::session::SessionLimits;
use crate::admin;
use crate::api::service::ApiHandler;
use crate::api::{Api, ApiConfig};
use crate::base::clock::{Clock, SystemClock};
use crate::config::ServeConfig;
use crate::http::{self, Server};
use crate::report::account::Archive;
use crate::runs::retention::Sweeper;
use crate::runs::service::Runs;
use crate::store;
use crate::web::{self, Web, WebConfig, WebHandler};

/// Serves until the process is told to stop (SIGTERM or SIGINT), then drains.
///
/// # Errors
/// It could not start.
pub fn serve(config: &ServeConfig) -> Result<(), AppError> {
    // Taken first: a signal that comes while the parts are put together is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| failed("signals", &error))?;
    // Before anything is created: a mistake in the catalogue or a taken address leaves nothing behind.
    let catalog = load_catalog(&config.engine)?;
    let suppression = suppression::load(&config.privacy.suppression)?;
    let server = listen(config).map_err(|error| AppError::Failed(error.to_string()))?;
    let admin_side = AdminSide::open(config.server.admin_listen)?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let url = config.storage.database.expose().parse::<store::DatabaseUrl>();
    let url = url.map_err(|error| AppError::Config(error.to_string()))?;
    let store =
        store::open(&url, store::Options::server()).map_err(|error| AppError::Failed(error.to_string()))?;
    let accounts = Arc::new(Accounts::new(store.clone(), config.accounts.plans.clone(), Arc::clone(&clock)));
    let sign_ins = sign_ins(config, &store, &clock)?;
    let limits = &config.rate_limits;
    let limits = RateLimits { search: limits.search, stream: limits.stream, read: limits.read };
    let limiter = Arc::new(RateLimiter::new(limits, store.clone()));
    let engine = Engine::build(
        &config.engine,
        catalog,
        config.server.max_runs,
        config.server.lease,
        store.clone(),
        Arc::clone(&clock),
    )?;
    let suppression = suppression.map(|(list, watch)| {
        engine.runs.suppress(list);
        watch
    });
    let sweeper = Sweeper::new(store.clone(), Arc::clone(&clock), config.privacy.retain_days);

    let address = server.local_addr();
    let (base_url, gauge) = (config.server.base_url_at(address), server.gauge());
    let api = Arc::new(Api::new(
        api_config(config, &engine, base_url.clone()),
        Arc::clone(&accounts),
        Arc::clone(&limiter),
        Arc::clone(&engine.runs),
        Arc::clone(&clock),
    ));
    let web = Arc::new(Web::new(
        web_config(config, &engine, base_url.clone()),
        web::Parts {
            accounts: Arc::clone(&accounts),
            sign_ins: Arc::clone(&sign_ins),
            limiter: Arc::clone(&limiter),
            runs: Arc::clone(&engine.runs),
            archive: archive(&store),
            clock: Arc::clone(&clock),
            gauge: gauge.clone(),
        },
    ));
    let ears = Ears::open(&*store, &engine.runs, &accounts, &api)?;
    if engine.sandbox.is_some() {
        warn!("the web is simulated: nothing that is found is real");
    }
    let first = welcome::first_account(&accounts, &sign_ins)?;
    api.set_gauge(gauge.clone());
    let front = Front { api: ApiHandler(Arc::clone(&api)), web: WebHandler(Arc::clone(&web)) };
    let handle = server.start(Arc::new(front)).map_err(|error| failed("the server", &error))?;
    let runs = Arc::clone(&engine.runs);
    let web = Arc::clone(web.traffic());
    let parts = admin::Parts {
        api: Arc::clone(&api),
        web,
        runs: Arc::clone(&runs),
        store,
        gauge,
        clock: Arc::clone(&clock),
    };
    let housekeeper =
        housekeeper::start(House { runs, accounts, sign_ins, limiter, clock, sweeper, suppression, api })?;
    admin_side.admin.serve(parts);
    announce(&format!("http://{address}"), first.as_ref(), &base_url);
    notify::ready();

    let signal = signals.forever().next();
    admin_side.admin.drain();
    notify::stopping();
    info!("signal {}: shutting down", signal.unwrap_or_default());
    let until = Instant::now() + config.server.drain_timeout;
    end_at_once_on_another(signals);
    end_in_any_case(until.max(Instant::now() + REST));
    drain(handle, &engine.runs, until - REST.min(config.server.drain_timeout / 4));
    if housekeeper.join().is_err() {
        warn!("the housekeeper had panicked");
    }
    drop(ears);
    admin_side.close();
    info!("stopped");
    Ok(())
}

/// What is left of the drain time for the end of what has been told to end.
const REST: Duration = Duration::from_secs(1);

/// No more requests, then the runs: their streams and waits end, for which the server waits at last.
fn drain(handle: http::RunningServer, runs: &Runs, until: Instant) {
    handle.stop_taking();
    runs.shut_down(until);
    let left = handle.shutdown(until.saturating_duration_since(Instant::now()).max(LEAST_DRAIN)).left;
    if left > 0 {
        warn!("{left} answers were not brought to their end in time");
    }
}

/// For answers that only have to be written, even where the runs took all the time there was.
const LEAST_DRAIN: Duration = Duration::from_millis(100);

/// A second signal ends the process at once.
fn end_at_once_on_another(mut signals: Signals) {
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
}

/// A database that stands still must not hold up the end: what was not released is taken over when its lease runs
/// out.
fn end_in_any_case(at: Instant) {
    thread::spawn(move || {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        warn!("the time to drain is over; what was not released ends with its lease");
        std::process::exit(0);
    });
}

/// On the socket that a service manager handed over, or else on the configured address.
fn listen(config: &ServeConfig) -> io::Result<Server> {
    let server = http::ServerConfig {
        listen: config.server.listen,
        request_workers: config.server.request_workers,
        max_streams: config.server.max_streams,
        trusted_proxies: config.server.trusted_proxies.clone(),
        ..http::ServerConfig::default()
    };
    match http::activated_listener()? {
        Some(listener) => Server::from_listener(listener, &server),
        None => Server::bind(&server),
    }
}

fn sign_ins(
    config: &ServeConfig,
    store: &Arc<store::Store>,
    clock: &Arc<dyn Clock>,
) -> Result<Arc<SignIns>, AppError> {
    let limits = SessionLimits { idle: config.web.session_idle, longest: config.web.session_longest };
    let sign_ins = SignIns::new(store.clone(), store.clone(), Arc::clone(clock), limits);
    let failed = |error| AppError::Failed(format!("the system gives no random numbers: {error}"));
    sign_ins.map(Arc::new).map_err(failed)
}

/// The store, in each of its roles.
fn archive(store: &Arc<store::Store>) -> Archive {
    Archive {
        ledger: store.clone(),
        sign_ins: store.clone(),
        records: store.clone(),
        audit: store.clone(),
        journal: store.clone(),
    }
}

fn web_config(config: &ServeConfig, engine: &Engine, base_url: String) -> WebConfig {
    WebConfig {
        base_url,
        sandbox: engine.sandbox.is_some(),
        stream_timeout: config.server.stream_timeout,
        keep_alive: config.server.keep_alive,
    }
}

fn api_config(config: &ServeConfig, engine: &Engine, base_url: String) -> ApiConfig {
    ApiConfig {
        base_url,
        sync_wait: config.server.wait_timeout,
        stream_timeout: config.server.stream_timeout,
        keep_alive: config.server.keep_alive,
        sandbox: engine.sandbox.is_some(),
        cors_origins: config.server.cors_origins.clone(),
    }
}

/// The first line on standard output is for scripts, the rest for people. Nobody may be reading: a closed
/// output stops no server.
fn announce(url: &str, first: Option<&welcome::FirstAccount>, base_url: &str) {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "listening on {url}").and_then(|()| out.flush()).and_then(|()| match first {
        Some(first) => welcome::show(&mut out, base_url, first),
        None => Ok(()),
    });
    if written.is_err() {
        warn!("standard output is closed");
    }
}

fn failed(what: &str, error: &io::Error) -> AppError {
    AppError::Failed(format!("{what}: {error}"))
}
