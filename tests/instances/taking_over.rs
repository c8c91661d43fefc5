//! Instances that crash, stall or shut down, and the instances that resume their runs.

use super::*;

/// A lease that an instance does not lose on a busy machine before the test stops it.
const LONGER_LEASE: &str = "--times=lease=15s";

#[test]
fn a_stalled_instance_notices_that_it_lost_its_run_and_writes_nothing() {
    let cluster = Cluster::start(2, 3, &[LONGER_LEASE]);
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
    signal(one.child.id(), "STOP");
    cluster.wait_until_taken_from(&first, std::slice::from_ref(&run));
    cluster.site.wait_for("two", "m1");
    // The second instance has queried the remaining modules, and waits. The answers for the first one are ready as soon
    // as it continues.
    cluster.site.open_to("one", "m1");
    cluster.site.open_to("one", "m2");
    let before = cluster.written();
    signal(one.child.id(), "CONT");
    eventually("it notices", || {
        one.log().contains(&format!("run {run}: stopped, since another instance drives it"))
    });
    eventually("its driver has gone", || one.figure("sightline_runs_driven") == 0.0);
    assert_eq!(cluster.written(), before, "it has written");
    // The time in which it was stopped counts as one in which the database did not answer.
    eventually("it reaches the database again", || one.get(&format!("/v1/searches/{run}")).status == 200);
    assert_eq!(one.get(&format!("/v1/searches/{run}")).json()["status"], "running");

    // The readers of the first instance follow the run at the second one.
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
fn an_instance_that_takes_its_run_over_again_resumes_from_the_store() {
    let mut cluster = Cluster::start(2, 3, &[LONGER_LEASE]);
    let run = cluster.servers[0].search("username", "alice");
    let first = cluster.driver_of(&run);
    for agent in NAMES {
        cluster.site.open_to(agent, "m0");
    }
    cluster.site.wait_for("one", "m2");
    eventually("the first is in a checkpoint", || {
        cluster.servers[1].get(&format!("/v1/searches/{run}")).json()["progress"]["modules_completed"] == 1
    });
    signal(cluster.servers[0].child.id(), "STOP");
    cluster.site.wait_for("two", "m1");
    cluster.site.open_to("two", "m1");
    eventually("the other one has found more", || {
        cluster.servers[1].get(&format!("/v1/searches/{run}")).json()["progress"]["modules_completed"] == 2
    });
    cluster.servers[1].kill();
    // The first instance would find the result that the second one has found already, under the same id.
    cluster.site.open_to("one", "m1");
    signal(cluster.servers[0].child.id(), "CONT");
    eventually("it has it back", || cluster.driver_of(&run) == first);
    cluster.site.open_all();
    let ended = cluster.servers[0].finished(&run);
    assert_eq!(ended["status"], "completed");
    let found: Vec<_> = ended["results"].as_array().unwrap().iter().map(identity).collect();
    assert_eq!(found, [1, 2, 3].map(|id| (id, format!("Platform {}", id - 1))));
}
