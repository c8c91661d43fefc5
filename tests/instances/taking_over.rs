//! Instances that die, stand still or leave, and who goes on with their runs.

use super::*;

/// The shortest there is.
const LEASE: &str = "--lease=5s";

#[test]
fn the_runs_of_a_killed_instance_go_on_elsewhere() {
    let mut cluster = Cluster::start(3, 4, &[LEASE]);
    let runs: Vec<String> =
        ["alice", "bob"].iter().map(|name| cluster.servers[0].search("username", name)).collect();
    let first = cluster.driver_of(&runs[0]);
    for module in ["m0", "m1"] {
        cluster.site.open(module);
    }
    let mut streams: Vec<_> = runs.iter().map(|run| stream(&cluster.servers[1], run)).collect();
    let mut seen: Vec<Vec<_>> = Vec::new();
    for (stream, run) in streams.iter_mut().zip(&runs) {
        seen.push((0..2).map(|_| identity(&next_result(stream))).collect());
        let path = format!("/v1/searches/{run}");
        eventually("both are in a checkpoint", || {
            cluster.servers[2].get(&path).json()["progress"]["modules_completed"] == 2
        });
    }
    let asked = || ["m0", "m1"].map(|module| cluster.site.asked(module));
    let asked_before = asked();
    assert!(asked_before.iter().all(|count| *count >= 2), "{asked_before:?}");
    cluster.servers[0].kill();
    let took = cluster.wait_until_taken_from(&first, &runs);
    println!("taken over {took:?} after the kill, with a lease of 5 s");
    cluster.site.open_all();
    for ((stream, run), mut seen) in streams.into_iter().zip(&runs).zip(seen) {
        let rest = stream.all();
        assert_eq!(rest.last().unwrap().data["status"], "completed");
        seen.extend(results(&rest));
        let ids: Vec<u64> = seen.iter().map(|(id, _)| *id).collect();
        assert_eq!(ids, [1, 2, 3, 4], "each once, in order");
        let stored = cluster.servers[2].finished(run);
        let stored: Vec<_> = stored["results"].as_array().unwrap().iter().map(identity).collect();
        assert_eq!(stored, seen, "and an id once shown stays");
    }
    assert_eq!(asked(), asked_before, "what had ended is not asked again");
    assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), 2);
}

#[test]
fn an_instance_that_stood_still_notices_that_it_lost_its_run_and_writes_nothing() {
    let cluster = Cluster::start(2, 3, &[LEASE]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let run = one.search("username", "alice");
    let first = cluster.driver_of(&run);
    cluster.site.open_to("one", "m0");
    let mut reader = stream(one, &run);
    assert_eq!(identity(&next_result(&mut reader)).0, 1);
    cluster.site.wait_for("one", "m1");
    cluster.site.wait_for("one", "m2");
    eventually("that is in a checkpoint", || {
        two.get(&format!("/v1/searches/{run}")).json()["progress"]["modules_completed"] == 1
    });
    signal(one, "-STOP");
    cluster.wait_until_taken_from(&first, std::slice::from_ref(&run));
    cluster.site.wait_for("two", "m1");
    // Two has asked for what is left, and waits. One's answers are there as soon as it wakes.
    cluster.site.open_to("one", "m1");
    cluster.site.open_to("one", "m2");
    let before = cluster.written();
    signal(one, "-CONT");
    eventually("it notices", || one.log().contains(&format!("run {run}: not driven here any more")));
    eventually("its driver has gone", || {
        one.request("GET", "/v1/health").send().json()["load"]["runs_driven"] == 0
    });
    assert_eq!(cluster.written(), before, "it has written");
    assert_eq!(one.get(&format!("/v1/searches/{run}")).json()["status"], "running");

    // Its readers follow the other one.
    cluster.site.open_all();
    let rest = reader.all();
    assert_eq!(results(&rest).iter().map(|(id, _)| *id).collect::<Vec<_>>(), [2, 3]);
    assert_eq!(rest.last().unwrap().data["status"], "completed");
    let runs = [one, two].map(|server| server.finished(&run));
    assert_eq!(runs[0], runs[1]);
    assert_eq!(runs[0]["total_results"], 3);
    assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), 1);
}

#[test]
fn an_instance_that_gets_its_run_back_goes_on_from_the_store() {
    let mut cluster = Cluster::start(2, 3, &[LEASE]);
    let run = cluster.servers[0].search("username", "alice");
    let first = cluster.driver_of(&run);
    for agent in NAMES {
        cluster.site.open_to(agent, "m0");
    }
    cluster.site.wait_for("one", "m2");
    eventually("the first is in a checkpoint", || {
        cluster.servers[1].get(&format!("/v1/searches/{run}")).json()["progress"]["modules_completed"] == 1
    });
    signal(&cluster.servers[0], "-STOP");
    cluster.site.wait_for("two", "m1");
    cluster.site.open_to("two", "m1");
    eventually("the other one has found more", || {
        cluster.servers[1].get(&format!("/v1/searches/{run}")).json()["progress"]["modules_completed"] == 2
    });
    cluster.servers[1].kill();
    // What it would find on its own is what the other one has found already, under that id.
    cluster.site.open_to("one", "m1");
    signal(&cluster.servers[0], "-CONT");
    eventually("it has it back", || cluster.driver_of(&run) == first);
    cluster.site.open_all();
    let ended = cluster.servers[0].finished(&run);
    assert_eq!(ended["status"], "completed");
    let found: Vec<_> = ended["results"].as_array().unwrap().iter().map(identity).collect();
    assert_eq!(found, [1, 2, 3].map(|id| (id, format!("Platform {}", id - 1))));
}

#[test]
fn the_runs_of_an_instance_that_leaves_go_on_at_once() {
    // Nobody would take them over for their lease's sake.
    let mut cluster = Cluster::start(2, 2, &["--lease=10m"]);
    let run = cluster.servers[0].search("username", "alice");
    cluster.site.wait_for("one", "m1");
    assert!(cluster.servers[0].terminate().success());
    cluster.site.wait_for("two", "m1");
    cluster.site.open_all();
    assert_eq!(cluster.servers[1].finished(&run)["total_results"], 2);
}
