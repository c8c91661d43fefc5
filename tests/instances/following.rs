//! A run that one instance drives, read through the others.

use super::*;

#[test]
fn a_running_run_can_be_read_through_any_instance() {
    let cluster = Cluster::start(3, 2, &[]);
    let [one, two, three] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let path = format!("/v1/searches/{run}");
    let mut streams = [stream(two, &run), stream(three, &run)];
    assert!(streams.iter_mut().all(|stream| next_frame(stream).event == "run"));

    cluster.site.open("m0");
    for stream in &mut streams {
        assert_eq!(identity(&next_result(stream)), (1, "Platform 0".to_owned()));
    }
    for server in [two, three] {
        eventually("it is polled with what was found", || {
            server.get(&path).json()["progress"]["modules_completed"] == 1
        });
        let polled = server.get(&path).json();
        assert_eq!((&polled["status"], &polled["results"][0]["id"]), (&json!("running"), &json!(1)));
        let listed = server.get("/v1/searches?status=running").json();
        assert_eq!((&listed["count"], &listed["searches"][0]["run_id"]), (&json!(1), &json!(run)));
        let modules = server.get(&format!("{path}/modules")).json();
        assert_eq!((&modules["count"], &modules["modules"][0]["module"]), (&json!(1), &json!("m0")));
    }

    cluster.site.open("m1");
    for stream in streams {
        let rest = stream.all();
        assert_eq!(results(&rest), [(2, "Platform 1".to_owned())]);
        let done = rest.last().unwrap();
        assert_eq!((done.event.as_str(), &done.data["status"]), ("done", &json!("completed")));
        assert_eq!(done.data["total_results"], 2);
    }
    let ended = [one, two, three].map(|server| server.get(&path));
    assert!(ended.iter().all(|answer| answer.json()["status"] == "completed"), "{}", ended[1]);
    let tags: Vec<_> = ended.iter().map(|answer| answer.header("etag").unwrap()).collect();
    assert!(tags.iter().all(|tag| *tag == tags[0]), "the same run has the same tag everywhere: {tags:?}");
    assert_eq!(cluster.site.asked_for("m0"), 1);
}

#[test]
fn a_run_can_be_waited_for_at_another_instance() {
    let cluster = Cluster::start(2, 1, &[]);
    let wait = |server: &Server| {
        let body = json!({"type": "username", "query": "alice", "wait": true});
        server.post_once("k", &body)
    };
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let (first, second) = std::thread::scope(|scope| {
        let first = scope.spawn(|| wait(one));
        cluster.site.wait_for("one", "m0");
        let second = scope.spawn(|| wait(two));
        // The second instance counts who waits.
        eventually("both wait", || two.figure("sightline_http_waits") > 0.0);
        cluster.site.open_all();
        (first.join().unwrap().json(), second.join().unwrap().json())
    });
    assert_eq!((&first["status"], &second["status"]), (&json!("completed"), &json!("completed")), "{second}");
    assert_eq!((&first["run_id"], &first["results"]), (&second["run_id"], &second["results"]));
    assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), 1);
}

#[test]
fn a_lost_notification_only_causes_a_delay() {
    let mut cluster = Cluster::start(2, 2, &["--times=lease=10m"]);
    let run = cluster.servers[0].search("username", "alice");
    cluster.site.wait_for("one", "m1");
    let mut remote = stream(&cluster.servers[1], &run);
    next_frame(&mut remote);
    cluster.servers[0].kill();
    // The end is written directly to the database, without a notification.
    cluster.database.execute(
        "INSERT INTO results (run, id, dedup, record, revision) SELECT id, 1, decode(repeat('00', 16), 'hex'), \
         '{\"id\": 1, \"type\": \"profile\", \"entity_type\": \"profile\", \"platform\": \"P\", \"value\": \"alice\", \
         \"confidence\": 0.5, \"source\": \"m0\", \"metadata\": {}, \"created_at\": \"2026-01-01T00:00:00.000Z\"}', 1 \
         FROM runs; \
         UPDATE runs SET status = 'completed', completed_at = now(), owner = NULL, total_results = 1, revision = 1",
    );
    let rest = remote.all();
    assert_eq!(results(&rest), [(1, "P".to_owned())]);
    assert_eq!(rest.last().unwrap().data["status"], "completed");
}

#[test]
fn notifications_resume_after_the_connection_was_cut() {
    let cluster = Cluster::start(2, 30, &[]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let mut remote = stream(two, &run);
    for number in 0..30 {
        if number % 10 == 5 {
            // Cuts the connections of both instances, those for notifications and those for queries.
            cluster.database.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                 WHERE datname = current_database() AND pid <> pg_backend_pid()",
            );
        }
        cluster.site.open(&format!("m{number}"));
        assert_eq!(next_result(&mut remote)["id"], number + 1);
    }
    assert_eq!(remote.all().last().unwrap().event, "done");
    eventually("it hears again", || {
        two.log().contains("notifications of other instances are received again")
    });
    assert_eq!(two.get(&format!("/v1/searches/{run}")).json()["total_results"], 30);
}
