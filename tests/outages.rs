//! The database fails in each of the ways in which databases fail, under a real server with searches under way.
//!
//! In each case: health says `degraded`, requests are refused within a bounded time, a search that is under way
//! keeps what it finds and stores it when the database is back, and no charge is without its run. A test that
//! strikes PostgreSQL has a server of its own.
//!
//! And the other way round: the service ends, and its clients notice as little as can be.

mod absent;
mod commits;
mod damage;
mod files;
pub(crate) mod kit;
mod locks;
mod network;
mod servers;
mod shutdown;

mod campaigns {
    mod failover;
    mod rolling;
}
