//! [`Sessions`]: the connections to the server, for each use.

use std::sync::Arc;
use std::time::Duration;

use super::connector::Connector;
use super::session::Session;
use crate::base::storage::StorageError;
use crate::store::pool::Pool;

/// The connections to the server.
pub(super) struct Sessions {
    pub(super) connector: Connector,
    pub(super) reading: Arc<Pool<Session>>,
    pub(super) writing: Arc<Pool<Session>>,
    /// For health checks, which wait for nobody.
    pub(super) health: Arc<Pool<Session>>,
}

impl Sessions {
    /// Runs `work` on a connection whose server answers.
    pub(super) fn with<T>(
        &self,
        pool: &Arc<Pool<Session>>,
        wait: Duration,
        work: impl FnOnce(&mut Session) -> Result<T, StorageError>,
    ) -> Result<T, StorageError> {
        self.connector.check()?;
        pool.with(
            wait,
            || self.connector.session(pool, self.connector.admit()?),
            |session| {
                self.connector.refresh(session, pool)?;
                work(session)
            },
        )
    }
}
