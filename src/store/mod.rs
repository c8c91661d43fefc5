//! SQL lives only here: [`open`], errors, migrations, one folder for each database.
//!
//! | file | holds |
//! |---|---|
//! | [`url`] | database addresses: reading them, showing them without their password |
//! | [`limits`] | every timeout and size, with its reason |
//! | [`error`] | why a database could not be opened |
//! | `schema` | the list of migrations, which schemas are refused |
//! | `audit`, `retention` | rows of the audit; which old runs are removed together |
//! | `document` | what is kept as JSON: results, reports; cleaning of hostile text |
//! | `health` | the columns of `module_health`, and how counts fade |
//! | `writes` | whether writes are taken, for health checks |
//! | [`backup`] | a copy of the whole, of one moment, while a server runs |
//! | [`metered`] | how long each operation takes, which fail |
//! | `row` | a row of `runs`, as both databases give it |
//! | `sqlite/`, `postgres/` | the two databases: same behaviour, one contract suite (`tests/store.rs`) |
//!
//! # To change the schema
//! Add `sql/sqlite/NNNN_name.sql` and `sql/postgres/NNNN_name.sql` and one line in `schema.rs`. A file
//! that was released never changes: databases know its checksum. What belongs to a person must go with the
//! account: a foreign key to `accounts`, and a line in both `erasure.rs`.
//!
//! # To add a question to the store
//! Add it to the trait of the room that asks (`account::ledger`, `runs::journal`), to the file of that
//! name in both folders, and to the contract suite.

mod audit;
pub mod backup;
mod document;
pub mod error;
mod health;
pub mod limits;
pub mod metered;
mod postgres;
mod retention;
mod row;
mod schema;
mod sqlite;
pub mod url;
mod writes;

use std::sync::Arc;

use crate::account::audit::{AuditTrail, Origin};
use crate::account::ledger::Ledger;
use crate::account::records::Records;
use crate::account::sign_in::SignInStore;
use crate::runs::journal::Journal;
use crate::runs::retention::Retention;

pub use error::OpenError;
pub use limits::DEFAULT_POOL_SIZE;
use metered::{Metered, StoreFigures};
pub use url::{DatabaseUrl, UrlError};

/// Everything that the rooms below ask of storage, and how it does.
pub trait Storage:
    Ledger + SignInStore + Journal + AuditTrail + Records + Retention + Vitals + 'static
{
    /// How each operation has done since the start.
    fn figures(&self) -> &StoreFigures;
}

impl<T: Ledger + SignInStore + Journal + AuditTrail + Records + Retention + Vitals + 'static> Storage
    for Metered<T>
{
    fn figures(&self) -> &StoreFigures {
        Metered::figures(self)
    }
}

/// How busy a store is.
pub trait Vitals: Send + Sync {
    /// At this moment. Asks no database and waits for nobody.
    fn load(&self) -> StoreLoad;
}

/// A moment's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoreLoad {
    /// Connections in use (SQLite: the one that writes included).
    pub used: u32,
    /// Connections that are open and free.
    pub idle: u32,
    /// The most there may be.
    pub max: u32,
    /// Whether the server is known to be away, or a write was refused lately.
    pub is_away: bool,
}

/// An open database. `Arc<Store>` becomes `Arc<dyn Ledger>` or `Arc<dyn Journal>` where one is asked for.
pub type Store = dyn Storage;

/// Who opens the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A server. An SQLite file takes one at a time; PostgreSQL takes any number.
    Server,
    /// A short command, which works beside a running server.
    Command,
}

impl Role {
    /// Who changes the schema, to the audit.
    fn origin(self) -> Origin {
        match self {
            Self::Server => Origin::SYSTEM,
            Self::Command => Origin::CLI,
        }
    }
}

/// How a database is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Who opens it.
    pub role: Role,
    /// The most connections at once, at least 1 (PostgreSQL; SQLite: for reading, beside one that writes).
    /// They are opened when they are needed.
    pub pool_size: u32,
}

impl Options {
    /// For a server.
    pub fn server() -> Self {
        Self { role: Role::Server, pool_size: DEFAULT_POOL_SIZE }
    }

    /// For a command, which does one thing after the other.
    pub fn command() -> Self {
        Self { role: Role::Command, pool_size: 1 }
    }
}

/// Opens the database and brings its schema up to date.
///
/// # Errors
/// Each [`OpenError`] says what to do; none holds a password.
pub fn open(url: &DatabaseUrl, options: Options) -> Result<Arc<Store>, OpenError> {
    let options = Options { pool_size: options.pool_size.max(1), ..options };
    Ok(match url.target() {
        url::Target::Sqlite(path) => Arc::new(Metered::new(sqlite::Database::open(path, options)?)),
        url::Target::Postgres(target) => Arc::new(Metered::new(postgres::Database::open(target, options)?)),
    })
}

/// Brings the schema of a database up to date, as [`open`] does; creates an SQLite file that is not there.
/// Gives the names of the migrations that were run, oldest first.
///
/// # Errors
/// As [`open`].
pub fn migrate(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let by = Role::Command.origin();
    let done = match url.target() {
        url::Target::Sqlite(path) => sqlite::migrate(path, &by)?,
        url::Target::Postgres(target) => postgres::migrate(target, &by)?,
    };
    Ok(done.into_iter().map(|migration| migration.name).collect())
}

/// What [`migrate`] would run. Changes and creates nothing.
///
/// # Errors
/// As [`open`].
pub fn pending_migrations(url: &DatabaseUrl) -> Result<Vec<&'static str>, OpenError> {
    let pending = match url.target() {
        url::Target::Sqlite(path) => sqlite::pending(path)?,
        url::Target::Postgres(target) => postgres::pending(target)?,
    };
    Ok(pending.into_iter().map(|migration| migration.name).collect())
}
