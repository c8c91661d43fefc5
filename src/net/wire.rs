//! Where connections lead: resolves hosts, keeps the addresses that pass the guard, and connects to exactly these
//! addresses, so that a name cannot resolve to another address between the check and the connection. TLS, on rustls, is added
//! afterwards.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, RootCertStore};
use url::{Host, Url};

use super::config::{NetConfig, OutboundProxy, ProxyKind};
use super::dial::{Target, Timed, dial, open_tunnel};
use super::failure::probe_error;
use super::resolver::Resolver;
use super::{guard, socks};
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The time limit for TCP, the outbound proxy and TLS together.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(4);

/// The number of servers whose sessions are kept, so that a later connection resumes them. It exceeds the number of
/// hosts in the catalogue.
const SESSION_SERVERS: usize = 1024;

/// The number by which rustls divides the size of its session cache to get the number of servers.
const TICKETS_PER_SERVER: usize = 8;

/// Makes connections, directly or through the operator's proxy. Clones share everything.
#[derive(Clone)]
pub(super) struct Wire {
    pub(super) resolver: Arc<Resolver>,
    /// The certificate authorities and the cache of sessions, which all connections share.
    tls: Arc<ClientConfig>,
    pub(super) config: Arc<NetConfig>,
}

impl Wire {
    pub(super) fn new(config: NetConfig) -> Self {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        roots.add_parsable_certificates(config.authorities.iter().flat_map(|own| own.iter().cloned()));
        let mut tls = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        tls.resumption = Resumption::in_memory_sessions(SESSION_SERVERS * TICKETS_PER_SERVER);
        Self { resolver: Resolver::new(), tls: Arc::new(tls), config: Arc::new(config) }
    }

    /// Returns the deadline for TCP, the outbound proxy and TLS together, of a connection that begins now.
    pub(super) fn connect_deadline() -> Instant {
        Instant::now() + CONNECT_TIMEOUT
    }

    /// Connects to the host of a URL.
    pub(super) fn dial(&self, url: &Url, deadline: Instant) -> Result<TcpStream, ProbeError> {
        let (Some(host), Some(port)) = (url.host(), url.port_or_known_default()) else {
            return Err(Reason::Protocol.because("the URL of the request has no host"));
        };
        self.connect(&self.target(&host.to_owned(), port, deadline)?, deadline)
    }

    /// Returns where a connection to `host` leads. If the proxy resolves names, a name has no addresses here, and the guard
    /// checks its form.
    pub(super) fn target(&self, host: &Host, port: u16, deadline: Instant) -> Result<Target, ProbeError> {
        let NetConfig { allow_private_targets, outbound_proxy: proxy, .. } = &*self.config;
        let mut addresses = Vec::new();
        match host {
            Host::Domain(name) if proxy.as_ref().is_some_and(|proxy| proxy.resolves_names) => {
                if !allow_private_targets && !guard::is_public_name(name) {
                    return Err(ProbeError::forbidden());
                }
            }
            _ => {
                addresses = self.resolve(host, port, deadline)?;
                addresses.retain(|addr| *allow_private_targets || guard::is_public(addr.ip()));
                if addresses.is_empty() {
                    return Err(ProbeError::forbidden());
                }
            }
        }
        Ok(Target { host: host.to_string(), port, addresses })
    }

    /// Returns all addresses of `host`, at least one, without a check.
    fn resolve(&self, host: &Host, port: u16, deadline: Instant) -> Result<Vec<SocketAddr>, ProbeError> {
        Ok(match host {
            Host::Ipv4(ip) => vec![(*ip, port).into()],
            Host::Ipv6(ip) => vec![(*ip, port).into()],
            Host::Domain(name) => {
                self.resolver.resolve(name, deadline)?.iter().map(|ip| (*ip, port).into()).collect()
            }
        })
    }

    /// Connects to the target. A proxy gets the first approved address, or the name if there is none.
    pub(super) fn connect(&self, target: &Target, deadline: Instant) -> Result<TcpStream, ProbeError> {
        let proxy = self.config.outbound_proxy.as_ref();
        let of_proxy = proxy.map(|proxy| self.resolve(&proxy.host, proxy.port, deadline)).transpose()?;
        let deadline = deadline.min(Self::connect_deadline());
        let stream = dial(of_proxy.as_ref().unwrap_or(&target.addresses), deadline)?;
        let mut timed = Timed::new(&stream, deadline);
        let asked = match proxy {
            None => Ok(()),
            Some(OutboundProxy { kind: ProxyKind::Http, credentials, .. }) => {
                open_tunnel(&mut timed, target, credentials.as_ref())
            }
            Some(OutboundProxy { kind: ProxyKind::Socks5, credentials, .. }) => {
                socks::connect(&mut timed, target, credentials.as_ref())
            }
        };
        asked.map_err(|error| probe_error(error.into(), Reason::TimeoutConnect))?;
        Ok(stream)
    }

    /// Performs the handshake with the server of that name. Returns the state of the connection.
    pub(super) fn handshake(
        &self,
        host: &str,
        socket: &mut (impl Read + Write),
    ) -> Result<Box<ClientConnection>, ProbeError> {
        let mut connection = self.tls(host)?;
        let done = connection.complete_io(socket);
        done.map_err(|error| probe_error(error.into(), Reason::TimeoutConnect))?;
        Ok(connection)
    }

    /// Creates a connection that has sent nothing yet. It is not inlined, so that its variables are gone from the stack
    /// before the handshake, which needs much of it.
    #[inline(never)]
    fn tls(&self, host: &str) -> Result<Box<ClientConnection>, ProbeError> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .map_err(|_| Reason::Tls.because("the host is not a valid server name"))?;
        let connection = ClientConnection::new(Arc::clone(&self.tls), name);
        connection.map(Box::new).map_err(|error| Reason::Tls.because(error.to_string()))
    }
}
