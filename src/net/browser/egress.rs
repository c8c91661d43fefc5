//! The egress proxy: an HTTP proxy for all traffic of the browsers, so that no page, redirect, script or sub-resource
//! reaches an address that is not public.
//!
//! Each place for a page has an [`EgressProxy`] on a port of its own, which forwards only during a [`PageLoad`] to a
//! page. It resolves names, checks the addresses with the guard, and connects to exactly those addresses. It supports
//! two requests: `CONNECT host:port` for TLS and WebSockets, and the absolute form for plain HTTP. When the load of a page
//! ends, all its connections are closed, which ends the threads that read and write them.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::{Duration, Instant};

use log::warn;
use parking_lot::Mutex;
use url::{Host, Url};

use crate::modules::probe::ProbeError;
use crate::net::approve::as_str;
use crate::net::connection::{Wire, WireParts};
use crate::net::dial::{self, Timed};
use crate::net::guard;
use crate::net::head::{self, Head, invalid};

/// The maximum number of bytes that a page may load, including its sub-resources.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum number of remembered refusals. A refusal of the page itself is among the first.
const MAX_REFUSALS: usize = 64;
/// The maximum number of connections of one page. A browser opens 32 to a proxy.
const MAX_CONNECTIONS: usize = 128;
/// The pause after a failed `accept()`, most likely because all descriptors are in use.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// The time for the connection that wakes the accepting thread.
const WAKE: Duration = Duration::from_secs(1);
/// A stack size that suffices to parse a URL and resolve a name.
const STACK_BYTES: usize = 256 * 1024;
const CHUNK_BYTES: usize = 16 * 1024;
const BAD_REQUEST: &str = "400 Bad Request";

/// The ports of browsers and egress proxies on this machine. No page may connect to them, even if private addresses are
/// allowed. They are counted, because a restarted browser may have the port of one that is still being dropped.
#[derive(Default)]
pub(super) struct OwnPorts(Mutex<HashMap<u16, usize>>);

impl OwnPorts {
    pub(super) fn add(&self, port: u16) {
        *self.0.lock().entry(port).or_default() += 1;
    }

    pub(super) fn remove(&self, port: u16) {
        let mut ports = self.0.lock();
        ports.entry(port).and_modify(|count| *count -= 1);
        ports.retain(|_, count| *count > 0);
    }

    fn holds(&self, addr: &SocketAddr) -> bool {
        let ip = addr.ip().to_canonical();
        (ip.is_loopback() || ip.is_unspecified()) && self.0.lock().contains_key(&addr.port())
    }
}

/// Connects to addresses that pass the guard, directly or through the operator's proxy.
pub(super) struct Uplink {
    pub(super) wire: Wire,
    pub(super) own: Arc<OwnPorts>,
}

impl Uplink {
    /// Connects to `host`, for a page that is being loaded.
    ///
    /// # Errors
    /// Returns an error if the host has no allowed address, or if the connection fails.
    fn connect(&self, host: &Host, port: u16, page: &PageLoad) -> Result<Arc<TcpStream>, ProbeError> {
        let WireParts { approver, connect_timeout, proxy, .. } = &*self.wire.0;
        let (deadline, proxy) = (page.deadline.min(Instant::now() + *connect_timeout), proxy.as_ref());
        let mut target = approver.target(&as_str(host), port, proxy, deadline)?;
        let is_name = target.addresses.is_empty();
        target.addresses.retain(|addr| !self.own.holds(addr));
        // The proxy may run on this machine, so a name that it resolves must not be one of this machine.
        let is_own = if is_name {
            !guard::is_public_name(&target.host) && self.own.0.lock().contains_key(&port)
        } else {
            target.addresses.is_empty()
        };
        if is_own {
            return Err(ProbeError::ForbiddenAddress);
        }
        let server = Arc::new(dial::connect(&target, proxy, deadline)?);
        page.hold(&server);
        Ok(server)
    }
}

/// The load of one page, from its opening to its closing.
pub(super) struct PageLoad {
    deadline: Instant,
    /// The addresses of the browser, if it is on another machine.
    clients: Vec<IpAddr>,
    /// The connections of the page, or nothing when its load is over.
    connections: Mutex<Option<Vec<Weak<TcpStream>>>>,
    bytes: AtomicU64,
    refusals: Mutex<Vec<(String, ProbeError)>>,
}

impl PageLoad {
    pub(super) fn new(deadline: Instant, clients: Vec<IpAddr>) -> Self {
        let connections = Mutex::new(Some(Vec::new()));
        Self { deadline, clients, connections, bytes: AtomicU64::new(0), refusals: Mutex::default() }
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
        Timed { stream, deadline: self.deadline }
    }

    /// Counts bytes that were read from a server.
    fn count(&self, bytes: usize) -> io::Result<()> {
        let before = self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if before + bytes as u64 > MAX_BYTES {
            return Err(io::Error::other("the page loads too much"));
        }
        Ok(())
    }

    /// Passes on what the server sends until it closes its direction.
    fn pass(&self, server: &TcpStream, client: &TcpStream) -> io::Result<()> {
        let (mut server, mut client) = (self.timed(server), self.timed(client));
        let mut chunk = vec![0; CHUNK_BYTES];
        loop {
            match server.read(&mut chunk)? {
                0 => return Ok(()),
                count => {
                    self.count(count)?;
                    client.write_all(&chunk[..count])?;
                }
            }
        }
    }

    /// Stores the reason why a request to a host was refused.
    fn refuse(&self, host: &Host, why: ProbeError) {
        let mut refusals = self.refusals.lock();
        let host = host.to_string();
        if refusals.len() < MAX_REFUSALS && !refusals.iter().any(|(known, _)| *known == host) {
            refusals.push((host, why));
        }
    }

    /// Returns the reason why a request to a host was refused, if one was.
    pub(super) fn refusal(&self, host: &str) -> Option<ProbeError> {
        self.refusals.lock().iter().find(|(known, _)| known == host).map(|(_, why)| why.clone())
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

/// The egress proxy of one place for a page. Dropping it closes the port.
pub(super) struct EgressProxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    uplink: Arc<Uplink>,
    page: Mutex<Option<Arc<PageLoad>>>,
    /// Each connection has a clone.
    connections: Arc<()>,
    closed: AtomicBool,
}

impl EgressProxy {
    /// Listens on `addr`.
    ///
    /// # Errors
    /// Returns an error if the address is in use, or if a thread cannot be started.
    pub(super) fn open(addr: SocketAddr, uplink: Arc<Uplink>) -> io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        let addr = listener.local_addr()?;
        let (page, connections, closed) = (Mutex::default(), Arc::default(), AtomicBool::new(false));
        let shared = Arc::new(Shared { uplink, page, connections, closed });
        let listening = Arc::clone(&shared);
        start("egress-proxy", move || listening.accept_until_closed(&listener))?;
        Ok(Self { addr, shared })
    }

    pub(super) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Begins a page load, and ends the previous one.
    pub(super) fn begin(&self, page: Arc<PageLoad>) {
        if let Some(before) = self.shared.page.lock().replace(page) {
            before.end();
        }
    }

    /// Ends the load of a page and all its connections.
    pub(super) fn end(&self) {
        if let Some(page) = self.shared.page.lock().take() {
            page.end();
        }
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.end();
        self.shared.closed.store(true, Ordering::Relaxed);
        // A connection ends the wait for one.
        let mut addr = self.addr;
        match addr.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => addr.set_ip(Ipv4Addr::LOCALHOST.into()),
            IpAddr::V6(ip) if ip.is_unspecified() => addr.set_ip(Ipv6Addr::LOCALHOST.into()),
            _ => {}
        }
        let _ = TcpStream::connect_timeout(&addr, WAKE);
    }
}

fn start(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES).spawn(work).map(drop)
}

impl Shared {
    fn accept_until_closed(self: &Arc<Self>, listener: &TcpListener) {
        loop {
            let accepted = listener.accept();
            if self.closed.load(Ordering::Relaxed) {
                return;
            }
            match accepted {
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
        if Arc::strong_count(&self.connections) > MAX_CONNECTIONS {
            return;
        }
        let (shared, slot) = (Arc::clone(self), Arc::clone(&self.connections));
        let serve = move || {
            // A failed connection of a page is not an error of the service.
            let _ = shared.serve(&Arc::new(client), &page);
            drop(slot);
        };
        if let Err(error) = start("egress", serve) {
            warn!("cannot start a thread for a connection of a browser: {error}");
        }
    }

    fn serve(&self, client: &Arc<TcpStream>, page: &PageLoad) -> io::Result<()> {
        page.hold(client);
        client.set_nodelay(true)?;
        let Some(head) = head::read(&mut page.timed(client))? else { return Ok(()) };
        let refused = match head.request_line() {
            Some(("CONNECT", target)) => self.tunnel(client, page, &head, target)?,
            Some((method, target)) => self.forward(client, page, &head, method, target)?,
            None => Some(BAD_REQUEST),
        };
        let Some(status) = refused else { return Ok(()) };
        write!(&**client, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    }

    /// Opens a tunnel, and relays until the server closes its direction. Returns the status of a refusal. A browser shows
    /// no page for a refused tunnel, so a refusal never looks like the site's answer.
    fn tunnel(
        &self,
        client: &TcpStream,
        page: &PageLoad,
        head: &Head,
        target: &str,
    ) -> io::Result<Option<&'static str>> {
        // The scheme is only needed to parse host and port. A CONNECT target always has a port.
        let url = Url::parse(&format!("tunnel://{target}")).ok();
        let port = url.as_ref().filter(|url| url.path().is_empty()).and_then(Url::port);
        // The host is parsed as in browsers, so a number is an IPv4 address.
        let host = url.as_ref().and_then(Url::host_str).map(Host::parse);
        let (Some(port), Some(Ok(host))) = (port, host) else { return Ok(Some(BAD_REQUEST)) };
        let server = match self.uplink.connect(&host, port, page) {
            Ok(server) => server,
            Err(error) => {
                let is_forbidden = error == ProbeError::ForbiddenAddress;
                page.refuse(&host, error);
                return Ok(Some(if is_forbidden { "403 Forbidden" } else { "502 Bad Gateway" }));
            }
        };
        let mut said = client;
        said.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
        let server = &*server;
        let send = || {
            let mut to = page.timed(server);
            let sent = to.write_all(&head.rest).and_then(|()| io::copy(&mut page.timed(client), &mut to));
            // A server may still answer after the last byte.
            let _ = server.shutdown(if sent.is_ok() { Shutdown::Write } else { Shutdown::Both });
        };
        thread::scope(|scope| {
            let name = "egress-send".to_owned();
            thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn_scoped(scope, send)?;
            let received = page.pass(server, client);
            close(client);
            close(server);
            received
        })?;
        Ok(None)
    }

    /// Forwards a request in absolute form (RFC 9112, section 3.2.2), one for each connection, and its answer. Returns the
    /// status of a refusal.
    ///
    /// If the site is refused or does not answer, the connection is closed without an answer, since a browser would show an
    /// answer as the site's own page.
    fn forward(
        &self,
        client: &TcpStream,
        page: &PageLoad,
        head: &Head,
        method: &str,
        target: &str,
    ) -> io::Result<Option<&'static str>> {
        let url = Url::parse(target).ok().filter(|url| url.scheme() == "http");
        let host = url.as_ref().and_then(Url::host).map(|host| host.to_owned());
        let (Some(url), Some(host), Ok(length)) = (url, host, head.content_length()) else {
            return Ok(Some(BAD_REQUEST));
        };
        let server = match self.uplink.connect(&host, url.port_or_known_default().unwrap_or(80), page) {
            Ok(server) => server,
            Err(error) => {
                page.refuse(&host, error);
                return Ok(None);
            }
        };
        let mut to_server = page.timed(&server);
        let query = url.query().map_or_else(String::new, |query| format!("?{query}"));
        to_server.write_all(&head.forwarded(&format!("{method} {}{query} HTTP/1.1", url.path())))?;
        let mut to_client = page.timed(client);
        // A server may answer before it has read the body, and close its side.
        let _ = send_body(&mut to_client, &mut to_server, &head.rest, length);
        let rest = pass_heads(&mut to_server, &mut to_client)?;
        page.count(rest.len())?;
        to_client.write_all(&rest)?;
        page.pass(&server, client)?;
        Ok(None)
    }
}

fn send_body(client: &mut impl Read, server: &mut impl Write, begun: &[u8], length: u64) -> io::Result<()> {
    let begun = &begun[..begun.len().min(usize::try_from(length).unwrap_or(usize::MAX))];
    server.write_all(begun)?;
    io::copy(&mut client.take(length - begun.len() as u64), server).map(drop)
}

/// Forwards interim answers and the head of the final answer. Returns what was read after it.
fn pass_heads(server: &mut impl Read, client: &mut impl Write) -> io::Result<Vec<u8>> {
    let mut begun = Vec::new();
    loop {
        let head = head::read_on(server, begun)?.ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.status().ok_or_else(|| invalid("the answer is not HTTP"))?;
        client.write_all(&head.forwarded(&head.line))?;
        if status >= 200 {
            return Ok(head.rest);
        }
        begun = head.rest;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::NetConfig;

    fn asked(proxy: &EgressProxy) -> String {
        let mut stream = TcpStream::connect(proxy.addr()).unwrap();
        let mut said = String::new();
        // The write fails if the proxy has already closed the connection.
        let _ = stream.write_all(b"CONNECT 127.0.0.1:443 HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut said);
        said
    }

    #[test]
    fn allowed_clients_are_served_during_a_page_load() {
        let uplink = Uplink { wire: Wire::new(&NetConfig::default()), own: Arc::default() };
        let proxy = EgressProxy::open(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Arc::new(uplink)).unwrap();
        assert_eq!(asked(&proxy), "");
        let (browser, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let deadline = Instant::now() + Duration::from_secs(60);
        let page_load = Arc::new(PageLoad::new(deadline, vec![browser]));
        assert!(page_load.serves(browser) && !page_load.serves(other));
        proxy.begin(page_load);
        assert!(asked(&proxy).starts_with("HTTP/1.1 403 "));
        proxy.end();
        assert_eq!(asked(&proxy), "");
    }

    #[test]
    fn a_port_is_own_until_its_last_browser_is_dropped() {
        let (own, addr) = (OwnPorts::default(), SocketAddr::from(([127, 0, 0, 1], 9222)));
        own.add(9222);
        own.add(9222);
        own.remove(9222);
        assert!(own.holds(&addr));
        own.remove(9222);
        assert!(!own.holds(&addr));
    }
}
