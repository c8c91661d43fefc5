//! Keys, plans, rate limits and idempotency keys hold over all instances.

use super::*;
use crate::support::server::Answer;

/// Asks with so many clients at the same time, alternating between the instances.
fn race_on<T: Send>(cluster: &Cluster, requests: usize, ask: impl Fn(&Server) -> T + Sync) -> Vec<T> {
    race(requests, |number| ask(&cluster.servers[number % cluster.servers.len()]))
}

/// Makes each instance open its connections to the database, a few at a time: on a busy machine, opening many at once
/// may take longer than a request waits for one.
fn warm_up(cluster: &Cluster) {
    let key = cluster.servers[0].new_key("pro");
    eventually("all instances answer many at once", || {
        let list = |server: &Server| server.request("GET", "/v1/searches").key(&key).send();
        race_on(cluster, 10 * cluster.servers.len(), list).iter().all(|answer| answer.status != 503)
    });
}

fn remaining(answer: &Answer) -> u64 {
    answer.header("x-ratelimit-remaining").unwrap().parse().unwrap()
}

#[test]
fn searches_are_limited_exactly_over_all_instances() {
    let cluster = Cluster::start(3, 1, &["--rate-limits=search=5"]);
    warm_up(&cluster);
    // So few for each instance that none is refused because others wait for a busy database.
    let answers = race_on(&cluster, 24, |server| server.post(&search("alice")));
    let (taken, refused): (Vec<&Answer>, Vec<&Answer>) =
        answers.iter().partition(|answer| answer.status == 200);
    let mut left: Vec<u64> = taken.iter().map(|answer| remaining(answer)).collect();
    left.sort_unstable();
    // One more is allowed every twelve seconds.
    assert_eq!(left, (0..5).collect::<Vec<_>>(), "each header tells the truth");
    for answer in refused {
        answer.is_error(429, "rate_limited");
        let wait: u64 = answer.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=60).contains(&wait), "{answer}");
        assert_eq!(remaining(answer), 0);
    }
    assert_eq!(cluster.database.number("SELECT count(*) FROM runs"), 5);
    // Another account has its own limits.
    let other = cluster.servers[1].new_key("pro");
    let answer = cluster.servers[2].request("POST", "/v1/searches").key(&other).json(&search("alice")).send();
    assert_eq!((answer.status, remaining(&answer)), (200, 4), "{answer}");
}

#[test]
fn each_instance_counts_reads_without_the_database() {
    let cluster = Cluster::start(2, 1, &["--rate-limits=read=5"]);
    for server in &cluster.servers {
        let answers: Vec<Answer> = (0..6).map(|_| server.get("/v1/me")).collect();
        assert_eq!(
            answers.iter().map(|answer| answer.status).collect::<Vec<_>>(),
            [200, 200, 200, 200, 200, 429]
        );
        assert_eq!(answers[..5].iter().map(remaining).collect::<Vec<_>>(), [4, 3, 2, 1, 0]);
    }
    assert_eq!(cluster.database.number("SELECT count(*) FROM rate_limits"), 0);
}

#[test]
fn revoked_keys_and_changed_plans_apply_at_all_instances() {
    let cluster = Cluster::start(2, 1, &[]);
    let email = "somebody@example.com";
    let cli = |arguments: &[&str]| cluster.servers[0].cli(arguments);
    cli(&["account", "create", "--email", email, "--plan", "pro"]);
    let [key, other] = [(); 2].map(|()| cli(&["key", "create", "--account", email]).trim().to_owned());
    let ask = |key: &str, server: &Server| server.request("GET", "/v1/me").key(key).send();
    let eventually_all = |what: &str, key: &str, status: u16| {
        eventually(what, || cluster.servers.iter().all(|server| ask(key, server).status == status));
    };
    eventually_all("it works", &key, 200);
    let listed = cli(&["key", "list", "--account", email, "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let id = listed[0]["id"].as_str().unwrap();
    cli(&["key", "revoke", id]);
    eventually_all("it is refused", &key, 401);
    eventually_all("the other one still works", &other, 200);
    cli(&["account", "set-plan", "--email", email, "--plan", "free"]);
    eventually_all("the plan is without the API", &other, 403);
    cli(&["account", "set-plan", "--email", email, "--plan", "pro"]);
    eventually_all("the plan is back", &other, 200);
}

#[test]
fn simultaneous_requests_with_one_idempotency_key_make_one_run_and_one_charge() {
    let cluster = Cluster::start(3, 1, &[]);
    warm_up(&cluster);
    for number in 0..10 {
        let key = format!("key-{number}");
        let answers = race_on(&cluster, 9, |server| {
            let request = server.request("POST", "/v1/searches").key(&server.key);
            request.header("Idempotency-Key", &key).json(&search(&format!("user{number}"))).send()
        });
        let runs: Vec<Value> = answers
            .iter()
            .filter(|answer| answer.status == 200)
            .map(|answer| answer.json()["run_id"].clone())
            .collect();
        assert!(!runs.is_empty() && runs.iter().all(|run| *run == runs[0]), "{runs:?}");
        // Of two requests at once on one instance, the second may be told to retry.
        for answer in answers.iter().filter(|answer| answer.status != 200) {
            answer.is_error(409, "idempotency_conflict");
        }
        assert_eq!(cluster.database.number("SELECT count(*) FROM runs"), number + 1);
        assert_eq!(cluster.database.number("SELECT count(*) FROM charges"), number + 1);
    }
    assert_eq!(cluster.database.number("SELECT sum(used)::bigint FROM credit_usage"), 10);
}
