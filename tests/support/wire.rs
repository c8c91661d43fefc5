//! A connection to the server, in plain text or with TLS.

use std::io::{BufRead, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

/// Reads and writes bytes.
pub(crate) trait Wire: Read + Write + Send {}

impl<T: Read + Write + Send> Wire for T {}

/// The transport of a client.
#[derive(Clone)]
pub(crate) enum Transport {
    Plain,
    Tls(Arc<ClientConfig>),
}

impl Transport {
    /// TLS that trusts only the certificates in this file.
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

    /// Wraps a connection to `localhost`.
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

/// Reads the status and headers of an answer.
pub(crate) fn read_head(reader: &mut impl BufRead) -> (u16, Vec<(String, String)>) {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let status = line
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok())
        .unwrap_or_else(|| panic!("no status in {line:?}"));
    let mut headers = Vec::new();
    loop {
        line.clear();
        reader.read_line(&mut line).unwrap();
        let Some((name, value)) = line.trim_end().split_once(':') else { return (status, headers) };
        headers.push((name.to_owned(), value.trim().to_owned()));
    }
}

/// Reads one piece of a chunked body. Returns `None` at its end.
pub(crate) fn read_chunk(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let length =
        usize::from_str_radix(line.trim(), 16).unwrap_or_else(|_| panic!("no chunk length in {line:?}"));
    let mut chunk = vec![0; length + 2];
    reader.read_exact(&mut chunk).unwrap();
    assert!(chunk.ends_with(b"\r\n"));
    chunk.truncate(length);
    (length > 0).then_some(chunk)
}

/// Reads a chunked body to its end.
pub(crate) fn read_chunked(reader: &mut impl BufRead) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(chunk) = read_chunk(reader) {
        body.extend(chunk);
    }
    body
}
