//! A search ends in time, with bounded threads and memory, when most sites fail.

use super::*;

const WORKERS: usize = 200;
/// The threads of a search beside those of its checks, and those of requests that come meanwhile.
const FEW: usize = 24;
/// The most memory in kilobytes.
const MOST_MEMORY: usize = 200_000;

/// Searches, and returns the ended search.
fn search(server: &Server, name: &str) -> Value {
    server.finished(&server.search("username", name))
}

#[test]
fn a_search_with_600_dead_hosts_of_700_ends_with_the_answers_of_the_others_and_later_ones_ask_only_these() {
    let site = Site::start();
    // Of three dead hosts two refuse connections, and one is silent.
    let dead = |n| match n % 3 {
        0 => site.silent_module(&format!("silent{n}"), n),
        _ => site.refusing_module(&format!("refusing{n}"), n),
    };
    let mut modules: Vec<Value> = (0..600).map(dead).collect();
    for number in 0..100 {
        let id = format!("ok{number}");
        site.answer_at_once(&id, 200);
        modules.push(site.module(&id, 600 + number));
    }
    // Long enough for the sites that answer, while each worker asks one, also on a busy machine.
    let flags = [&format!("--check-workers={WORKERS}"), "--check-timeout=15s", "--times=host-retry=1h"];
    let server = server_for(&site, &modules, &flags);
    let before = server.of_process("Threads");
    let first = server.search("username", "first");
    eventually("the workers are busy", || server.figure("sightline_check_workers_busy") == WORKERS as f64);
    // Those that were started for a moment, to see that enough could be, have to end.
    let most = before + WORKERS + FEW;
    eventually("there are only the workers", || server.of_process("Threads") <= most);
    for ended in [server.finished(&first), search(&server, "second"), search(&server, "third")] {
        assert_eq!((&ended["status"], &ended["total_results"]), (&json!("completed"), &json!(100)));
        let of = |outcome: &str| &ended["coverage"][outcome];
        assert_eq!([of("hit"), of("miss"), of("timeout"), of("error")], [100, 0, 200, 400], "{ended}");
        assert_eq!(of("down"), 0, "three checks in a row open a circuit");
    }
    let ended = search(&server, "fourth");
    assert_eq!(ended["coverage"]["hit"], 100, "{ended}");
    assert_eq!(ended["coverage"]["down"], 600, "{ended}");
    assert_eq!(server.figure("sightline_circuits_open"), 600.0);
    eventually("no check is left", || server.figure("sightline_check_workers_busy") == 0.0);
    let memory = server.of_process("VmHWM");
    assert!(memory <= MOST_MEMORY, "{memory} kB");
}
