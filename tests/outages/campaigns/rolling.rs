//! Two instances behind nginx are restarted one after the other while clients poll, wait and stream.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use super::super::kit::has_no_faults;
use crate::kills::Over;
use crate::kills::clients::{Client, Order, World};
use crate::support::databases::{TestDatabase, postgres};
use crate::support::eventually;
use crate::support::gated_site::GatedSite;
use crate::support::nginx::NginxSetup;
use crate::support::server::{Server, Setup};

/// Sites of a search, which takes seconds with so few workers.
const SITES: usize = 24;
const ROUNDS: usize = 3;
const CLIENTS: usize = 9;

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
    let world = World::new(key);
    world.port.store(nginx.address.port(), Ordering::SeqCst);
    let slowest_end = thread::scope(|scope| {
        for number in 0..CLIENTS {
            let world = &world;
            scope.spawn(move || {
                let mut client = Client::new(world, number as u64);
                for search in 0.. {
                    if world.over_since.get().is_some() {
                        return;
                    }
                    // These numbers make orders with a key, in all modes.
                    let order = Order::new(format!("client{number}.{search}"), 5 * (number + search));
                    let run = client.order(&order).expect("an order that can be repeated");
                    client.follow(&run, &order);
                }
            });
        }
        let _over = Over(&world);
        roll(&mut instances, &database, &site)
    });
    let runs = world.taken.into_inner();
    println!("{} searches, slowest end of an instance {slowest_end:?}", runs.len());
    assert!(runs.len() >= CLIENTS && world.announced.into_inner() > 0, "nobody was disturbed");
    for (name, run) in &runs {
        let seen = world.sightings.of(run);
        let whole = (Some(("completed".to_owned(), SITES as u64)), SITES);
        assert_eq!((seen.end, seen.results.len()), whole, "{name}");
    }
    // Every search was made once and charged once, and none was refunded.
    for table in ["runs", "charges"] {
        assert_eq!(database.number(&format!("SELECT count(*) FROM {table}")), runs.len() as i64, "{table}");
    }
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
