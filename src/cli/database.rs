//! Opens the database of a command.

use std::path::Path;
use std::sync::Arc;

use super::exit::Failure;
use crate::account::plan::PlanTable;
use crate::account::service::Accounts;
use crate::base::clock::SystemClock;
use crate::config::StorageConfig;
use crate::store::{self, DatabaseUrl, Store};

/// Opens the accounts of an existing database. A server may be using it.
pub(crate) fn open_accounts(storage: &StorageConfig, plans: PlanTable) -> Result<Accounts, Failure> {
    Ok(Accounts::new(open_store(storage)?, plans, Arc::new(SystemClock)))
}

/// Opens an existing database. A server may be using it.
pub(crate) fn open_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    if let Some(path) = storage.database.expose().strip_prefix("sqlite:")
        && !Path::new(path).exists()
    {
        // Most likely the wrong folder. An empty database there would hide the mistake.
        return Err(Failure::Failed(format!(
            "no database at {path}: run the command where the service runs, or name the database \
             with --database"
        )));
    }
    create_store(storage)
}

/// Opens a database, which is created if it does not exist.
pub(crate) fn create_store(storage: &StorageConfig) -> Result<Arc<Store>, Failure> {
    store::open(&database_url(storage)?, store::Role::Command)
        .map_err(|error| Failure::Failed(error.to_string()))
}

/// Parses the database URL of the options.
pub(crate) fn database_url(storage: &StorageConfig) -> Result<DatabaseUrl, Failure> {
    storage.database.expose().parse().map_err(|error| {
        Failure::Usage(format!("invalid value for --database (SIGHTLINE_DATABASE): {error}"))
    })
}
