//! Outgoing connections to addresses that pass the guard, direct or through the operator's proxy.

use std::collections::HashSet;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use url::Host;

use super::page_load::PageLoad;
use crate::modules::probe::ProbeError;
use crate::net::approve::{Approver, as_str};
use crate::net::config::OutboundProxy;
use crate::net::{dial, guard};

/// The ports of browsers and egress proxies on this machine. No page may connect to them, even if private addresses are
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
        let proxy = self.proxy.as_ref();
        let mut target = self.approver.target(&as_str(host), (port, false), proxy, deadline)?;
        let is_name = target.addresses.is_empty();
        target.addresses.retain(|addr| !self.own.holds(addr));
        // The proxy may run on this machine, so a name that it resolves must not be one of this machine.
        let is_own = if is_name {
            !guard::is_public_name(&target.host) && self.own.0.lock().contains(&port)
        } else {
            target.addresses.is_empty()
        };
        if is_own {
            return Err(ProbeError::ForbiddenAddress);
        }
        dial::connect(&target, proxy, deadline)
    }
}
