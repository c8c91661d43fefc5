//! `serve` without a sandbox: the whole way from a request to a real site (one of the test's own) and back.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::{Value, json};

use super::Folder;
use crate::support::server::{Server, Setup};

/// A little site on which only `/alice` exists. It keeps the heads of all requests.
struct Site {
    address: SocketAddr,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Site {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let heads = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&heads);
        // Ends with the tests' process.
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                answer(socket.unwrap(), &seen);
            }
        });
        Self { address, heads }
    }

    /// A file with one module that asks this site.
    fn catalog(&self, folder: &Folder) -> String {
        let module = json!({
            "id": "little_site", "platform": "Little Site", "type": "username", "category": "testing",
            "probes": [{"url": format!("http://{}/{{query}}", self.address)}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}],
        });
        folder.file("own.json", &json!([module]).to_string())
    }
}

fn answer(mut socket: TcpStream, seen: &Mutex<Vec<String>>) {
    let reader = BufReader::new(socket.try_clone().unwrap());
    let lines = reader.lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let head = lines.collect::<Vec<_>>().join("\n");
    let status = if head.starts_with("GET /alice ") { "200 OK" } else { "404 Not Found" };
    seen.lock().push(head);
    let page = "<html><head><title>A page</title></head><body>Somebody</body></html>";
    let length = page.len();
    // Whoever asked may have gone.
    let _ = write!(
        socket,
        "HTTP/1.1 {status}\r\nContent-Type: text/html\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{page}"
    );
}

fn serving(catalog: &str, more: &[&str]) -> Server {
    let flags = ["--no-builtin", &format!("--catalog={catalog}"), "--user-agent=X/1"];
    flags.iter().chain(more).fold(Setup::real(), |setup, flag| setup.flag(flag)).start()
}

/// Searches as an account with a limit: the run when it has ended, its one module, the credits used.
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
fn a_real_site_is_asked_and_its_hit_comes_back() {
    let (folder, site) = (Folder::new(), Site::start());
    let server = serving(&site.catalog(&folder), &["--allow-private-targets"]);
    let (run, module, used) = searched(&server, "alice");
    assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(1)), "{run}");
    assert_eq!(run["results"][0]["source"], "little_site");
    assert_eq!(run["results"][0]["platform"], "Little Site");
    assert_eq!((&module["status"], &module["http_status"]), (&json!("hit"), &json!(200)), "{module}");
    assert_eq!(used, 1);

    let (run, module, _) = searched(&server, "bob");
    assert_eq!((&run["status"], &run["total_results"]), (&json!("completed"), &json!(0)), "{run}");
    assert_eq!((&module["status"], &module["http_status"]), (&json!("miss"), &json!(404)), "{module}");

    let heads = site.heads.lock().clone();
    assert!(heads.iter().any(|head| head.starts_with("GET /alice HTTP/1.1\n")), "{heads:#?}");
    for head in heads {
        assert!(head.to_lowercase().contains("\nuser-agent: x/1"), "{head}");
    }
    let health = server.request("GET", "/v1/health").send();
    assert_eq!(
        (health.header("x-sightline-sandbox"), health.json().get("sandbox")),
        (None, None),
        "{health}"
    );
}

#[test]
fn a_private_address_is_refused_and_the_run_costs_nothing() {
    let (folder, site) = (Folder::new(), Site::start());
    let server = serving(&site.catalog(&folder), &[]);
    let (run, module, used) = searched(&server, "alice");
    assert_eq!((&module["status"], &module["reason"]), (&json!("error"), &json!("forbidden_address")));
    assert_eq!(run["status"], "failed", "nobody said anything: {run}");
    assert!(run["error"].is_object(), "{run}");
    assert_eq!(used, 0, "a failed run gives its credits back");
    assert_eq!(*site.heads.lock(), Vec::<String>::new(), "the site was asked");
}

#[test]
fn premium_without_a_browser_is_unavailable_and_costs_nothing() {
    let (folder, site) = (Folder::new(), Site::start());
    let server = serving(&site.catalog(&folder), &["--allow-private-targets"]);
    let key = server.new_key("pro");
    let ask = |path: &str| server.request("GET", path).key(&key).send().json();
    let body = json!({"type": "username", "query": "alice", "premium": true});
    let refused = server.request("POST", "/v1/searches").key(&key).json(&body).send();
    refused.is_error(503, "premium_unavailable");
    assert!(refused.header("retry-after").is_some_and(|wait| wait.parse::<u32>().is_ok_and(|wait| wait > 0)));
    assert_eq!(ask("/v1/credits")["credits_used"], 0);
    assert_eq!(ask("/v1/searches")["count"], 0, "there is a run");
    assert_eq!(*site.heads.lock(), Vec::<String>::new(), "the site was asked");
}
