//! Where a host may be asked: its addresses, resolved here, that pass the guard. What connects connects to
//! exactly these, so that a name cannot change its mind in between.

use std::net::SocketAddr;
use std::time::Instant;

use url::Host;

use super::guard;
use super::resolver::Resolver;
use crate::modules::probe::ProbeError;

/// Resolver and guard together.
pub(super) struct Approver {
    resolver: Resolver,
    allow_private_targets: bool,
}

impl Approver {
    pub(super) fn new(allow_private_targets: bool) -> Self {
        Self { resolver: Resolver::new(), allow_private_targets }
    }

    /// Drops what is over.
    pub(super) fn sweep(&self, now: Instant) {
        self.resolver.sweep(now);
    }

    /// The addresses of `host` that may be asked, at least one.
    pub(super) fn approve(
        &self,
        host: &Host<&str>,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, ProbeError> {
        let mut found = self.resolve(host, port, deadline)?;
        if !self.allow_private_targets {
            found.retain(|addr| guard::is_public(addr.ip()));
            if found.is_empty() {
                return Err(ProbeError::ForbiddenAddress);
            }
        }
        Ok(found)
    }

    /// All addresses of `host`: for what the operator has named, not a page or a module.
    pub(super) fn resolve(
        &self,
        host: &Host<&str>,
        port: u16,
        deadline: Instant,
    ) -> Result<Vec<SocketAddr>, ProbeError> {
        Ok(match host {
            Host::Ipv4(ip) => vec![(*ip, port).into()],
            Host::Ipv6(ip) => vec![(*ip, port).into()],
            Host::Domain(name) => {
                self.resolver.resolve(name, deadline)?.iter().map(|ip| (*ip, port).into()).collect()
            }
        })
    }
}

/// A host that somebody else owns.
pub(super) fn as_str(host: &Host<String>) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name),
        Host::Ipv4(ip) => Host::Ipv4(*ip),
        Host::Ipv6(ip) => Host::Ipv6(*ip),
    }
}
