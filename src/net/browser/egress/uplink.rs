//! Outgoing connections to addresses that pass the guard, direct or through the operator's proxy.

use std::collections::HashMap;
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
/// allowed. They are counted, because a restarted browser may have the port of one that is still being dropped.
#[derive(Default)]
pub(in crate::net) struct OwnPorts(Mutex<HashMap<u16, usize>>);

impl OwnPorts {
    pub(in crate::net) fn add(&self, port: u16) {
        *self.0.lock().entry(port).or_default() += 1;
    }

    pub(in crate::net) fn remove(&self, port: u16) {
        let mut ports = self.0.lock();
        ports.entry(port).and_modify(|count| *count -= 1);
        ports.retain(|_, count| *count > 0);
    }

    fn holds(&self, addr: &SocketAddr) -> bool {
        let ip = addr.ip().to_canonical();
        (ip.is_loopback() || ip.is_unspecified()) && self.0.lock().contains_key(&addr.port())
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
            !guard::is_public_name(&target.host) && self.own.0.lock().contains_key(&port)
        } else {
            target.addresses.is_empty()
        };
        if is_own {
            return Err(ProbeError::ForbiddenAddress);
        }
        dial::connect(&target, proxy, deadline)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
