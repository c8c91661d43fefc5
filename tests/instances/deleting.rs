//! Deleting a run through an instance that does not drive it.

use super::*;

#[test]
fn a_run_that_is_deleted_elsewhere_stops_and_is_gone_everywhere() {
    let cluster = Cluster::start(3, 40, &["--check-workers=8"]);
    let [one, two, three] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let path = format!("/v1/searches/{run}");
    cluster.site.open("m0");
    let mut streams = [stream(one, &run), stream(two, &run), stream(three, &run)];
    for stream in &mut streams {
        next_result(stream);
    }
    assert_eq!(three.request("DELETE", &path).key(&three.key).send().status, 204);
    for stream in streams {
        let last = stream.all().pop().unwrap();
        assert_eq!((last.event.as_str(), &last.data["error"]), ("error", &json!("not_found")));
    }
    eventually("its driver has gone", || {
        let load = one.request("GET", "/v1/health").send().json()["load"].clone();
        load["runs_driven"] == 0
    });
    cluster.site.open_all();
    for server in [one, two, three] {
        server.get(&path).is_error(404, "not_found");
        assert_eq!(server.get("/v1/searches").json()["count"], 0);
    }
    let asked: usize = (0..40).map(|number| cluster.site.asked(&format!("m{number}"))).sum();
    assert!(asked < 20, "{asked} modules were asked");
    assert_eq!(cluster.database.number("SELECT count(*) FROM results"), 0);
    assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), 1, "the credit stays spent");
}

#[test]
fn a_run_that_has_ended_is_gone_everywhere_too() {
    let cluster = Cluster::start(2, 3, &[]);
    cluster.site.open_all();
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    for _ in 0..5 {
        let run = one.search("username", "alice");
        let path = format!("/v1/searches/{run}");
        // In the memory of the one, among the pages that the other keeps ready.
        for server in [one, two] {
            server.finished(&run);
            assert_eq!(server.get(&path).status, 200);
        }
        assert_eq!(two.request("DELETE", &path).key(&two.key).send().status, 204);
        two.get(&path).is_error(404, "not_found");
        eventually("it is gone at the other", || one.get(&path).status == 404);
    }
}

#[test]
fn whoever_waits_for_a_run_is_told_that_it_was_deleted() {
    let cluster = Cluster::start(2, 3, &[]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let order = |server: &Server| {
        let body = json!({"type": "username", "query": "alice", "wait": true});
        let request = server.request("POST", "/v1/searches").key(&server.key).header("Prefer", "wait=50");
        request.header("Idempotency-Key", "the-one").json(&body).send()
    };
    let waits = |server: &Server| {
        let load = server.request("GET", "/v1/health").send().json()["load"].clone();
        load["streams_open"].as_u64().is_some_and(|open| open > 0)
    };
    std::thread::scope(|scope| {
        // At the instance that drives it, and at another one, which is asked for the same.
        let first = scope.spawn(|| order(one));
        cluster.site.wait_for("one", "m0");
        let second = scope.spawn(|| order(two));
        eventually("both wait", || waits(one) && waits(two));
        let run = two.get("/v1/searches").json()["searches"][0]["run_id"].as_str().unwrap().to_owned();
        assert_eq!(two.request("DELETE", &format!("/v1/searches/{run}")).key(&two.key).send().status, 204);
        for answer in [first, second] {
            answer.join().unwrap().is_error(404, "not_found");
        }
    });
}
