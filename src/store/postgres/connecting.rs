//! The first connection to a server. It is made outside the pool, which would try again until its wait is over.

use std::sync::Arc;

use postgres::Client;

use super::connector::Connector;
use super::target::PostgresTarget;
use super::tls;
use crate::base::storage::StorageError;
use crate::store::error::OpenError;

/// Connects to a database.
pub(super) fn connect(target: &PostgresTarget) -> Result<Client, OpenError> {
    let tls = tls::connector(target)?;
    first_client(&Connector::new(target.config(), tls, Arc::default()), target)
}

/// Connects to a server. The error distinguishes a refusal from a server that cannot be reached.
pub(super) fn first_client(connector: &Connector, target: &PostgresTarget) -> Result<Client, OpenError> {
    connector.client().map_err(|cause| match cause.is_refusal() {
        true => OpenError::Refused { address: target.to_string(), cause: StorageError::broken(cause) },
        false => OpenError::Connect { address: target.to_string(), cause: StorageError::unavailable(cause) },
    })
}
