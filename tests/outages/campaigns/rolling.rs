//! Two instances behind nginx are restarted one after the other while clients poll, wait and stream.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::super::kit::has_no_faults;
use super::rolling_clients::{Client, Habit, Record};
use crate::support::databases::{TestDatabase, postgres};
use crate::support::eventually;
use crate::support::gated_site::GatedSite;
use crate::support::nginx::NginxSetup;
use crate::support::server::{Server, Setup};

/// Sites of a search, which takes seconds with so few workers.
const SITES: usize = 24;
const ROUNDS: usize = 3;

fn instance(database: &TestDatabase, site: &GatedSite) -> Setup {
    Setup::real()
        .flags(&site.slow_flags(SITES))
        .flag("--check-workers=16")
        .flag("--trusted-proxy=127.0.0.1")
        .flag("--drain-timeout=20s")
        .database(&database.url)
}

#[test]
fn a_rolling_restart_loses_nothing() {
    let (database, site) = (postgres(), GatedSite::start());
    let mut instances: Vec<Server> = (0..2).map(|_| instance(&database, &site).start()).collect();
    let addresses: Vec<_> = instances.iter().map(|server| server.address).collect();
    let nginx = NginxSetup::before_all(&addresses).start();
    let key = instances[0].new_key("unlimited");
    let is_over = AtomicBool::new(false);
    let habits = [Habit::Polling, Habit::Waiting, Habit::Streaming];
    let (records, slowest_end) = thread::scope(|scope| {
        let clients: Vec<_> = (0..9)
            .map(|number| {
                let (mut client, is_over) = (Client::new(nginx.address, &key, habits[number % 3]), &is_over);
                scope.spawn(move || {
                    while !is_over.load(Ordering::SeqCst) {
                        client.search(&format!("client{number}.{}", client.record.searches), SITES);
                    }
                    client.record
                })
            })
            .collect();
        let slowest_end = roll(&mut instances, &database, &site);
        is_over.store(true, Ordering::SeqCst);
        let records: Vec<Record> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (records, slowest_end)
    });
    let total = |of: fn(&Record) -> usize| records.iter().map(of).sum::<usize>();
    let searches = total(|record| record.searches);
    let longest = records.iter().map(|record| record.longest).max().unwrap();
    let charges = database.number("SELECT count(*) FROM charges");
    println!(
        "rolling restart of two instances, {ROUNDS} rounds: {searches} searches, {} requests, {} tried again, {} \
         streams ended by a shutdown; lost requests {}, lost results {}, doubled results {}, doubled charges {}; \
         longest search {longest:?}, slowest end of an instance {slowest_end:?}",
        total(|record| record.requests),
        total(|record| record.retried),
        total(|record| record.streams_ended_by_shutdown),
        total(|record| record.lost),
        total(|record| record.results_lost),
        total(|record| record.results_doubled),
        charges - searches as i64,
    );
    assert!(searches >= 9 && total(|record| record.streams_ended_by_shutdown) > 0, "nobody was disturbed");
    assert_eq!(total(|record| record.lost), 0);
    assert_eq!((total(|record| record.results_lost), total(|record| record.results_doubled)), (0, 0));
    // Every request was charged once, and none was refunded.
    assert_eq!(charges, searches as i64);
    has_no_faults(|sql| database.number(sql));
}

/// Restarts each instance in its turn on its own address. Returns the longest time that one took to end.
fn roll(instances: &mut [Server], database: &TestDatabase, site: &GatedSite) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..ROUNDS {
        for server in &mut *instances {
            let before = database.number("SELECT count(*) FROM runs");
            // The load goes on: the next instance ends only after further searches.
            eventually("new searches come", || database.number("SELECT count(*) FROM runs") >= before + 3);
            let began = Instant::now();
            assert_eq!(server.terminate().code(), Some(0));
            slowest = slowest.max(began.elapsed());
            *server = instance(database, site).listen(server.address).start();
        }
    }
    slowest
}
