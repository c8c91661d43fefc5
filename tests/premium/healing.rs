//! A browser, a page's process or a driver that dies costs one check at the most.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use sightline::modules::probe::{Browsers, ProbeError, Request};
use sightline::net::browser::Webdriver;
use sightline::net::{BrowserConfig, RealBrowsers};

use super::lab::{self, Lab, at, css, is_browser, is_driver, is_renderer, page};
use crate::net::site::{Site, closed_port, hold, with_headers};
use crate::support::{awaited, eventually};

/// `/never` has no mark; anything else is there at once.
fn site() -> Site {
    Site::start(|stream, request| {
        if request.path() == "/never" {
            let _ = stream.write_all(&with_headers("Content-Type: text/html\r\n", b"<body>"));
            return;
        }
        if request.path() == "/silent" {
            return hold(stream);
        }
        let _ = stream.write_all(&with_headers("Content-Type: text/html\r\n", b"<b id=x>there</b>"));
    })
}

/// Kills what `sign` says while a page is looked at, and gives what becomes of that check.
fn struck_while_looking(lab: &Lab, waiting: &Request, site: &Site, sign: fn(&str) -> bool) -> ProbeError {
    let asked = site.received().len();
    std::thread::scope(|scope| {
        let looking = scope.spawn(|| lab.see(waiting));
        eventually("the page is asked for", || site.received().len() > asked);
        assert!(lab.kill(sign) > 0, "{:?}", lab.processes());
        looking.join().unwrap().map(|seen| seen.status).unwrap_err()
    })
}

#[test]
fn what_dies_is_replaced() {
    // An endpoint that is down leaves the work to the other.
    let down = at(&format!("http://127.0.0.1:{}", closed_port()));
    let endpoints = vec![down, Webdriver::Auto];
    let lab = Lab::of(&BrowserConfig { endpoints, ..lab::config(lab::lab_net(), 1) });
    let site = site();
    let (there, waiting) = (page(&site.url("/"), &[css("#x")]), page(&site.url("/never"), &[css("#x")]));
    lab.see(&there).unwrap();

    // While nobody looks: the next check does not notice.
    assert_eq!(lab.kill(is_browser), 1);
    lab.see(&there).unwrap();

    for sign in [is_renderer as fn(&str) -> bool, is_browser] {
        let error = struck_while_looking(&lab, &waiting, &site, sign);
        assert!(matches!(error, ProbeError::Browser(_)), "{error:?}");
        lab.see_at_last(&there);
    }
    // The driver: its browsers go with it, and a new one is started.
    lab.with_another_driver(|| {
        let error = struck_while_looking(&lab, &waiting, &site, is_driver);
        assert!(matches!(error, ProbeError::Browser(_)), "{error:?}");
        lab.see_at_last(&there);
    });
    eventually("a browser answers again", || lab.browsers.is_available());
    assert_eq!(lab.browsers.load().open, 1);

    // All of it ends with its owner.
    let before = lab.processes();
    assert!(before.values().any(|command| is_browser(command)), "{before:?}");
    lab.browsers.stop();
    assert!(!lab.browsers.is_available());
    assert!(matches!(lab.see(&there), Err(ProbeError::Browser(_))));
    eventually("all processes are gone", || {
        before.keys().all(|id| std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default().is_empty())
    });
}

fn only(endpoints: Vec<Webdriver>) -> RealBrowsers {
    RealBrowsers::start(&BrowserConfig { endpoints, ..lab::config(lab::lab_net(), 1) }).unwrap()
}

#[test]
fn without_a_browser_none_is_available_and_checks_say_so() {
    let site = site();
    let request = page(&site.url("/"), &[css("#x")]);
    // Nobody there; somebody else; one that never answers.
    let other = Site::saying(with_headers("Content-Type: text/html\r\n", b"<h1>It works!</h1>"));
    let mute = Site::start(|stream, _| hold(stream));
    for url in [format!("http://127.0.0.1:{}", closed_port()), other.url("/wd/hub"), mute.url("")] {
        let browsers = only(vec![at(&url)]);
        assert!(!browsers.is_available(), "{url}");
        let deadline = std::time::Instant::now() + Duration::from_secs(2);
        let error =
            browsers.prober().send(&request, &mut Default::default(), deadline).map(|seen| seen.status);
        assert!(matches!(error, Err(ProbeError::Browser(_) | ProbeError::Timeout(_))), "{url}: {error:?}");
    }
    assert_eq!(other.received()[0].path(), "/wd/hub/status", "the prefix of an endpoint is kept");
    assert!(site.received().is_empty());
}

/// A driver without the way to empty contexts, as geckodriver is: each page has a session of its own.
#[test]
fn without_contexts_each_page_has_a_session_of_its_own() {
    let opened = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&opened);
    let driver = Site::start(move |stream, request| {
        let path = request.path().to_owned();
        let value = match (request.line().split(' ').next().unwrap_or_default(), path.as_str()) {
            ("POST", "/session") => {
                let mut sessions = log.lock().unwrap();
                sessions.push(serde_json::from_slice::<serde_json::Value>(&request.body).unwrap());
                format!(
                    r#"{{"sessionId": "s{}", "capabilities": {{"browserName": "firefox"}}}}"#,
                    sessions.len()
                )
            }
            (_, path) if path.ends_with("/execute/sync") => {
                r#"{"stage": "page", "state": "complete", "status": 200,
                "isReady": true, "url": "http://a.example/u", "html": "<p>there"}"#
                    .into()
            }
            ("GET", path) if path.ends_with("/window") => r#""w""#.into(),
            _ => "null".into(),
        };
        let body = format!(r#"{{"value": {value}}}"#);
        let _ = stream.write_all(&with_headers("Content-Type: application/json\r\n", body.as_bytes()));
    });
    let browsers = only(vec![at(&driver.url(""))]);
    let prober = browsers.prober();
    for _ in 0..3 {
        let deadline = std::time::Instant::now() + lab::LONG;
        let seen =
            prober.send(&page("http://a.example/u", &[css("p")]), &mut Default::default(), deadline).unwrap();
        assert_eq!((seen.status, seen.body.as_slice()), (200, &b"<p>there"[..]));
    }
    let paths = || driver.received().iter().map(|r| r.line().replace(" HTTP/1.1", "")).collect::<Vec<_>>();
    awaited("sessions are ended", || {
        let paths = paths();
        let is_ended = |id: &str| paths.contains(&format!("DELETE /session/{id}"));
        if ["s1", "s2"].into_iter().all(is_ended) { Ok(()) } else { Err(format!("{paths:?}")) }
    });
    for page in ["POST /session/s1/url", "POST /session/s2/url", "POST /session/s3/url"] {
        assert_eq!(paths().iter().filter(|path| *path == page).count(), 1, "{page}");
    }
    let wishes = opened.lock().unwrap();
    let firefox = &wishes[0]["capabilities"]["firstMatch"][1];
    assert_eq!(
        (firefox["browserName"].as_str(), firefox["proxy"]["proxyType"].as_str()),
        (Some("firefox"), Some("manual"))
    );
}
