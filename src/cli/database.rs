//! Opens the database of a command.

use std::sync::Arc;

use super::exit::Failure;
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::base::clock::SystemClock;
use crate::config::StorageConfig;
use crate::store::{self, Store};

/// Opens the accounts of an existing database. A server may be using it.
pub(crate) fn open_accounts(storage: &StorageConfig, plans: PlanTable) -> Result<Accounts, Failure> {
    Ok(Accounts::new(open_store(storage)?, plans, Arc::new(SystemClock)))
}

/// Opens an existing database. A server may be using it.
pub(crate) fn open_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    let url = &storage.database;
    if let Some(path) = url.sqlite_file().filter(|path| matches!(path.try_exists(), Ok(false))) {
        // Most likely the wrong folder. An empty database there would hide the mistake.
        return Err(Failure::Failed(format!(
            "no database at {}: name that of the service with --database or SIGHTLINE_DATABASE (an installed service has \
             its settings in /etc/default/sightline or /etc/sightline: see `sightline manual operations`); `sightline \
             serve` and `sightline migrate` create a new one",
            std::path::absolute(path).as_deref().unwrap_or(path).display()
        )));
    }
    store::open(url, store::Role::Command).map_err(|error| Failure::Failed(error.to_string()))
}
