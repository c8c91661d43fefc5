//! The number of checks that ask one host at once follows its answers.

use super::*;

#[test]
fn a_host_that_answers_gets_more_checks_at_once_and_one_that_refuses_gets_one() {
    let site = Site::start();
    let server = server_for(&site, &[site.module("host", 1)], &["--host-concurrency=3"]);
    let runs: Vec<String> = (0..10).map(|n| server.search("username", &format!("user{n}"))).collect();
    site.wait_for_held(2);
    site.answer_one(200);
    site.wait_for_held(3);
    site.answer_one(404);
    site.wait_for_held(3);
    assert_eq!(site.take_most_held(), 3, "not above the option");
    for _ in 0..3 {
        site.answer_one(429);
    }
    site.wait_for_held(1);
    site.take_most_held();
    for _ in 5..10 {
        site.answer_one(429);
    }
    let ended: Vec<Value> = runs.iter().map(|run| server.finished(run)).collect();
    assert_eq!(site.take_most_held(), 1);
    let of = |outcome: &str| ended.iter().filter(|run| run["coverage"][outcome] == json!(1)).count();
    assert_eq!((of("hit"), of("miss"), of("rate_limited")), (1, 1, 8));
}
