//! The primary of PostgreSQL dies under load, and its standby takes over: nothing that was acknowledged is lost, and nothing
//! is charged twice.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use serde_json::json;

use crate::support::folder::Folder;
use crate::support::private_postgres::{End, PrivatePostgres, as_server_user};
use crate::support::server::{Server, Setup};
use crate::support::{awaited, eventually};

/// The setting of the primary with which a commit is confirmed only when the standby has it.
const SETTINGS: [&str; 1] = ["synchronous_commit=remote_apply"];
const CLIENTS: usize = 4;
/// Searches before the primary dies, and after the standby has taken over.
const SEARCHES: usize = 20;

/// A primary with a standby that has every confirmed commit.
struct Pair {
    primary: PrivatePostgres,
    standby: PrivatePostgres,
}

impl Pair {
    fn start() -> Self {
        let primary = PrivatePostgres::with(&SETTINGS);
        let standby = primary.standby();
        // Only the primary waits for a standby, so that the standby accepts writes alone when it takes over.
        primary.admin("ALTER SYSTEM SET synchronous_standby_names = '*'");
        primary.admin("SELECT pg_reload_conf()");
        eventually("the standby is synchronous", || {
            let row = primary.client("postgres").query_opt("SELECT sync_state FROM pg_stat_replication", &[]);
            row.unwrap().is_some_and(|row| row.get::<_, String>(0) == "sync")
        });
        Self { primary, standby }
    }
}

fn url(ports: [u16; 2]) -> String {
    let [first, second] = ports;
    format!(
        "postgres://sightline@127.0.0.1:{first},127.0.0.1:{second}/postgres?sslmode=disable&target_session_attrs=read-write"
    )
}

/// Clients that start searches, each with a key of its own, until they are told to stop. A search that is refused is
/// repeated with its key.
#[derive(Default)]
struct Load {
    is_over: AtomicBool,
    /// The acknowledged runs by their keys.
    runs: Mutex<BTreeMap<String, String>>,
}

impl Load {
    fn search(&self, server: &Server, client: usize) {
        let body = json!({"type": "username", "query": "octocat", "modules": ["github"]});
        for number in 0.. {
            let key = format!("{client}-{number}");
            let answer = awaited("a search is accepted", || {
                let request = server.request("POST", "/v1/searches").key(&server.key).json(&body);
                let answer = request.header("Idempotency-Key", &key).send();
                match answer.status {
                    200 => Ok(answer),
                    409 | 503 => Err(answer),
                    _ => panic!("{answer}"),
                }
            });
            let run = answer.json()["run_id"].as_str().unwrap().to_owned();
            assert_eq!(self.runs.lock().insert(key, run), None);
            if self.is_over.load(Ordering::Relaxed) {
                return;
            }
        }
    }

    fn count(&self) -> usize {
        self.runs.lock().len()
    }

    fn wait_for(&self, count: usize) {
        eventually("more searches are accepted", || self.count() >= count);
    }
}

/// Lets the standby of a pair take over under load. `database` is the address of both.
fn fails_over(mut pair: Pair, database: &str) {
    let server = Setup::new().database(database).start();
    let load = Load::default();
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (load, server) = (&load, &server);
            scope.spawn(move || load.search(server, client));
        }
        load.wait_for(SEARCHES);
        pair.primary.stop(End::Crash);
        let acknowledged = load.count();
        pair.standby.admin("SELECT pg_promote()");
        // A client each may have got the last answer of the primary since.
        load.wait_for(acknowledged + CLIENTS + SEARCHES);
        load.is_over.store(true, Ordering::Relaxed);
    });
    let runs = load.runs.into_inner();
    for run in runs.values() {
        assert_eq!(server.finished(run)["status"], "completed");
    }
    // The store has exactly the acknowledged runs, each charged once.
    let mut client = pair.standby.client("postgres");
    let mut number = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
    let count = i64::try_from(runs.len()).unwrap();
    assert_eq!(number("SELECT count(*) FROM runs"), count);
    assert_eq!(number("SELECT count(*) FROM charges WHERE kind = 'charge'"), count);
    assert_eq!(number("SELECT count(*) FROM charges WHERE kind = 'refund'"), 0);
    assert_eq!(server.get("/v1/credits").json()["credits_used"], count);
}

#[test]
fn nothing_is_lost_or_charged_twice_when_the_standby_takes_over() {
    let pair = Pair::start();
    let database = url([pair.primary.port(), pair.standby.port()]);
    fails_over(pair, &database);
}

/// A pgbouncer in session mode before one server. It is stopped when this is dropped.
struct Bouncer {
    child: Child,
    port: u16,
    _folder: Folder,
}

impl Bouncer {
    /// Returns `None` if pgbouncer is not installed.
    fn before(postgres: &PrivatePostgres) -> Option<Self> {
        let pgbouncer = ["/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"]
            .into_iter()
            .find(|path| std::fs::exists(path).unwrap());
        let folder = Folder::new();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let file = folder.path("pgbouncer.ini");
        let settings = format!(
            "[databases]\n* = host=127.0.0.1 port={} user=sightline\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nauth_type = any\npool_mode = session\nmax_client_conn = 400\ndefault_pool_size = 100\n\
             ignore_startup_parameters = extra_float_digits,options\nunix_socket_dir =\nserver_connect_timeout = 2\n\
             server_login_retry = 1\nquery_wait_timeout = 2\n",
            postgres.port()
        );
        std::fs::write(&file, settings).unwrap();
        let mut command = as_server_user(pgbouncer?.as_ref());
        let child = command.arg("-q").arg(&file).current_dir("/").stdin(Stdio::null()).stderr(Stdio::null());
        let child = child.stdout(Stdio::null()).spawn().unwrap();
        eventually("pgbouncer listens", || std::net::TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(Self { child, port, _folder: folder })
    }
}

impl Drop for Bouncer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_standby_takes_over_behind_pgbouncer() {
    let pair = Pair::start();
    let bouncers = (Bouncer::before(&pair.primary), Bouncer::before(&pair.standby));
    let (Some(first), Some(second)) = bouncers else {
        return crate::support::tier::left_out("pgbouncer is not installed");
    };
    fails_over(pair, &url([first.port, second.port]));
}
