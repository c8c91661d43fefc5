//! The SQLite file is overwritten or removed while a server runs or before it starts.

use std::fs::{self, OpenOptions};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rusqlite::Connection;

use super::kit::{is_refused, search};
use crate::support::databases::{TestDatabase, sqlite};
use crate::support::eventually;
use crate::support::server::{BINARY, Server, Setup};

/// The size of a page in bytes.
const PAGE: u64 = 4096;
const OVERWRITTEN: u64 = 20;

/// Starts a server on a database with a few searches.
fn serve(database: &TestDatabase) -> Server {
    let server = Setup::new().database(&database.url).start();
    for _ in 0..5 {
        let run = server.search("username", "everybody");
        server.finished(&run);
    }
    server
}

/// Overwrites pages in the middle of the file, after everything was moved there from the log.
fn overwrite(path: &Path, first: u64) {
    let checkpoint = || -> i64 {
        let other = Connection::open(path).unwrap();
        other.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0)).unwrap()
    };
    eventually("everything stands in the file", || checkpoint() == 0);
    let mut file = OpenOptions::new().write(true).open(path).unwrap();
    assert!(file.metadata().unwrap().len() > (first + OVERWRITTEN) * PAGE);
    file.seek(SeekFrom::Start(first * PAGE)).unwrap();
    file.write_all(&vec![0xA5; usize::try_from(OVERWRITTEN * PAGE).unwrap()]).unwrap();
}

fn try_to_serve(database: &TestDatabase) -> Output {
    let arguments = ["serve", "--listen", "127.0.0.1:0", "--sandbox=perfect", "--database", &database.url];
    Command::new(BINARY).args(arguments).output().unwrap()
}

#[test]
fn a_damaged_file_is_refused_at_the_start_and_unchanged() {
    for (first, word) in [(1, "is damaged"), (20, "is damaged"), (0, "damaged")] {
        let database = sqlite();
        serve(&database).terminate();
        overwrite(&database.path(), first);
        let before = fs::read(database.path()).unwrap();
        let output = try_to_serve(&database);
        let error = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{error}");
        assert!(error.contains(word) && error.contains("restore a backup"), "{error}");
        assert!(!error.contains("panicked"), "{error}");
        assert_eq!(fs::read(database.path()).unwrap(), before);
    }
}

#[test]
fn a_file_that_is_damaged_under_a_server_becomes_read_only() {
    let database = sqlite();
    let server = serve(&database);
    overwrite(&database.path(), 5);
    let health = || server.request("GET", "/v1/health").send().json();
    eventually("the damage is met", || {
        for path in ["/v1/searches", "/v1/credits"] {
            server.get(path);
        }
        search(&server, &server.key, "nobody");
        health()["status"] == "degraded"
    });
    assert_eq!(health()["database"], "unavailable");
    let log = || fs::metadata(beside(&database, "-wal")).unwrap().len();
    let written = log();
    for _ in 0..3 {
        is_refused(&search(&server, &server.key, "nobody"));
    }
    assert_eq!((written, health()["status"].as_str()), (log(), Some("degraded")));
    assert_eq!(warnings(&server, "is damaged, nothing more is written"), 1, "{}", server.log());
}

/// Returns the number of warnings with that text.
fn warnings(server: &Server, text: &str) -> usize {
    server.log().lines().filter(|line| line.contains("[WARN]") && line.contains(text)).count()
}

fn beside(database: &TestDatabase, ending: &str) -> PathBuf {
    let mut name = database.path().into_os_string();
    name.push(ending);
    name.into()
}

#[test]
fn a_file_that_was_removed_is_noticed() {
    let database = sqlite();
    let server = serve(&database);
    let elsewhere = beside(&database, ".moved");
    fs::rename(database.path(), &elsewhere).unwrap();
    // It is noticed even without any request.
    let told = "was removed or replaced while it is in use";
    eventually("it is noticed", || warnings(&server, told) == 1);
    is_refused(&search(&server, &server.key, "nobody"));
    // Another file in its place does not count as the database.
    fs::write(database.path(), b"").unwrap();
    is_refused(&search(&server, &server.key, "nobody"));
    eventually("health is degraded", || {
        server.request("GET", "/v1/health").send().json()["status"] == "degraded"
    });
    fs::rename(&elsewhere, database.path()).unwrap();
    eventually("health is good", || server.request("GET", "/v1/health").send().json()["status"] == "ok");
    let run = server.search("username", "nobody");
    server.finished(&run);
    assert_eq!(warnings(&server, told), 1);
    assert_eq!(database.number("SELECT count(*) FROM runs"), 6);
}
