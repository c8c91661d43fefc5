//! The admin listener of a server under test.

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use super::awaited;
use super::server::{PATIENCE, Server};
use super::wire::{Wire, read_head};

/// Returns the address of the admin listener from the server's log.
pub(crate) fn admin_of(server: &Server) -> SocketAddr {
    awaited("the log names the admin listener", || {
        let log = server.log();
        let line = log.split_once("metrics and probes on http://").map(|(_, rest)| rest.to_owned());
        line.and_then(|rest| rest.split(['"', '\n']).next()?.parse().ok()).ok_or(log)
    })
}

/// An answer of the admin listener.
pub(crate) struct Said {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Said {
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

/// Sends a request line without its version, such as `GET /metrics`.
pub(crate) fn ask(admin: SocketAddr, request: &str) -> Said {
    let mut socket = TcpStream::connect(admin).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
        .write_all(format!("{request} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").as_bytes())
        .unwrap();
    let mut reader = BufReader::new(Box::new(socket) as Box<dyn Wire>);
    let (status, headers) = read_head(&mut reader);
    let mut text = String::new();
    reader.read_to_string(&mut text).unwrap();
    Said { status, headers, text }
}

pub(crate) fn get(admin: SocketAddr, path: &str) -> Said {
    ask(admin, &format!("GET {path}"))
}

/// Returns the sample with this name and labels on a page of `/metrics`.
pub(crate) fn figure(page: &str, name: &str) -> Option<f64> {
    page.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.parse().ok())
}
