//! The admin listener of a server under test.

use std::net::SocketAddr;

use super::awaited;
use super::server::{Answer, RequestBuilder, Server};
use super::wire::Transport;

/// Returns the address of the admin listener from the server's log.
pub(crate) fn admin_of(server: &Server) -> SocketAddr {
    awaited("the log names the admin listener", || {
        let log = server.log();
        let line = log.split_once("metrics and probes on http://").map(|(_, rest)| rest.to_owned());
        line.and_then(|rest| rest.split(['"', '\n']).next()?.parse().ok()).ok_or(log)
    })
}

pub(crate) fn ask(admin: SocketAddr, method: &str, path: &str) -> Answer {
    RequestBuilder::to(admin, &Transport::Plain, method, path).send()
}

pub(crate) fn get(admin: SocketAddr, path: &str) -> Answer {
    ask(admin, "GET", path)
}

/// Returns the sample with this name and labels on a page of `/metrics`.
pub(crate) fn figure(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
