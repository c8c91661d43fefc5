use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Weak};
use std::time::Duration;

use r2d2::{NopErrorHandler, Pool, PooledConnection};

use super::breaker::Breaker;
use super::connector::Connector;
use super::error::{PostgresError, pool_error};
use super::publisher::Publisher;
use super::session::Session;
use super::statements::rows;
use super::target::PostgresTarget;
use super::{connecting, listener, migrate, tls};
use crate::base::ids::RunId;
use crate::base::storage::StorageError;
use crate::model::drive::Subscriber;
use crate::store::backend::{Backend, End, Operation, Tables, Work};
use crate::store::concurrency::{ConcurrencyLimit, Permit, WaitLimit};
use crate::store::error::OpenError;
use crate::store::limits::{
    ACCOUNTS_SHARE_PERCENT, PING_WAIT, POOL_WAIT, RUNS_SHARE_PERCENT, TRANSACTION, UNAVAILABLE_WAIT,
};
use crate::store::load::StoreLoad;
use crate::store::role::Role;
use crate::store::value::{Row, Value};
use crate::store::write_health::WriteHealth;

/// An open PostgreSQL database.
pub(in crate::store) struct Database {
    pool: Pool<Connector>,
    /// The connector for the connection on which notifications are received.
    connector: Arc<Connector>,
    publisher: Publisher,
    /// The limits on concurrent operations on runs and on other tables.
    runs: ConcurrencyLimit,
    accounts: ConcurrencyLimit,
    breaker: Breaker,
    writes: Arc<WriteHealth>,
}

impl Database {
    /// Connects to the server and brings the schema up to date.
    pub(in crate::store) fn open(target: &PostgresTarget, role: Role) -> Result<Self, OpenError> {
        let tls = tls::connector(target)?;
        let writes = Arc::new(WriteHealth::default());
        let own = Arc::new(Connector::new(target.config(), tls.clone(), Arc::clone(&writes)));
        let connector = Connector::new(target.config(), tls, Arc::clone(&writes));
        migrate::run(connecting::first_client(&connector, target)?, target, &role.origin())?;
        let pool = Pool::builder()
            .max_size(role.pool_size())
            .min_idle(Some(0))
            .connection_timeout(POOL_WAIT)
            .error_handler(Box::new(NopErrorHandler))
            .build_unchecked(connector);
        let share = |percent: usize| ConcurrencyLimit::new(role.pool_size() as usize * percent / 100);
        let (runs, accounts) = (share(RUNS_SHARE_PERCENT), share(ACCOUNTS_SHARE_PERCENT));
        let (publisher, breaker) = (Publisher::default(), Breaker::default());
        Ok(Self { pool, connector: own, publisher, runs, accounts, breaker, writes })
    }

    /// Returns a connection, which the caller holds together with its permit.
    fn session(&self, operation: &Operation) -> Result<SessionGuard<'_>, StorageError> {
        let limit = match operation.tables {
            Tables::Runs => &self.runs,
            Tables::Accounts => &self.accounts,
        };
        let mut permit = limit.acquire(operation.wait_limit)?;
        match self.session_within(POOL_WAIT) {
            Ok(mut session) => {
                session.forget_failures();
                Ok(SessionGuard { session, permit })
            }
            Err(error) => {
                permit.note(false);
                Err(error)
            }
        }
    }

    fn session_within(&self, wait: Duration) -> Result<PooledConnection<Connector>, StorageError> {
        let Some(since) = self.breaker.unavailable_since() else { return self.wait_for_session(wait) };
        // A connection that was returned to the pool in the meantime, and that answers, can be used as well as a new
        // one.
        if let Some(session) = self.pool.try_get() {
            self.breaker.close();
            return Ok(session);
        }
        let Some(_probe) = self.breaker.try_probe() else {
            let text = format!("the server has been unreachable for {} ms", since.elapsed().as_millis());
            return Err(StorageError::unavailable(PostgresError::new(text)));
        };
        self.wait_for_session(wait.min(UNAVAILABLE_WAIT))
    }

    fn wait_for_session(&self, wait: Duration) -> Result<PooledConnection<Connector>, StorageError> {
        match self.pool.get_timeout(wait) {
            Ok(session) => {
                self.breaker.close();
                Ok(session)
            }
            Err(error) => {
                // The fact that all connections are in use indicates nothing about the server.
                let state = self.pool.state();
                if state.connections < self.pool.max_size() || state.idle_connections > 0 {
                    self.breaker.open();
                }
                Err(pool_error(error))
            }
        }
    }

    /// Checks that the server answers, that keys can be read and, as far as is known, that it accepts writes.
    fn check_health(&self, wait: Duration) -> Result<(), StorageError> {
        // Every request with a key would wait for these locks. A trial would wait, too.
        let locks = "SELECT 1 FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' \
             AND relation IN (to_regclass('accounts'), to_regclass('api_keys')) \
             AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
        if !self.session_within(wait)?.query(locks, &[])?.is_empty() {
            return Err(StorageError::contended("another program has locked the accounts or their keys"));
        }
        self.writes.check(|| {
            let trial = "UPDATE schema_version SET name = name WHERE version = 23";
            self.session_within(wait)?.execute(trial, &[]).map(|_| ())
        })
    }
}

/// A connection, and the permit of the caller that uses it.
struct SessionGuard<'a> {
    session: PooledConnection<Connector>,
    permit: Permit<'a>,
}

impl Deref for SessionGuard<'_> {
    type Target = Session;

    fn deref(&self) -> &Session {
        &self.session
    }
}

impl DerefMut for SessionGuard<'_> {
    fn deref_mut(&mut self) -> &mut Session {
        &mut self.session
    }
}

impl Drop for SessionGuard<'_> {
    fn drop(&mut self) {
        self.permit.note(!self.session.has_failed());
    }
}

impl Backend for Database {
    fn read(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        work(&mut *self.session(operation)?).map(drop)
    }

    fn write(&self, operation: &Operation, work: Work<'_>) -> Result<(), StorageError> {
        // A request bounds how long the statements of its transaction may take together.
        let limit = (operation.wait_limit == WaitLimit::Request).then_some(TRANSACTION);
        let mut session = self.session(operation)?;
        let mut transaction = session.begin(limit)?;
        match work(&mut transaction)? {
            End::Commit => transaction.commit(),
            End::RollBack => transaction.roll_back(),
        }
    }

    fn change(
        &self,
        operation: &Operation,
        sql: &'static str,
        values: &[Value<'_>],
    ) -> Result<Vec<Row>, StorageError> {
        rows(&self.session(operation)?.change(sql, values)?)
    }

    fn ping(&self) -> Result<(), StorageError> {
        self.check_health(PING_WAIT)
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn publish(&self, run: RunId, epoch: u64) {
        self.publisher.publish(run, epoch);
    }

    fn listen(&self, subscriber: Weak<dyn Subscriber>) -> Result<bool, StorageError> {
        listener::start(Arc::clone(&self.connector), subscriber)?;
        self.publisher.start(self.pool.clone())?;
        Ok(true)
    }

    fn load(&self) -> StoreLoad {
        let state = self.pool.state();
        StoreLoad {
            used: state.connections.saturating_sub(state.idle_connections),
            idle: state.idle_connections,
            max: self.pool.max_size(),
            is_unavailable: self.breaker.unavailable_since().is_some() || self.writes.has_refusal(),
        }
    }
}
