//! The store: all SQL of the program, for SQLite and PostgreSQL.
//!
//! | file | holds |
//! |---|---|
//! | [`open`], `schema` | opening a database, its migrations, copies of it |
//! | [`url`] | database addresses: parsing them, printing them without their password |
//! | `database` | [`Store`]: the open database with the metrics of its operations |
//! | `queries/` | the operations, each written once for both databases |
//! | `tx`, `value` | what the operations use: statements and transactions on a connection, values, rows |
//! | `document` | JSON documents as their columns keep them |
//! | `sqlite/`, `postgres/` | the two databases: how they are reached, the file, notifications, errors |
//! | [`limits`] | every timeout and size, with its reason |
//! | `pool` | connections, and the callers that wait for one |
//! | `outage` | whether writes are taken, and the log messages about an unavailable database |
//! | [`error`] | the errors of operations, of opening a database and of copying one |
//!
//! Both backends behave the same: `tests/store` runs each of its tests on both.
//!
//! # To change the schema
//! Add `sql/sqlite/NNNN_name.sql` and `sql/postgres/NNNN_name.sql`, and a line in `schema.rs`. A released file never
//! changes, because databases have run it. Whatever belongs to a person must be deleted with the
//! account: add a foreign key to `accounts`, and a statement in `queries/erasure.rs`.
//!
//! # To add an operation
//! Add a method of [`Store`] to a file in `queries/`, and a test to `tests/store`, which runs on both databases. `row!`
//! names the columns of a type, which the statements that read it have as `{row}`. A piece that several statements share
//! is added to `queries/fragments.rs`; a statement has it as `{NAME}`.

mod database;
mod document;
pub mod error;
pub mod limits;
mod open;
mod outage;
mod pool;
mod postgres;
mod queries;
mod schema;
mod sqlite;
mod tx;
pub mod url;
mod value;

pub use database::{OperationMetrics, Store, StoreLoad};
pub use error::{BackupError, OpenError};
pub use limits::Role;
pub use open::{back_up, in_memory, migrate, open, pending_migrations};
pub use url::DatabaseUrl;
