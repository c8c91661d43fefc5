//! A connection to the server, in plain or under TLS.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Bytes to and fro.
pub(crate) trait Wire: Read + Write + Send {}

impl<T: Read + Write + Send> Wire for T {}

/// What a client speaks.
#[derive(Clone)]
pub(crate) enum Dress {
    Plain,
    Tls(Arc<ClientConfig>),
}

impl Dress {
    /// TLS that believes the certificates in this file, and no others.
    pub(crate) fn tls_with(certificates: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(certificates).unwrap() {
            roots.add(certificate.unwrap()).unwrap();
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        Self::Tls(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
    }

    /// Puts it on a connection to `localhost`.
    pub(crate) fn on(&self, socket: TcpStream) -> Box<dyn Wire> {
        match self {
            Self::Plain => Box::new(socket),
            Self::Tls(config) => {
                let name = ServerName::try_from("localhost").unwrap();
                let session = ClientConnection::new(Arc::clone(config), name).unwrap();
                Box::new(StreamOwned::new(session, socket))
            }
        }
    }
}
