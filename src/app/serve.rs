//! Runs a server until it is told to stop.

use std::io::{self, Write};
use std::sync::Arc;

use log::{info, warn};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::admin::AdminSide;
use super::bundles::BundleWatch;
use super::error::AppError;
use super::first_start::{self, FirstAccount};
use super::instance::Instance;
use super::parts::{catalog_sources, load_catalog};
use super::shutdown::shut_down;
use super::{database, keys, listening, service_manager, suppression};
use crate::base::threads;
use crate::config::ServeConfig;

/// Serves until the process gets SIGTERM or SIGINT, then drains.
///
/// # Errors
/// Fails if the server cannot start.
pub fn serve(config: &ServeConfig) -> Result<(), AppError> {
    run(config)?;
    // Only now are all parts dropped: databases are closed, browsers have ended.
    info!("stopped");
    Ok(())
}

fn run(config: &ServeConfig) -> Result<(), AppError> {
    threads::require(FEWEST_THREADS + config.server.request_workers).map_err(AppError::failed)?;
    // Registered first: a signal that arrives while the parts are built is not lost.
    let mut signals =
        Signals::new([SIGTERM, SIGINT]).map_err(|error| AppError::failed(error).at("signals"))?;
    // Before anything is created: a mistake in the catalogue or an address in use leaves nothing behind.
    let sources = catalog_sources(&config.engine);
    let plain = load_catalog(&sources)?;
    let trusted = config.bundles.keys.clone();
    if trusted.is_empty() {
        keys::check(&config.engine, &plain)?;
    }
    let (suppressed, watch) = suppression::load(&config.privacy.suppression)?.unzip();
    let server = listening::open(&config.server)?;
    let admin_side = AdminSide::open(config.server.admin_listen)?;
    let Some(store) = database::open(config, &mut signals)? else { return Ok(()) };
    let mut bundles = BundleWatch::new(Arc::clone(&store), sources, plain, trusted);
    let catalog = bundles.load().map_err(|error| AppError::failed(error).at("the catalogue bundle"))?;
    if !config.bundles.keys.is_empty() {
        // A module of the bundle may be the one that uses a key.
        keys::check(&config.engine, &catalog)?;
    }
    let instance = Instance::build(config, catalog, suppressed, store, &server)?;
    let first = instance.first_account()?;
    let address = server.local_addr();
    let server = server
        .start(Arc::new(instance.public_handler()))
        .map_err(|error| AppError::failed(error).at("the server"))?;
    let maintenance = instance.maintenance(&config.privacy, watch, bundles).start()?;
    admin_side.admin.serve(instance.admin_parts());
    announce(&format!("http://{address}"), first.as_ref(), &config.server.base_url_at(address));
    service_manager::ready();

    let signal = signals.forever().next();
    admin_side.admin.drain();
    service_manager::stopping();
    info!("signal {}: shutting down", signal.unwrap_or_default());
    shut_down(server, &instance, signals, config.server.drain_timeout);
    if maintenance.join().is_err() {
        warn!("the maintenance thread panicked");
    }
    drop(instance);
    admin_side.close();
    Ok(())
}

/// The fewest threads besides the request workers with which the parts can start: database, listeners, a few
/// checks and connections.
const FEWEST_THREADS: usize = 180;

/// Prints the address, and the first account if one was created. Scripts read the first line. A closed
/// standard output does not stop the server.
fn announce(url: &str, first: Option<&FirstAccount>, base_url: &str) {
    let mut out = io::stdout().lock();
    let written = writeln!(out, "listening on {url}").and_then(|()| out.flush()).and_then(|()| match first {
        Some(first) => first_start::show(&mut out, base_url, first),
        None => Ok(()),
    });
    if written.is_err() {
        warn!("standard output is closed");
    }
}
