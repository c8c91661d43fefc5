//! `serve` without a sandbox: from a request to a real site (one of the test's own) and back.

use std::io::Write as _;

use serde_json::{Value, json};

use super::{Folder, ran};
use crate::net::tls::{fixture, tls_site_of, tls_talking};
use crate::support::modules::{entry, with};
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, ok, page, read_request};

/// Starts a site on which only `/alice` exists.
fn start_site() -> Site {
    Site::start(|socket, request| {
        // The client may have disconnected.
        let _ = socket.write_all(&page(if request.path() == "/alice" { 200 } else { 404 }));
    })
}

/// Returns a file with one module that asks the site at this address.
fn catalog(folder: &Folder, root: &str, control: bool) -> String {
    let changes = json!({"platform": "Little Site", "control": control});
    let module = with(entry("little_site", &format!("{root}/{{query}}")), &changes);
    folder.file("own.json", &json!([module]).to_string())
}

fn serving(catalog: &str, more: &[&str]) -> Server {
    let flags = ["--no-builtin", &format!("--catalog={catalog}"), "--user-agent=X/1"];
    flags.iter().chain(more).fold(Setup::real(), |setup, flag| setup.flag(flag)).start()
}

/// Searches with a limited account. Returns the ended run, its one module, and the used credits.
fn searched(server: &Server, name: &str) -> (Value, Value, Value) {
    let key = server.new_key("pro");
    let body = json!({"type": "username", "query": name, "wait": true});
    let started = server.request("POST", "/v1/searches").key(&key).json(&body).send();
    assert_eq!(started.status, 200, "{started}");
    assert_eq!(started.header("x-sightline-sandbox"), None, "{started}");
    let run = started.json();
    assert_ne!(run["status"], "running", "{started}");
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let modules = server.request("GET", &path).key(&key).send().json();
    assert_eq!(modules["count"], 1, "{modules}");
    let credits = server.request("GET", "/v1/credits").key(&key).send().json();
    (run, modules["modules"][0].clone(), credits["credits_used"].clone())
}

#[test]
fn a_real_site_is_queried_and_its_hit_returned() {
    let (folder, site) = (Folder::new(), start_site());
    let server = serving(&catalog(&folder, &site.url(""), true), &["--allow-private-targets"]);
    let (run, module, used) = searched(&server, "alice");
    assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(1)), "{run}");
    assert_eq!(run["results"][0]["source"], "little_site");
    assert_eq!(run["results"][0]["platform"], "Little Site");
    assert_eq!((&module["status"], &module["http_status"]), (&json!("hit"), &json!(200)), "{module}");
    assert_eq!(used, 1);

    let (run, module, _) = searched(&server, "bob");
    assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(0)), "{run}");
    assert_eq!((&module["status"], &module["http_status"]), (&json!("miss"), &json!(404)), "{module}");

    let received = site.received();
    assert!(received.iter().any(|request| request.line() == "GET /alice HTTP/1.1"), "{received:#?}");
    for request in received {
        assert_eq!(request.header("user-agent").as_deref(), Some("X/1"), "{request:?}");
    }
    let health = server.request("GET", "/v1/health").send();
    assert_eq!(health.header("x-sightline-sandbox"), None, "{health}");
    assert_eq!(health.json().get("sandbox"), None, "{health}");
}

#[test]
fn an_authority_of_the_operator_is_trusted() {
    let folder = Folder::new();
    let site = tls_site_of("address.pem", ok("<title>A page</title>"));
    let catalog = catalog(&folder, &format!("https://{}", site.addr), false);
    let search = |more: &[(&str, &str)]| {
        let args = ["search", "username", "alice", "--no-builtin", "--allow-private-targets", "--catalog"];
        ran(&[&args[..], &[&catalog]].concat(), more)
    };
    let authority = fixture("ca.pem").display().to_string();
    search(&[("SIGHTLINE_CA_FILE", &authority)]).code_is(0).err_has("1 result;");
    search(&[]).code_is(3).err_has("the search failed");
}

#[test]
fn a_hit_and_its_control_check_use_one_connection() {
    let folder = Folder::new();
    let site = tls_talking("address.pem", |tls| {
        while let Some(request) = read_request(tls) {
            let status = if request.path() == "/alice" { "200 OK" } else { "404 Not Found" };
            let _ = write!(tls, "HTTP/1.1 {status}\r\nContent-Length: 4\r\n\r\npage");
        }
    });
    let catalog = catalog(&folder, &format!("https://{}", site.addr), true);
    let authority = fixture("ca.pem").display().to_string();
    let args =
        ["search", "username", "alice", "--no-builtin", "--allow-private-targets", "--catalog", &catalog];
    ran(&args, &[("SIGHTLINE_CA_FILE", &authority)]).code_is(0).err_has("1 result;");
    assert_eq!(site.connections(), 1);
}

#[test]
fn a_private_address_is_refused_and_the_run_costs_nothing() {
    let (folder, site) = (Folder::new(), start_site());
    let server = serving(&catalog(&folder, &site.url(""), true), &[]);
    let (run, module, used) = searched(&server, "alice");
    assert_eq!((&module["status"], &module["reason"]), (&json!("error"), &json!("dns")));
    assert_eq!(run["status"], "failed", "nobody said anything: {run}");
    assert!(run["error"].is_object(), "{run}");
    assert_eq!(used, 0, "a failed run gives its credits back");
    assert_eq!(site.connections(), 0, "the site was asked");
}

/// Returns everything that a caller can see of a search for `alice` by the one module: the run, the modules,
/// the files, the page.
fn told(folder: &Folder, authority: &str) -> (Vec<String>, String) {
    let server = serving(&catalog(folder, &format!("http://{authority}"), true), &[]);
    let run = server.search("username", "alice");
    server.finished(&run);
    let mut told = Vec::new();
    for path in ["", "/modules", "/export?format=json", "/export?format=csv", "/export?format=html"] {
        let text = String::from_utf8(server.get(&format!("/v1/searches/{run}{path}")).body).unwrap();
        told.push(without_what_differs(&text.replace(&run, "RUN")));
    }
    (told, server.log())
}

/// Removes times and durations, and the hash of what has them.
fn without_what_differs(text: &str) -> String {
    let moment = regex::Regex::new(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?").unwrap();
    let duration = regex::Regex::new(r#""elapsed_ms": ?\d+|[0-9a-f]{64}"#).unwrap();
    duration.replace_all(&moment.replace_all(text, "MOMENT"), "DURATION").into_owned()
}

#[test]
fn a_private_address_looks_like_a_name_that_does_not_resolve() {
    let (private, unknown) = (Folder::new(), Folder::new());
    let (of_private, log) = told(&private, "127.0.0.1:9");
    let (of_unknown, _) = told(&unknown, "no-such-name.invalid");
    assert_eq!(of_private, of_unknown);
    // The operator's log has the reason, without the query.
    assert!(log.contains("little_site: not asked, its host has no public address"), "{log}");
    assert!(!log.contains("alice"), "{log}");
}
