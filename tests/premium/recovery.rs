//! A browser, a page's process or a driver that ends affects one check at most.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sightline::modules::probe::{Browsers, Phase, ProbeError, Request};
use sightline::net::browser::Webdriver;
use sightline::net::{BrowserConfig, RealBrowsers};

use super::lab::{self, Lab, at, css, is_browser, is_driver, is_renderer, page};
use super::simulated::{Driver, Says, Switch};
use crate::support::eventually;
use crate::support::site::{Site, closed_port, hold, with_headers};

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

/// Kills the processes whose command line contains `sign` during a visit to a page. Returns the result of the check.
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
fn a_dead_browser_or_driver_is_replaced() {
    // If an endpoint is down, the other one is used.
    let down = at(&format!("http://127.0.0.1:{}", closed_port()));
    let endpoints = vec![down, Webdriver::Auto];
    let lab = Lab::of(&BrowserConfig { endpoints, ..lab::config(lab::lab_net(), 1) });
    let site = site();
    let (there, waiting) = (page(&site.url("/"), &[css("#x")]), page(&site.url("/never"), &[css("#x")]));
    lab.see(&there).unwrap();

    // Killed while the browser is idle: the next check does not notice it.
    assert_eq!(lab.kill(is_browser), 1);
    lab.see(&there).unwrap();

    for sign in [is_renderer as fn(&str) -> bool, is_browser] {
        let error = struck_while_looking(&lab, &waiting, &site, sign);
        assert!(matches!(error, ProbeError::Browser(_)), "{error:?}");
        lab.see_at_last(&there);
    }
    // If the driver is killed, its browsers end with it, and a new driver is started.
    lab.with_another_driver(|| {
        let error = struck_while_looking(&lab, &waiting, &site, is_driver);
        assert!(matches!(error, ProbeError::Browser(_)), "{error:?}");
        lab.see_at_last(&there);
    });
    eventually("a browser answers again", || lab.browsers.is_available());
    assert_eq!(lab.browsers.load().open, 1);

    // All processes end with the process that started them.
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
fn checks_without_a_browser_are_skipped_with_a_reason() {
    let site = site();
    let request = page(&site.url("/"), &[css("#x")]);
    // An unreachable endpoint, a server of another kind, and one that never answers.
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

/// A driver without the way to empty contexts and with a limit of one session, as geckodriver is: each page has a
/// session of its own, and a check that finds the driver full waits.
#[test]
fn without_contexts_each_page_has_its_own_session() {
    each_page_has_its_own_session(|_| ());
}

/// The check reads that the driver is full when it no longer is.
#[test]
fn a_full_driver_may_say_so_late() {
    each_page_has_its_own_session(|is_taken| {
        crate::support::eventually("the other session ends", || !is_taken.load(Ordering::SeqCst));
    });
}

/// `before_refusal` gets whether the one session is taken.
fn each_page_has_its_own_session(before_refusal: impl Fn(&AtomicBool) + Send + Sync + 'static) {
    let is_taken = Arc::new(AtomicBool::new(false));
    let driver = Driver::start(move |command| {
        if command == "POST /session" && is_taken.swap(true, Ordering::SeqCst) {
            before_refusal(&is_taken);
            return Says::Refusal("session not created");
        }
        if command.starts_with("DELETE ") {
            is_taken.store(false, Ordering::SeqCst);
        }
        Says::AsUsual
    });
    let browsers = driver.browsers(lab::lab_net(), 2);
    let deadline = Instant::now() + lab::LONG;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let request = page("http://a.example/u", &[css("p")]);
                let seen = browsers.prober().send(&request, &mut Default::default(), deadline).unwrap();
                assert_eq!((seen.status, seen.body.as_slice()), (200, &b"<p>there"[..]));
            });
        }
    });
    assert!(browsers.is_available(), "to be full is no failure");
    browsers.stop();
    for number in 1..=4 {
        for command in [format!("POST /session/s{number}/url"), format!("DELETE /session/s{number}")] {
            assert_eq!(driver.count(&command), 1, "{command}");
        }
    }
    let wish = driver.first_wish();
    let firefox = &wish["capabilities"]["firstMatch"][1];
    assert_eq!(
        (firefox["browserName"].as_str(), firefox["proxy"]["proxyType"].as_str()),
        (Some("firefox"), Some("manual"))
    );
}

/// On a busy machine the browser starts after the deadline of the check, and is used by the next check.
#[test]
fn a_browser_that_starts_late_is_not_lost() {
    let may_start = Switch::default();
    let told = may_start.clone();
    let driver = Driver::start(move |command| {
        if command == "POST /session" {
            eventually("it may start", || told.is_on());
        }
        Says::AsUsual
    });
    let browsers = driver.browsers(lab::lab_net(), 1);
    let (prober, request) = (browsers.prober(), page("http://a.example/u", &[css("p")]));
    let see = |limit| prober.send(&request, &mut Default::default(), Instant::now() + limit);
    let early = see(Duration::from_millis(300)).map(|seen| seen.status);
    assert_eq!(early, Err(ProbeError::Timeout(Phase::Connect)));
    may_start.turn_on();
    assert_eq!(see(lab::LONG).unwrap().status, 200);
    assert_eq!(driver.count("POST /session/s1/url"), 1, "{:?}", driver.commands());
}

#[test]
fn an_endpoint_without_bidi_is_used_without_it() {
    let is_first = AtomicBool::new(true);
    let driver = Driver::start(move |command| match command {
        "POST /session" if is_first.swap(false, Ordering::SeqCst) => Says::Refusal("invalid argument"),
        _ => Says::AsUsual,
    });
    let browsers = driver.browsers(lab::lab_net(), 1);
    let (request, deadline) = (page("http://a.example/u", &[css("p")]), Instant::now() + lab::LONG);
    assert_eq!(browsers.prober().send(&request, &mut Default::default(), deadline).unwrap().status, 200);
    let asks = |wish: &serde_json::Value| wish["capabilities"]["firstMatch"][1]["webSocketUrl"] == true;
    assert_eq!(driver.wishes()[..2].iter().map(asks).collect::<Vec<_>>(), [true, false]);
}
