//! The real binary on a machine without enough descriptors or without a network.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::http::kit::Client;
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::held_site::Site;
use crate::support::modules::{entry, with};
use crate::support::server::{BINARY, Server, Setup};

const SITES: usize = 20;

/// Starts a server with that hard limit on file descriptors.
fn limited(setup: Setup, descriptors: u32) -> Setup {
    let script = format!("ulimit -n {descriptors}; exec \"$0\" \"$@\"");
    setup.launched_by(&["sh", "-c", &script])
}

fn search(server: &Server, name: &str) -> Value {
    server.post(&json!({"type": "username", "query": name, "wait": true})).json()
}

/// Returns the status and the reason of each module.
fn modules(server: &Server, run: &Value) -> Vec<(String, Option<String>)> {
    let path = format!("/v1/searches/{}/modules", run["run_id"].as_str().unwrap());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let answer = server.get(&path).json();
    let all = answer["modules"].as_array().unwrap_or_else(|| panic!("{answer}")).iter();
    all.map(|module| (text(&module["status"]).unwrap(), text(&module["reason"]))).collect()
}

/// Streams take their share of the connections, and leave some for all other requests.
#[test]
fn a_low_descriptor_limit_bounds_the_streams_and_leaves_health_alone() {
    let setup = Setup::new().realistic().flag("--check-timeout=600s").flag("--run-timeout=600s");
    let server = limited(setup.flag("--rate-limits=stream=1000").flag("--times=stream=1h"), 1024).start();
    let run = server.search("username", "silent");
    let path = format!("/v1/searches/{run}/stream");
    let attach = || server.stream(&path);
    let mut streams = Vec::new();
    let refused = loop {
        let stream = attach();
        if stream.status != 200 {
            break stream;
        }
        streams.push(stream);
        assert!(streams.len() < 1024);
    };
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("5")));
    for _ in 0..50 {
        assert_eq!(server.request("GET", "/v1/health").send().status, 200, "with {} streams", streams.len());
    }
    assert!(streams.len() >= 100 && server.log().contains("streams and waiting requests are open at once"));
}

#[test]
fn a_low_descriptor_limit_reduces_concurrency_but_skips_no_site() {
    let server = limited(Setup::new(), 256).start();
    assert!(server.log().contains("the limit on file descriptors is 256: 40 checks run at once"));
    let run = search(&server, "nobody-at-all-7");
    let coverage = &server.finished(run["run_id"].as_str().unwrap())["coverage"];
    assert_eq!((&coverage["error"], &coverage["timeout"]), (&json!(0), &json!(0)), "{coverage}");
}

#[test]
fn checks_without_a_descriptor_are_skipped_and_do_not_count_for_health() {
    const SKIPPED: &str = "this machine cannot make all checks";
    let site = Site::start();
    let server = Setup::real().flags(&site.flags(0, SITES)).start();
    let all_hit = |name: &str| {
        let run = search(&server, name);
        assert_eq!(run["status"], "completed", "{run}");
        assert!(modules(&server, &run).iter().all(|(status, _)| status == "hit"));
    };
    site.open_all();
    all_hit("alice");
    site.close_all();
    let process = server.child.id();
    let checks = || -> i64 {
        let all = server.get("/v1/modules").json();
        all["modules"]
            .as_array()
            .unwrap()
            .iter()
            .map(|module| module["health"]["checks"].as_i64().unwrap())
            .sum()
    };
    let before = checks();
    let limit = |soft: usize| {
        let limit = format!("--nofile={soft}:");
        let status = Command::new("prlimit").args(["--pid", &process.to_string(), &limit]).status().unwrap();
        assert!(status.success());
    };
    let open = || fs::read_dir(format!("/proc/{process}/fd")).unwrap().count();
    // The search uses a connection that is already open, for which no descriptor may be missing.
    let mut client = Client::connect(server.address);
    let mut ask = |line: &str, body: &str| -> Value {
        let (key, length) = (&server.key, body.len());
        let head =
            format!("{line} HTTP/1.1\r\nHost: a\r\nX-API-Key: {key}\r\nContent-Type: application/json");
        client.send(format!("{head}\r\nContent-Length: {length}\r\n\r\n{body}"));
        serde_json::from_slice(&client.answer().body).unwrap()
    };
    ask("GET /v1/health", "");
    limit(open() + 3);
    let run = std::thread::scope(|scope| {
        let body = r#"{"type": "username", "query": "bob", "wait": true}"#;
        let searching = scope.spawn(|| ask("POST /v1/searches", body));
        // The checks that get a descriptor keep it until another one gets none.
        eventually("a check is skipped", || server.log().contains(SKIPPED));
        site.open_all();
        searching.join().unwrap()
    });
    // Idle connections to the site may still hold the descriptors that the next request needs.
    limit(1024);
    let run = server.finished(run["run_id"].as_str().unwrap());
    let ended = modules(&server, &run);
    let is_skipped = |module: &&(String, Option<String>)| module.1.as_deref() == Some("local_resources");
    let skipped = ended.iter().filter(is_skipped).count();
    assert!(skipped > 0, "{ended:?}");
    assert!(ended.iter().filter(is_skipped).all(|(status, _)| status == "skipped"));
    assert_eq!(ended.iter().filter(|(status, _)| status == "hit").count(), SITES - skipped, "{ended:?}");
    let is_charged = run["status"] == "completed";
    assert_eq!(is_charged, skipped < SITES, "{run}");
    assert_eq!(checks() - before, (SITES - skipped) as i64, "nothing was learned of the others");
    all_hit("carol");
    assert_eq!(server.log().matches(SKIPPED).count(), 1);
}

#[test]
fn a_missing_network_does_not_count_for_module_health() {
    let folder = Folder::new();
    let own = |id: &str, host: &str| {
        let changes = json!({"control": null, "known": ["bob"]});
        with(entry(id, &format!("http://{host}/{{query}}")), &changes)
    };
    let catalog = folder.path("catalog.json");
    let entries = json!([own("address", "127.0.0.1"), own("name", "site.example.com")]);
    fs::write(&catalog, entries.to_string()).unwrap();
    let output = Command::new("unshare")
        .args(["--net", "--user", "--map-root-user", BINARY, "catalog", "check", "--format", "json"])
        .args(["--no-builtin", "--allow-private-targets", "--catalog", &catalog])
        .output()
        .unwrap();
    let Ok(report) = serde_json::from_slice::<Value>(&output.stdout) else {
        let why = String::from_utf8_lossy(&output.stderr);
        assert!(why.contains("unshare"), "{why}");
        return crate::support::tier::left_out(&format!("a machine without a network: {why}"));
    };
    let modules = report["modules"].as_array().unwrap_or_else(|| panic!("{report}"));
    for (module, reason) in [("address", "no_network"), ("name", "no_resolver")] {
        let module = modules.iter().find(|known| known["module"] == module).unwrap();
        assert_eq!(module["verdict"], "error", "{module}");
        for answer in module["answers"].as_array().unwrap() {
            assert_eq!(
                (&answer["outcome"], &answer["reason"]),
                (&json!("skipped"), &json!(reason)),
                "{answer}"
            );
        }
    }
    assert_eq!(output.status.code(), Some(3));
}
