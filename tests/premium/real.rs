//! All browser modules with real pages: the simulated web gives the same verdicts through Chromium as without a
//! browser. And reports that Chromium prints.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sightline::base::encoding::{hex, sha256};
use sightline::modules::catalog::Catalog;
use sightline::modules::checker::Checker;
use sightline::modules::definition::Via;
use sightline::modules::keys::OperatorKeys;
use sightline::modules::module::Module;
use sightline::modules::outcome::Outcome;
use sightline::modules::probe::{Browsers as _, CookieJar, ProbeError, Prober, Request, Response, Trace};
use sightline::modules::query::{Query, SearchType};
use sightline::net::NetConfig;
use sightline::net::browser::BrowserSource;
use sightline::sandbox::{Sandbox, SandboxOptions};

use super::lab::{self, css, page};
use crate::cli::{Folder, ran};
use crate::net::tls;
use crate::support::awaited;
use crate::support::databases::databases;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::Setup;
use crate::support::site::{Site, ok, read_request};

const PICTURE: &str =
    "<svg xmlns='http://www.w3.org/2000/svg'><rect width='300' height='300' fill='red'/></svg>";

/// A simulated web whose pages for a browser are real.
struct Mixed {
    http: Arc<dyn Prober>,
    browser: Arc<dyn Prober>,
}

impl Prober for Mixed {
    fn send(&self, request: &Request, jar: &mut CookieJar, until: Instant) -> Result<Response, ProbeError> {
        let by = if request.via == Via::Browser { &self.browser } else { &self.http };
        by.send(request, jar, until)
    }
}

/// Fails unless it is a PDF with the links of a report.
#[track_caller]
fn is_printed_report(pdf: &[u8], link: &str) {
    let holds = |text: &str| pdf.windows(text.len()).any(|part| part == text.as_bytes());
    assert!(
        pdf.starts_with(b"%PDF-") && holds("%%EOF"),
        "{}",
        String::from_utf8_lossy(&pdf[..pdf.len().min(200)])
    );
    assert!(holds("/Type /Page") && holds(link), "{} bytes without {link}", pdf.len());
}

#[test]
fn a_report_is_printed_by_the_browser() {
    let server = Setup::new().flag("--browser=auto").start();
    let started = server.post(&json!({"type": "username", "query": "alice", "avatars": true})).json();
    let id = started["run_id"].as_str().unwrap().to_owned();
    let run = server.finished(&id);
    let pictures = |pdf: &[u8]| pdf.windows(15).filter(|part| part == b"/Subtype /Image").count();
    let links =
        run["results"].as_array().unwrap().iter().filter_map(|it| it["metadata"]["profile_url"].as_str());
    let link = links.map(str::to_owned).find(|link| link.starts_with("https://")).unwrap();
    // The second one uses the running browser again.
    for _ in 0..2 {
        let printed = server.get(&format!("/v1/searches/{id}/export?format=pdf"));
        assert_eq!(
            (printed.status, printed.header("content-type")),
            (200, Some("application/pdf")),
            "{printed}"
        );
        assert!(printed.header("content-disposition").unwrap().ends_with("-simulated.pdf\""), "{printed}");
        is_printed_report(&printed.body, &link);
        assert!(pictures(&printed.body) > 0, "the profile pictures are in it");
    }
    let folder = Folder::new();
    let (pdf, csv) = (folder.path("alice.pdf"), folder.path("alice.csv"));
    let outputs = [&pdf, &csv].map(|path| format!("--output={path}"));
    let query = ["search", "alice", "--sandbox=perfect", "--category=coding", "--browser=auto"];
    ran(&[&query[..], &outputs.each_ref().map(String::as_str)].concat(), &[]).code_is(0);
    is_printed_report(&std::fs::read(pdf).unwrap(), "https://");
    let without = ["search", "alice", "--sandbox", outputs[0].as_str()];
    ran(&without, &[]).code_is(2).err_has("a PDF needs a browser: --browser auto");
}

/// What the owner finds to be mine is shown as it looks: with its pictures, and nothing of it runs here.
#[test]
fn what_is_mine_gets_a_screenshot_that_is_kept_as_evidence() {
    let database = databases().next().unwrap();
    let folder = Folder::new();
    let site = Site::by_path(|path| match path {
        "/picture.svg" => crate::support::site::answer(200, "image/svg+xml", PICTURE),
        _ => ok("<!DOCTYPE html><title>alice</title><img src=/picture.svg width=300 height=300>"),
    });
    let of = |id: &str, profile: &str| {
        with(entry(id, &site.url("/{query}")), &json!({"profile": site.url(profile)}))
    };
    let mut flags = own_flags(&folder, &[of("one", "/alice"), of("two", "/alice?2")]);
    flags.push("--browser=auto".to_owned());
    let server = Setup::real().database(&database.url).flags(&flags).start();
    let started = server.post(&json!({"type": "username", "query": "alice", "evidence": true})).json();
    let id = started["run_id"].as_str().unwrap().to_owned();
    let run = server.finished(&id);
    let result = |at: usize| run["results"][at]["id"].as_u64().unwrap();
    let judge = |at: usize, verdict: &str| {
        let path = format!("/v1/searches/{id}/results/{}", result(at));
        server.call("PATCH", &path, Some(&json!({"verdict": verdict}))).json()
    };
    judge(1, "unsure");
    // It is not waited for, and taken once.
    for _ in 0..3 {
        judge(0, "mine");
    }
    let path = format!("/v1/searches/{id}/results/{}/evidence?module=screenshot", result(0));
    let kept = awaited("the screenshot", || {
        let annotation = &server.get(&format!("/v1/searches/{id}")).json()["results"][0]["annotation"];
        Some(annotation["screenshot"].clone()).filter(|kept| !kept.is_null()).ok_or_else(|| server.log())
    });
    let file = server.get(&path);
    assert!(file.body.starts_with(b"\xff\xd8\xff"), "a JPEG");
    assert!(file.header("content-disposition").unwrap().ends_with(".jpg\""), "{:?}", file.headers);
    assert_eq!(kept["sha256"], hex(&sha256(&file.body)));
    let profile = &run["results"][0]["metadata"]["profile_url"];
    assert_eq!((&kept["address"], &kept["http_status"]), (profile, &json!(200)));
    let loaded = site.received().iter().filter(|request| request.path() == "/picture.svg").count();
    assert_eq!(loaded, 1, "with its pictures");
    // Another verdict keeps it, and what is not mine has none.
    assert_eq!(judge(0, "not_mine")["screenshot"], kept);
    assert_eq!(judge(0, "mine")["screenshot"], kept);
    server
        .get(&format!("/v1/searches/{id}/results/{}/evidence?module=screenshot", result(1)))
        .is_error(404, "not_found");
    for format in ["html", "md"] {
        let report = server.get(&format!("/v1/searches/{id}/export?format={format}"));
        assert!(report.text().contains(kept["sha256"].as_str().unwrap()), "{format}");
    }
    // Without verdict and note nothing is left of it.
    let path = format!("/v1/searches/{id}/results/{}", result(0));
    server.call("PATCH", &path, Some(&json!({"verdict": null})));
    assert_eq!(database.number("SELECT count(*) FROM evidence"), 1, "the answer of both modules");
    assert_eq!(server.delete(&format!("/v1/searches/{id}")).status, 204);
    assert_eq!(database.number("SELECT count(*) FROM evidence"), 0);
}

/// A browser that somebody else runs is used, and not ended.
#[test]
fn a_browser_of_the_operator_is_used() {
    let lab = lab::shared();
    let site = Site::saying(ok("<b id=x>there</b>"));
    let source = BrowserSource::At(format!("http://localhost:{}", lab.port()).parse().unwrap());
    let browsers = lab::browsers(source, lab::lab_net(), 1);
    let request = page(&site.url("/"), &[css("#x")]);
    let deadline = Instant::now() + lab::LONG;
    assert_eq!(browsers.send(&request, &mut CookieJar::default(), deadline).unwrap().status, 200);
    browsers.stop();
    assert_eq!(lab.see(&request).unwrap().status, 200);
}

mod campaigns {
    use super::*;

    const QUERIES: [&str; 2] = ["alice", "everybody.example"];

    /// Returns the simulated web as a proxy that a browser reaches, with TLS.
    fn real_web(modules: Vec<Arc<Module>>, web: Arc<dyn Prober>) -> Site {
        let config = tls::server_config("site.pem");
        Site::talking(move |stream| {
            let Some(connect) = read_request(stream) else { return };
            let host = connect.path().trim_end_matches(":443").to_owned();
            if stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").is_err() {
                return;
            }
            let mut tls = tls::accepted(&config, stream);
            let Some(request) = read_request(&mut tls) else { return };
            let url = format!("https://{host}{}", request.path());
            let answer = said_by(&modules, &*web, &url).unwrap_or_else(|| crate::support::site::page(404));
            let _ = tls.write_all(&answer);
            tls.conn.send_close_notify();
            let _ = tls.flush();
        })
    }

    /// Returns the answer of the module whose page that is.
    fn said_by(modules: &[Arc<Module>], web: &dyn Prober, url: &str) -> Option<Vec<u8>> {
        let query_of = |module: &Module| {
            let template = module.entry().probes.first()?.url.to_string();
            let (before, after) = template.split_once("{query}")?;
            Some(url.strip_prefix(before)?.strip_suffix(after)?.to_owned())
        };
        let (module, query) = modules
            .iter()
            .find_map(|module| Some((module, query_of(module).filter(|it| !it.contains('/'))?)))?;
        let control = !QUERIES.contains(&query.as_str());
        let trace = Trace { module: Arc::clone(module.id()), probe: 0, query: query.into(), control };
        let request = Request { via: Via::Browser, max_redirects: 0, trace, ..page(url, &[]) };
        let deadline = Instant::now() + lab::LONG;
        let answer = web.send(&request, &mut CookieJar::default(), deadline).ok()?;
        let mut said = format!("HTTP/1.1 {} Simulated\r\n", answer.status);
        for (name, value) in &answer.headers {
            if ["content-type", "location"].contains(&name.as_str()) {
                said += &format!("{name}: {value}\r\n");
            }
        }
        said += &format!("Content-Length: {}\r\nConnection: close\r\n\r\n", answer.body.len());
        Some([said.as_bytes(), &answer.body].concat())
    }

    /// A Chromium that trusts the certificate of the test.
    fn trusting(folder: &Folder) -> BrowserSource {
        let path = PathBuf::from(folder.path("chromium"));
        std::fs::write(&path, "#!/bin/sh\nexec chromium --ignore-certificate-errors \"$@\"\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        BrowserSource::Program(path)
    }

    #[test]
    fn real_pages_have_the_outcomes_of_the_simulated_web() {
        let catalog = Catalog::load(true, &[], None).unwrap();
        let premium = catalog.modules().iter().filter(|module| module.is_premium() && module.entry().enabled);
        let premium: Vec<Arc<Module>> = premium.cloned().collect();
        assert!(premium.len() > 20, "{}", premium.len());
        let web: Arc<dyn Prober> = Arc::new(Sandbox::new(premium.clone(), SandboxOptions::perfect()));
        let site = real_web(premium.clone(), Arc::clone(&web));
        let folder = Folder::new();
        // Names are resolved by the proxy, hence by nobody.
        let outbound_proxy = format!("httph://{}", site.addr).parse().ok();
        let net = NetConfig { outbound_proxy, ..NetConfig::default() };
        let lab = lab::Lab::of(trusting(&folder), net, 2);
        let checker = |prober: Arc<dyn Prober>| {
            Checker::new(prober, OperatorKeys::default(), "test", Duration::from_secs(3600))
        };
        let played = checker(Arc::clone(&web));
        let real = checker(Arc::new(Mixed { http: web, browser: lab.browsers.clone() }));
        let (mut hits, mut differ, mut names) = (0, Vec::new(), 0);
        for (module, query) in premium.iter().flat_map(|module| QUERIES.map(|query| (module, query))) {
            let query = Query::parse(SearchType::Username, query).unwrap();
            let judge = |checker: &Checker| checker.check(module, &query, Instant::now() + lab::LONG);
            let (wanted, found) = (judge(&played), judge(&real));
            if (found.outcome, found.reason) != (wanted.outcome, wanted.reason) {
                differ.push((module.id().clone(), wanted, found.clone()));
            }
            hits += usize::from(found.outcome == Outcome::Hit);
            // The extractors find the rendered values in the document that the browser returns.
            names += usize::from(found.findings.iter().any(|it| it.metadata.contains_key("display_name")));
        }
        assert!(differ.is_empty(), "{differ:#?}");
        assert!(names > 5, "{names} names");
        assert!(hits > 30, "{hits} hits");
    }
}
