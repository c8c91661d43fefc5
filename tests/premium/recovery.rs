//! A browser or a page's process that does not start, ends or hangs ends its own checks at most, each with its reason.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sightline::modules::probe::{Browsers, ProbeError, Prober as _, Request, Response};
use sightline::modules::reason::Reason;
use sightline::net::RealBrowsers;
use sightline::net::browser::BrowserSource;

use super::lab::{self, Lab, css, is_browser, is_renderer, page};
use super::simulated::{Chromium, Says, Switch, nothing_yet};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::site::{Site, closed_port, hold, with_headers};

/// `/never` has no mark; anything else is there at once.
fn site() -> Site {
    Site::by_path(|path| {
        let body = if path == "/never" { "<body>" } else { "<b id=x>there</b>" };
        with_headers("Content-Type: text/html\r\n", body.as_bytes())
    })
}

fn see(browsers: &RealBrowsers, request: &Request, limit: Duration) -> Result<Response, ProbeError> {
    browsers.send(request, &mut Default::default(), Instant::now() + limit)
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
fn a_dead_browser_is_replaced() {
    let lab = Lab::start(lab::lab_net(), 1);
    let site = site();
    let (there, waiting) = (page(&site.url("/"), &[css("#x")]), page(&site.url("/never"), &[css("#x")]));
    lab.see(&there).unwrap();

    let error = struck_while_looking(&lab, &waiting, &site, is_renderer);
    assert!(matches!(error, ProbeError { reason: Reason::Browser, .. }), "{error:?}");
    lab.see(&there).unwrap();
    lab.with_another_browser(|| {
        let error = struck_while_looking(&lab, &waiting, &site, is_browser);
        assert!(matches!(error, ProbeError { reason: Reason::Browser, .. }), "{error:?}");
        lab.see_at_last(&there);
    });
    // Killed while the browser is idle: the next check does not notice it.
    lab.with_another_browser(|| {
        assert_eq!(lab.kill(is_browser), 1);
        lab.see(&there).unwrap();
    });
    eventually("a browser answers again", || lab.browsers.is_available());

    // All processes end with the browsers.
    let before = lab.processes();
    assert!(before.values().any(|command| is_browser(command)), "{before:?}");
    lab.browsers.stop();
    assert!(!lab.browsers.is_available());
    assert!(matches!(lab.see(&there), Err(ProbeError { reason: Reason::Browser, .. })));
    eventually("all processes are gone", || before.keys().all(|id| !lab::lives(*id)));
}

fn only(source: BrowserSource) -> Arc<RealBrowsers> {
    lab::browsers(source, lab::lab_net(), 1)
}

/// Creates a program that does this.
fn program(folder: &Folder, script: &str) -> BrowserSource {
    let path = PathBuf::from(folder.path("browser"));
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    BrowserSource::Program(path)
}

#[test]
fn checks_without_a_browser_end_with_a_reason() {
    let site = site();
    let request = page(&site.url("/"), &[css("#x")]);
    let folder = Folder::new();
    // An unreachable address, a server of another kind, one that never answers, and a program that ends at once.
    let other = Site::saying(with_headers("Content-Type: text/html\r\n", b"<h1>It works!</h1>"));
    let mute = Site::start(|stream, _| hold(stream));
    let at = |url: String| BrowserSource::At(url.parse().unwrap());
    for (source, why) in [
        (
            at(format!("http://127.0.0.1:{}", closed_port())),
            "no Chromium with --remote-debugging-port answers",
        ),
        (at(other.url("")), "its answer is not JSON"),
        (at(mute.url("")), "no Chromium with --remote-debugging-port answers"),
        (program(&folder, "echo 'no sandbox' >&2; exit 1"), "/browser: no sandbox"),
    ] {
        let browsers = only(source.clone());
        assert!(!browsers.is_available(), "{source:?}");
        let error = see(&browsers, &request, lab::LONG).map(|seen| seen.status);
        let says = matches!(&error, Err(ProbeError { reason: Reason::Browser, why: said, .. }) if said.contains(why));
        assert!(says, "{source:?}: {error:?}");
    }
    assert!(site.received().is_empty());
}

/// The check ends at its deadline, and nobody waits for the end of the browser.
#[test]
fn a_program_that_never_answers_is_ended() {
    let folder = Folder::new();
    let id = folder.path("id");
    let browsers =
        only(program(&folder, &format!("echo $$ >{id}; trap '' TERM; while :; do sleep 600; done")));
    let error = see(&browsers, &page("http://a.example/", &[css("p")]), Duration::from_millis(300));
    assert_eq!(error.map(|seen| seen.status), Err(ProbeError::late(Reason::TimeoutConnect)));
    let mut started = None;
    eventually("the program runs", || {
        started = std::fs::read_to_string(&id).ok().and_then(|id| id.trim().parse().ok());
        started.is_some_and(lab::lives)
    });
    // Whoever waits for it to start waits no longer.
    std::thread::scope(|scope| {
        let waits = scope.spawn(|| browsers.is_available());
        browsers.stop();
        assert!(!waits.join().unwrap());
    });
    eventually("the program has ended", || !started.is_some_and(lab::lives));
}

/// On a busy machine the browser starts after the deadline of the check, and is used by the next check.
#[test]
fn a_browser_that_starts_late_is_not_lost() {
    let may_start = Switch::default();
    let told = may_start.clone();
    let chromium = Chromium::start(move |command| {
        if command == "/json/version" {
            eventually("it may start", || told.is_on());
        }
        Says::AsUsual
    });
    let browsers = chromium.browsers(lab::lab_net(), 1);
    let request = page("http://a.example/u", &[css("p")]);
    let early = see(&browsers, &request, Duration::from_millis(300)).map(|seen| seen.status);
    assert_eq!(early, Err(ProbeError::late(Reason::TimeoutConnect)));
    may_start.turn_on();
    assert_eq!(see(&browsers, &request, lab::LONG).unwrap().status, 200);
    assert_eq!(chromium.commands("Page.navigate").len(), 1);
    assert_eq!(chromium.commands("Target.disposeBrowserContext").len(), 1);
}

/// Each check that meets a fault of the browser ends with its reason, and the next one has a page again.
#[test]
fn a_browser_that_hangs_or_breaks_ends_its_checks_in_time() {
    let request = page("http://a.example/u", &[css("p")]);
    let late = ProbeError::late(Reason::TimeoutFirstByte);
    let crash = Reason::Browser.because("the browser was lost: it does not answer");
    for (command, says, want) in [
        ("Runtime.evaluate", (|| Says::Nothing) as fn() -> Says, late.clone()),
        ("Runtime.evaluate", || Says::End, crash),
        ("Page.navigate", || Says::Value(serde_json::json!({"errorText": "net::ERR_NAME_NOT_RESOLVED"})), {
            Reason::Dns.because("the name does not resolve")
        }),
        ("Runtime.evaluate", || Says::Value(serde_json::json!({"result": {"value": [[]]}})), late.clone()),
        ("Runtime.evaluate", || Says::Value(serde_json::json!("no object")), late.clone()),
        ("Runtime.evaluate", || Says::Value(serde_json::json!({"result": ["no object"]})), late.clone()),
        ("Runtime.evaluate", || Says::Value(" ".repeat(33 << 20).into()), {
            Reason::Browser.because("the browser was lost: its answer is too large")
        }),
        ("Target.createTarget", || Says::Refusal, {
            Reason::Browser.because("cannot open a page: it refuses a command")
        }),
    ] {
        let is_broken = Switch::default();
        let works = is_broken.clone();
        let chromium =
            Chromium::start(
                move |asked| {
                    if asked == command && !works.is_on() { says() } else { Says::AsUsual }
                },
            );
        let browsers = chromium.browsers(lab::lab_net(), 1);
        // Only a browser that says nothing of use is waited for in vain.
        let time = if want == late { Duration::from_secs(2) } else { lab::LONG };
        let seen = see(&browsers, &request, time).map(|seen| seen.status);
        assert_eq!(seen, Err(want), "{command}");
        is_broken.turn_on();
        assert_eq!(see(&browsers, &request, lab::LONG).unwrap().status, 200, "{command}");
    }
}

/// A place is free soon after a check, though the browser does not close the page, and nobody waits for one in vain
/// when the service ends.
#[test]
fn a_place_is_not_held_by_a_page_that_does_not_close() {
    let chromium = Chromium::start(|command| match command {
        "Target.disposeBrowserContext" => Says::Nothing,
        _ => Says::AsUsual,
    });
    let browsers = chromium.browsers(lab::lab_net(), 1);
    let request = page("http://a.example/u", &[css("p")]);
    let far = 100 * lab::LONG;
    for _ in 0..2 {
        assert_eq!(see(&browsers, &request, far).unwrap().status, 200);
    }
    let is_held = Switch::default();
    let held = is_held.clone();
    let chromium = Chromium::start(move |command| match command {
        "Runtime.evaluate" => {
            held.turn_on();
            nothing_yet()
        }
        _ => Says::AsUsual,
    });
    let browsers = chromium.browsers(lab::lab_net(), 1);
    std::thread::scope(|scope| {
        let holds = scope.spawn(|| see(&browsers, &request, lab::LONG / 10));
        eventually("the place is taken", || is_held.is_on());
        let waits = scope.spawn(|| see(&browsers, &request, far).map(|seen| seen.status));
        browsers.stop();
        let why = "no browser: the service is shutting down";
        assert_eq!(waits.join().unwrap(), Err(Reason::Browser.because(why)));
        assert!(holds.join().unwrap().is_err());
    });
}

/// A browser does not free all memory of its pages.
#[test]
fn a_browser_is_replaced_after_many_pages() {
    let folder = Folder::new();
    let starts = folder.path("starts");
    let chromium = Chromium::start(|_| Says::AsUsual);
    let address = format!("DevTools listening on ws://{}/devtools/browser/b", chromium.addr());
    let browsers = only(program(&folder, &format!("echo $$ >>{starts}; echo '{address}' >&2; sleep 600")));
    let request = page("http://a.example/u", &[css("p")]);
    for _ in 0..100 {
        see(&browsers, &request, lab::LONG).unwrap();
    }
    let started = || {
        let starts = std::fs::read_to_string(&starts).unwrap();
        starts.lines().map(|id| id.parse().unwrap()).collect::<Vec<u32>>()
    };
    eventually("another one is started, and the first one ends", || {
        let started = started();
        started.len() == 2 && !lab::lives(started[0]) && lab::lives(started[1])
    });
    see(&browsers, &request, lab::LONG).unwrap();
}
