//! Tags and notes on runs, notes and marks on their results, as a client sees them.

use serde_json::{Value, json};

use crate::support::databases::databases;
use crate::support::eventually;
use crate::support::gated_site::GatedSite;
use crate::support::server::{Answer, Server, Setup, run_ids};

fn patch(server: &Server, key: &str, below: &str, body: &Value) -> Answer {
    server.request("PATCH", &format!("/v1/searches/{below}")).key(key).json(body).send()
}

/// Changes the notes of a run.
fn note(server: &Server, run: &str, body: &Value) -> Value {
    let answer = patch(server, &server.key, run, body);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

/// Changes the annotation of a result.
fn annotate(server: &Server, run: &str, result: u64, body: &Value) -> Value {
    let answer = patch(server, &server.key, &format!("{run}/results/{result}/annotation"), body);
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

fn read(server: &Server, run: &str) -> Value {
    server.get(&format!("/v1/searches/{run}")).json()
}

fn exported(server: &Server, run: &str, format: &str) -> String {
    let file = server.get(&format!("/v1/searches/{run}/export?format={format}"));
    assert_eq!(file.status, 200, "{file}");
    String::from_utf8(file.body).unwrap()
}

/// Asserts that the API and all files have the notes of a run whose second result is annotated.
fn is_noted(server: &Server, run: &str) {
    let shown = read(server, run);
    assert_eq!((&shown["tags"], &shown["note"]), (&json!(["case-7", "open"]), &json!("first\nsecond")));
    let annotation = json!({"note": "=1+1 <b>", "not_this_person": true});
    let annotations: Vec<&Value> =
        shown["results"].as_array().unwrap().iter().map(|result| &result["annotation"]).collect();
    assert_eq!(annotations, [&Value::Null, &annotation, &Value::Null], "{shown}");
    let report: Value = serde_json::from_str(&exported(server, run, "json")).unwrap();
    assert_eq!((&report["tags"], &report["note"]), (&shown["tags"], &shown["note"]));
    assert_eq!(report["results"], shown["results"]);
    let lines = exported(server, run, "ndjson");
    let line: Value = serde_json::from_str(lines.lines().nth(1).unwrap()).unwrap();
    assert_eq!(line, shown["results"][1]);
    let table = exported(server, run, "csv");
    let mut rows = csv::Reader::from_reader(table.as_bytes());
    let head: Vec<String> = rows.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(head[head.len() - 2..], ["note", "not_this_person"], "{table}");
    let rows: Vec<csv::StringRecord> = rows.records().map(Result::unwrap).collect();
    let cells = |row: usize| [&rows[row][head.len() - 2], &rows[row][head.len() - 1]];
    assert_eq!((cells(0), cells(1)), (["", ""], ["'=1+1 <b>", "true"]), "{table}");
    let page = exported(server, run, "html");
    for present in
        ["case-7, open", "first<br>second", "=1+1 &#60;b&#62;", ">Not this person<", "class=\"other\""]
    {
        assert!(page.contains(present), "{present}: {page}");
    }
}

#[test]
fn notes_are_kept_with_a_run_and_its_results() {
    for database in databases() {
        let site = GatedSite::start();
        let server = Setup::real().database(&database.url).flags(&site.flags(3, 1)).start();
        let run = server.search("username", "alice");
        eventually("the quick sites have answered", || read(&server, &run)["total_results"] == 3);
        let plain = read(&server, &run);
        assert!(plain.get("tags").is_none() && plain.get("note").is_none(), "{plain}");
        assert!(
            plain["results"].as_array().unwrap().iter().all(|one| one.get("annotation").is_none()),
            "{plain}"
        );

        let noted = note(&server, &run, &json!({"tags": ["Case-7", "open", "CASE-7"]}));
        assert_eq!((&noted["tags"], noted.get("note")), (&json!(["case-7", "open"]), None), "{noted}");
        let noted = note(&server, &run, &json!({"note": " first\r\nsecond ", "tags": null}));
        assert_eq!((&noted["tags"], &noted["note"]), (&json!(["case-7", "open"]), &json!("first\nsecond")));
        assert_eq!((&noted["run_id"], &noted["status"]), (&json!(run), &json!("running")));
        assert_eq!(annotate(&server, &run, 2, &json!({"not_this_person": true}))["note"], Value::Null);
        let both = annotate(&server, &run, 2, &json!({"note": "=1+1 <b>", "not_this_person": null}));
        assert_eq!(both, json!({"note": "=1+1 <b>", "not_this_person": true}));
        // While it runs, after it has ended, and after a restart.
        is_noted(&server, &run);
        let stopped = server.request("POST", &format!("/v1/searches/{run}/stop")).key(&server.key).send();
        assert_eq!(stopped.json()["tags"], json!(["case-7", "open"]), "{stopped}");
        assert_eq!(server.finished(&run)["total_results"], 3);
        is_noted(&server, &run);
        let server = server.restart(&[]);
        is_noted(&server, &run);
        let listed = server.get("/v1/searches").json();
        assert_eq!(listed["searches"][0]["tags"], json!(["case-7", "open"]), "{listed}");
        // The results themselves are as they were found, so nothing has changed for a diff or a stream.
        let stream = server.stream(&format!("/v1/searches/{run}/stream")).all();
        let results: Vec<&Value> =
            stream.iter().filter(|event| event.event == "result").map(|event| &event.data).collect();
        assert_eq!(results, plain["results"].as_array().unwrap().iter().collect::<Vec<_>>());

        let tag = server.get(&format!("/v1/searches/{run}")).header("etag").unwrap().to_owned();
        note(&server, &run, &json!({"tags": [], "note": null}));
        annotate(&server, &run, 2, &json!({"note": null, "not_this_person": false}));
        let path = format!("/v1/searches/{run}");
        let again = server.request("GET", &path).key(&server.key).header("If-None-Match", &tag).send();
        assert_eq!(again.status, 200, "the copy of the client is old");
        let left = again.json();
        assert!(left.get("tags").is_none() && left.get("note").is_none(), "{left}");
        assert_eq!(left["results"], plain["results"]);
    }
}

/// A client with `If-Modified-Since` must not keep a copy without the notes.
#[test]
fn a_noted_run_has_no_date() {
    let server = Setup::new().start();
    let run = server.search("username", "everybody");
    server.finished(&run);
    let path = format!("/v1/searches/{run}");
    let date = server.get(&path).header("last-modified").unwrap().to_owned();
    let ask = || server.request("GET", &path).key(&server.key).header("If-Modified-Since", &date).send();
    assert_eq!(ask().status, 304);
    annotate(&server, &run, 1, &json!({"note": "x"}));
    let noted = ask();
    assert_eq!((noted.status, noted.header("last-modified")), (200, None), "{noted}");
    annotate(&server, &run, 1, &json!({"note": null}));
    assert_eq!(ask().status, 304);
}

#[test]
fn runs_are_listed_by_a_tag() {
    for database in databases() {
        let server = Setup::new().database(&database.url).start();
        let [one, two] = ["everybody", "nobody"].map(|name| server.search("username", name));
        note(&server, &one, &json!({"tags": ["case-7", "prüfung"]}));
        note(&server, &two, &json!({"tags": ["case-77"]}));
        let list = |query: &str| run_ids(&server.get(&format!("/v1/searches?{query}")).json());
        assert_eq!(list("tag=CASE-7"), vec![one.clone()]);
        assert_eq!(list("tag=pr%C3%BCfung&type=username"), vec![one]);
        assert_eq!(list("tag=case-77"), [two]);
        assert_eq!((list("tag=case"), list("tag=case-7&type=email")), (Vec::new(), Vec::new()));
        for bad in ["tag=", "tag=a+b", "tag=a%22b", "tag=a&tag=b"] {
            let refused = server.get(&format!("/v1/searches?{bad}"));
            assert_eq!(refused.is_error(400, "invalid_request")["detail"]["field"], "tag", "{refused}");
        }
    }
}

#[test]
fn notes_that_are_not_valid_are_refused() {
    let server = Setup::new().start();
    let run = server.search("username", "everybody");
    server.finished(&run);
    let tags: Vec<String> = (0..11).map(|at| format!("t{at}")).collect();
    let annotation = format!("{run}/results/1/annotation");
    for (below, body, field) in [
        (&run, json!({"tags": ["a b"]}), "tags"),
        (&run, json!({"tags": [""]}), "tags"),
        (&run, json!({"tags": ["x".repeat(41)]}), "tags"),
        (&run, json!({"tags": tags}), "tags"),
        (&run, json!({"tags": "x"}), "tags"),
        (&run, json!({"tags": [1]}), "tags"),
        (&run, json!({"note": "ä".repeat(2001)}), "note"),
        (&run, json!({"note": "a\u{0}b"}), "note"),
        (&run, json!({"note": 1}), "note"),
        (&run, json!([]), "body"),
        (&annotation, json!({"note": "x".repeat(1001)}), "note"),
        (&annotation, json!({"not_this_person": "yes"}), "not_this_person"),
    ] {
        let refused = patch(&server, &server.key, below, &body);
        assert_eq!(refused.is_error(400, "invalid_request")["detail"]["field"], field, "{body}: {refused}");
    }
    let longest = json!({"note": "ä".repeat(2000), "tags": ["ä".repeat(40)]});
    assert_eq!(note(&server, &run, &longest)["note"], longest["note"]);
    assert_eq!(annotate(&server, &run, 1, &json!({}))["note"], Value::Null, "nothing is changed");
    let request = server.request("PATCH", &format!("/v1/searches/{run}")).key(&server.key);
    request.body(b"tags=x").send().is_error(415, "unsupported_media_type");
}

#[test]
fn notes_are_part_of_the_export_of_an_account_and_go_with_the_run() {
    for database in databases() {
        let mut server = Setup::new().database(&database.url).start();
        let email = "noting@example.com";
        server.cli(&["account", "create", "--email", email, "--plan", "unlimited"]);
        server.key = server.cli(&["key", "create", "--account", email]).trim().to_owned();
        let run = server.search("username", "everybody");
        server.finished(&run);
        note(&server, &run, &json!({"tags": ["case-7"], "note": "of the run"}));
        annotate(&server, &run, 1, &json!({"note": "of the result"}));
        let export: Value =
            serde_json::from_str(&server.cli(&["account", "export", "--email", email])).unwrap();
        let exported = &export["runs"][0];
        assert_eq!((&exported["tags"], &exported["note"]), (&json!(["case-7"]), &json!("of the run")));
        assert_eq!(exported["results"][0]["annotation"]["note"], "of the result");
        let audit = export["audit"].as_array().unwrap();
        let noted: Vec<&Value> = audit.iter().filter(|entry| entry["action"] == "run.annotated").collect();
        assert_eq!((noted.len(), &noted[1]["detail"]), (2, &json!({"result": 1})), "{audit:?}");
        let deleted = server.delete(&format!("/v1/searches/{run}"));
        assert_eq!(deleted.status, 204);
        assert_eq!(database.number("SELECT count(*) FROM annotations"), 0);
    }
}
