//! A resolver that hangs: the server has mounts of its own, in which `/etc/resolv.conf` is a pipe that nobody writes to,
//! so that `getaddrinfo` never returns.

use super::*;
use crate::support::folder::Folder;
use crate::support::private_postgres::is_root;

/// The modules whose hosts have names, and those whose hosts are addresses.
const NAMED: usize = 150;
const ADDRESSES: usize = 10;
const WORKERS: usize = 200;
/// The most threads for lookups, and the threads of a search beside those of its checks, and those of requests that
/// come meanwhile.
const LOOKUPS: usize = 20;
const FEW: usize = 24;

/// Returns the words of a command that becomes the program in the added arguments, and that has a resolver that hangs.
fn with_hanging_resolver(folder: &Folder) -> Vec<String> {
    const SCRIPT: &str = "mkfifo \"$1\" && mount --bind \"$1\" /etc/resolv.conf && shift && exec \"$@\"";
    // Mounts need root, or a system that allows user namespaces.
    let own = if is_root() {
        &["unshare", "--mount"][..]
    } else {
        &["unshare", "--mount", "--user", "--map-root-user"]
    };
    own.iter().copied().chain(["sh", "-c", SCRIPT, "sh", &folder.path("pipe")]).map(str::to_owned).collect()
}

/// Returns whether mounts are possible here, and reports if not.
fn can_be_had() -> bool {
    let folder = Folder::new();
    let words = with_hanging_resolver(&folder);
    let output = std::process::Command::new(&words[0]).args(&words[1..]).arg("true").output();
    let refusal = match output {
        Ok(output) if output.status.success() => return true,
        Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        Err(error) => error.to_string(),
    };
    crate::support::tier::left_out(&format!("a resolver that hangs: nothing can be mounted here: {refusal}"));
    false
}

#[test]
fn a_search_with_a_hanging_resolver_ends_with_the_answers_of_the_sites_that_need_none() {
    if !can_be_had() {
        return;
    }
    let (site, folder) = (Site::start(), Folder::new());
    let mut modules: Vec<Value> = (0..NAMED).map(|n| site.named_module(&format!("named{n}"))).collect();
    for number in 0..ADDRESSES {
        let id = format!("ok{number}");
        site.answer_at_once(&id, 200);
        modules.push(site.module(&id, number));
    }
    let launcher = with_hanging_resolver(&folder);
    let launcher: Vec<&str> = launcher.iter().map(String::as_str).collect();
    // Long enough to see all lookups at once, also on a busy machine.
    let flags = [&format!("--check-workers={WORKERS}"), "--check-timeout=20s"];
    let server = setup_for(&site, &modules, &flags).launched_by(&launcher).start();
    let before = server.of_process("Threads");
    let run = server.search("username", "alice");
    let busy = NAMED as f64;
    eventually("all lookups are awaited", || server.figure("sightline_check_workers_busy") == busy);
    // Those that were started for a moment, to see that enough could be, have to end.
    let most = before + WORKERS + LOOKUPS + FEW;
    eventually("there are only the workers and lookups", || server.of_process("Threads") <= most);

    let ended = server.finished(&run);
    assert_eq!((&ended["status"], &ended["total_results"]), (&json!("completed"), &json!(ADDRESSES)));
    let of = |outcome: &str| &ended["coverage"][outcome];
    assert_eq!([of("hit"), of("miss"), of("timeout"), of("down")], [ADDRESSES, 0, NAMED, 0], "{ended}");
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let reports = reports["modules"].as_array().unwrap().iter();
    assert_eq!(reports.filter(|report| report["reason"] == "timeout_resolve").count(), NAMED);
}
