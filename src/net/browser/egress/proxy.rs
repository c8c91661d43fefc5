//! The proxy of one place for a page. It accepts connections of allowed clients and forwards their requests.

use std::io::{self, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use log::warn;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;

use super::forward::{self, BAD_REQUEST, answer};
use super::page_load::{DeadlineStream, PageLoad};
use super::tunnel;
use super::uplink::Uplink;
use crate::modules::probe::ProbeError;
use crate::net::head::{self, Head};

/// The maximum number of connections of one page. A browser opens 32 to a proxy.
const MAX_CONNECTIONS: usize = 128;
/// The interval at which the accepting thread checks whether the proxy is closed.
const CHECK_INTERVAL_MS: u16 = 500;
/// The pause after a failed `accept()`, most likely because all descriptors are in use.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// A stack size that suffices to parse a URL and resolve a name.
const STACK_BYTES: usize = 256 * 1024;

/// The egress proxy of one place for a page. Dropping it closes the port.
pub(in crate::net) struct EgressProxy {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    uplink: Arc<Uplink>,
    page_load: Mutex<Option<Arc<PageLoad>>>,
    connections: AtomicUsize,
    closed: AtomicBool,
}

impl EgressProxy {
    /// Listens on `addr`.
    ///
    /// # Errors
    /// Returns an error if the address is in use, or if a thread cannot be started.
    pub(in crate::net) fn open(addr: SocketAddr, uplink: Arc<Uplink>) -> io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            uplink,
            page_load: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        });
        let listening = Arc::clone(&shared);
        thread::Builder::new()
            .name("egress-proxy".into())
            .stack_size(STACK_BYTES)
            .spawn(move || listening.accept_until_closed(&listener))?;
        Ok(Self { addr, shared })
    }

    pub(in crate::net) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Begins a page load, and ends the previous one.
    pub(in crate::net) fn begin(&self, page_load: Arc<PageLoad>) {
        if let Some(before) = self.shared.page_load.lock().replace(page_load) {
            before.end();
        }
    }

    /// Ends the load of a page and all its connections.
    pub(in crate::net) fn end(&self) {
        if let Some(page_load) = self.shared.page_load.lock().take() {
            page_load.end();
        }
    }
}

impl Drop for EgressProxy {
    fn drop(&mut self) {
        self.end();
        self.shared.closed.store(true, Ordering::Relaxed);
    }
}

/// A guard that counts one connection until it is dropped.
struct ConnectionSlot(Arc<Shared>);

impl ConnectionSlot {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.connections.fetch_add(1, Ordering::Relaxed);
        let slot = Self(Arc::clone(shared));
        (before < MAX_CONNECTIONS).then_some(slot)
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn accept_until_closed(self: &Arc<Self>, listener: &TcpListener) {
        while !self.closed.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            // The result does not matter: `accept` reports whether there is a connection.
            let _ = poll(&mut fds, PollTimeout::from(CHECK_INTERVAL_MS));
            match listener.accept() {
                Ok((client, peer)) => self.admit(client, peer.ip().to_canonical()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    warn!("the egress proxy cannot accept a connection: {error}");
                    thread::sleep(ACCEPT_PAUSE);
                }
            }
        }
    }

    /// Serves a client. Closes the connection if the client is not allowed or there is no page load.
    fn admit(self: &Arc<Self>, client: TcpStream, peer: IpAddr) {
        let Some(page_load) = self.page_load.lock().clone().filter(|load| load.serves(peer)) else { return };
        let Some(slot) = ConnectionSlot::take(self) else { return };
        let serve = move || {
            // A failed connection of a page is not an error of the service.
            let _ = slot.0.serve(&client, &page_load);
        };
        let name = "egress".to_owned();
        if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(serve) {
            warn!("cannot start a thread for a connection of a browser: {error}");
        }
    }

    fn serve(&self, client: &TcpStream, page_load: &PageLoad) -> io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_nodelay(true)?;
        let Some(head) = head::read(&mut DeadlineStream::new(client, page_load)?)? else { return Ok(()) };
        let Some((method, target)) = head.request_line() else { return answer(client, BAD_REQUEST) };
        match method {
            "CONNECT" => connect(&self.uplink, client, page_load, &head, target),
            _ => forward::request(&self.uplink, client, page_load, &head),
        }
    }
}

/// Opens a tunnel. A browser shows no page for a refused tunnel, so a refusal never looks like the site's answer.
fn connect(
    uplink: &Uplink,
    client: &TcpStream,
    page_load: &PageLoad,
    head: &Head,
    target: &str,
) -> io::Result<()> {
    // The scheme is only needed to parse host and port. A CONNECT target always has a port.
    let url = url::Url::parse(&format!("tunnel://{target}")).ok();
    let port = url.as_ref().filter(|url| url.path().is_empty()).and_then(url::Url::port);
    // The host is parsed as in browsers, so a number is an IPv4 address.
    let host = url.as_ref().and_then(url::Url::host_str).map(url::Host::parse);
    let (Some(port), Some(Ok(host))) = (port, host) else { return answer(client, BAD_REQUEST) };
    match uplink.connect(&host, port, page_load) {
        Ok(server) => {
            let mut said = client;
            said.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            tunnel::relay(client, &server, &head.rest, page_load)
        }
        Err(error) => {
            let refusal = match error {
                ProbeError::ForbiddenAddress => "403 Forbidden",
                _ => "502 Bad Gateway",
            };
            page_load.refuse(&host, error);
            answer(client, refusal)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;
    use std::net::Ipv4Addr;

    use super::*;
    use crate::net::approve::Approver;

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
        let (approver, connect_timeout) = (Approver::new(false), Duration::from_secs(1));
        let uplink = Uplink { approver, proxy: None, connect_timeout, own: Arc::default() };
        let proxy = EgressProxy::open(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), Arc::new(uplink)).unwrap();
        assert_eq!(asked(&proxy), "");
        let (browser, other) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
        let deadline = std::time::Instant::now() + Duration::from_secs(60);
        let page_load = Arc::new(PageLoad::new(deadline, vec![browser]));
        assert!(page_load.serves(browser) && !page_load.serves(other));
        proxy.begin(page_load);
        assert!(asked(&proxy).starts_with("HTTP/1.1 403 "));
        proxy.end();
        assert_eq!(asked(&proxy), "");
    }
}
