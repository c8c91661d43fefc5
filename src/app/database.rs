//! Opens the database of a server, and waits until a PostgreSQL server can be reached.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use log::{info, warn};
use signal_hook::iterator::Signals;

use super::error::AppError;
use crate::config::{ServeConfig, Time};
use crate::store::{self, Store};

/// Pause between two attempts to open a database.
const PAUSE: Duration = Duration::from_millis(250);

/// Opens the database. Returns `None` if the process is told to stop while it waits.
///
/// # Errors
/// Fails if the database cannot be opened, or not in time.
pub(super) fn open(config: &ServeConfig, signals: &mut Signals) -> Result<Option<Arc<Store>>, AppError> {
    let wait = config.engine.time(Time::DatabaseWait);
    let until = Instant::now() + wait;
    let mut is_logged = false;
    loop {
        let error = match store::open(&config.storage.database, store::Role::Server) {
            Ok(store) => return Ok(Some(store)),
            Err(error) => error,
        };
        if !error.is_transient() || Instant::now() >= until {
            return Err(AppError::failed(error));
        }
        if !std::mem::replace(&mut is_logged, true) {
            warn!("{error}; retrying for {} s", wait.as_secs());
        }
        if let Some(signal) = signals.pending().next() {
            info!("signal {signal}: stopping before the database could be opened");
            return Ok(None);
        }
        thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
    }
}
