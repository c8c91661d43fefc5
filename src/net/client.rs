//! [`HopClient`]: an HTTP client with one connection to one target.

use std::sync::Arc;
use std::time::Duration;

use ureq::http::{Request, Response};
use ureq::{Agent, AsSendBody, Body, Error, Proxy};

use super::allowance::Allowance;
use super::config::OutboundProxy;
use super::dial::{Approved, HopConnector, address_list};
use super::idle::Target;
use super::progress::Progress;
use super::tls::Tls;

/// The maximum size of an answer's head, in bytes.
pub(super) const MAX_HEAD_BYTES: usize = 32 * 1024;

/// The size of the buffer between the socket and TLS, for each direction. [`HopTransport`] has its own buffers.
///
/// [`HopTransport`]: super::transport::HopTransport
const SOCKET_BUFFER_BYTES: usize = 4 * 1024;

/// What all clients share.
pub(super) struct Dialing {
    pub(super) connect_timeout: Duration,
    pub(super) proxy: Option<Arc<OutboundProxy>>,
    pub(super) socks: Option<Proxy>,
    pub(super) tls: Tls,
}

/// A client with at most one connection, which leads to its target. After an answer has been read to its end, the
/// connection stays open if the server allows it.
///
/// The client is a ureq agent with a pool for one connection. The prober keeps idle clients itself, because ureq would
/// reuse a connection for every request to the same host, whatever addresses the guard has approved for it.
pub(super) struct HopClient {
    agent: Agent,
    pub(super) target: Target,
    pub(super) progress: Progress,
}

impl HopClient {
    pub(super) fn new(dialing: &Dialing, target: Target, allowance: Allowance) -> Self {
        let config = Agent::config_builder()
            // Otherwise ureq would use a proxy from the environment, which would bypass the guard.
            .proxy(dialing.socks.clone())
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .max_idle_connections(1)
            .max_response_header_size(MAX_HEAD_BYTES)
            .input_buffer_size(SOCKET_BUFFER_BYTES)
            .output_buffer_size(SOCKET_BUFFER_BYTES)
            .timeout_connect(Some(dialing.connect_timeout))
            .build();
        let approved = Approved {
            target: address_list(target.addresses.iter().copied()),
            proxy: address_list(target.proxy.iter().copied()),
        };
        let progress = Progress::new(allowance);
        let connector = HopConnector {
            proxy: dialing.proxy.clone(),
            approved: approved.clone(),
            tls: dialing.tls.clone(),
            progress: progress.clone(),
        };
        Self { agent: Agent::with_parts(config, connector, approved), target, progress }
    }

    /// Sends a request and reads the head of its answer, within `remaining`.
    pub(super) fn run(
        &self,
        request: Request<impl AsSendBody>,
        remaining: Duration,
    ) -> Result<Response<Body>, Error> {
        let request = self.agent.configure_request(request).timeout_global(Some(remaining)).build();
        self.agent.run(request)
    }
}
