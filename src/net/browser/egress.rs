//! The egress proxy: a SOCKS5 proxy for all traffic of the browsers, so that no page, redirect, script or sub-resource
//! reaches an address that is not public.
//!
//! Each place for a page has an [`EgressProxy`] on its own port, which serves only during a [`PageLoad`]. It resolves
//! names, checks the addresses with the guard, and connects to exactly those addresses. A browser shows no page for a
//! refused connection, so a refusal never looks like the site's answer. When the load of a page ends, all its connections
//! are closed, which ends the threads that read and write them.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use url::Host;

use super::process::Browser;
use crate::base::threads::start;
use crate::modules::probe::ProbeError;
use crate::net::dial::Timed;
use crate::net::wire::Wire;
use crate::net::{guard, socks};

/// The maximum number of bytes that a page may load, including its sub-resources.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of remembered refusals. A refusal of the page itself is among the first.
const MAX_REFUSALS: usize = 64;
/// The maximum number of connections of one page. A browser opens 32 to a proxy.
const MAX_CONNECTIONS: usize = 128;
/// The pause after a failed `accept()`, most likely because all descriptors are in use.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// A stack size that suffices to resolve a name.
const STACK_BYTES: usize = 256 * 1024;
const CHUNK_BYTES: usize = 16 * 1024;

/// The load of one page, from its opening to its closing.
pub(super) struct PageLoad {
    deadline: Instant,
    /// The addresses of the operator's browser, which may be on another machine.
    clients: Vec<IpAddr>,
    /// The port of the browser. Pages must never connect to it on this machine, also with private addresses.
    forbidden_port: u16,
    /// The connections of the page, or nothing when its load is over.
    connections: Mutex<Option<Vec<Weak<TcpStream>>>>,
    bytes: AtomicU64,
    refusals: Mutex<HashMap<String, ProbeError>>,
}

impl PageLoad {
    pub(super) fn new(deadline: Instant, browser: &Browser) -> Self {
        Self {
            deadline,
            clients: browser.hosts.clone(),
            forbidden_port: browser.addr.port(),
            connections: Mutex::new(Some(Vec::new())),
            bytes: AtomicU64::new(0),
            refusals: Mutex::default(),
        }
    }

    /// Returns whether a client at that address may use the egress proxy.
    fn serves(&self, client: IpAddr) -> bool {
        client.is_loopback() || self.clients.contains(&client)
    }

    /// Has the connection closed when the load of the page is over.
    fn hold(&self, stream: &Arc<TcpStream>) {
        match &mut *self.connections.lock() {
            Some(held) => {
                held.retain(|other| other.strong_count() > 0);
                held.push(Arc::downgrade(stream));
            }
            None => close(stream),
        }
    }

    fn end(&self) {
        for stream in self.connections.lock().take().unwrap_or_default() {
            if let Some(stream) = stream.upgrade() {
                close(&stream);
            }
        }
    }

    /// Returns a stream whose reads and writes end at the deadline, even if the peer sends or takes single bytes.
    fn timed<'s>(&self, stream: &'s TcpStream) -> Timed<&'s TcpStream> {
        Timed::new(stream, self.deadline)
    }

    /// Passes on what the server sends until it closes its direction, or the page has loaded too much.
    fn pass(&self, server: &TcpStream, client: &TcpStream) -> io::Result<()> {
        let (mut server, mut client) = (self.timed(server), self.timed(client));
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            let count = server.read(&mut chunk)?;
            self.bytes.fetch_add(count as u64, Ordering::Relaxed);
            if count == 0 || self.is_too_large() {
                return Ok(());
            }
            client.write_all(&chunk[..count])?;
        }
    }

    /// Stores the reason why a request to a host was refused.
    fn refuse(&self, host: &Host, why: ProbeError) {
        let mut refusals = self.refusals.lock();
        if refusals.len() < MAX_REFUSALS {
            refusals.entry(host.to_string()).or_insert(why);
        }
    }

    /// Returns the reason why a request to a host was refused, if one was.
    pub(super) fn refusal(&self, host: &str) -> Option<ProbeError> {
        self.refusals.lock().get(host).cloned()
    }

    /// Returns whether the page has loaded too many bytes.
    pub(super) fn is_too_large(&self) -> bool {
        self.bytes.load(Ordering::Relaxed) > MAX_BYTES
    }
}

/// Closes both directions. This fails if the peer has closed the connection.
fn close(stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Both);
}

/// The egress proxy of one place for a page. Its port stays open as long as the process runs.
pub(super) struct EgressProxy {
    /// Its address, as the browser reaches it.
    pub(super) announced: String,
    wire: Wire,
    page: Mutex<Option<Arc<PageLoad>>>,
}

impl EgressProxy {
    /// Listens on `addr`. Browsers reach it by the name or address `host`.
    ///
    /// # Errors
    /// Returns an error if the address is in use, or if a thread cannot be started.
    pub(super) fn open(addr: SocketAddr, host: &str, wire: &Wire) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind(addr)?;
        let announced = format!("{host}:{}", listener.local_addr()?.port());
        let proxy = Arc::new(Self { announced, wire: wire.clone(), page: Mutex::default() });
        let listening = Arc::clone(&proxy);
        start("egress-proxy", STACK_BYTES, move || listening.accept_all(&listener))?;
        Ok(proxy)
    }

    /// Begins a page load, if there is one, and ends the previous one with all its connections.
    pub(super) fn load(&self, page: Option<Arc<PageLoad>>) {
        if let Some(before) = std::mem::replace(&mut *self.page.lock(), page) {
            before.end();
        }
    }

    fn accept_all(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            match listener.accept() {
                Ok((client, peer)) => self.admit(client, peer.ip().to_canonical()),
                Err(error) => {
                    warn!("the egress proxy cannot accept a connection: {error}");
                    thread::sleep(ACCEPT_PAUSE);
                }
            }
        }
    }

    /// Serves a client. Closes the connection if the client is not allowed or there is no page load.
    fn admit(self: &Arc<Self>, client: TcpStream, peer: IpAddr) {
        let Some(page) = self.page.lock().clone().filter(|page| page.serves(peer)) else { return };
        // Each connection holds a reference, and so do the listening thread and the place.
        if Arc::strong_count(self) > MAX_CONNECTIONS + 2 {
            return;
        }
        let proxy = Arc::clone(self);
        let serve = move || {
            // A failed connection of a page is not an error of the service.
            let _ = proxy.serve(&Arc::new(client), &page);
        };
        if let Err(error) = start("egress", STACK_BYTES, serve) {
            warn!("cannot start a thread for a connection of a browser: {error}");
        }
    }

    /// Connects a client as it asks for, and relays until the server closes its direction.
    fn serve(&self, client: &Arc<TcpStream>, page: &PageLoad) -> io::Result<()> {
        page.hold(client);
        client.set_nodelay(true)?;
        let (host, port) = socks::accept(&mut page.timed(client))?;
        let server = match self.connect(&host, port, page) {
            Ok(server) => server,
            Err(error) => {
                page.refuse(&host, error);
                return socks::answer(&mut page.timed(client), false);
            }
        };
        socks::answer(&mut page.timed(client), true)?;
        let send = || {
            let sent = io::copy(&mut page.timed(client), &mut page.timed(&server));
            // A server may still answer after the last byte.
            let _ = server.shutdown(if sent.is_ok() { Shutdown::Write } else { Shutdown::Both });
        };
        thread::scope(|scope| {
            let name = "egress-send".to_owned();
            thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn_scoped(scope, send)?;
            let received = page.pass(&server, client);
            close(client);
            close(&server);
            received
        })
    }

    /// Connects to `host`, for a page that is being loaded.
    ///
    /// # Errors
    /// Returns an error if the host has no allowed address, or if the connection fails.
    fn connect(&self, host: &Host, port: u16, page: &PageLoad) -> Result<Arc<TcpStream>, ProbeError> {
        let deadline = page.deadline.min(Wire::connect_deadline());
        let mut target = self.wire.target(host, port, deadline)?;
        if port == page.forbidden_port {
            // The outbound proxy may run on this machine, so a name that it resolves must not be one of this machine.
            let is_foreign_name = target.addresses.is_empty() && guard::is_public_name(&target.host);
            let is_elsewhere = |ip: IpAddr| !ip.is_loopback() && !ip.is_unspecified();
            target.addresses.retain(|addr| is_elsewhere(addr.ip().to_canonical()));
            if target.addresses.is_empty() && !is_foreign_name {
                return Err(ProbeError::forbidden());
            }
        }
        let server = Arc::new(self.wire.connect(&target, deadline)?);
        page.hold(&server);
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetConfig;

    fn asked(proxy: &EgressProxy) -> Vec<u8> {
        let mut stream = TcpStream::connect(&proxy.announced).unwrap();
        let mut said = Vec::new();
        // The write fails if the proxy has already closed the connection.
        let _ = stream.write_all(b"\x05\x01\x00\x05\x01\x00\x01\x7f\x00\x00\x01\x01\xbb");
        let _ = stream.read_to_end(&mut said);
        said
    }

    #[test]
    fn allowed_clients_are_served_during_a_page_load() {
        let (addr, wire) = (SocketAddr::from(([127, 0, 0, 1], 0)), Wire::new(NetConfig::default()));
        let proxy = EgressProxy::open(addr, "127.0.0.1", &wire).unwrap();
        assert!(asked(&proxy).is_empty());
        let (browser, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let deadline = Instant::now() + Duration::from_secs(60);
        let page_load = Arc::new(PageLoad::new(deadline, &Browser::at(addr, String::new(), vec![browser])));
        assert!(page_load.serves(browser) && !page_load.serves(other));
        proxy.load(Some(page_load));
        assert!(asked(&proxy).starts_with(b"\x05\x00\x05\x01"));
        proxy.load(None);
        assert!(asked(&proxy).is_empty());
    }
}
