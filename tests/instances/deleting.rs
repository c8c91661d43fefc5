//! Stopping and deleting a run, and notes on it, through an instance that does not drive it.

use super::*;
use crate::support::admin;

#[test]
fn a_run_deleted_through_another_instance_stops_and_is_gone_at_all_instances() {
    let cluster = Cluster::start(3, 40, &["--check-workers=8"]);
    let [one, two, three] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let path = format!("/v1/searches/{run}");
    cluster.site.open("m0");
    let mut streams = [stream(one, &run), stream(two, &run), stream(three, &run)];
    for stream in &mut streams {
        next_result(stream);
    }
    assert_eq!(three.delete(&path).status, 204);
    for stream in streams {
        let last = stream.all().pop().unwrap();
        assert_eq!((last.event.as_str(), &last.data["error"]), ("error", &json!("not_found")));
        // The deletion is final: there is no time to retry after.
        assert_eq!((&last.data["status"], last.data.get("retry_after")), (&json!("failed"), None));
    }
    eventually("its driver has gone", || one.figure("sightline_runs_driven") == 0.0);
    cluster.site.open_all();
    for server in [one, two, three] {
        server.get(&path).is_error(404, "not_found");
        assert_eq!(server.get("/v1/searches").json()["count"], 0);
    }
    let asked: usize = (0..40).map(|number| cluster.site.asked_for(&format!("m{number}"))).sum();
    assert!(asked < 20, "{asked} modules were asked");
    assert_eq!(cluster.database.number("SELECT count(*) FROM results"), 0);
    assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), 1, "the credit stays spent");
}

#[test]
fn notes_on_an_ended_run_and_its_deletion_are_seen_at_all_instances() {
    let cluster = Cluster::start(2, 3, &[]);
    cluster.site.open_all();
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    for _ in 0..5 {
        let run = one.search("username", "alice");
        let path = format!("/v1/searches/{run}");
        // The run is in the memory of the first instance, and in the cache of the second one.
        for server in [one, two] {
            assert_eq!(server.finished(&run).get("note"), None);
        }
        for (path, body) in [
            (path.clone(), json!({"note": "seen", "tags": ["case-7"]})),
            (format!("{path}/results/1"), json!({"verdict": "unsure"})),
        ] {
            let answer = two.request("PATCH", &path).key(&two.key).json(&body).send();
            assert_eq!(answer.status, 200, "{answer}");
        }
        for server in [one, two] {
            eventually("the notes are shown", || {
                let shown = server.get(&path).json();
                let mark = &shown["results"][0]["annotation"]["verdict"];
                (&shown["note"], &shown["tags"], mark)
                    == (&json!("seen"), &json!(["case-7"]), &json!("unsure"))
            });
        }
        assert_eq!(two.delete(&path).status, 204);
        two.get(&path).is_error(404, "not_found");
        eventually("it is gone at the other", || one.get(&path).status == 404);
    }
}

#[test]
fn a_waiting_request_is_told_that_its_run_was_deleted() {
    let cluster = Cluster::start(2, 3, &[]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let order = |server: &Server| {
        let body = json!({"type": "username", "query": "alice", "wait": true});
        let request = server.request("POST", "/v1/searches").key(&server.key).header("Prefer", "wait=50");
        request.header("Idempotency-Key", "the-one").json(&body).send()
    };
    // The thread of a request that waits is found before its search is begun: that it exists says nothing yet.
    let has_begun = |server: &Server| {
        let page = admin::get(admin::admin_of(server), "/metrics");
        let starts = "sightline_store_operation_duration_seconds_count{operation=\"start\"}";
        admin::figure(page.text(), starts).is_some_and(|count| count > 0.0)
    };
    std::thread::scope(|scope| {
        // One request waits at the instance that drives the run, and one with the same key at another instance.
        let first = scope.spawn(|| order(one));
        cluster.site.wait_for("one", "m0");
        let second = scope.spawn(|| order(two));
        eventually("both searches have begun", || has_begun(one) && has_begun(two));
        let run = two.get("/v1/searches").json()["searches"][0]["run_id"].as_str().unwrap().to_owned();
        assert_eq!(two.delete(&format!("/v1/searches/{run}")).status, 204);
        for answer in [first, second] {
            answer.join().unwrap().is_error(404, "not_found");
        }
    });
}

#[test]
fn a_run_is_stopped_through_another_instance() {
    let cluster = Cluster::start(2, 5, &[]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    cluster.site.open("m0");
    let run = one.search("username", "alice");
    let path = format!("/v1/searches/{run}");
    eventually("it has a result", || two.get(&path).json()["total_results"] == 1);
    let stopped = two.call("POST", &format!("{path}/stop"), None).json();
    let ended = one.finished(&run);
    assert_eq!((&ended["status"], &ended["stopped_at"]), (&json!("completed"), &stopped["stopped_at"]));
}
