//! Outgoing connections to addresses that pass the guard, direct or through the operator's proxy.

use std::collections::HashSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Host;

use super::page_load::{DeadlineStream, PageLoad};
use super::socks;
use crate::base::secret::Secret;
use crate::modules::probe::{Phase, ProbeError};
use crate::net::approve::{Approver, as_str};
use crate::net::config::{OutboundProxy, ProxyKind};
use crate::net::dial::{connect_head, read_connect_status};
use crate::net::failure::failed_connection;

/// The minimum time for connecting to one of several addresses.
const MIN_CONNECT_TIME: Duration = Duration::from_millis(500);

/// The ports of drivers and browsers on this machine. No page may connect to them, even if private addresses are
/// allowed.
#[derive(Default)]
pub(in crate::net) struct OwnPorts(Mutex<HashSet<u16>>);

impl OwnPorts {
    pub(in crate::net) fn add(&self, port: u16) {
        self.0.lock().insert(port);
    }

    pub(in crate::net) fn remove(&self, port: u16) {
        self.0.lock().remove(&port);
    }

    fn holds(&self, addr: &SocketAddr) -> bool {
        let ip = addr.ip().to_canonical();
        (ip.is_loopback() || ip.is_unspecified()) && self.0.lock().contains(&addr.port())
    }
}

/// A connector for outgoing connections.
pub(in crate::net) struct Uplink {
    pub(in crate::net) approver: Approver,
    pub(in crate::net) proxy: Option<OutboundProxy>,
    pub(in crate::net) connect_timeout: Duration,
    pub(in crate::net) own: Arc<OwnPorts>,
}

impl Uplink {
    /// Connects to `host`.
    ///
    /// # Errors
    /// Returns an error if the host has no allowed address, or if the connection fails.
    pub(super) fn connect(
        &self,
        host: &Host,
        port: u16,
        page_load: &PageLoad,
    ) -> Result<TcpStream, ProbeError> {
        let deadline = page_load.deadline.min(Instant::now() + self.connect_timeout);
        let mut targets = self.approver.approve(&as_str(host), port, deadline)?;
        targets.retain(|addr| !self.own.holds(addr));
        let Some(first) = targets.first() else { return Err(ProbeError::ForbiddenAddress) };
        let Some(proxy) = &self.proxy else { return dial(&targets, deadline) };
        let proxies = self.approver.resolve(&as_str(&proxy.host), proxy.port, deadline)?;
        let stream = dial(&proxies, deadline)?;
        ask_proxy(proxy, &stream, first, page_load).map_err(ProbeError::Connect)?;
        Ok(stream)
    }
}

/// Tries one address after the other. Each address gets an equal share of the time.
fn dial(addrs: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ProbeError> {
    let mut failure = ProbeError::Timeout(Phase::Connect);
    for (index, addr) in addrs.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let share = left / u32::try_from(addrs.len() - index).unwrap_or(1);
        match TcpStream::connect_timeout(addr, share.max(MIN_CONNECT_TIME).min(left)) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
            Err(error) => failure = failed_connection(&error, addrs),
        }
    }
    Err(failure)
}

fn ask_proxy(
    proxy: &OutboundProxy,
    stream: &TcpStream,
    target: &SocketAddr,
    page_load: &PageLoad,
) -> Result<(), String> {
    let mut stream = DeadlineStream::new(stream, page_load).map_err(|error| error.to_string())?;
    if proxy.kind == ProxyKind::Socks5 {
        let credentials = proxy.credentials.as_ref().map(Secret::expose);
        return socks::connect(&mut stream, target, credentials).map_err(|error| error.to_string());
    }
    stream.write_all(connect_head(proxy, target).as_bytes()).map_err(|error| error.to_string())?;
    match read_connect_status(&mut stream) {
        Ok(200..300) => Ok(()),
        Ok(status) => Err(format!("the outbound proxy answered {status}")),
        Err(error) => Err(error.to_string()),
    }
}
