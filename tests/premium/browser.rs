//! Pages that scripts render, and pages that misbehave. Each affects only its own check.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sightline::modules::probe::{Browsers, Mark, ProbeError, Response};
use sightline::modules::reason::Reason;

use super::lab::{self, LONG, css, page, text};
use crate::checks::cases::served;
use crate::support::site::{Site, answer, closed_port, hold, ok, to, with_headers};

const HTML: &str = "Content-Type: text/html; charset=utf-8\r\n";

/// Pages by path.
pub(super) fn site() -> Site {
    Site::start(|stream, request| {
        let answer = match request.path() {
            "/silent" => return hold(stream),
            "/half" => {
                let begun = format!("HTTP/1.1 200 Said\r\n{HTML}Content-Length: 100000\r\n\r\n<body>begun");
                stream.write_all(begun.as_bytes()).unwrap();
                return hold(stream);
            }
            path if path.starts_with("/round") => to(302, &format!("/round{}", path.len() % 7)),
            path => served(include_str!("pages.txt"), path, 0),
        };
        let _ = stream.write_all(&answer);
    })
}

#[test]
fn a_page_is_returned_when_a_mark_appears() {
    let (lab, site) = (lab::shared(), site());
    let began = Instant::now();
    let seen = lab.see(&page(&site.url("/hit"), &[css("#none"), css("h1.name")])).unwrap();
    assert_eq!((seen.status, seen.final_url.path(), seen.truncated), (200, "/hit", false));
    assert_eq!(seen.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(text(&seen).contains("<h1 class=\"name\">Some Öne</h1>"), "{}", text(&seen));
    assert!(began.elapsed() >= Duration::from_millis(600), "the mark is waited for");

    for (path, mark, status) in [
        ("/miss", Mark::Text("Page not found".into()), 404),
        ("/miss", Mark::Title("Drawn".into()), 404),
        ("/titled", Mark::Title("^Drawn$".into()), 200),
        ("/hit", Mark::Source("class=\"name\"".into()), 200),
        ("/pushed", Mark::Url("/u/some".into()), 200),
        ("/alert", css("#x"), 200),
        ("/popup", css("#x"), 200),
        ("/asking", css("#x"), 200),
        ("/login", css("#x"), 401),
    ] {
        let seen = lab
            .see(&page(&site.url(path), std::slice::from_ref(&mark)))
            .unwrap_or_else(|e| panic!("{path} {mark:?}: {e}"));
        assert_eq!(seen.status, status, "{path} {mark:?}");
        assert!(!text(&seen).contains("Drawn soon"), "a title is compared as a whole: {}", text(&seen));
    }
    let moved = lab.see(&page(&site.url("/moved"), &[css("h1")])).unwrap();
    assert_eq!(moved.final_url.as_str(), site.url("/hit?from=moved"));
    let empty = lab.see(&page(&site.url("/empty"), &[css("h1")])).unwrap();
    assert_eq!((empty.status, empty.final_url.path(), text(&empty)), (404, "/empty", ""));
    // Without marks a page is ready once it has loaded.
    let loaded = lab.see(&page(&site.url("/late"), &[])).unwrap();
    assert!(text(&loaded).contains("<title>Loading</title>"), "{}", text(&loaded));
    // A hidden text is not a match. The page is taken as it is at the end.
    let hidden = page(&site.url("/hidden"), &[Mark::Text("secret words".into())]);
    let began = Instant::now();
    let seen = lab.see_wanted(&hidden, Duration::from_secs(6), Result::is_ok).unwrap();
    assert!(began.elapsed() > Duration::from_secs(5), "the text is waited for");
    assert!(text(&seen).contains("none\">secret words"), "{}", text(&seen));
}

#[test]
fn a_barrier_page_is_returned_to_the_rules() {
    let (lab, site) = (lab::shared(), site());
    let began = Instant::now();
    let seen = lab.see(&page(&site.url("/wall"), &[css("#profile")])).unwrap();
    assert_eq!(seen.status, 403);
    assert!(text(&seen).contains("Just a moment"), "{}", text(&seen));
    // Until the end of LONG, if it were.
    assert!(began.elapsed() < LONG / 4 * 3, "the mark is not waited for");
}

#[test]
fn an_endless_page_affects_only_its_own_check() {
    let (lab, site) = (lab::shared(), site());
    let never = page(&site.url("/never"), &[css("#none")]);
    let seen = lab.see_wanted(&never, Duration::from_secs(4), Result::is_ok);
    assert_eq!(seen.unwrap().status, 200, "as it stands in the end");
    for (path, phase) in [
        ("/silent", Reason::TimeoutFirstByte),
        ("/busy", Reason::TimeoutBody),
        ("/half", Reason::TimeoutBody),
        ("/alerts", Reason::TimeoutFirstByte),
    ] {
        let limit = Duration::from_secs(if phase == Reason::TimeoutBody { 4 } else { 2 });
        // A busy page may hang before it is checked for the first time.
        let is_due = |seen: &Result<Response, ProbeError>| match seen {
            Err(error) if error.reason.is_timeout() => error.reason == phase || path == "/busy",
            _ => false,
        };
        let seen = lab.see_wanted(&page(&site.url(path), &[css("#none")]), limit, is_due);
        assert!(is_due(&seen), "{path}: {:?}", seen.map(|seen| seen.status));
    }
    let seen = lab.see(&page(&site.url("/download"), &[css("#none")]));
    assert!(
        matches!(&seen, Err(ProbeError { reason: Reason::Protocol, why, .. }) if why.contains("a download")),
        "{seen:?}"
    );
    let seen = lab.see(&page(&site.url("/round"), &[css("#none")]));
    assert!(matches!(seen, Err(ProbeError { reason: Reason::Redirect, .. })), "{seen:?}");
    let seen = lab.see_within(&page(&site.url("/closed"), &[css("#none")]), Duration::from_secs(4));
    assert!(seen.is_err() || seen.unwrap().status == 200);
    lab.see(&page(&site.url("/hit"), &[css("h1.name")])).unwrap();
}

#[test]
fn unreachable_pages_have_a_reason() {
    let (lab, site) = (lab::shared(), site());
    let closed = lab.see(&page(&format!("http://127.0.0.1:{}/", closed_port()), &[css("a")]));
    assert!(matches!(closed, Err(ProbeError { reason: Reason::Connect, .. })), "{closed:?}");
    let closed = lab.see(&page(&format!("https://127.0.0.1:{}/", site.addr.port()), &[css("a")]));
    // The site closes a connection that is not HTTP.
    assert!(
        matches!(
            closed,
            Err(ProbeError { reason: Reason::Tls, .. } | ProbeError { reason: Reason::Connect, .. })
        ),
        "{closed:?}"
    );
    let unknown = lab.see(&page("https://no-such-host.invalid/", &[css("a")]));
    assert!(matches!(unknown, Err(ProbeError { reason: Reason::Dns, .. })), "{unknown:?}");
    for url in ["file:///etc/passwd", "chrome://version/", "about:blank", "data:text/html,x"] {
        assert!(
            matches!(lab.see(&page(url, &[css("a")])), Err(ProbeError { reason: Reason::Protocol, .. })),
            "{url}"
        );
    }
}

#[test]
fn huge_and_hostile_pages_are_truncated() {
    let (lab, site) = (lab::shared(), site());
    let mut request = page(&site.url("/huge"), &[css("#x")]);
    request.body_limit = 100_001;
    let seen = lab.see(&request).unwrap();
    assert!(seen.truncated && seen.body.len() <= 100_001, "{}", seen.body.len());
    // The page has replaced the objects that scripts use: it can prevent or falsify its answer, but do no harm.
    let bent =
        lab.see_within(&page(&site.url("/bent"), &[Mark::Text("bent".into())]), Duration::from_secs(4));
    assert!(!matches!(bent, Err(ProbeError { reason: Reason::Browser, .. })), "{bent:?}");
    lab.see(&page(&site.url("/hit"), &[css("h1.name")])).unwrap();
}

/// A page that stores data in every kind of storage, and shows the data that it found there.
const STORING: &str = r#"<!DOCTYPE html><body><script>
const wait = request => new Promise((done, fail) => { request.onsuccess = () => done(request.result); request.onerror = fail; });
(async () => {
  const found = [];
  if (document.cookie.includes('left=')) found.push('cookie');
  if (localStorage.getItem('left')) found.push('localStorage');
  if (sessionStorage.getItem('left')) found.push('sessionStorage');
  if ((await indexedDB.databases()).length) found.push('indexedDB');
  if ((await caches.keys()).length) found.push('caches');
  if ((await navigator.serviceWorker.getRegistrations()).length) found.push('serviceWorker');
  if (await (await fetch('/cached')).text() !== FRESH) found.push('cache');
  document.cookie = 'left=1; max-age=9999';
  localStorage.setItem('left', '1');
  sessionStorage.setItem('left', '1');
  await wait(indexedDB.open('left'));
  await (await caches.open('left')).put('/x', new Response('x'));
  await navigator.serviceWorker.register('/worker.js');
  await navigator.serviceWorker.ready;
  const left = [document.cookie, localStorage.length, sessionStorage.length, (await indexedDB.databases()).length,
    (await caches.keys()).length, (await navigator.serviceWorker.getRegistrations()).length];
  document.body.innerHTML = `<b id=done>${found.join(' ') || 'nothing'} / ${left.join(',')}</b>`;
})().catch(error => { document.body.innerHTML = `<b id=done>failed: ${error}</b>`; });
</script>"#;

#[test]
fn pages_share_no_state() {
    // Two sessions: with five visits one of them has seen the site before, and more than once.
    let most = 5;
    let cookies = Arc::new(AtomicUsize::new(0));
    let (seen_cookies, visits) = (Arc::clone(&cookies), AtomicUsize::new(0));
    let site = Site::start(move |stream, request| {
        if request.header("cookie").is_some_and(|cookie| cookie.contains("before=")) {
            seen_cookies.fetch_add(1, Ordering::SeqCst);
        }
        let _ = stream.write_all(&match request.path() {
            "/worker.js" => {
                with_headers("Content-Type: text/javascript\r\n", b"addEventListener('fetch', () => {})")
            }
            "/cached" => {
                let value = visits.load(Ordering::SeqCst).to_string();
                with_headers("Cache-Control: max-age=9999\r\n", value.as_bytes())
            }
            path if path.starts_with("/first") => {
                let now = visits.fetch_add(1, Ordering::SeqCst) + 1;
                let body = STORING.replace("FRESH", &format!("'{now}'"));
                with_headers(&format!("{HTML}Set-Cookie: before={now}; Max-Age=9999\r\n"), body.as_bytes())
            }
            _ => answer(404, "text/html", ""),
        });
    });
    for visit in 0..most {
        let url = format!("http://localhost:{}/first?{visit}", site.addr.port());
        let seen = lab::shared().see(&page(&url, &[css("#done")])).unwrap();
        let said = text(&seen)
            .split("<b id=\"done\">")
            .nth(1)
            .unwrap_or_default()
            .split('<')
            .next()
            .unwrap()
            .to_owned();
        // The data was stored while the page was open, so that the test can fail.
        assert_eq!(
            said,
            "nothing / left=1,1,1,1,1,1".replace("left=1,", &format!("before={}; left=1,", visit + 1))
        );
    }
    let first_of_a_page =
        site.received().iter().filter(|request| request.path().starts_with("/first")).count();
    assert_eq!(first_of_a_page, most);
    // A page's own later requests carry its own cookie; the first request of the next page none of before.
    let stale: Vec<_> = site
        .received()
        .into_iter()
        .filter(|r| r.path().starts_with("/first") && r.header("cookie").is_some())
        .collect();
    assert!(stale.is_empty() && cookies.load(Ordering::SeqCst) > 0, "{stale:?}");
}

#[test]
fn images_fonts_and_media_are_not_loaded() {
    let site = Site::by_path(|path| {
        match path {
            "/" => with_headers(HTML, b"<style>@font-face { font-family: F; src: url(/f.woff2) } b { font-family: F }</style>\
                <img src=/i.png><b id=x>text</b><video src=/v.mp4 autoplay muted></video><audio src=/a.mp3 preload=auto></audio>\
                <script>fetch('/api').then(() => { document.body.className = 'ready' })</script>"),
            _ => ok("x"),
    }
    });
    lab::shared().see(&page(&site.url("/"), &[css("body.ready")])).unwrap();
    let asked: Vec<String> = site.received().iter().map(|request| request.path().to_owned()).collect();
    for path in ["/i.png", "/f.woff2", "/v.mp4", "/a.mp3"] {
        assert!(!asked.iter().any(|asked| asked == path), "{asked:?}");
    }
    assert!(asked.contains(&"/api".to_owned()));
}

#[test]
fn concurrent_checks_share_the_places() {
    let (lab, site) = (lab::shared(), site());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let seen = lab.see(&page(&site.url("/hit"), &[css("h1.name")])).unwrap();
                assert!(text(&seen).contains("Some Öne"));
            });
        }
    });
    assert_eq!(lab.browsers.sessions(), 2);
}
