//! PostgreSQL is not running when the service starts.

use std::process::{Child, Command, Output, Stdio};

use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::private_postgres::{End, PrivatePostgres};
use crate::support::process::signal;
use crate::support::server::BINARY;

fn serve(database: &str, wait: &str, log: &str) -> Child {
    Command::new(BINARY)
        .args(["serve", "--listen", "127.0.0.1:0", "--sandbox=perfect", "--database", database])
        .arg(format!("--times=database-wait={wait}"))
        .stdout(Stdio::piped())
        .stderr(std::fs::File::create(log).unwrap())
        .spawn()
        .unwrap()
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

#[test]
fn a_start_waits_for_a_late_database_server_until_a_signal_or_the_limit() {
    let mut postgres = PrivatePostgres::start();
    postgres.stop(End::Fast);
    let folder = Folder::new();
    let log = folder.path("log");
    let said = || std::fs::read_to_string(&log).unwrap();
    let url = postgres.url("postgres");

    assert_eq!(ended(serve(&url, "1s", &log)).status.code(), Some(3));
    assert!(said().contains("cannot open postgres://"), "{}", said());

    let service = serve(&url, "1h", &log);
    eventually("it waits", || said().contains("retrying for"));
    signal(service.id(), "TERM");
    assert_eq!(ended(service).status.code(), Some(0));

    let mut service = serve(&url, "10m", &log);
    let told = || said().matches("retrying for 600 s").count();
    eventually("it waits", || told() == 1);
    postgres.start_again();
    let mut first = String::new();
    let mut out = std::io::BufReader::new(service.stdout.take().unwrap());
    std::io::BufRead::read_line(&mut out, &mut first).unwrap();
    assert!(first.starts_with("listening on http://"), "{first}");
    assert_eq!(told(), 1);
    service.kill().unwrap();
    service.wait().unwrap();
}

/// Waiting would be of no use.
#[test]
fn a_refusal_of_the_database_server_is_reported_at_once() {
    let postgres = PrivatePostgres::start();
    let folder = Folder::new();
    let log = folder.path("log");
    let nobody = postgres.url("postgres").replace("sightline@", "nobody@");
    for (database, code) in [(postgres.url("missing"), "3D000"), (nobody, "28000")] {
        assert_eq!(ended(serve(&database, "10m", &log)).status.code(), Some(3));
        let error = std::fs::read_to_string(&log).unwrap();
        assert!(error.contains(code) && !error.contains("retrying"), "{error}");
        assert!(!error.contains("the store is"), "{error}");
    }
}
