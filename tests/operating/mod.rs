//! What operators work with: metrics, probes, logs, the service manager, backups.

mod backup;
mod logs;
mod metrics;
mod page;
mod probes;
mod unit;

use std::io::{BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::support::awaited;
use crate::support::server::{PATIENCE, Server, Setup};
use crate::support::wire::{Wire, read_head};
use page::Page;

/// A server with an admin listener on a free port.
fn with_admin(setup: Setup) -> Setup {
    setup.flag("--admin-listen=127.0.0.1:0")
}

/// Where the admin listener is: its log says so.
fn admin_of(server: &Server) -> SocketAddr {
    awaited("the log names the admin listener", || {
        let log = server.log();
        let line = log.split_once("metrics and probes on http://").map(|(_, rest)| rest.to_owned());
        line.and_then(|rest| rest.split(['"', '\n']).next()?.parse().ok()).ok_or(log)
    })
}

/// An answer of the admin listener.
struct Said {
    status: u16,
    headers: Vec<(String, String)>,
    text: String,
}

impl Said {
    fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }
}

fn ask(admin: SocketAddr, request: &str) -> Said {
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

fn get(admin: SocketAddr, path: &str) -> Said {
    ask(admin, &format!("GET {path}"))
}

/// All figures, read strictly.
fn scrape(admin: SocketAddr) -> Page {
    let said = get(admin, "/metrics");
    assert_eq!(said.status, 200, "{}", said.text);
    Page::read(&said.text)
}
