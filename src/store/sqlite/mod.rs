//! SQLite: one file, one server, and any number of short commands at the same time.
//!
//! In WAL mode readers never wait. SQLite has one writer at a time. This process has one connection that writes, and
//! callers queue for it in memory ([`Pool`](super::pool::Pool)) instead of polling the file.
//!
//! # Durability
//! A crash of the process loses nothing. Commits that concern money, access or a guarantee reach the disk at once
//! (`synchronous = FULL`). What a live run saves (`NORMAL`) reaches it with the next such commit
//! or with the next checkpoint of the WAL. A power cut may lose its last seconds, and the run is then resumed from its
//! stored state. The file stays consistent in any case.

mod backup;
mod connection;
mod error;
mod file;

pub(super) use backup::back_up;
pub(super) use connection::{connect, in_memory};
pub(super) use file::{DatabaseFile, pending};
