//! Many searches of one account do not keep another account waiting.

use super::*;

fn ordered(server: &Server, key: &str, body: &Value) -> Value {
    let answer = server.request("POST", "/v1/searches").key(key).json(body).send();
    assert_eq!(answer.status, 200, "{answer}");
    answer.json()
}

#[test]
fn a_stream_shows_its_first_hit_while_50_other_searches_run() {
    let site = Site::start();
    let server = server_for(&site, &[site.module("held", 1), site.module("ok", 2)], &[]);
    site.answer_at_once("ok", 200);
    for number in 0..50 {
        let body = json!({"type": "username", "query": format!("user{number}"), "modules": ["held"]});
        ordered(&server, &server.key, &body);
    }
    site.wait_for_held(2);
    eventually("all of them run", || server.figure("sightline_runs_driven") == 50.0);
    let body = json!({"type": "username", "query": "single", "stream": true});
    let mut stream = server.post_stream(&body);
    let first = std::iter::from_fn(|| stream.next()).find(|event| event.event == "result").unwrap();
    assert_eq!(first.data["source"], "ok", "{:?}", first.data);
    assert_eq!(server.figure("sightline_runs_driven"), 51.0, "no other search has ended");
}

#[test]
fn a_search_waits_for_few_checks_of_another_one_that_wait_for_workers() {
    const WORKERS: usize = 64;
    let site = Site::start();
    let modules: Vec<Value> =
        (0..2 * WORKERS).map(|number| site.module(&format!("m{number}"), number)).collect();
    let server = server_for(&site, &modules, &[&format!("--check-workers={WORKERS}")]);
    let search = |query: &str, numbers: std::ops::Range<usize>| {
        let modules: Vec<String> = numbers.map(|number| format!("m{number}")).collect();
        ordered(&server, &server.key, &json!({"type": "username", "query": query, "modules": modules}));
    };
    search("first", 0..WORKERS);
    site.wait_for_held(WORKERS);
    search("second", WORKERS..WORKERS + 30);
    let waiting = |count: usize| {
        eventually("the checks wait", || server.figure("sightline_checks_waiting") == count as f64);
    };
    waiting(30);
    search("third", WORKERS + 30..WORKERS + 31);
    waiting(31);
    for _ in 0..9 {
        site.answer_one(200);
    }
    site.wait_for_held(WORKERS);
    let asked = |query: &str| site.asked().iter().filter(|(_, name)| name == query).count();
    assert_eq!((asked("second"), asked("third")), (8, 1));
    // The workers that become free are used.
    for number in 0..2 * WORKERS {
        site.answer_at_once(&format!("m{number}"), 200);
    }
    eventually("all searches have ended", || server.figure("sightline_runs_driven") == 0.0);
    assert_eq!((asked("first"), asked("second"), asked("third")), (WORKERS, 30, 1));
}
