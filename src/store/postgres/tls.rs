//! TLS to PostgreSQL, as `sslmode` asks for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::{env, fs};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

use super::target::{PostgresTarget, Verify};
use super::tls_stream::TlsConnector;
use crate::base::certificates::read_certificates;
use crate::store::error::OpenError;

/// Where systems keep their certificate authorities: Debian and Alpine, Fedora, SUSE, BSD and macOS.
const SYSTEM_ROOTS: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Returns the TLS connector for the driver, which does not use it where `sslmode` is `disable`.
pub(super) fn connector(target: &PostgresTarget) -> Result<TlsConnector, OpenError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| OpenError::Tls(error.to_string()))?;
    let config = match target.verify() {
        Verify::Full => builder.with_root_certificates(roots(target)?).with_no_client_auth(),
        Verify::Authority => {
            let chain =
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots(target)?), Arc::clone(&provider))
                    .build()
                    .map_err(|error| OpenError::Tls(error.to_string()))?;
            let verifier = LenientVerifier { chain: Some(chain), provider };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
        Verify::Nothing => {
            let verifier = LenientVerifier { chain: None, provider };
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier)).with_no_client_auth()
        }
    };
    Ok(TlsConnector(Arc::new(config)))
}

fn roots(target: &PostgresTarget) -> Result<RootCertStore, OpenError> {
    let mut store = RootCertStore::empty();
    let Some(path) = target.roots() else {
        // Certificates that cannot be read are skipped: most machines have a few outdated ones.
        let file = env::var_os("SSL_CERT_FILE").map(PathBuf::from);
        let file = file.or_else(|| SYSTEM_ROOTS.iter().map(PathBuf::from).find(|file| file.exists()));
        let pem = file.and_then(|file| fs::read(file).ok()).unwrap_or_default();
        store.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
        if store.is_empty() {
            return Err(OpenError::Tls(
                "this machine has no certificate authorities; install them (ca-certificates) or name a PEM \
                 file by sslrootcert"
                    .into(),
            ));
        }
        return Ok(store);
    };
    let unusable =
        |why: &dyn std::fmt::Display| OpenError::Tls(format!("sslrootcert \"{}\": {why}", path.display()));
    for certificate in read_certificates(path).map_err(|error| unusable(&error))? {
        store.add(certificate).map_err(|error| unusable(&error))?;
    }
    Ok(store)
}

/// A verifier that checks less than a browser would: the authority but not the name for `verify-ca`, nothing for
/// `prefer` and `require`. The handshake's signatures are always checked.
#[derive(Debug)]
struct LenientVerifier {
    chain: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for LenientVerifier {
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
            )) => Ok(ServerCertVerified::assertion()),
            verdict => verdict,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, cert, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, cert, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
