//! Everything at once, for as long as it is told to, against the real service; then nothing may be left of it,
//! and every run and every charge must add up.
//!
//! `scripts/soak` runs it; `SIGHTLINE_TEST_SOAK_SECONDS` sets how long (30 by default),
//! `SIGHTLINE_TEST_SOAK_SEED` where chance begins.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::chance::{Chance, setting};
use super::kit::{Client, get};
use super::soak_clients::{Crew, Log, Parked};
use crate::support::databases::{TestDatabase, postgres, sqlite};
use crate::support::server::{Server, Setup};

/// Clients at work at the same time.
const CLIENTS: u64 = 8;
/// Of the threads at hand for new connections the HTTP library lets go when it finds the time, between probes.
const SPARE_THREADS: usize = 2;
/// What may stay in memory afterwards, on top of what the service held before: the cache of serialized runs may
/// hold that much, and the soak does not fill it.
const GROWTH_KIB: u64 = 64 * 1024;
/// A run that has ended stays in memory for a minute, an idle outgoing connection less.
const SETTLING: Duration = Duration::from_secs(150);

#[test]
#[ignore = "takes its time: run by scripts/soak"]
fn on_sqlite() {
    soak(&sqlite());
}

#[test]
#[ignore = "takes its time: run by scripts/soak"]
fn on_postgres() {
    soak(&postgres());
}

fn soak(database: &TestDatabase) {
    let server = Setup::new()
        .realistic()
        .database(&database.url)
        .flag("--check-timeout=2s")
        // Some modules ask once in many seconds, and here many searches ask for them.
        .flag("--run-timeout=6s")
        .flag("--keep-alive=1s")
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
    assert!(is_back, "not as before: {before:?}, {after:?}; {names:?} and {:?}", thread_names(&crew.server));
    let load = crew.server.request("GET", "/v1/health").send().json()["load"].clone();
    assert_eq!(
        (&load["refused_total"], &load["accept_loop_rebuilds_total"]),
        (&0.into(), &0.into()),
        "{load}"
    );
    let used = crew.what_the_api_says(&log);
    assert_eq!(crew.server.terminate().code(), Some(0));
    what_the_database_says(database, &log, used);
}

/// What the service's process holds.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    threads: usize,
    descriptors: usize,
    /// What it keeps for itself. Pages of files are the system's to take back; among them the program's own debug
    /// information, 30 MB, which the first panic reads where `RUST_BACKTRACE` is set (the HTTP library panics over
    /// a body of 2^63 bytes, on a thread that exists for that).
    anonymous_kib: u64,
}

/// What threads of a process are called, and how many there are of each: said where a soak fails.
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
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let anonymous = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).unwrap();
        Self {
            threads: count("task"),
            descriptors: count("fd"),
            anonymous_kib: anonymous.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }

    fn is_back_to(&self, before: &Self) -> bool {
        self.threads <= before.threads + SPARE_THREADS
            && self.descriptors <= before.descriptors
            && self.anonymous_kib <= before.anonymous_kib + GROWTH_KIB
    }
}

/// Waits until nothing is under way and `is_so`, at most for [`SETTLING`]. Asks on one connection: new ones keep
/// the HTTP library's threads awake.
fn settle(server: &Server, mut is_so: impl FnMut(&Server) -> bool) -> bool {
    let until = Instant::now() + SETTLING;
    let mut client = Client::connect(server.address);
    loop {
        client.send(get("/v1/health"));
        let health: Value = serde_json::from_slice(&client.answer().body).unwrap();
        let load = &health["load"];
        let is_quiet =
            ["runs_driven", "runs_waiting", "check_workers_busy", "streams_open", "requests_queued"]
                .iter()
                .all(|name| load[*name] == 0);
        // This one, and it may be a probe.
        let is_alone = load["connections"].as_u64().is_some_and(|connections| connections <= 2);
        if is_quiet && is_alone && is_so(server) {
            return true;
        }
        if Instant::now() >= until {
            println!("{load}");
            return false;
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The books, behind the service's back. `used` is what the API says of all accounts together.
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
    assert_eq!(number(odd), 0, "what a run says it cost is what was booked");
    let odd = "SELECT count(*) FROM runs WHERE total_results <> \
               (SELECT count(*) FROM results WHERE results.run = runs.id)";
    assert_eq!(number(odd), 0, "a run has the results that it counts");
    let orphans =
        "SELECT count(*) FROM results WHERE NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = results.run)";
    assert_eq!(number(orphans), 0);
}

/// The ids in a page of the list.
pub(crate) fn ids(page: &Value) -> BTreeSet<String> {
    page["searches"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["run_id"].as_str().unwrap().to_owned())
        .collect()
}
