//! Backups of a running server, and their restore, as the manual describes them.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};

use super::succeeds;
use crate::cli::ran;
use crate::outages::kit::has_no_faults_but_deleted_runs;
use crate::support::databases::{self, TestDatabase, empty_databases};
use crate::support::folder::Folder;
use crate::support::private_postgres::program;
use crate::support::server::{Server, Setup};
use crate::support::{awaited, eventually};

/// A few modules make a search that is quick, or that takes as long as a check may.
const MODULES: [&str; 3] = ["github", "gitlab", "codeberg"];
/// Clients that search continuously.
const CLIENTS: usize = 3;

fn search(server: &Server, query: &str) -> String {
    let answer = server.post(&json!({"type": "username", "query": query, "modules": MODULES}));
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()["run_id"].as_str().unwrap().to_owned()
}

fn get(server: &Server, path: &str) -> Value {
    let answer = server.get(path);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

/// Copies the database as the manual describes, and restores the copy in a new place.
fn brought_back(database: &TestDatabase) -> TestDatabase {
    if database.name == "sqlite" {
        let place = databases::sqlite();
        let folder = Folder::new();
        let copy = folder.path("copy.db");
        ran(&["backup", &copy, "--database", &database.url], &[]).code_is(0);
        assert_eq!(fs::metadata(&copy).unwrap().permissions().mode() & 0o777, 0o600);
        fs::create_dir(place.path().parent().unwrap()).unwrap();
        fs::copy(&copy, place.path()).unwrap();
        return place;
    }
    let place = databases::empty_postgres();
    let folder = Folder::new();
    let file = format!("--file={}", folder.path("copy.dump"));
    let mut dump = Command::new(program("pg_dump"));
    succeeds(&dump.args(["--format=custom", "--no-owner", &file, &database.url]).output().unwrap());
    let into = format!("--dbname={}", place.url);
    let copy = folder.path("copy.dump");
    let mut restore = Command::new(program("pg_restore"));
    succeeds(&restore.args(["--no-owner", "--exit-on-error", &into, &copy]).output().unwrap());
    place
}

/// An account with searches in every state, a deleted one, and a revoked key.
struct History {
    email: String,
    key: String,
    shown: Vec<(String, Value)>,
}

impl History {
    fn make(server: &mut Server) -> Self {
        let email = "history@example.com".to_owned();
        server.cli(&["account", "create", "--email", &email, "--plan", "pro"]);
        let new_key = || server.cli(&["key", "create", "--account", &email]).trim().to_owned();
        let (key, other) = (new_key(), new_key());
        let own = std::mem::replace(&mut server.key, key.clone());
        let mut paths = vec!["/v1/searches".to_owned(), "/v1/credits".to_owned()];
        for query in ["everybody1", "everybody2", "nobody", "blocked", "everybody3"] {
            let run = search(server, query);
            server.finished(&run);
            paths.push(format!("/v1/searches/{run}"));
            paths.push(format!("/v1/searches/{run}/modules"));
        }
        server.key = other;
        let deleted = search(server, "everybody4");
        server.finished(&deleted);
        let delete = server.delete(&format!("/v1/searches/{deleted}"));
        assert_eq!(delete.status, 204, "{delete}");
        server.key.clone_from(&key);
        let list = server.cli(&["key", "list", "--account", &email, "--format", "json"]);
        let keys: Value = serde_json::from_str(&list).unwrap();
        let revoked = keys[1]["id"].as_str().unwrap_or_else(|| panic!("{list}"));
        server.cli(&["key", "revoke", revoked]);
        let shown = paths.into_iter().map(|path| (path.clone(), get(server, &path))).collect();
        server.key = own;
        Self { email, key, shown }
    }
}

#[test]
fn a_backup_under_load_contains_every_run() {
    for database in empty_databases() {
        let flags = ["--check-timeout=2s".to_owned(), "--times=lease=5s".to_owned()];
        let mut server = Setup::new().database(&database.url).flags(&flags).start();
        let history = History::make(&mut server);
        // Everything about the account, without the exports themselves and the time of the last use of its keys.
        let exported = |server: &Server| {
            let text = server.cli(&["account", "export", "--email", &history.email]);
            let mut export: Value = serde_json::from_str(&text).unwrap();
            export["exported_at"].take();
            export["keys"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .for_each(|key| drop(key["last_used_at"].take()));
            export["audit"].as_array_mut().unwrap().retain(|entry| entry["action"] != "account.exported");
            export
        };
        let before = exported(&server);
        let is_over = AtomicBool::new(false);
        let copy = std::thread::scope(|scope| {
            for client in 0..CLIENTS {
                let (server, is_over) = (&server, &is_over);
                scope.spawn(move || {
                    for number in 0.. {
                        if is_over.load(Ordering::Relaxed) {
                            return;
                        }
                        let kind = ["silent", "everybody", "nobody"][(client + number) % 3];
                        server.finished(&search(server, &format!("{kind}{client}x{number}")));
                    }
                });
            }
            let copy = awaited("a backup while searches are under way", || {
                let copy = brought_back(&database);
                let running = "SELECT count(*) FROM runs WHERE status = 'running'";
                if copy.number(running) > 0 { Ok(copy) } else { Err("none was under way") }
            });
            is_over.store(true, Ordering::Relaxed);
            copy
        });
        has_no_faults_but_deleted_runs(|sql| copy.number(sql));

        let mut second = Setup::new().database(&copy.url).flags(&flags).start();
        second.key.clone_from(&history.key);
        assert_eq!(exported(&second), before, "{}", database.name);
        for (path, shown) in &history.shown {
            assert_eq!(&get(&second, path), shown, "{path}");
        }
        eventually("what was under way has gone on to its end", || {
            copy.number("SELECT count(*) FROM runs WHERE status = 'running'") == 0
        });
        has_no_faults_but_deleted_runs(|sql| copy.number(sql));
        assert_eq!(second.finished(&search(&second, "everybody9"))["status"], "completed");
    }
}
