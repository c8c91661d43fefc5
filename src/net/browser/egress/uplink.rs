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
use crate::net::dial;

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
        if targets.is_empty() {
            return Err(ProbeError::ForbiddenAddress);
        }
        let Some(proxy) = &self.proxy else { return dial::connect(&targets, None, deadline) };
        let of_proxy = self.approver.resolve(&as_str(&proxy.host), proxy.port, deadline)?;
        dial::connect(&targets, Some((proxy, &of_proxy)), deadline)
    }
}
