//! The connector for ureq: TCP to the approved addresses or through the outbound proxy, then TLS. Each client has its own
//! connector, which holds the addresses of its target.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ArrayVec, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::time::Duration as UreqDuration;
use ureq::unversioned::transport::{
    ConnectionDetails, Connector, NextTimeout, SocksConnector, TcpConnector, Transport, TransportAdapter,
};
use ureq::{Error, Proxy, ProxyProtocol};

use super::config::{OutboundProxy, ProxyKind};
use super::progress::Progress;
use super::tls::Tls;
use super::transport::{HopTransport, Socket, Stream};

/// The maximum size of a proxy's answer to CONNECT, in bytes.
const MAX_PROXY_HEAD: usize = 8 * 1024;

/// The approved addresses of a hop, and the addresses of the outbound proxy.
#[derive(Debug, Clone)]
pub(super) struct Approved {
    pub(super) target: ResolvedSocketAddrs,
    pub(super) proxy: ResolvedSocketAddrs,
}

/// Converts the addresses to ureq's list type.
pub(super) fn address_list(addrs: impl IntoIterator<Item = SocketAddr>) -> ResolvedSocketAddrs {
    let mut list = ArrayVec::from_fn(|_| SocketAddr::from(([0, 0, 0, 0], 0)));
    for addr in addrs {
        if list.try_push(addr).is_err() {
            break;
        }
    }
    list
}

impl Resolver for Approved {
    fn resolve(&self, uri: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        // No request has the scheme `SOCKS5:`: only the SOCKS connector uses it, for the proxy itself.
        let is_for_proxy = uri.scheme_str().is_some_and(|scheme| scheme.eq_ignore_ascii_case("socks5"));
        let list = if is_for_proxy { &self.proxy } else { &self.target };
        if list.is_empty() { Err(Error::HostNotFound) } else { Ok(list.clone()) }
    }
}

/// The connector of one client.
#[derive(Debug)]
pub(super) struct HopConnector {
    pub(super) proxy: Option<Arc<OutboundProxy>>,
    pub(super) approved: Approved,
    pub(super) tls: Tls,
    pub(super) progress: Progress,
}

impl Connector<()> for HopConnector {
    type Out = HopTransport;

    fn connect(&self, details: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<Self::Out>, Error> {
        let started = Instant::now();
        self.progress.connecting();
        let plain = match self.proxy.as_deref() {
            None => boxed(TcpConnector::default().connect(details, None::<()>)?)?,
            Some(proxy) if proxy.kind == ProxyKind::Http => self.tunnel(proxy, details, started)?,
            Some(_) => boxed(SocksConnector::default().connect(details, None::<()>)?)?,
        };
        let mut adapter = TransportAdapter::new(plain, Arc::clone(&details.current_time));
        adapter.set_timeout(remaining(details, started));
        let socket = Socket { adapter, progress: self.progress.clone() };
        let stream = match details.needs_tls() {
            true => self.tls.handshake(details.uri.host().unwrap_or_default(), socket)?,
            false => Stream::Plain(socket),
        };
        Ok(Some(HopTransport::new(stream, self.progress.clone())))
    }
}

/// Returns the part of the timeout for connecting that is left, if connecting began at `started`.
fn remaining(details: &ConnectionDetails<'_>, started: Instant) -> NextTimeout {
    let mut timeout = details.timeout;
    timeout.after = UreqDuration::from(timeout.after.saturating_sub(started.elapsed()));
    timeout
}

fn boxed(transport: Option<impl Transport>) -> Result<Box<dyn Transport>, Error> {
    transport.map(|transport| Box::new(transport) as Box<dyn Transport>).ok_or(Error::ConnectionFailed)
}

impl HopConnector {
    /// Opens a tunnel through an HTTP proxy to the first approved address. ureq's own connector is not used, because
    /// it sends the port twice for an address that is already resolved, and restarts its timeout with every byte of
    /// the answer.
    fn tunnel(
        &self,
        proxy: &OutboundProxy,
        details: &ConnectionDetails<'_>,
        started: Instant,
    ) -> Result<Box<dyn Transport>, Error> {
        let to_proxy = ConnectionDetails {
            uri: details.uri,
            addrs: self.approved.proxy.clone(),
            config: details.config,
            request_level: false,
            resolver: details.resolver,
            now: details.now,
            timeout: details.timeout,
            current_time: Arc::clone(&details.current_time),
            run_connector: Arc::clone(&details.run_connector),
            register_shutdown: Arc::clone(&details.register_shutdown),
        };
        let tcp = boxed(TcpConnector::default().connect(&to_proxy, None::<()>)?)?;
        let mut stream = TransportAdapter::new(tcp, Arc::clone(&details.current_time));
        stream.set_timeout(remaining(details, started));
        let target = self.approved.target.first().ok_or(Error::HostNotFound)?;
        stream.write_all(connect_head(proxy, target).as_bytes())?;
        let status = read_connect_status(&mut stream)?;
        if !(200..300).contains(&status) {
            return Err(Error::ConnectProxyFailed(format!("the outbound proxy answered {status}")));
        }
        Ok(stream.into_inner())
    }
}

/// Returns the request that opens a tunnel to `target` through an HTTP proxy.
pub(super) fn connect_head(proxy: &OutboundProxy, target: &SocketAddr) -> String {
    let authorization = match &proxy.credentials {
        Some(credentials) => {
            let (user, password) = credentials.expose();
            format!("Proxy-Authorization: Basic {}\r\n", BASE64_STANDARD.encode(format!("{user}:{password}")))
        }
        None => String::new(),
    };
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n{authorization}\r\n")
}

/// Reads the head of a proxy's answer and returns its status. Reads byte by byte, so that no byte after the head is
/// lost.
pub(super) fn read_connect_status(stream: &mut impl Read) -> Result<u16, Error> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if head.len() == MAX_PROXY_HEAD {
            return Err(Error::ConnectProxyFailed("the outbound proxy's answer is too long".into()));
        }
        match stream.read(&mut byte) {
            Ok(0) => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
            Ok(_) => head.push(byte[0]),
            Err(e) => return Err(e.into()),
        }
    }
    let line = head.split(|&b| b == b'\r').next().unwrap_or_default();
    std::str::from_utf8(line)
        .ok()
        .filter(|line| line.starts_with("HTTP/1."))
        .and_then(|line| line.split(' ').nth(1))
        .and_then(|status| status.parse().ok())
        .ok_or_else(|| Error::ConnectProxyFailed("the outbound proxy's answer is not HTTP".into()))
}

/// Returns a SOCKS5 proxy as ureq's connector needs it.
pub(super) fn socks_setting(proxy: &OutboundProxy) -> Result<Proxy, Error> {
    let mut builder = Proxy::builder(ProxyProtocol::Socks5)
        .host(&proxy.host.to_string())
        .port(proxy.port)
        // The proxy gets the approved address, never a name.
        .resolve_target(true);
    if let Some(credentials) = &proxy.credentials {
        let (user, password) = credentials.expose();
        builder = builder.username(user).password(password);
    }
    builder.build()
}
