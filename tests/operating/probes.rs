//! `/healthz` and `/readyz`.

use std::io::Write as _;
use std::net::TcpStream;

use socket2::{Domain, Socket, Type};

use super::scrape;
use crate::support::admin::{admin_of, get};
use crate::support::eventually;
use crate::support::private_postgres::{End, PrivatePostgres};
use crate::support::process::signal;
use crate::support::server::{Server, Setup};

#[test]
fn readiness_follows_the_database_and_liveness_does_not() {
    let mut postgres = PrivatePostgres::start();
    postgres.admin("CREATE DATABASE ready");
    let server = Setup::new().database(&postgres.url("ready")).start();
    let admin = admin_of(&server);
    assert_eq!((get(admin, "/readyz").status, get(admin, "/readyz").text()), (200, "ready\n"));
    assert_eq!(get(admin, "/healthz").text(), "ok\n");

    postgres.stop(End::Fast);
    eventually("it is not ready", || get(admin, "/readyz").status == 503);
    assert!(get(admin, "/readyz").text().contains("the database"), "{}", get(admin, "/readyz"));
    assert_eq!(get(admin, "/healthz").status, 200);
    eventually("the figures tell of it", || {
        let page = scrape(admin);
        page.get("sightline_store_away") == 1.0 && page.sum("sightline_store_failures_total") > 0.0
    });
    postgres.start_again();
    eventually("it is ready again", || get(admin, "/readyz").status == 200);
    assert_eq!(scrape(admin).get("sightline_store_away"), 0.0);

    let paused = postgres.pause();
    eventually("it is not ready", || get(admin, "/readyz").status == 503);
    assert_eq!(get(admin, "/healthz").status, 200);
    drop(paused);
    eventually("it is ready again", || get(admin, "/readyz").status == 200);
}

/// A client that sends these requests for paths at once and reads nothing.
fn greedy(server: &Server, paths: &[&str]) -> TcpStream {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
    // The buffers of the connection must be smaller than the whole answer.
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(&server.address.into()).unwrap();
    let mut socket = TcpStream::from(socket);
    let request =
        |path| format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {}\r\n\r\n", server.key);
    socket.write_all(paths.iter().map(request).collect::<String>().as_bytes()).unwrap();
    socket
}

#[test]
fn the_admin_listener_answers_while_all_workers_are_busy() {
    let server = Setup::new().all_modules().start();
    let admin = admin_of(&server);
    // The second answer of a connection waits on its worker until the first one is taken.
    let clients: Vec<_> = (0..16).map(|_| greedy(&server, &["/v1/modules", "/v1/health"])).collect();
    eventually("all workers are busy", || scrape(admin).get("sightline_http_workers_busy") == 16.0);
    assert_eq!(get(admin, "/healthz").text(), "ok\n");
    assert_eq!(get(admin, "/readyz").text(), "ready\n");
    drop(clients);
    eventually("all workers are free", || scrape(admin).get("sightline_http_workers_busy") == 0.0);
}

#[test]
fn a_draining_server_is_alive_and_not_ready() {
    let mut server = Setup::new().all_modules().flag("--drain-timeout=50s").start();
    let admin = admin_of(&server);
    let client = greedy(&server, &["/v1/modules"; 8]);
    eventually("an answer is not taken", || scrape(admin).get("sightline_http_long_threads") >= 1.0);
    assert_eq!(get(admin, "/readyz").status, 200);

    signal(server.child.id(), "TERM");
    eventually("it is not ready", || get(admin, "/readyz").text() == "shutting down\n");
    assert_eq!(get(admin, "/healthz").status, 200);
    assert!(server.child.try_wait().unwrap().is_none(), "it drains");
    drop(client);
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}
