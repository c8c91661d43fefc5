//! The port of one session: who may come, how many at once, and where they are let to.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use log::warn;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use parking_lot::Mutex;

use super::head::{self, Head};
use super::uplink::Uplink;
use super::visit::{Timed, Visit};
use super::{forward, played, tunnel};
use crate::modules::probe::{ProbeError, Prober};

/// Connections of one session at once; a browser opens 32 to a proxy.
const MAX_CONNECTIONS: usize = 128;
/// How soon a gate that is gone stops to listen.
const LOOK_MS: u16 = 500;
/// After a connection could not be accepted: descriptors are used up, most likely.
const BREATH: Duration = Duration::from_millis(50);
/// Room for an address to be parsed, a name looked up, a simulated site asked.
const STACK_BYTES: usize = 256 * 1024;

/// Whether a client at that address may use the guard.
pub(in crate::net) type Clients = dyn Fn(IpAddr) -> bool + Send + Sync;

/// Where traffic goes.
pub(in crate::net) enum Way {
    /// To the web, as far as the guard lets it.
    Web(Uplink),
    /// To a simulated web, whatever its address.
    Played(Arc<dyn Prober>),
}

impl Way {
    /// Drops what is kept of names and is over.
    pub(in crate::net) fn keep_house(&self, now: Instant) {
        match self {
            Self::Web(uplink) => uplink.approver.sweep(now),
            Self::Played(web) => web.keep_house(now),
        }
    }
}

/// See the file's head. It closes when dropped.
pub(in crate::net) struct Gate {
    addr: SocketAddr,
    shared: Arc<Shared>,
}

struct Shared {
    way: Arc<Way>,
    clients: Arc<Clients>,
    visit: Mutex<Option<Arc<Visit>>>,
    connections: AtomicUsize,
    closed: AtomicBool,
}

impl Gate {
    /// Listens on `addr`, for clients that `clients` lets in.
    ///
    /// # Errors
    /// The address is taken, or there is no thread.
    pub(in crate::net) fn open(addr: SocketAddr, way: Arc<Way>, clients: Arc<Clients>) -> io::Result<Self> {
        let listener = TcpListener::bind(addr)?;
        listener.set_nonblocking(true)?;
        let addr = listener.local_addr()?;
        let shared = Arc::new(Shared {
            way,
            clients,
            visit: Mutex::default(),
            connections: AtomicUsize::new(0),
            closed: AtomicBool::new(false),
        });
        let listening = Arc::clone(&shared);
        thread::Builder::new()
            .name("egress-gate".into())
            .stack_size(STACK_BYTES)
            .spawn(move || listening.accept_until_closed(&listener))?;
        Ok(Self { addr, shared })
    }

    pub(in crate::net) fn addr(&self) -> SocketAddr {
        self.addr
    }

    /// Lets the traffic of a new visit through, and that of none before.
    pub(in crate::net) fn begin(&self, visit: Arc<Visit>) {
        if let Some(before) = self.shared.visit.lock().replace(visit) {
            before.end();
        }
    }

    /// Lets nothing through, and breaks off what is under way.
    pub(in crate::net) fn end(&self) {
        if let Some(visit) = self.shared.visit.lock().take() {
            visit.end();
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.end();
        self.shared.closed.store(true, Ordering::Relaxed);
    }
}

/// One of the connections that there may be.
struct Seat(Arc<Shared>);

impl Seat {
    fn take(shared: &Arc<Shared>) -> Option<Self> {
        let before = shared.connections.fetch_add(1, Ordering::Relaxed);
        let seat = Self(Arc::clone(shared));
        (before < MAX_CONNECTIONS).then_some(seat)
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn accept_until_closed(self: &Arc<Self>, listener: &TcpListener) {
        while !self.closed.load(Ordering::Relaxed) {
            let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
            // Ready or not: whoever is not there is no error.
            let _ = poll(&mut fds, PollTimeout::from(LOOK_MS));
            match listener.accept() {
                Ok((client, peer)) => self.admit(client, peer.ip().to_canonical()),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => {
                    warn!("the egress guard cannot accept a connection: {error}");
                    thread::sleep(BREATH);
                }
            }
        }
    }

    /// A client that may not come, or comes when no page is looked at, is hung up on.
    fn admit(self: &Arc<Self>, client: TcpStream, peer: IpAddr) {
        let Some(visit) = self.visit.lock().clone().filter(|_| (self.clients)(peer)) else { return };
        let Some(seat) = Seat::take(self) else { return };
        let serve = move || {
            // How a connection of a page ended is the page's business.
            let _ = seat.0.serve(&client, &visit);
        };
        let name = "egress".to_owned();
        if let Err(error) = thread::Builder::new().name(name).stack_size(STACK_BYTES).spawn(serve) {
            warn!("no thread for a connection of a browser: {error}");
        }
    }

    fn serve(&self, client: &TcpStream, visit: &Visit) -> io::Result<()> {
        client.set_nonblocking(false)?;
        client.set_nodelay(true)?;
        let Some(head) = head::read(&mut Timed::new(client, visit)?)? else { return Ok(()) };
        let Some((method, target)) = head.request_line() else { return answer(client, BAD_REQUEST) };
        match (method, &*self.way) {
            ("CONNECT", Way::Web(uplink)) => connect(uplink, client, visit, &head, target),
            // Its sites speak no TLS.
            ("CONNECT", Way::Played(_)) => answer(client, NO_TLS),
            (_, Way::Web(uplink)) => forward::request(uplink, client, visit, &head),
            (_, Way::Played(web)) => played::request(&**web, client, visit, &head),
        }
    }
}

pub(super) const BAD_REQUEST: &[u8] =
    b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const NO_TLS: &[u8] = b"HTTP/1.1 501 Not Implemented\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const FORBIDDEN: &[u8] = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const UNREACHABLE: &[u8] = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

pub(super) fn answer(mut client: &TcpStream, bytes: &[u8]) -> io::Result<()> {
    client.write_all(bytes)
}

/// A browser shows no page for a tunnel that is refused: the answer is never taken for the site's.
fn connect(uplink: &Uplink, client: &TcpStream, visit: &Visit, head: &Head, target: &str) -> io::Result<()> {
    // The scheme is only there to have host and port parsed; CONNECT always names the port.
    let url = url::Url::parse(&format!("tunnel://{target}")).ok();
    let port = url.as_ref().filter(|url| url.path().is_empty()).and_then(url::Url::port);
    // As a browser reads a host: a number is an IPv4 address.
    let host = url.as_ref().and_then(url::Url::host_str).map(url::Host::parse);
    let (Some(port), Some(Ok(host))) = (port, host) else { return answer(client, BAD_REQUEST) };
    match uplink.connect(&host, port, visit) {
        Ok(server) => {
            answer(client, b"HTTP/1.1 200 Connection established\r\n\r\n")?;
            tunnel::relay(client, &server, &head.rest, visit)
        }
        Err(error) => {
            let refusal = if error == ProbeError::ForbiddenAddress { FORBIDDEN } else { UNREACHABLE };
            visit.refuse(&host, error);
            answer(client, refusal)
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::net::Ipv4Addr;
    use std::time::Instant;

    use super::*;
    use crate::modules::probe::{CookieJar, Request, Response, Trace};

    /// A web that has nothing.
    struct Nothing;

    impl Prober for Nothing {
        fn send(&self, _: &Request, _: &mut CookieJar, _: Instant) -> Result<Response, ProbeError> {
            Err(ProbeError::Dns("nothing".into()))
        }
    }

    fn asked(gate: &Gate) -> String {
        let mut stream = TcpStream::connect(gate.addr()).unwrap();
        let mut said = String::new();
        // Hung up on: there may be nobody any more to write to.
        let _ = stream.write_all(b"CONNECT a.example:443 HTTP/1.1\r\n\r\n");
        let _ = stream.read_to_string(&mut said);
        said
    }

    #[test]
    fn a_gate_serves_its_clients_while_a_page_is_looked_at() {
        let open = |clients: Arc<Clients>| {
            let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
            Gate::open(addr, Arc::new(Way::Played(Arc::new(Nothing))), clients).unwrap()
        };
        let visit = || {
            let trace = Trace { module: "a".into(), probe: 0, query: "b".into(), control: false };
            Arc::new(Visit::new(trace, Instant::now() + Duration::from_secs(60)))
        };
        let gate = open(Arc::new(|ip: IpAddr| ip.is_loopback()));
        assert_eq!(asked(&gate), "");
        gate.begin(visit());
        assert!(asked(&gate).starts_with("HTTP/1.1 501 "));
        gate.end();
        assert_eq!(asked(&gate), "");
        let others = open(Arc::new(|_: IpAddr| false));
        others.begin(visit());
        assert_eq!(asked(&others), "");
    }
}
