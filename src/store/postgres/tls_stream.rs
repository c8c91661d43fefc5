//! [`TlsConnector`]: connects the driver by TLS.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use sha2::{Digest, Sha256, Sha384, Sha512};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client;

/// Makes TLS connections to any server.
#[derive(Clone)]
pub(super) struct TlsConnector(pub(super) Arc<ClientConfig>);

/// Makes a TLS connection to the named server.
pub(super) struct ToServer {
    config: Arc<ClientConfig>,
    name: String,
}

pub(super) struct Stream(client::TlsStream<Socket>);

impl MakeTlsConnect<Socket> for TlsConnector {
    type Stream = Stream;
    type TlsConnect = ToServer;
    type Error = Infallible;

    fn make_tls_connect(&mut self, name: &str) -> Result<ToServer, Infallible> {
        Ok(ToServer { config: Arc::clone(&self.0), name: name.to_owned() })
    }
}

impl TlsConnect<Socket> for ToServer {
    type Stream = Stream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move {
            let name = ServerName::try_from(self.name)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
            tokio_rustls::TlsConnector::from(self.config).connect(name, socket).await.map(Stream)
        })
    }
}

impl TlsStream for Stream {
    fn channel_binding(&self) -> ChannelBinding {
        let certificates = self.0.get_ref().1.peer_certificates();
        let hash = certificates.and_then(|all| certificate_hash(all.first()?));
        hash.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// Returns the hash of a certificate that `tls-server-end-point` asks for: by the algorithm of its signature, and by
/// SHA-256 for a weaker one (RFC 5929, section 4.1).
fn certificate_hash(certificate: &[u8]) -> Option<Vec<u8>> {
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    // Certificate ::= SEQUENCE { tbsCertificate, signatureAlgorithm SEQUENCE { OBJECT IDENTIFIER, … }, … }
    let (fields, _) = der_element(certificate)?;
    let (_, fields) = der_element(fields)?;
    let (algorithm, _) = der_element(der_element(fields)?.0)?;
    let (last, family) = algorithm.split_last()?;
    match (family, last) {
        (RSA, 5 | 11) | (ECDSA, 2) => Some(Sha256::digest(certificate).to_vec()),
        (RSA, 12) | (ECDSA, 3) => Some(Sha384::digest(certificate).to_vec()),
        (RSA, 13) => Some(Sha512::digest(certificate).to_vec()),
        _ => None,
    }
}

/// Returns the content of the first DER element, and the bytes after it.
fn der_element(der: &[u8]) -> Option<(&[u8], &[u8])> {
    let (&first, rest) = der.get(1..)?.split_first()?;
    let bytes = if first < 0x80 { 0 } else { usize::from(first & 0x7f) };
    let (long, rest) = rest.split_at_checked(bytes)?;
    let long = long
        .iter()
        .try_fold(0usize, |length, byte| length.checked_mul(256)?.checked_add(usize::from(*byte)))?;
    rest.split_at_checked(if bytes == 0 { usize::from(first) } else { long })
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, to)
    }
}

impl AsyncWrite for Stream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, from: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, from)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
