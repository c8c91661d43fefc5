//! TLS for outgoing connections, on rustls. All connections share one configuration: the certificate authorities and
//! the cache of sessions.

use std::io::{Read, Write};
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use super::failure::probe_error;
use crate::modules::probe::ProbeError;
use crate::modules::reason::Reason;

/// The number of servers whose sessions are kept, so that a later connection resumes them. It exceeds the number of
/// hosts in the catalogue.
const SESSION_SERVERS: usize = 1024;

/// The number by which rustls divides the size of its session cache to get the number of servers.
const TICKETS_PER_SERVER: usize = 8;

/// A connection over the socket `S`, or why there is none.
type Connected<S> = Result<Box<StreamOwned<ClientConnection, S>>, ProbeError>;

/// Adds TLS to connections.
#[derive(Clone)]
pub(super) struct Tls(Arc<ClientConfig>);

impl Tls {
    /// Creates the shared configuration. `extra` are certificate authorities that are trusted besides Mozilla's.
    pub(super) fn new(extra: &[CertificateDer<'static>]) -> Self {
        let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        roots.add_parsable_certificates(extra.iter().cloned());
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = Resumption::in_memory_sessions(SESSION_SERVERS * TICKETS_PER_SERVER);
        Self(Arc::new(config))
    }

    /// Performs the handshake with the server of that name.
    pub(super) fn handshake<S: Read + Write>(&self, host: &str, socket: S) -> Connected<S> {
        let mut stream = self.stream(host, socket)?;
        let done = stream.conn.complete_io(&mut stream.sock);
        done.map_err(|error| probe_error(error.into(), Reason::TimeoutConnect))?;
        Ok(stream)
    }

    /// Creates a connection that has sent nothing yet. It is not inlined, so that its variables are gone from the stack
    /// before the handshake, which needs much of it.
    #[inline(never)]
    fn stream<S: Read + Write>(&self, host: &str, socket: S) -> Connected<S> {
        let name = ServerName::try_from(host.trim_matches(['[', ']']).to_owned())
            .map_err(|_| Reason::Tls.because("the host is not a valid server name"))?;
        let conn = ClientConnection::new(Arc::clone(&self.0), name)
            .map_err(|error| Reason::Tls.because(error.to_string()))?;
        Ok(Box::new(StreamOwned::new(conn, socket)))
    }
}
