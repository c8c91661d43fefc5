//! The queue is shared by all instances: accounts take turns, and any free instance drives the next run.

use super::*;

/// Starts a search with one module, by which the site distinguishes it.
fn start(server: &Server, key: &str, module: &str) -> Value {
    let body = json!({"type": "username", "query": "alice", "modules": [module]});
    let answer = server.request("POST", "/v1/searches").key(key).json(&body).send();
    assert_eq!(answer.status, 200);
    answer.json()
}

/// Starts the searches `m0` and `m1`, so that the only driver of both instances is busy. Which one drives which search is
/// open: an instance whose driver looks into the queue at that moment leaves its own start to the other.
fn occupy(cluster: &Cluster, key: &str) {
    for module in ["m0", "m1"] {
        start(&cluster.servers[0], key, module);
        cluster.site.asker(module);
    }
}

#[test]
fn accounts_take_turns_over_all_instances() {
    let cluster = Cluster::start(2, 30, &["--max-runs=1"]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let keys = [(); 5].map(|()| one.new_key("unlimited"));
    occupy(&cluster, &keys[0]);
    // Four accounts queue five searches each, at all instances. Then a fifth account queues one.
    let mut queued = Vec::new();
    for number in 0..20 {
        let (server, account) = (&cluster.servers[number % 2], number / 5);
        queued.push(start(server, &keys[account], &format!("m{}", number + 2)));
    }
    let last = start(two, &keys[4], "m22");
    let path = format!("/v1/searches/{}", last["run_id"].as_str().unwrap());
    let run = one.request("GET", &path).key(&keys[4]).send().json();
    let waits = (&json!("running"), &json!(5));
    assert_eq!((&run["status"], &run["queue_position"]), waits, "behind one search of each other account");
    let list = two.request("GET", "/v1/searches").key(&keys[4]).send().json();
    assert_eq!(list["searches"][0]["queue_position"], Value::Null, "a list counts nothing");

    let order = || Vec::from_iter(cluster.site.asked().into_iter().map(|(module, _)| module));
    // One driver after the other becomes free and starts the next run, so that the order does not depend on their
    // speed.
    for number in 0..21 {
        cluster.site.open(&order()[number]);
        eventually("the next run starts", || order().len() == number + 3);
    }
    cluster.site.open_all();
    eventually("all have ended", || {
        cluster.database.number("SELECT count(*) FROM runs WHERE status = 'completed'") == 23
    });
    let turn = |round: usize| (0..4).map(move |account| 2 + account * 5 + round);
    let turns = turn(0).chain([22]).chain((1..5).flat_map(turn));
    let expected: Vec<String> = (0..2).chain(turns).map(|module| format!("m{module}")).collect();
    assert_eq!(order(), expected, "the fifth account's search is m22");
    let run = one.request("GET", &path).key(&keys[4]).send().json();
    assert_eq!((&run["status"], &run["queue_position"]), (&json!("completed"), &Value::Null));
}

#[test]
fn an_idle_instance_drives_the_waiting_runs_of_a_busy_one_at_once() {
    let cluster = Cluster::start(2, 3, &["--max-runs=1"]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    start(one, &one.key, "m0");
    let (busy, other) = if cluster.site.asker("m0") == "one" { (one, "two") } else { (two, "one") };
    let run = start(busy, &one.key, "m1")["run_id"].as_str().unwrap().to_owned();
    // A reader at the busy instance gets what the other one finds.
    let reader = stream(busy, &run);
    cluster.site.wait_for(other, "m1");
    cluster.site.open_all();
    let events = reader.all();
    assert_eq!(events.last().unwrap().event, "done");
    assert_eq!(results(&events).len(), 1);
    assert_eq!(two.finished(&run)["status"], "completed");
}

#[test]
fn an_open_stream_ends_at_every_instance_when_its_key_is_revoked() {
    let cluster = Cluster::start(2, 1, &[]);
    let [one, two] = &cluster.servers[..] else { unreachable!() };
    let email = "somebody@example.com";
    one.cli(&["account", "create", "--email", email, "--plan", "pro"]);
    let [key, other] = [(); 2].map(|()| one.cli(&["key", "create", "--account", email]).trim().to_owned());
    let run = start(one, &key, "m0")["run_id"].as_str().unwrap().to_owned();
    cluster.site.wait_for("one", "m0");
    let open = |server: &Server, key: &str| {
        server.request("GET", &format!("/v1/searches/{run}/stream")).key(key).stream()
    };
    let (revoked, kept) = ([open(one, &key), open(two, &key)], open(two, &other));
    let listed = one.cli(&["key", "list", "--account", email, "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let last_four = &key[key.len() - 4..];
    let record = listed.as_array().unwrap().iter().find(|known| known["last_four"] == last_four).unwrap();
    one.cli(&["key", "revoke", record["id"].as_str().unwrap()]);
    for stream in revoked {
        let last = stream.all().pop().unwrap();
        assert_eq!((last.event.as_str(), &last.data["error"]), ("error", &json!("invalid_api_key")));
        assert_eq!((&last.data["status"], last.data.get("retry_after")), (&json!("running"), None));
    }
    cluster.site.open_all();
    assert_eq!(kept.all().pop().unwrap().event, "done", "the other key's stream goes on");
}
