//! [`HopClient`]: an HTTP client with one connection to one target.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use ureq::config::Config;
use ureq::http::{Request, Response, Uri};
use ureq::unversioned::resolver::{ArrayVec, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{ConnectionDetails, Connector, NextTimeout};
use ureq::{Agent, AsSendBody, Body, Error};

use super::config::OutboundProxy;
use super::dial;
use super::failure::connect_error;
use super::idle::Target;
use super::progress::{Allowance, Progress};
use super::tls::Tls;
use super::transport::{HopTransport, MAX_HEAD_BYTES, Socket, Stream};
use crate::modules::probe::ProbeError;

/// What all clients share.
pub(super) struct Dialing {
    pub(super) connect_timeout: Duration,
    pub(super) proxy: Option<OutboundProxy>,
    pub(super) tls: Tls,
    pub(super) http: Config,
}

/// Returns the configuration of ureq.
pub(super) fn http_config() -> Config {
    Agent::config_builder()
        // Otherwise ureq would use a proxy from the environment.
        .proxy(None)
        .http_status_as_error(false)
        .max_redirects(0)
        .max_redirects_will_error(false)
        .max_idle_connections(1)
        .max_response_header_size(MAX_HEAD_BYTES)
        .build()
}

/// A client with one connection, which leads to its target. After an answer has been read to its end, the connection
/// stays open if the server allows it.
///
/// The client is a ureq agent with a pool for one connection. The prober keeps idle clients itself, because ureq would
/// reuse a connection for every request to the same host, whatever addresses the guard has approved for it.
pub(super) struct HopClient {
    agent: Agent,
    pub(super) target: Target,
    progress: Progress,
}

impl HopClient {
    /// Connects to the target.
    pub(super) fn connect(
        dialing: &Dialing,
        target: &Target,
        allowance: &Allowance,
        deadline: Instant,
    ) -> Result<Self, ProbeError> {
        let limit = deadline.min(Instant::now() + dialing.connect_timeout);
        let proxy = dialing.proxy.as_ref();
        let stream = dial::connect(target, proxy, limit)?;
        let progress = Progress::new(allowance.clone(), limit);
        let socket = Socket { stream, progress: progress.clone() };
        let stream = match target.is_tls {
            true => dialing.tls.handshake(&target.host, socket),
            false => Ok(Stream::Plain(socket)),
        };
        let dialled = if proxy.is_some() { &target.proxy } else { &target.addresses };
        let stream = stream.map_err(|error| connect_error(error, dialled))?;
        let connection = Established(Mutex::new(Some(HopTransport::new(stream, progress.clone()))));
        let agent = Agent::with_parts(dialing.http.clone(), connection, NoResolver);
        Ok(Self { agent, target: target.clone(), progress })
    }

    /// Sends a request and reads the head of its answer. The deadline holds for its body, too.
    #[inline(never)]
    pub(super) fn run(
        &self,
        request: Request<impl AsSendBody>,
        allowance: &Allowance,
        deadline: Instant,
    ) -> Result<Response<Body>, Error> {
        self.progress.begin(allowance.clone(), deadline);
        self.agent.run(request)
    }

    /// Returns whether a request over an idle connection got nothing back. The server may have closed the connection
    /// before it could see the request.
    pub(super) fn went_unanswered<T>(&self, result: &Result<T, Error>) -> bool {
        matches!(result, Err(Error::Io(_))) && !self.progress.has_answer()
    }

    /// Brings the deadline of the current request forward.
    pub(super) fn end_before(&self, limit: Instant) {
        self.progress.end_before(limit);
    }

    /// Returns whether the connection can be used for another request.
    pub(super) fn is_open(&self) -> bool {
        self.progress.is_open()
    }
}

/// Gives ureq the connection that is already established, and none after it was closed.
#[derive(Debug)]
struct Established(Mutex<Option<HopTransport>>);

impl Connector<()> for Established {
    type Out = HopTransport;

    fn connect(&self, _: &ConnectionDetails<'_>, _: Option<()>) -> Result<Option<HopTransport>, Error> {
        let connection = self.0.lock().take();
        connection.map(Some).ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected).into())
    }
}

/// ureq asks for the addresses of each request, and [`Established`] needs none.
#[derive(Debug)]
struct NoResolver;

impl Resolver for NoResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        Ok(ArrayVec::from_fn(|_| SocketAddr::from(([0, 0, 0, 0], 0))))
    }
}
