//! Reads certificate authorities.

use std::path::Path;
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Certificates that are trusted as authorities.
pub type Authorities = Arc<[CertificateDer<'static>]>;

/// Reads the certificates of a PEM file, at least one. Each of them can be a certificate authority.
///
/// # Errors
/// Returns the cause and what was expected.
pub fn read_certificates(path: impl AsRef<Path>) -> Result<Authorities, String> {
    const ALLOWED: &str = "expected a PEM file with one or more certificates";
    let pem = std::fs::read(path).map_err(|error| format!("cannot read the file ({error}); {ALLOWED}"))?;
    let certificates = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| format!("not a valid PEM file ({error}); {ALLOWED}"))?;
    if certificates.is_empty() {
        return Err(format!("the file contains no certificate; {ALLOWED}"));
    }
    let mut store = RootCertStore::empty();
    for (index, certificate) in certificates.iter().enumerate() {
        store.add(certificate.clone()).map_err(|error| {
            format!("certificate {} of the file is invalid ({error}); {ALLOWED}", index + 1)
        })?;
    }
    Ok(certificates.into())
}
