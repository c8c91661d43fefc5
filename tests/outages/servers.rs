//! PostgreSQL is stopped, crashes, hangs, or has no connection left.

use std::thread;

use postgres::Client;

use super::kit::{Scene, has_no_faults, is_refused, search};
use crate::support::eventually;
use crate::support::private_postgres::{End, PrivatePostgres};

pub(super) fn audit(postgres: &PrivatePostgres, database: &str) {
    let mut client = postgres.client(database);
    has_no_faults(|sql| client.query_one(sql, &[]).unwrap().get(0));
}

fn survives<S>(strike: impl FnOnce(&mut PrivatePostgres) -> S, mend: impl FnOnce(&mut PrivatePostgres, S)) {
    let mut postgres = PrivatePostgres::start();
    let scene = Scene::on(&postgres.url("postgres"));
    let struck = strike(&mut postgres);
    scene.is_out();
    scene.finds_the_rest();
    mend(&mut postgres, struck);
    scene.recovers();
    audit(&postgres, "postgres");
}

#[test]
fn stopped_and_started_again() {
    survives(|postgres| postgres.stop(End::Fast), |postgres, ()| postgres.start_again());
}

#[test]
fn crashed_and_started_again() {
    survives(|postgres| postgres.stop(End::Crash), |postgres, ()| postgres.start_again());
}

#[test]
fn paused() {
    survives(|postgres| postgres.pause(), |_, pause| drop(pause));
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
    scene.is_out();
    scene.finds_the_rest();
    drop(hogs);
    scene.recovers();
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
            scene.is_out();
            scene.finds_the_rest();
            drop(pause);
        });
        drop(stuck);
        scene.recovers();
        audit(&postgres, "postgres");
    }

    /// Runs the failure while requests and searches come without a pause.
    #[test]
    fn restarted_again_and_again_under_load() {
        let mut postgres = PrivatePostgres::start();
        let scene = Scene::on(&postgres.url("postgres"));
        scene.site.open();
        let key = scene.server.new_key("unlimited");
        let is_over = std::sync::atomic::AtomicBool::new(false);
        let runs = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..4)
                .map(|client| {
                    let (scene, key, is_over) = (&scene, &key, &is_over);
                    scope.spawn(move || super::super::kit::searches_until(scene, key, client, is_over))
                })
                .collect();
            for end in [End::Fast, End::Crash, End::Fast, End::Crash] {
                let sql = "SELECT count(*) FROM runs";
                let count = |postgres: &PrivatePostgres| -> i64 {
                    postgres.client("postgres").query_one(sql, &[]).unwrap().get(0)
                };
                let before = count(&postgres);
                eventually("searches come", || count(&postgres) >= before + 8);
                postgres.stop(end);
                postgres.start_again();
            }
            is_over.store(true, std::sync::atomic::Ordering::SeqCst);
            clients.into_iter().flat_map(|client| client.join().unwrap()).collect::<Vec<_>>()
        });
        assert!(runs.len() > 10, "{} searches", runs.len());
        for run in &runs {
            let run = super::super::kit::ended(&scene.server, &key, run);
            assert_eq!(
                (run["status"].as_str(), run["total_results"].as_u64()),
                (Some("completed"), Some(25)),
                "{run}"
            );
        }
        println!("four restarts under load: {} searches, 0 lost", runs.len());
        scene.recovers();
        audit(&postgres, "postgres");
        // Each request of a client has its key: it was charged once, however often it was repeated.
        let mut client = postgres.client("postgres");
        let sql = "SELECT count(*) FROM charges WHERE kind = 'charge'";
        // And the two searches of the scenario: one before, one after.
        assert_eq!(client.query_one(sql, &[]).unwrap().get::<_, i64>(0), runs.len() as i64 + 2);
    }
}
