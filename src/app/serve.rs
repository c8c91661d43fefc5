//! The server, from its start to its end.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use log::{info, warn};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::parts::{Engine, Premium, load_catalog};
use super::{AppError, housekeeper, welcome};
use crate::account::rate_limit::{RateLimiter, RateLimits};
use crate::account::service::Accounts;
use crate::api::service::ApiHandler;
use crate::api::{Api, ApiConfig};
use crate::base::clock::{Clock, SystemClock};
use crate::config::ServeConfig;
use crate::http::{self, Server};
use crate::store;

/// Serves until the process is told to stop (SIGTERM or SIGINT), then drains.
///
/// # Errors
/// It could not start.
pub fn serve(config: &ServeConfig) -> Result<(), AppError> {
    // Taken first: a signal that comes while the parts are put together is not lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(|error| failed("signals", &error))?;
    // Before anything is created: a mistake in the catalogue or a taken address leaves nothing behind.
    let catalog = load_catalog(&config.engine)?;
    let server = listen(config).map_err(|error| AppError::Failed(error.to_string()))?;
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let url = config.storage.database.expose().parse::<store::DatabaseUrl>();
    let url = url.map_err(|error| AppError::Config(error.to_string()))?;
    let store =
        store::open(&url, store::Options::server()).map_err(|error| AppError::Failed(error.to_string()))?;
    let accounts = Arc::new(Accounts::new(store.clone(), config.accounts.plans.clone(), Arc::clone(&clock)));
    let engine = Engine::build(&config.engine, catalog, config.server.max_runs, store, Arc::clone(&clock))?;
    let limits = &config.rate_limits;
    let limits = RateLimits { search: limits.search, stream: limits.stream, read: limits.read };
    let limiter = Arc::new(RateLimiter::new(limits));

    let address = server.local_addr();
    let base_url = config.server.base_url_at(address);
    let api = Arc::new(Api::new(
        api_config(config, &engine, base_url.clone()),
        Arc::clone(&accounts),
        Arc::clone(&limiter),
        Arc::clone(&engine.runs),
        Arc::clone(&clock),
    ));
    if engine.sandbox.is_some() {
        warn!("the web is simulated: nothing that is found is real");
    }
    let first_key = welcome::first_key(&accounts)?;
    api.set_gauge(server.gauge());
    let handle =
        server.start(Arc::new(ApiHandler(Arc::clone(&api)))).map_err(|error| failed("the server", &error))?;
    let housekeeper = housekeeper::start(Arc::clone(&engine.runs), accounts, limiter, clock)?;
    announce(&format!("http://{address}"), first_key.as_ref(), &base_url);

    let signal = signals.forever().next();
    info!("signal {}: shutting down", signal.unwrap_or_default());
    // A second signal ends the process at once.
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
    let until = Instant::now() + config.server.drain_timeout;
    // No more requests, then the runs: their streams and waits end, for which the server waits at last.
    handle.stop_taking();
    engine.runs.shut_down(until);
    handle.shutdown(until.saturating_duration_since(Instant::now()).max(Duration::from_millis(100)));
    if housekeeper.join().is_err() {
        warn!("the housekeeper had panicked");
    }
    info!("stopped");
    Ok(())
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

fn api_config(config: &ServeConfig, engine: &Engine, base_url: String) -> ApiConfig {
    ApiConfig {
        base_url,
        sync_wait: config.server.wait_timeout,
        stream_timeout: config.server.stream_timeout,
        keep_alive: config.server.keep_alive,
        sandbox: engine.sandbox.is_some(),
        premium_available: engine.premium == Premium::Available,
        cors_origins: config.server.cors_origins.clone(),
    }
}

/// The first line on standard output is for scripts, the rest for people. Nobody may be reading: a closed
/// output stops no server.
fn announce(url: &str, first_key: Option<&crate::account::key::ApiKey>, base_url: &str) {
    let mut out = io::stdout().lock();
    let written =
        writeln!(out, "listening on {url}").and_then(|()| out.flush()).and_then(|()| match first_key {
            Some(key) => welcome::show(&mut out, base_url, key),
            None => Ok(()),
        });
    if written.is_err() {
        warn!("standard output is closed");
    }
}

fn failed(what: &str, error: &io::Error) -> AppError {
    AppError::Failed(format!("{what}: {error}"))
}
