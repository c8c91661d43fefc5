//! The HTTP prober over real sockets: every peer is a thread of the test on loopback.

pub(crate) mod bodies;
pub(crate) mod guard;
mod heads;
mod hops;
mod local;
pub(crate) mod proxy;
mod reuse;
pub(crate) mod tls;
mod whois;

use std::time::{Duration, Instant};

use sightline::modules::definition::{Method, Via};
use sightline::modules::probe::{CookieJar, ProbeError, Prober, Request, Response, Trace};
use sightline::modules::reason::Reason;
use sightline::net::{HttpProber, NetConfig};

use crate::support::server::PATIENCE;

/// Returns a prober that may connect to loopback addresses.
fn lab() -> HttpProber {
    prober(|_| {})
}

/// Returns the same with further changes of its configuration.
fn prober(change: impl FnOnce(&mut NetConfig)) -> HttpProber {
    let mut config = NetConfig { allow_private_targets: true, ..NetConfig::default() };
    change(&mut config);
    HttpProber::new(config)
}

/// Returns a prober that uses this proxy, and may connect to loopback addresses or not.
fn through(proxy: &str, allow_private_targets: bool) -> HttpProber {
    let outbound_proxy = Some(proxy.parse().unwrap());
    prober(|config| *config = NetConfig { allow_private_targets, outbound_proxy, ..NetConfig::default() })
}

fn get(url: &str) -> Request {
    Request {
        method: Method::Get,
        via: Via::Http,
        url: url.parse().unwrap(),
        headers: Vec::new(),
        body: None,
        max_redirects: 0,
        body_limit: 1024 * 1024,
        marks: Vec::new(),
        trace: Trace { module: "site".into(), probe: 1, query: "some one/é".into(), control: false },
    }
}

fn send(prober: &HttpProber, request: &Request) -> Result<Response, ProbeError> {
    within(prober, request, PATIENCE)
}

/// Sends a request with that deadline, and asserts that the result comes soon after it.
fn within(prober: &HttpProber, request: &Request, limit: Duration) -> Result<Response, ProbeError> {
    let started = Instant::now();
    let result = prober.send(request, &mut CookieJar::default(), started + limit);
    assert!(
        started.elapsed() < limit + PATIENCE,
        "{:?} for a deadline of {limit:?}: {result:?}",
        started.elapsed()
    );
    result
}

#[test]
fn a_browser_request_needs_a_browser() {
    let request = Request { via: Via::Browser, ..get("http://127.0.0.1/") };
    assert!(matches!(send(&lab(), &request), Err(ProbeError { reason: Reason::Unavailable, .. })));
}
