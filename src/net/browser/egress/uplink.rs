//! Connections out: to addresses that pass the guard, direct or through the operator's proxy.

use std::collections::HashSet;
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Host;

use super::socks;
use super::visit::{Timed, Visit};
use crate::base::secret::Secret;
use crate::modules::probe::{Phase, ProbeError};
use crate::net::approve::{Approver, as_str};
use crate::net::config::{OutboundProxy, ProxyKind};
use crate::net::dial::{connect_head, read_connect_status};

/// An address of several is given at least this long.
const LEAST_TRY: Duration = Duration::from_millis(500);

/// Ports of this machine that no page may ever talk to, not even in a lab where loopback may be asked: the
/// drivers', the browsers' own.
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

/// See the file's head.
pub(in crate::net) struct Uplink {
    pub(in crate::net) approver: Approver,
    pub(in crate::net) proxy: Option<OutboundProxy>,
    pub(in crate::net) connect_timeout: Duration,
    pub(in crate::net) own: Arc<OwnPorts>,
}

impl Uplink {
    /// A connection to `host`, or why there is none.
    pub(super) fn connect(&self, host: &Host, port: u16, visit: &Visit) -> Result<TcpStream, ProbeError> {
        let deadline = visit.deadline.min(Instant::now() + self.connect_timeout);
        let mut targets = self.approver.approve(&as_str(host), port, deadline)?;
        targets.retain(|addr| !self.own.holds(addr));
        let Some(first) = targets.first() else { return Err(ProbeError::ForbiddenAddress) };
        let Some(proxy) = &self.proxy else { return dial(&targets, deadline) };
        let stations = self.approver.resolve(&as_str(&proxy.host), proxy.port, deadline)?;
        let stream = dial(&stations, deadline)?;
        ask_proxy(proxy, &stream, first, visit).map_err(ProbeError::Connect)?;
        Ok(stream)
    }
}

/// Tries one address after the other, each for its share of the time.
fn dial(addrs: &[SocketAddr], deadline: Instant) -> Result<TcpStream, ProbeError> {
    let mut failure = ProbeError::Timeout(Phase::Connect);
    for (index, addr) in addrs.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let share = left / u32::try_from(addrs.len() - index).unwrap_or(1);
        match TcpStream::connect_timeout(addr, share.max(LEAST_TRY).min(left)) {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == std::io::ErrorKind::TimedOut => {}
            Err(error) => failure = ProbeError::Connect(error.to_string()),
        }
    }
    Err(failure)
}

fn ask_proxy(
    proxy: &OutboundProxy,
    stream: &TcpStream,
    target: &SocketAddr,
    visit: &Visit,
) -> Result<(), String> {
    let mut stream = Timed::new(stream, visit).map_err(|error| error.to_string())?;
    if proxy.kind == ProxyKind::Socks5 {
        let credentials = proxy.credentials.as_ref().map(Secret::expose);
        return socks::ask(&mut stream, target, credentials).map_err(|error| error.to_string());
    }
    stream.write_all(connect_head(proxy, target).as_bytes()).map_err(|error| error.to_string())?;
    match read_connect_status(&mut stream) {
        Ok(200..300) => Ok(()),
        Ok(status) => Err(format!("the outbound proxy answered {status}")),
        Err(error) => Err(error.to_string()),
    }
}
