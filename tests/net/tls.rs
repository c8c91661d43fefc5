//! TLS, with an authority and a site certificate (for `localhost`) made for these tests.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use sightline::modules::probe::{Phase, ProbeError, Request};
use sightline::net::{HttpProber, NetConfig};

use super::site::{Site, hold, ok, read_request, with_headers};
use super::{get, lab, send, within};

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/net/tls").join(name)
}

fn trusting() -> HttpProber {
    let config =
        NetConfig { allow_private_targets: true, ca_file: Some(fixture("ca.pem")), ..NetConfig::default() };
    HttpProber::new(config).unwrap()
}

fn tls_site(answer: Vec<u8>) -> Site {
    let cert = CertificateDer::from_pem_file(fixture("site.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("site.key.pem")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![cert], key)
        .unwrap();
    let config = Arc::new(config);
    Site::talking(move |stream| {
        let connection = ServerConnection::new(Arc::clone(&config)).unwrap();
        let mut tls = StreamOwned::new(connection, stream.try_clone().unwrap());
        if read_request(&mut tls).is_some() {
            let _ = tls.write_all(&answer);
            tls.conn.send_close_notify();
            let _ = tls.flush();
        }
    })
}

#[test]
fn https_is_spoken_with_sites_that_prove_their_name() {
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
        assert!(matches!(error, ProbeError::Tls(_)), "{url}: {error:?}");
    }
}

#[test]
fn an_upgrade_is_followed() {
    let secure = tls_site(ok("private"));
    let plain = Site::saying(super::site::to(301, &format!("https://localhost:{}/", secure.addr.port())));
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
    assert!(matches!(error, ProbeError::Tls(_)), "{error:?}");

    let closing = Site::talking(|stream| drop(stream.read(&mut [0; 4096])));
    let error = send(&lab(), &get(&format!("https://{}/", closing.addr))).unwrap_err();
    assert!(matches!(error, ProbeError::Connect(_)), "{error:?}");
}

#[test]
fn a_handshake_has_its_time() {
    let silent = Site::talking(hold);
    let config = NetConfig {
        allow_private_targets: true,
        connect_timeout: Duration::from_millis(500),
        ..NetConfig::default()
    };
    let prober = HttpProber::new(config).unwrap();
    let url = format!("https://{}/", silent.addr);
    let started = Instant::now();
    let error = within(&prober, &get(&url), Duration::from_secs(120)).unwrap_err();
    assert_eq!(error, ProbeError::Timeout(Phase::Connect));
    assert!(started.elapsed() < Duration::from_secs(60), "the connection's own limit, not the deadline");

    let error = within(&lab(), &get(&url), Duration::from_secs(1)).unwrap_err();
    assert_eq!(error, ProbeError::Timeout(Phase::Connect));
}

#[test]
fn cookies_are_not_taken_down_to_plain_http() {
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

/// Check workers have small stacks: the whole way, TLS and both decoders included, fits in half of one.
#[test]
fn a_small_stack_is_enough() {
    for (encoding, body) in [("br", super::bodies::brotli()), ("gzip", super::bodies::gzip(b"zipped"))] {
        let site = tls_site(with_headers(&format!("Content-Encoding: {encoding}\r\n"), &body));
        let url = format!("https://localhost:{}/", site.addr.port());
        let prober = trusting();
        let worker = std::thread::Builder::new().stack_size(128 * 1024);
        let answer = worker.spawn(move || send(&prober, &get(&url))).unwrap().join().unwrap();
        assert!(!answer.unwrap().body.is_empty(), "{encoding}");
    }
}
