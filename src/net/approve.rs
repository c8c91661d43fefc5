//! Resolves hosts and keeps the addresses that pass the guard. Connections go to exactly these addresses, so that a
//! name cannot resolve to another address between the check and the connection.

use std::net::SocketAddr;
use std::time::Instant;

use url::Host;

use super::config::OutboundProxy;
use super::guard;
use super::resolver::Resolver;
use crate::modules::probe::ProbeError;

/// Where a connection leads.
#[derive(Debug)]
pub(super) struct Target {
    /// The host in the URL, which the server's certificate names.
    pub(super) host: String,
    pub(super) port: u16,
    /// The approved addresses of the host. There are none if the proxy resolves its name.
    pub(super) addresses: Vec<SocketAddr>,
    /// The addresses of the outbound proxy.
    pub(super) proxy: Vec<SocketAddr>,
}

impl Target {
    /// Returns the host as a proxy gets it: without the dot that marks a whole name.
    pub(super) fn name(&self) -> &str {
        self.host.strip_suffix('.').unwrap_or(&self.host)
    }
}

/// The resolver together with the guard.
pub(super) struct Approver {
    resolver: Resolver,
    allow_private_targets: bool,
}

impl Approver {
    pub(super) fn new(allow_private_targets: bool) -> Self {
        Self { resolver: Resolver::new(), allow_private_targets }
    }

    /// Removes expired names from the resolver's cache.
    pub(super) fn sweep(&self, now: Instant) {
        self.resolver.sweep(now);
    }

    /// Returns where a connection to `host` leads, directly or through `proxy`. If the proxy resolves names, a name has no
    /// addresses here, and the guard checks its form.
    pub(super) fn target(
        &self,
        host: &Host<&str>,
        port: u16,
        proxy: Option<&OutboundProxy>,
        deadline: Instant,
    ) -> Result<Target, ProbeError> {
        let of_proxy = match proxy {
            Some(proxy) => self.resolve(&as_str(&proxy.host), proxy.port, deadline)?,
            None => Vec::new(),
        };
        let addresses = match host {
            Host::Domain(name) if proxy.is_some_and(|proxy| proxy.resolves_names) => {
                if !self.allow_private_targets && !guard::is_public_name(name) {
                    return Err(ProbeError::ForbiddenAddress);
                }
                Vec::new()
            }
            _ => self.approve(host, port, deadline)?,
        };
        Ok(Target { host: host.to_string(), port, addresses, proxy: of_proxy })
    }

    /// Returns the addresses of `host` that requests may go to, at least one.
    fn approve(
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

    /// Returns all addresses of `host` without a check.
    fn resolve(
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

/// Returns a host that borrows its name.
pub(super) fn as_str(host: &Host<String>) -> Host<&str> {
    match host {
        Host::Domain(name) => Host::Domain(name),
        Host::Ipv4(ip) => Host::Ipv4(*ip),
        Host::Ipv6(ip) => Host::Ipv6(*ip),
    }
}
