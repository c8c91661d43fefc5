//! PostgreSQL is stopped, crashes, hangs, or has no connection left.

use std::thread;

use postgres::Client;

use super::kit::{Scene, has_no_faults, is_refused, search};
use crate::support::eventually;
use crate::support::private_postgres::{End, PrivatePostgres};

fn audit(postgres: &PrivatePostgres, database: &str) {
    let mut client = postgres.client(database);
    has_no_faults(|sql| client.query_one(sql, &[]).unwrap().get(0));
}

fn strike_and_mend<S>(
    strike: impl FnOnce(&mut PrivatePostgres) -> S,
    mend: impl FnOnce(&mut PrivatePostgres, S),
) {
    let mut postgres = PrivatePostgres::start();
    let scene = Scene::on(&postgres.url("postgres"));
    let struck = strike(&mut postgres);
    scene.survives(|| mend(&mut postgres, struck));
    audit(&postgres, "postgres");
}

#[test]
fn stopped_and_started_again() {
    for end in [End::Fast, End::Crash] {
        strike_and_mend(|postgres| postgres.stop(end), |postgres, ()| postgres.start_again());
    }
}

#[test]
fn paused() {
    strike_and_mend(|postgres| postgres.pause(), |_, pause| drop(pause));
}

/// A lock that every start of a search and every write of a driver waits for.
pub(super) struct StuckStatements {
    /// Releases the lock on drop.
    _holder: Client,
    watcher: std::cell::RefCell<Client>,
}

impl StuckStatements {
    pub(super) fn on(postgres: &PrivatePostgres) -> Self {
        let mut holder = postgres.client("postgres");
        holder.batch_execute("BEGIN; LOCK TABLE runs IN EXCLUSIVE MODE").unwrap();
        Self { _holder: holder, watcher: postgres.client("postgres").into() }
    }

    /// Waits until that many statements wait for a lock.
    pub(super) fn wait_for(&self, count: usize) {
        let sql = "SELECT count(*) FROM pg_stat_activity \
                   WHERE application_name = 'sightline' AND wait_event_type = 'Lock'";
        let waiting = || self.watcher.borrow_mut().query_one(sql, &[]).unwrap().get::<_, i64>(0);
        eventually("statements wait for a lock", || waiting() >= count as i64);
    }
}

#[test]
fn out_of_connections() {
    // Of the connections for everybody the test's own superuser has one.
    const FOR_OTHERS: usize = 20 - 3 - 1;
    let postgres = PrivatePostgres::with(&["max_connections=20", "superuser_reserved_connections=3"]);
    // The last three connections are reserved for superusers, and the service is not one.
    postgres.admin("CREATE ROLE service LOGIN");
    postgres.admin("CREATE DATABASE service OWNER service");
    let scene = Scene::on(&postgres.url("service").replace("sightline@", "service@"));
    let mut admin = postgres.client("postgres");
    let mut hogs: Vec<Client> = Vec::new();
    let url = postgres.url("service").replace("sightline@", "service@");
    // Others take every connection as soon as the service loses its own.
    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sightline'";
    eventually("all connections are taken by others", || {
        admin.simple_query(sql).unwrap();
        while let Ok(client) = Client::connect(&url, postgres::NoTls) {
            hogs.push(client);
        }
        hogs.len() == FOR_OTHERS
    });
    scene.survives(|| drop(hogs));
    audit(&postgres, "service");
}

mod campaigns {
    use super::*;

    /// PostgreSQL hangs with statements under way: neither the server nor its timeouts answer them.
    #[test]
    fn paused_in_mid_statement() {
        let postgres = PrivatePostgres::start();
        let scene = Scene::on(&postgres.url("postgres"));
        let stuck = StuckStatements::on(&postgres);
        thread::scope(|scope| {
            let (scene, name) = (&scene, ["bob", "carol"]);
            let callers = name.map(|name| scope.spawn(move || search(&scene.server, &scene.key, name)));
            stuck.wait_for(callers.len());
            let pause = postgres.pause();
            callers.into_iter().for_each(|caller| is_refused(&caller.join().unwrap()));
            scene.survives(|| {
                drop(pause);
                drop(stuck);
            });
        });
        audit(&postgres, "postgres");
    }
}
