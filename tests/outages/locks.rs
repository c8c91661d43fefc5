//! Another program holds a lock in the database: only requests that need the locked rows are refused.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use rusqlite::Connection;

use super::kit::{ended, is_refused, search, started};
use crate::support::databases::{TestDatabase, databases, postgres, sqlite};
use crate::support::server::{Answer, Server, Setup};
use crate::support::{awaited, eventually};

/// More than there are request workers.
const CLIENTS: usize = 24;
/// Rounds of requests that need nothing of what is locked.
const ROUNDS: usize = 5;
/// Far more than such a request usually takes (0.6 s at most), and less than each of them took while all request
/// workers waited for the lock (10 s).
const NOT_BEHIND_THE_LOCK: Duration = Duration::from_secs(5);

/// A lock that another program holds as long as this value lives.
enum Locker {
    Sqlite(Connection),
    Postgres(Client),
}

impl Locker {
    /// Locks all writes of an SQLite file, or the table `runs` of a PostgreSQL database, for readers too.
    fn on(database: &TestDatabase) -> Self {
        if database.name == "sqlite" {
            let other = Connection::open(database.path()).unwrap();
            other.busy_timeout(Duration::from_secs(30)).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            return Self::Sqlite(other);
        }
        let mut other = Client::connect(&database.url, NoTls).unwrap();
        other.batch_execute("BEGIN; LOCK TABLE runs").unwrap();
        Self::Postgres(other)
    }

    fn release(&mut self) {
        match self {
            Self::Sqlite(other) => other.execute_batch("ROLLBACK").unwrap(),
            Self::Postgres(other) => other.batch_execute("ROLLBACK").unwrap(),
        }
    }
}

/// Checks that a request is answered while many others wait for the lock or are refused because of it. Returns how long
/// that took.
fn answered(server: &Server, key: &str, path: &str) -> Duration {
    let began = Instant::now();
    let answer = server.request("GET", path).key(key).send();
    assert_eq!(answer.status, 200, "{path}: {answer}");
    began.elapsed()
}

/// Checks that most requests for each path do not wait for the lock. On a busy machine any of them may be slow for other reasons.
fn others_are_answered(server: &Server, other: &str, database: &TestDatabase, run: &str) {
    let own = format!("/v1/searches/{run}");
    let mut asked = ["/v1/health", "/v1/capabilities", "/v1/me", "/v1/credits", "/v1/modules"]
        .map(|path| (path, other, Vec::new()))
        .to_vec();
    // SQLite's readers never wait.
    if database.name == "sqlite" {
        asked.extend([("/v1/searches", other, Vec::new()), (own.as_str(), server.key.as_str(), Vec::new())]);
    }
    for _ in 0..ROUNDS {
        for (path, key, took) in &mut asked {
            took.push(answered(server, key, path));
        }
    }
    for (path, _, mut took) in asked {
        took.sort_unstable();
        assert!(took[ROUNDS / 2] < NOT_BEHIND_THE_LOCK, "{path} took {took:?}");
    }
}

#[test]
fn a_lock_refuses_only_requests_that_need_it() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let run = server.search("username", "nobody");
        server.finished(&run);
        let (searcher, other) = (server.new_key("unlimited"), server.new_key("pro"));
        // Runs that are kept in memory for a minute after their end are not what is to be read here.
        let key = server.key.clone();
        drop(server);
        let mut server = Setup::new().database(&database.url).start();
        server.key = key;
        let mut locker = Locker::on(&database);
        let (is_over, refused) = (AtomicBool::new(false), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    while !is_over.load(Ordering::SeqCst) {
                        is_refused(&search(&server, &searcher, "alice"));
                        refused.store(true, Ordering::SeqCst);
                    }
                });
            }
            let judged = catch_unwind(AssertUnwindSafe(|| {
                eventually("starts are refused", || refused.load(Ordering::SeqCst));
                others_are_answered(&server, &other, &database, &run);
            }));
            is_over.store(true, Ordering::SeqCst);
            judged.unwrap();
        });
        locker.release();
        eventually("health is good", || server.get("/v1/health").json()["status"] == "ok");
        let answer = awaited("a search is taken", || match search(&server, &searcher, "nobody") {
            answer if answer.status == 200 => Ok(answer),
            answer => Err(answer),
        });
        ended(&server, &searcher, &started(&answer));
        assert_eq!(database.number("SELECT count(*) FROM charges"), 2, "refused searches cost nothing");
        is_logged_once(&server);
    }
}

/// Checks that the log has one line at the beginning and one at the end, however many requests were refused.
fn is_logged_once(server: &Server) {
    let is_alarm = |line: &&str| {
        (line.contains("[WARN]") || line.contains("[ERROR]")) && !line.contains("the web is simulated")
    };
    let log = server.log();
    let alarms: Vec<&str> = log.lines().filter(is_alarm).collect();
    let outages = alarms.iter().filter(|line| line.contains("the store is unavailable")).count();
    assert_eq!((outages, alarms.len()), (1, 1), "{alarms:#?}");
    let over = "the store is available again";
    eventually("the end is logged", || {
        assert_eq!(server.get("/v1/me").status, 200);
        server.log().contains(over)
    });
    assert_eq!(server.log().matches(over).count(), 1);
}

/// A row that is locked for long blocks only callers that need the row. If no key can be read, every request is refused,
/// and health says why.
#[test]
fn a_locked_account_blocks_nobody_else_and_locked_keys_degrade_health() {
    let database = postgres();
    let server = Setup::new().database(&database.url).start();
    let (locked, other) = (server.new_key("unlimited"), server.new_key("unlimited"));
    let mut locker = Client::connect(&database.url, NoTls).unwrap();
    // The keys' accounts are the newest.
    let sql = "BEGIN; SELECT 1 FROM accounts WHERE id = (SELECT account FROM api_keys ORDER BY created_at \
               DESC OFFSET 1 LIMIT 1) FOR UPDATE";
    locker.batch_execute(sql).unwrap();
    thread::scope(|scope| {
        let waiting: Vec<_> = (0..3).map(|_| scope.spawn(|| search(&server, &locked, "nobody"))).collect();
        let is_waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' \
                          AND datname = current_database()";
        eventually("one waits", || database.number(is_waiting) >= 1);
        for _ in 0..ROUNDS {
            let answer: Answer = search(&server, &other, "nobody");
            assert_eq!(answer.status, 200, "{answer}");
        }
        for request in waiting {
            is_refused(&request.join().unwrap());
        }
    });
    let health = || server.request("GET", "/v1/health").send().json()["status"].clone();
    locker.batch_execute("ROLLBACK; BEGIN; LOCK TABLE runs, accounts, api_keys").unwrap();
    eventually("health is degraded", || health() == "degraded");
    is_refused(&server.request("GET", "/v1/me").key(&server.key).send());
    assert_eq!(health(), "degraded");
    locker.batch_execute("ROLLBACK").unwrap();
    eventually("health is good again", || health() == "ok");
    assert_eq!(server.get("/v1/me").status, 200);
}

#[test]
fn short_writes_of_commands_cause_no_refusals() {
    let database = sqlite();
    let server = Setup::new().database(&database.url).start();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            let other = Connection::open(database.path()).unwrap();
            other.busy_timeout(Duration::from_secs(30)).unwrap();
            while !is_over.load(Ordering::SeqCst) {
                other.execute_batch("BEGIN IMMEDIATE; ROLLBACK").unwrap();
            }
        });
        for _ in 0..ROUNDS {
            server.search("username", "nobody");
        }
        is_over.store(true, Ordering::SeqCst);
    });
}
