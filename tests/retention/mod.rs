//! Retention, deletion, audit and suppression: the real binary, on both databases.

mod accounts;
mod migrate;
pub(crate) mod suppress;
mod sweeps;

use serde_json::Value;

use crate::support::databases::{TestDatabase, databases};
use crate::support::server::{Server, Setup};

/// Runs a test with a server on a fresh database of each kind.
fn on_both(flags: &[&str], test: impl Fn(&mut Server, &TestDatabase)) {
    for database in databases() {
        let setup = flags.iter().fold(Setup::new().database(&database.url), |setup, flag| setup.flag(flag));
        test(&mut setup.start(), &database);
    }
}

/// Returns the entries of the audit, oldest first.
fn audit(server: &Server, flags: &[&str]) -> Vec<Value> {
    let args = [&["audit", "--format", "json"], flags].concat();
    serde_json::from_str::<Vec<Value>>(&server.cli(&args)).unwrap()
}
