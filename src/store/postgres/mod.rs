//! PostgreSQL: any number of instances share one database.
//!
//! Transactions run at `READ COMMITTED`: each statement sees what was committed before it, and a row that is updated is
//! locked and read again. Every guarantee rests on a row lock or a unique index, so no write is retried
//! here; drivers retry their own. Rows are locked in one order (account, run, idempotency key, credits; several rows of
//! one table by id), so that no two transactions wait for each other. Migrations, which lock whole tables, give way to
//! other transactions and try again.
//!
//! A single statement is sent as such: it commits by itself, in one round trip.
//!
//! # Timeouts
//! Waiting for a connection, connecting, and the wait for each answer are bounded here (see `limits` and [`session`]).
//! The server bounds statements, waits for locks and idle transactions (`statement_timeout`, `lock_timeout`,
//! `idle_in_transaction_session_timeout`). TCP bounds how long a vanished machine or network is waited for
//! (`tcp_user_timeout`, keep-alive). While the server is unreachable, only one caller at a time waits for it
//! ([`connector`]). Callers that wait for a lock keep their connection; reading, writing and health checks each have
//! connections of their own. Migrations are bounded only by the server and by TCP: they run before any request is
//! served. Large deletions (an account's runs, old runs) are split into short transactions.
//!
//! # Notifications
//! `LISTEN` and `NOTIFY` wake readers that wait for changes of another instance; the data are read from the tables.
//! Rare changes that must not be missed (a deletion, a revoked key, released runs) are announced by their own
//! transaction, or, for an account's deletion, by the transaction that begins it. A driver's writes are published right
//! after their commit, by one thread for all runs ([`publisher`]): a transaction that notifies holds a lock of the
//! whole server until its commit is on the disk, and would make all others wait.
//!
//! A pooler in front of the server must pool sessions (`pool_mode = session`): settings and prepared statements belong
//! to a session.

mod connector;
mod database;
mod dialect;
mod error;
mod listener;
mod migrate;
mod publisher;
mod session;
mod sessions;
mod statements;
mod target;
mod tls;
mod tls_stream;

pub(super) use database::Database;
pub(super) use migrate::{migrate, pending};
pub(super) use target::PostgresTarget;
