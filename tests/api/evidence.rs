//! Evidence: the answers of sites that a search keeps, byte by byte.

use serde_json::{Value, json};
use sightline::base::encoding::{hex, sha256};

use crate::cli::ran;
use crate::support::databases::databases;
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, ok};

const PAGE: &str = "<!DOCTYPE html><title>alice</title><script>alert(1)</script><p>a – ü";

/// Starts a site, of which two modules find the same account, one asks with a key, and one gets a large page. One finds
/// nothing.
fn site(folder: &Folder) -> (Site, Vec<String>) {
    let site = Site::by_path(|path| match path {
        "/none/alice" => b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec(),
        "/large/alice" => ok(&large()),
        _ => ok(PAGE),
    });
    let of = |id: &str, path: &str| entry(id, &site.url(path));
    let same = json!({"platform": "Both"});
    let modules = [
        with(of("one", "/one/{query}"), &same),
        with(of("two", "/two/{query}"), &same),
        with(of("keyed", "/keyed/{query}?k={config.secret}"), &json!({"needs": ["config.secret"]})),
        with(of("large", "/large/{query}"), &json!({"hit": [{"status": [200], "text": ["abcdef0123"]}]})),
        of("none", "/none/{query}"),
    ];
    let mut flags = own_flags(folder, &modules);
    flags.push("--key=secret=s3cr3t".to_owned());
    (site, flags)
}

fn large() -> String {
    "0123456789abcdef".repeat(100_000)
}

/// Returns the sources of a run's results, each with the id of its result.
fn sources(run: &Value) -> Vec<(u64, Value)> {
    let of = |result: &Value| {
        let (id, sources) = (result["id"].as_u64().unwrap(), &result["metadata"]["sources"]);
        sources.as_array().unwrap().iter().map(|source| (id, source.clone())).collect::<Vec<_>>()
    };
    run["results"].as_array().unwrap().iter().flat_map(of).collect()
}

fn search(server: &Server, evidence: bool) -> Value {
    let answer = server.post(&json!({"type": "username", "query": "alice", "evidence": evidence}));
    server.finished(answer.json()["run_id"].as_str().unwrap())
}

#[test]
fn what_hits_were_judged_by_is_kept_byte_by_byte_until_the_run_is_deleted() {
    for database in databases() {
        let folder = Folder::new();
        let (site, flags) = site(&folder);
        let shared = "--times=share-answers=10m";
        let server = Setup::real().database(&database.url).flags(&flags).flag(shared).start();
        let plain = search(&server, false);
        assert!(sources(&plain).iter().all(|(_, source)| source["evidence"].is_null()), "{plain}");
        // Answers that the first search got are not shared, because it has not kept them.
        let run = search(&server, true);
        assert_eq!((&run["evidence"], plain.get("evidence")), (&json!(true), None));
        let id = run["run_id"].as_str().unwrap().to_owned();
        let found = sources(&run);
        assert_eq!(found.len(), 4, "two modules found one account: {run}");
        for (result, source) in &found {
            let (module, kept) = (source["module"].as_str().unwrap(), &source["evidence"]);
            let path = format!("/v1/searches/{id}/results/{result}/evidence");
            let file = server.get(&format!("{path}?module={module}"));
            let whole = if module == "large" { large() } else { PAGE.to_owned() };
            assert_eq!(file.body, &whole.as_bytes()[..whole.len().min(1024 * 1024)], "{module}");
            assert_eq!(kept["sha256"], hex(&sha256(&file.body)), "{module}");
            assert_eq!((&kept["bytes"], &kept["http_status"]), (&json!(file.body.len()), &json!(200)));
            assert_eq!(kept["truncated"], whole.len() > file.body.len());
            assert_eq!(file.header("x-evidence-sha256"), kept["sha256"].as_str());
            assert_eq!(file.header("x-evidence-time"), kept["at"].as_str());
            let address = (module != "keyed").then(|| site.url(&format!("/{module}/alice")));
            assert_eq!(
                (kept["address"].as_str(), file.header("x-evidence-address")),
                (address.as_deref(), address.as_deref())
            );
            // It is a file, and never a page of this service.
            assert_eq!(file.header("content-type"), Some("application/octet-stream"));
            let disposition = file.header("content-disposition").unwrap();
            assert!(
                disposition.starts_with(&format!("attachment; filename=\"sightline-evidence-{module}-")),
                "{disposition}"
            );
            server.get(&format!("{path}?module=none")).is_error(404, "not_found");
            let other = server.new_key("unlimited");
            server.request("GET", &path).key(&other).send().is_error(404, "not_found");
        }
        let first = server.get(&format!("/v1/searches/{id}/results/{}/evidence", found[0].0));
        assert_eq!(first.header("x-evidence-sha256"), found[0].1["evidence"]["sha256"].as_str());
        for wrong in ["0", "99", "x", "-1", "4294967297"] {
            server.get(&format!("/v1/searches/{id}/results/{wrong}/evidence")).is_error(404, "not_found");
        }
        let without = plain["run_id"].as_str().unwrap();
        server.get(&format!("/v1/searches/{without}/results/1/evidence")).is_error(404, "not_found");
        for format in ["html", "json"] {
            let report = server.get(&format!("/v1/searches/{id}/export?format={format}"));
            for (_, source) in &found {
                assert!(report.text().contains(source["evidence"]["sha256"].as_str().unwrap()), "{format}");
            }
            assert!(!report.text().contains("s3cr3t"));
        }
        // Equal answers are kept once.
        let kept = || database.number("SELECT count(*) FROM evidence");
        assert_eq!(kept(), 2);
        let diff = server.get(&format!("/v1/searches/{without}/diff/{id}")).json();
        assert_eq!(diff["counts"]["changed"], 0, "{diff}");
        assert_eq!(server.delete(&format!("/v1/searches/{id}")).status, 204);
        assert_eq!(kept(), 0);
    }
}

#[test]
fn the_command_line_writes_evidence_into_a_folder() {
    let folder = Folder::new();
    let (_site, flags) = site(&folder);
    let (kept, report) = (folder.path("new/kept"), folder.path("report.json"));
    let arguments = ["search", "username", "alice", "--evidence", &kept, "-o", &report];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    ran(&[&arguments[..], &flags].concat(), &[]).code_is(0);
    let run: Value = serde_json::from_str(&std::fs::read_to_string(report).unwrap()).unwrap();
    for (_, source) in sources(&run) {
        let (module, hash) =
            (source["module"].as_str().unwrap(), source["evidence"]["sha256"].as_str().unwrap());
        let file = std::fs::read(format!("{kept}/{module}-{hash}.txt")).unwrap();
        assert_eq!(hex(&sha256(file)), hash, "{module}");
    }
    assert_eq!(std::fs::read_dir(&kept).unwrap().count(), 4);
    let file = folder.file("file", "");
    let refused = ran(&["search", "alice", "--sandbox", "--evidence", &format!("{file}/kept")], &[]);
    refused.code_is(3).err_has("/file/kept");
}
