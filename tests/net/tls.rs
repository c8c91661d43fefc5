//! TLS, with a test authority and site certificates for `localhost` and for 127.0.0.1.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sightline::base::certificates::read_certificates;
use sightline::modules::probe::{ProbeError, Request};
use sightline::modules::reason::Reason;
use sightline::net::HttpProber;

use super::{get, lab, prober, send, within};
use crate::support::server::PATIENCE;
use crate::support::site::{Site, hold, ok, read_request, with_headers};

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/net/tls").join(name)
}

pub(crate) fn trusting() -> HttpProber {
    let authorities = read_certificates(fixture("ca.pem")).unwrap();
    prober(|config| config.authorities = Some(authorities))
}

/// Answers the first request of each connection with the same bytes, then closes it.
fn tls_site(answer: Vec<u8>) -> Site {
    tls_site_of("site.pem", answer)
}

/// Starts a site with that certificate, which answers as [`tls_site`].
pub(crate) fn tls_site_of(certificate: &str, answer: Vec<u8>) -> Site {
    tls_talking(certificate, move |tls| {
        if read_request(tls).is_some() {
            let _ = tls.write_all(&answer);
        }
    })
}

/// A connection of a site with TLS.
pub(crate) type TlsStream = StreamOwned<ServerConnection, TcpStream>;

/// Returns the configuration of a server with that certificate.
pub(crate) fn server_config(certificate: &str) -> Arc<ServerConfig> {
    let cert = CertificateDer::from_pem_file(fixture(certificate)).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("site.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key);
    Arc::new(config.unwrap())
}

/// Accepts TLS on a connection.
pub(crate) fn accepted(config: &Arc<ServerConfig>, stream: &TcpStream) -> TlsStream {
    let connection = ServerConnection::new(Arc::clone(config)).unwrap();
    StreamOwned::new(connection, stream.try_clone().unwrap())
}

/// Calls `talk` with every connection of a site with that certificate.
pub(crate) fn tls_talking(certificate: &str, talk: impl Fn(&mut TlsStream) + Send + Sync + 'static) -> Site {
    let config = server_config(certificate);
    Site::talking(move |stream| {
        let mut tls = accepted(&config, stream);
        talk(&mut tls);
        tls.conn.send_close_notify();
        let _ = tls.flush();
    })
}

#[test]
fn https_needs_a_valid_certificate() {
    let site = tls_site(ok("private"));
    let url = format!("https://localhost:{}/", site.addr.port());
    let prober = trusting();
    for _ in 0..3 {
        let answer = send(&prober, &get(&url)).unwrap();
        assert_eq!((answer.body.as_slice(), answer.final_url.as_str()), (&b"private"[..], url.as_str()));
    }
    // An authority that is not trusted; a name that is not in the certificate.
    let by_address = format!("https://127.0.0.1:{}/", site.addr.port());
    for (prober, url) in [(lab(), &url), (trusting(), &by_address)] {
        let error = send(&prober, &get(url)).unwrap_err();
        assert!(matches!(error, ProbeError { reason: Reason::Tls, .. }), "{url}: {error:?}");
    }
}

#[test]
fn an_upgrade_to_https_is_followed() {
    let secure = tls_site(ok("private"));
    let plain =
        Site::saying(crate::support::site::to(301, &format!("https://localhost:{}/", secure.addr.port())));
    let answer = send(&trusting(), &Request { max_redirects: 1, ..get(&plain.url("/")) }).unwrap();
    assert_eq!(answer.body, b"private");
}

#[test]
fn a_peer_without_tls_fails_the_handshake() {
    let plain = Site::talking(|stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        hold(stream);
    });
    let error = send(&lab(), &get(&format!("https://{}/", plain.addr))).unwrap_err();
    assert!(matches!(error, ProbeError { reason: Reason::Tls, .. }), "{error:?}");

    let closing = Site::talking(|stream| drop(stream.read(&mut [0; 4096])));
    let error = send(&lab(), &get(&format!("https://{}/", closing.addr))).unwrap_err();
    assert!(matches!(error, ProbeError { reason: Reason::Connect, .. }), "{error:?}");
}

#[test]
fn a_handshake_can_time_out() {
    let silent = Site::talking(hold);
    let url = format!("https://{}/", silent.addr);
    let started = Instant::now();
    let error = within(&lab(), &get(&url), 2 * PATIENCE).unwrap_err();
    assert_eq!(error, ProbeError::late(Reason::TimeoutConnect));
    assert!(started.elapsed() < PATIENCE, "the connection's own limit, not the deadline");

    let error = within(&lab(), &get(&url), Duration::from_secs(1)).unwrap_err();
    assert_eq!(error, ProbeError::late(Reason::TimeoutConnect));
}

#[test]
fn secure_cookies_are_not_sent_over_http() {
    let plain = Site::saying(ok("open"));
    let location = format!("http://localhost:{}/", plain.addr.port());
    let secure = tls_site(
        format!("HTTP/1.1 302 F\r\nSet-Cookie: sid=1\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n")
            .into(),
    );
    let url = format!("https://localhost:{}/", secure.addr.port());
    let answer = send(&trusting(), &Request { max_redirects: 1, ..get(&url) }).unwrap();
    assert_eq!((answer.body.as_slice(), answer.final_url.as_str()), (&b"open"[..], location.as_str()));
    assert_eq!(plain.received()[0].header("cookie"), None);
}

/// Check workers have small stacks. A whole request with TLS and a decoder fits into half of one.
#[test]
fn tls_works_on_a_small_stack() {
    let body = super::bodies::gzip(b"zipped");
    let site = tls_site(with_headers("Content-Encoding: gzip\r\n", &body));
    let url = format!("https://localhost:{}/", site.addr.port());
    let prober = trusting();
    let worker = std::thread::Builder::new().stack_size(128 * 1024);
    let answer = worker.spawn(move || send(&prober, &get(&url))).unwrap().join().unwrap();
    assert_eq!(answer.unwrap().body, b"zipped");
}
