//! Runs a server until it is asked to stop, and then stops it in bounded time. Without a server, its tools are served over
//! standard input and output.

use std::io::{self, Write};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::engine::{check_keys, load_catalog};
use super::error::Failure;
use super::feed::FeedKeeper;
use super::listening::PublicHandler;
use super::maintenance::Maintenance;
use super::services::Services;
use super::{first_start, listening, service_manager, suppression, webhooks};
use crate::admin::{self, Admin};
use crate::api::mcp;
use crate::base::clock::{Clock as _, SystemClock};
use crate::base::threads;
use crate::config::{EngineConfig, ServeConfig, SuppressionConfig, Time};
use crate::http::RunningServer;
use crate::store::{self, Store};
use crate::web::Web;

/// The fewest threads with which the parts can start: request workers, database, listeners, a few checks and connections.
const FEWEST_THREADS: usize = 196;
/// Pause between two attempts to open a database.
const DATABASE_PAUSE: Duration = Duration::from_millis(250);
/// The part of the drain time that is kept for the answers, after the runs were asked to end.
const ANSWER_RESERVE: Duration = Duration::from_secs(1);
/// The longest time that the shutdown waits for answers of the admin listener.
const ADMIN_DRAIN: Duration = Duration::from_millis(200);
/// The shortest time for writing answers, also if the runs took the whole drain time.
const MIN_DRAIN: Duration = Duration::from_millis(100);
/// The most searches that are driven at once without a server.
const MCP_RUNS: usize = 8;
/// The time in which they stop at the end.
const STOP_WITHIN: Duration = Duration::from_secs(2);

/// Serves until the process gets SIGTERM or SIGINT, then drains.
///
/// # Errors
/// Fails if the server cannot start.
pub fn serve(config: &ServeConfig) -> Result<(), Failure> {
    run(config)?;
    // Only now are all parts dropped, and the database is closed.
    info!("stopped");
    Ok(())
}

/// Answers the messages of the Model Context Protocol on standard input until its end. Searches are kept in memory, so that
/// they can be read, compared and followed while the client runs.
///
/// # Errors
/// Fails if the parts cannot be started, or if standard input cannot be read.
pub fn serve_lines(engine: &EngineConfig, suppression: &SuppressionConfig) -> Result<(), Failure> {
    let (services, caller, watch) = Services::local(engine, suppression, MCP_RUNS, true)?;
    let maintenance = Maintenance::start(&services, 0, watch)?;
    let served = mcp::serve(&services.api, &caller, io::stdin().lock(), io::stdout());
    services.runs().shut_down(Instant::now() + STOP_WITHIN);
    let _ = maintenance.join();
    served.map_err(|error| Failure::failed(error).at("cannot read standard input"))
}

fn run(config: &ServeConfig) -> Result<(), Failure> {
    threads::require(FEWEST_THREADS).map_err(Failure::failed)?;
    // Registered first: a signal that arrives while the parts are built is not lost.
    let mut signals =
        Signals::new([SIGTERM, SIGINT]).map_err(|error| Failure::failed(error).at("signals"))?;
    // Before anything is created: a mistake in the catalogue or an address in use leaves nothing behind.
    let plain = load_catalog(&config.engine, None)?;
    // A module of the feed may be the one that uses a key.
    if config.catalog_feed.is_none() {
        check_keys(&config.engine, &plain)?;
    }
    let (suppressed, watch) = suppression::load(&config.suppression)?;
    let server = listening::open(&config.server)?;
    let admin = Arc::new(Admin::new(SystemClock.now()));
    let admin_address = config.server.admin_listen;
    let admin_server = admin_address.map(|address| listening::open_admin(address, &admin)).transpose()?;
    let Some(store) = open_database(config, &mut signals)? else { return Ok(()) };
    let (feed, catalog) = FeedKeeper::open(config, &store, plain)?;
    let key = webhooks::load_key(config, &store)?;
    let (address, threads) = (server.local_addr(), server.threads());
    let base_url = config.server.base_url_at(address);
    let services = Services::build(config, catalog, suppressed, store, key, base_url, true)?;
    if services.shared.sandbox {
        warn!("the web is simulated: no result is real");
    }
    let web = Arc::new(Web::new(services.shared.clone(), threads.clone()));
    let handler = PublicHandler { api: Arc::clone(&services.api).router(), web: web.router() };
    let traffic = [handler.api.traffic(), handler.web.traffic()].map(Arc::clone);
    let first = first_start::first_account(&services.shared)?;
    let server = server.start(Arc::new(handler)).map_err(|error| Failure::failed(error).at("the server"))?;
    let maintenance = Maintenance::start(&services, config.retain_days, watch)?;
    feed.map(|feed| feed.start(&services)).transpose()?;
    admin.serve(admin::Parts {
        api: Arc::clone(&services.api),
        traffic,
        deliveries: services.deliveries.clone(),
        threads,
        maintained: Arc::clone(&services.maintained),
    });
    announce(&format!("http://{address}"), first.as_deref());
    service_manager::notify("READY=1");

    let signal = signals.forever().next();
    admin.drain();
    service_manager::notify("STOPPING=1");
    info!("signal {}: shutting down", signal.unwrap_or_default());
    shut_down(server, &services, signals, config.server.drain_timeout);
    let _ = maintenance.join();
    drop(services);
    if let Some(server) = admin_server {
        server.shutdown(ADMIN_DRAIN);
    }
    Ok(())
}

/// Opens the database, and waits for a PostgreSQL server that cannot be reached. Returns `None` if the process is asked to
/// stop meanwhile.
fn open_database(config: &ServeConfig, signals: &mut Signals) -> Result<Option<Arc<Store>>, Failure> {
    let wait = config.engine.time(Time::DATABASE_WAIT);
    let until = Instant::now() + wait;
    let mut is_logged = false;
    loop {
        match store::open(&config.storage.database, store::Role::Server) {
            Err(error) if error.is_transient() && Instant::now() < until => {
                if !std::mem::replace(&mut is_logged, true) {
                    warn!("{error}; retrying for {} s", wait.as_secs());
                }
            }
            opened => return opened.map(Some).map_err(Failure::failed),
        }
        if let Some(signal) = signals.pending().next() {
            info!("signal {signal}: stopping before the database could be opened");
            return Ok(None);
        }
        thread::sleep(DATABASE_PAUSE.min(until.saturating_duration_since(Instant::now())));
    }
}

/// Prints the address, and the first account if one was created. Scripts read the first line. A closed
/// standard output does not stop the server.
fn announce(url: &str, first: Option<&str>) {
    let mut out = io::stdout().lock();
    let written = write!(out, "listening on {url}\n{}", first.unwrap_or_default());
    if written.and_then(|()| out.flush()).is_err() {
        warn!("standard output is closed");
    }
}

/// Stops the server, the runs and the deliveries to webhooks within `drain_timeout`, and ends the process shortly after
/// that in any case. Another signal ends the process at once.
fn shut_down(server: RunningServer, services: &Services, mut signals: Signals, drain_timeout: Duration) {
    let until = Instant::now() + drain_timeout;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            std::process::exit(130);
        }
    });
    // A database that hangs cannot delay the shutdown.
    let at = until.max(Instant::now() + ANSWER_RESERVE);
    thread::spawn(move || {
        thread::sleep(at.saturating_duration_since(Instant::now()));
        warn!(
            "the drain timeout is over: runs that were not released are taken over when their lease expires"
        );
        std::process::exit(0);
    });
    let until = until - ANSWER_RESERVE.min(drain_timeout / 4);
    server.stop_taking();
    // Streams and waits end with the runs, and the server waits for them.
    services.runs().shut_down(until);
    let left = server.shutdown(until.saturating_duration_since(Instant::now()).max(MIN_DRAIN));
    if left > 0 {
        warn!("{left} answers were not finished in time");
    }
    // Deliveries of runs that end now may still be sent.
    if let Some(deliveries) = &services.deliveries {
        deliveries.stop(until);
    }
}
