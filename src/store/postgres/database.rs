use std::sync::{Arc, Weak};

use super::connector::Connector;
use super::publisher::Publisher;
use super::sessions::Sessions;
use super::statements::rows;
use super::target::PostgresTarget;
use super::{listener, migrate};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::Subscriber;
use crate::store::backend::{Backend, End, Operation, Work};
use crate::store::error::OpenError;
use crate::store::limits::{BACKGROUND_WAIT, PING_WAIT, TRANSACTION};
use crate::store::pool::Pool;
use crate::store::role::Role;
use crate::store::value::{Row, Value};

/// An open PostgreSQL database.
pub(in crate::store) struct Database {
    sessions: Arc<Sessions>,
    publisher: Publisher,
}

impl Database {
    /// Connects to the server and brings the schema up to date.
    pub(in crate::store) fn open(target: &PostgresTarget, role: Role) -> Result<Self, OpenError> {
        let connector = Connector::new(target)?;
        migrate::run(connector.first_client(target)?, target, &role.origin())?;
        let [reading, writing, health] = role.pool_sizes().map(|max| Arc::new(Pool::new(max)));
        let sessions = Arc::new(Sessions { connector, reading, writing, health });
        Ok(Self { sessions, publisher: Publisher::default() })
    }
}

impl Backend for Database {
    fn read(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        self.sessions.with(&self.sessions.reading, operation.wait, |session| work(session).map(drop))
    }

    fn write(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        // A request bounds how long the statements of its transaction may take together.
        let limit = (operation.wait < BACKGROUND_WAIT).then_some(TRANSACTION);
        self.sessions.with(&self.sessions.writing, operation.wait, |session| {
            let mut transaction = session.begin(limit)?;
            match work(&mut transaction)? {
                End::Commit => transaction.commit(),
                End::RollBack => transaction.roll_back(),
            }
        })
    }

    fn change(
        &self,
        operation: &Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        self.sessions
            .with(&self.sessions.writing, operation.wait, |session| rows(&session.change(sql, values)?))
    }

    fn check(&self) -> Result<(), StorageError> {
        // Every request with a key would wait for these locks. A trial would wait, too.
        let locks = "SELECT 1 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
             AND relation IN (to_regclass('accounts'), to_regclass('api_keys')) \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        self.sessions.with(&self.sessions.health, PING_WAIT, |session| {
            match session.query(locks, &[])?.is_empty() {
                true => Ok(()),
                false => {
                    Err(StorageError::contended("another program has locked the accounts or their keys"))
                }
            }
        })
    }

    fn publish(&self, run: RunId, epoch: u64) {
        self.publisher.publish(run, epoch);
    }

    fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        listener::start(Arc::clone(&self.sessions), subscriber)?;
        self.publisher.start(Arc::clone(&self.sessions))?;
        Ok(true)
    }

    fn load(&self) -> [usize; 3] {
        let pools =
            [&self.sessions.reading, &self.sessions.writing, &self.sessions.health].map(|pool| pool.load());
        [0, 1, 2].map(|figure| pools.iter().map(|pool| pool[figure]).sum())
    }

    fn is_impaired(&self) -> bool {
        self.sessions.connector.is_lost()
    }
}
