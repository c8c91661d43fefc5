//! All browser modules with real pages: the simulated web gives the same verdicts through Chromium as without a
//! browser. And reports that Chromium prints.

use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
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
use crate::support::server::Setup;
use crate::support::site::{Site, read_request};

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

/// A browser that somebody else runs is used, and not ended.
#[test]
fn a_browser_of_the_operator_is_used() {
    let lab = lab::shared();
    let site = Site::saying(crate::support::site::ok("<b id=x>there</b>"));
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
