//! All kinds of clients at once, against the real service. Afterwards all resources must be freed, and the runs and
//! charges must add up.
//!
//! `scripts/soak` runs it. `SIGHTLINE_TEST_SOAK_SECONDS` sets its duration (30 by default), `SIGHTLINE_TEST_SOAK_SEED`
//! the seed of its random numbers.

use std::collections::BTreeMap;
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::super::chance::{Chance, setting};
use super::super::kit::{Client, get};
use super::soak_clients::{Crew, Log, Parked};
use crate::support::admin::{admin_of, figure};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::server::{Server, Setup};

/// Number of concurrent clients.
const CLIENTS: u64 = 8;
/// tiny_http ends its idle threads for new connections at any time between two of them.
const SPARE_THREADS: usize = 2;
/// Memory that the service may hold afterwards beyond what it held before, in bytes. The cache of serialized runs may hold
/// that much, and the soak does not fill it.
const GROWTH_KIB: usize = 64 * 1024;
/// Time until everything is freed. A run that has ended stays in memory for a minute, an idle outgoing connection for less.
const SETTLING: Duration = Duration::from_secs(150);

#[test]
fn on_sqlite() {
    soak(&sqlite());
}

#[test]
fn on_postgres() {
    soak(&postgres());
}

fn soak(database: &TestDatabase) {
    let server = Setup::new()
        .all_modules()
        .realistic()
        .database(&database.url)
        .flag("--check-timeout=2s")
        // Some modules send one request in many seconds, and many searches here need them.
        .flag("--run-timeout=6s")
        .flag("--times=keep-alive=1s")
        .flag("--plans=small=40:api:premium,unlimited=unlimited:api:premium")
        .start();
    let mut crew = Crew::new(server);
    let log = Mutex::new(crew.warm_up());
    settle(&crew.server, |_| true);
    let (before, names) = (Footprint::of(&crew.server), thread_names(&crew.server));

    let time = Duration::from_secs(setting("SIGHTLINE_TEST_SOAK_SECONDS", 30));
    let seed = setting("SIGHTLINE_TEST_SOAK_SEED", 1);
    let until = Instant::now() + time;
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (crew, log) = (&crew, &log);
            scope.spawn(move || {
                let mut chance = Chance::new(seed.wrapping_mul(1000) + client);
                let mut parked = Parked::default();
                let mut own = Log::default();
                crew.begin(client, CLIENTS, &mut chance, &mut own, &mut parked);
                while Instant::now() < until {
                    crew.act(&mut chance, &mut own, &mut parked);
                }
                log.lock().unwrap().absorb(own);
            });
        }
    });
    let mut log = log.into_inner().unwrap();
    crew.resolve_unknown(&mut log);
    println!("{}: {} in {time:?}", database.name, log.summary());
    log.must_be_varied();

    let mut after = before;
    let is_back = settle(&crew.server, |server| {
        after = Footprint::of(server);
        after.is_back_to(&before)
    });
    println!("{}: before {before:?}, after {after:?}", database.name);
    assert!(
        is_back,
        "resources are not freed: {before:?}, {after:?}; {names:?} and {:?}",
        thread_names(&crew.server)
    );
    let figures = ["sightline_http_overloaded_total", "sightline_http_accept_rebuilds_total"];
    assert_eq!(figures.map(|name| crew.server.figure(name)), [0.0, 0.0], "{figures:?}");
    let used = crew.what_the_api_says(&log);
    assert_eq!(crew.server.terminate().code(), Some(0));
    what_the_database_says(database, &log, used);
}

/// Resources of the service's process.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    threads: usize,
    descriptors: usize,
    /// Private memory. Pages of files do not count, since the system can reclaim them.
    anonymous_kib: usize,
}

/// Returns the names of a process's threads and their numbers, for the message of a failed soak.
fn thread_names(server: &Server) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for task in fs::read_dir(format!("/proc/{}/task", server.child.id())).unwrap() {
        let name = fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default();
        *names.entry(name.trim().to_owned()).or_default() += 1;
    }
    names
}

impl Footprint {
    fn of(server: &Server) -> Self {
        let process = format!("/proc/{}", server.child.id());
        let count = |folder: &str| fs::read_dir(format!("{process}/{folder}")).unwrap().count();
        Self { threads: count("task"), descriptors: count("fd"), anonymous_kib: server.of_process("RssAnon") }
    }

    fn is_back_to(&self, before: &Self) -> bool {
        self.threads <= before.threads + SPARE_THREADS
            && self.descriptors <= before.descriptors
            && self.anonymous_kib <= before.anonymous_kib + GROWTH_KIB
    }
}

/// Waits until the service is idle and `is_so`, at most for [`SETTLING`]. It uses one connection, since new ones keep the
/// threads of tiny_http alive.
fn settle(server: &Server, mut is_so: impl FnMut(&Server) -> bool) -> bool {
    let until = Instant::now() + SETTLING;
    let mut client = Client::connect(admin_of(server));
    loop {
        client.send(get("/metrics"));
        let page = String::from_utf8(client.answer().body).unwrap();
        let figure_of = |name: &str| figure(&page, &format!("sightline_{name}")).unwrap();
        let is_quiet =
            ["runs_driven", "runs_waiting", "check_workers_busy", "http_long_threads", "http_queue_length"]
                .iter()
                .all(|name| figure_of(name) == 0.0);
        if is_quiet && is_so(server) {
            return true;
        }
        if Instant::now() >= until {
            println!("{page}");
            return false;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Checks the database directly. `used` is the number of used credits of all accounts, as the API reports it.
fn what_the_database_says(database: &TestDatabase, log: &Log, used: u64) {
    let number = |sql: &str| database.number(sql);
    assert_eq!(number("SELECT count(*) FROM runs WHERE status = 'running'"), 0);
    let charges = number("SELECT count(*) FROM charges WHERE kind = 'charge'");
    assert_eq!(
        usize::try_from(charges).unwrap(),
        log.known.len(),
        "one charge for each run that a client knows"
    );
    let runs = number("SELECT count(*) FROM runs");
    assert_eq!(
        usize::try_from(runs).unwrap(),
        log.known.len() - log.deleted.len(),
        "every run but the deleted"
    );
    let sum = |kind: &str| {
        number(&format!(
            "SELECT CAST(coalesce(sum(credits), 0) AS bigint) FROM charges WHERE kind = '{kind}'"
        ))
    };
    let balance = sum("charge") - sum("refund");
    assert_eq!(balance, number("SELECT CAST(coalesce(sum(used), 0) AS bigint) FROM credit_usage"));
    assert_eq!(balance, i64::try_from(used).unwrap());
    let odd = "SELECT count(*) FROM runs WHERE credits_charged <> \
               (SELECT coalesce(sum(CASE kind WHEN 'charge' THEN credits ELSE -credits END), 0) \
                FROM charges WHERE charges.run = runs.id)";
    assert_eq!(number(odd), 0, "the cost of a run is the booked cost");
    let odd = "SELECT count(*) FROM runs WHERE total_results <> \
               (SELECT count(*) FROM results WHERE results.run = runs.id)";
    assert_eq!(number(odd), 0, "a run has as many results as it counts");
    let orphans =
        "SELECT count(*) FROM results WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = results.run)";
    assert_eq!(number(orphans), 0);
}
