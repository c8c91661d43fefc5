//! TLS to PostgreSQL, as `sslmode` asks for it.

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::{env, fs, io};

use ::ring::digest::{SHA256, SHA384, SHA512, digest};
use postgres::Socket;
use postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_rustls::client;

use crate::base::certificates::read_certificates;
use crate::store::error::OpenError;
use crate::store::url::{PostgresTarget, Verify};

/// Where systems keep their certificate authorities: Debian and Alpine, Fedora, SUSE, BSD and macOS.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Returns the TLS connector for the driver, which does not use it where `sslmode` is `disable`.
pub(super) fn connector(target: &PostgresTarget) -> Result<TlsConnector, OpenError> {
    let chain = match target.verify {
        Verify::Nothing => None,
        Verify::Authority | Verify::Full => {
            let chain = WebPkiServerVerifier::builder(Arc::new(roots(target.roots.as_deref())?)).build();
            Some(chain.map_err(|error| OpenError::Tls(error.to_string()))?)
        }
    };
    let checks_name = target.verify == Verify::Full;
    let algorithms = ring::default_provider().signature_verification_algorithms;
    let config = ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Verifier { chain, checks_name, algorithms }))
        .with_no_client_auth();
    Ok(TlsConnector { config: Arc::new(config), name: String::new() })
}

/// Reads the authorities of a file, or those of the machine.
fn roots(file: Option<&Path>) -> Result<RootCertStore, OpenError> {
    let mut store = RootCertStore::empty();
    if let Some(file) = file {
        let unusable = |why| OpenError::Tls(format!("sslrootcert \"{}\": {why}", file.display()));
        store.add_parsable_certificates(read_certificates(file).map_err(unusable)?.iter().cloned());
        return Ok(store);
    }
    // Certificates that cannot be read are skipped: most machines have a few outdated ones.
    let file = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
    let file = file.or_else(|| SYSTEM_ROOTS.iter().map(PathBuf::from).find(|file| file.exists()));
    let pem = file.and_then(|file| fs::read(file).ok()).unwrap_or_default();
    store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    if store.is_empty() {
        let message = "this machine has no certificate authorities; install them (ca-certificates) or name a PEM \
                       file by sslrootcert";
        return Err(OpenError::Tls(message.to_owned()));
    }
    Ok(store)
}

/// A verifier that checks the authority and the name for `verify-full`, the authority but not the name for `verify-ca`,
/// and nothing for `prefer` and `require`. The handshake's signatures are always checked.
#[derive(Debug)]
struct Verifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    checks_name: bool,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(chain) = &self.chain else { return Ok(ServerCertVerified::assertion()) };
        // The name is checked last: an error about it means that everything else was right.
        match chain.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) if !self.checks_name => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// Makes TLS connections, each to the server of that name.
#[derive(Clone)]
pub(super) struct TlsConnector {
    config: Arc<ClientConfig>,
    name: String,
}

pub(super) struct Stream(client::TlsStream<Socket>);

impl MakeTlsConnect<Socket> for TlsConnector {
    type Stream = Stream;
    type TlsConnect = Self;
    type Error = Infallible;

    fn make_tls_connect(&mut self, name: &str) -> Result<Self, Infallible> {
        Ok(Self { config: Arc::clone(&self.config), name: name.to_owned() })
    }
}

impl TlsConnect<Socket> for TlsConnector {
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
    /// The families of algorithms. The last number of an identifier is that of the algorithm.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    // The algorithm of the signature is the first identifier in a certificate.
    let named = [RSA, ECDSA].into_iter().filter_map(|family| {
        let at = certificate.windows(family.len()).position(|part| part == family)?;
        Some((at, family, *certificate.get(at + family.len())?))
    });
    let (_, family, last) = named.min()?;
    let algorithm = match (family, last) {
        (RSA, 5 | 11) | (ECDSA, 2) => &SHA256,
        (RSA, 12) | (ECDSA, 3) => &SHA384,
        (RSA, 13) | (ECDSA, 4) => &SHA512,
        _ => return None,
    };
    Some(digest(algorithm, certificate).as_ref().to_vec())
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
