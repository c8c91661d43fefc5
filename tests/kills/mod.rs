//! Tests of `kill -9` at any moment under load: the next process resumes every accepted search, which ends, has each
//! result once under ids that never change, and is charged once.
//!
//! `SIGHTLINE_TEST_KILLS` is the number of kills in each test (by default a few, and more in `scripts/test all`), and
//! `SIGHTLINE_TEST_KILLS_SEED` determines their moments, as far as the machine does not.

mod background;
pub(crate) mod clients;
mod families;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write as _;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value, json};

use clients::{Order, World};

use crate::outages::kit::has_no_faults;
use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, databases, on_each_database};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::{BINARY, Server, Setup};
use crate::support::site::{self, Received, Site};
use crate::support::tier::often;

const CLIENTS: usize = 32;
/// The number of modules of a search.
const MODULES: usize = 24;
/// The number of addresses that several modules find.
const SHARED: usize = 12;
/// Names with this prefix get no usable answer, so that their search fails.
const GHOST: &str = "ghost";
/// Names with this prefix take longer, so that their searches last through several checkpoints.
pub(crate) const SLOW: &str = "slow";

/// Returns a status that the module and the name determine.
fn status(module: usize, name: &str) -> u16 {
    match module % 8 {
        _ if name.starts_with(GHOST) => 500,
        5 => 404,
        7 => 500,
        _ => 200,
    }
}

/// Returns the addresses that a module finds: one of its own, and some that others find too.
fn listed(module: usize, name: &str) -> [String; 3] {
    let shared = |number: usize| format!("shared{}.{name}@example.com", number % SHARED);
    [format!("own{module}.{name}@example.com"), shared(module), shared(module * 5 + 1)]
}

/// Returns the module and the name of a request to the site.
fn asked(request: &Received) -> (usize, String) {
    let (module, name) = request.path().trim_start_matches("/m").split_once('/').unwrap();
    (module.parse().unwrap(), name.to_owned())
}

/// Starts a site whose latency the module and the name determine. Each module has its own host.
pub(crate) fn start_site() -> Site {
    Site::on_all_addresses(|socket, request| {
        let (module, name) = asked(request);
        let times = if name.starts_with(SLOW) { 6 } else { 1 };
        let mixed = name.bytes().fold(7 * module as u64, |sum, byte| sum * 31 % 997 + u64::from(byte));
        std::thread::sleep(Duration::from_millis(times * (50 + mixed % 350)));
        let page = json!(listed(module, &name)).to_string();
        // The client may have disconnected.
        let _ = socket.write_all(&site::answer(status(module, &name), "application/json", &page));
    })
}

/// Returns the flags for a server that asks the site for email addresses by the modules `m0`, `m1`, ….
pub(crate) fn flags(site: &Site, folder: &Folder) -> Vec<String> {
    let module = |number: usize| {
        let url = format!("http://127.0.9.{}:{}/m{number}/{{query}}", number + 1, site.addr.port());
        let changes = json!({
            "platform": format!("Platform {number}"), "results": [{"type": "email", "each": "json:/*"}]
        });
        with(entry(&format!("m{number}"), &url), &changes)
    };
    let modules: Vec<Value> = (0..MODULES).map(module).collect();
    // The shortest lease.
    let more = ["--times=lease=5s", "--check-workers=256", "--run-timeout=10m"].map(str::to_owned);
    own_flags(folder, &modules).into_iter().chain(more).collect()
}

on_each_database!(searches_survive_kills);

fn searches_survive_kills(database: &TestDatabase) {
    let kills = setting("SIGHTLINE_TEST_KILLS", often(8, 25));
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 1));
    let (site, folder) = (start_site(), Folder::new());
    let flags = flags(&site, &folder);
    // Sites see the number of the process.
    let start = |life: u64| {
        let setup = Setup::real().database(&database.url).flags(&flags);
        setup.flag(&format!("--user-agent=life{life}/1")).start()
    };
    let first = start(0);
    let key = first.key.clone();
    let world = World::new(key.clone());
    let order = |client: usize, number: usize| {
        let sum = client + number;
        let kind = [GHOST, SLOW, "somebody", SLOW, "somebody", "somebody", "somebody"][sum % 7];
        Order::new(format!("{kind}{client}.{number}"), sum, sum % 5 != 4)
    };
    // Counts each time that a process has taken over a run.
    let resumed = || database.number("SELECT CAST(coalesce(sum(epoch), 0) AS bigint) FROM runs");
    let mut server = world.while_disturbed(CLIENTS, order, || {
        let (mut server, mut before) = (first, 0);
        for life in 1..=kills {
            world.port.store(server.address.port(), Ordering::SeqCst);
            let requests = site.connections() + 1 + chance.below(300);
            eventually("there are requests", || site.connections() >= requests);
            // Some processes take over the runs of the one before.
            eventually("runs are resumed", || life % 4 != 3 || resumed() > before);
            assert!(!server.log().contains("panicked"), "{}", server.log());
            server.kill();
            world.port.store(0, Ordering::SeqCst);
            before = resumed();
            if life % 4 == 2 {
                die_at_the_start(database, &mut chance);
            }
            server = start(life);
        }
        world.port.store(server.address.port(), Ordering::SeqCst);
        server
    });
    server.key = key;
    all_is_well(&server, database, &world);
    let (lives, moved) = lives(&site);
    println!(
        "{}: {kills} kills, {} take-overs, {lives} checks, {moved} runs moved",
        database.name,
        resumed()
    );
    assert!(resumed() > 0 && moved > 0, "no kill disturbed anyone");
}

/// Kills a process that may not listen yet.
fn die_at_the_start(database: &TestDatabase, chance: &mut Chance) {
    let mut command = Command::new(BINARY);
    command.args(["serve", "--listen=127.0.0.1:0", "--sandbox", "--database", &database.url]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(chance.below(400) as u64));
    child.kill().unwrap();
    child.wait().unwrap();
}

/// Fails where a process has sent a request twice. Returns the numbers of requests, and of searches with requests from several
/// processes.
fn lives(site: &Site) -> (usize, usize) {
    let (mut requests, mut of_names) = (BTreeSet::new(), HashMap::<String, BTreeSet<String>>::new());
    for request in site.received() {
        let (life, (module, name)) = (request.header("user-agent").unwrap(), asked(&request));
        of_names.entry(name.clone()).or_default().insert(life.clone());
        assert!(requests.insert((life, module, name)), "asked twice in one life: {request:?}");
    }
    (requests.len(), of_names.values().filter(|lives| lives.len() > 1).count())
}

/// Checks that every order is one run, except unrepeatable ones whose answer was lost, that each run has ended as it should with
/// all of its results, and that it was charged once.
pub(crate) fn all_is_well(server: &Server, database: &TestDatabase, world: &World) {
    let (mut runs, mut path) = (BTreeMap::new(), "/v1/searches?limit=100".to_owned());
    loop {
        let page = server.get(&path).json();
        for run in page["searches"].as_array().unwrap() {
            let [name, id] = ["query", "run_id"].map(|field| run[field].as_str().unwrap().to_owned());
            assert_eq!(runs.insert(name, id), None, "one order made two runs: {run}");
        }
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        path = format!("/v1/searches?limit=100&cursor={cursor}");
    }
    let (taken, unsure) = (world.taken.lock().clone(), world.unsure.lock().clone());
    assert!(taken.iter().all(|(name, run)| runs.get(name) == Some(run)), "an order is lost");
    for (name, run) in &runs {
        assert!(taken.contains_key(name) || unsure.contains(name), "nobody ordered {name}");
        let before = world.seen(run);
        let shown = server.finished(run);
        world.whole(run, &shown, &before);
        assert!(
            !taken.contains_key(name) || before.results == world.seen(run).results,
            "{before:?} of {shown}"
        );
        if shown["error"]["code"] == "store_failed" {
            // The kill came before the start was confirmed, and so before its answer.
            assert!(unsure.contains(name), "{shown}");
            assert_eq!(shown["credits_charged"], 0, "{shown}");
            assert_eq!(shown["total_results"], 0, "{shown}");
            continue;
        }
        let is_ghost = name.starts_with(GHOST);
        let end = if is_ghost { ("failed", 0) } else { ("completed", 1) };
        assert_eq!((&shown["status"], &shown["credits_charged"]), (&json!(end.0), &json!(end.1)), "{shown}");
        let values =
            shown["results"].as_array().unwrap().iter().map(|result| result["value"].as_str().unwrap());
        let values: Vec<&str> = values.collect();
        let known = (0..MODULES).filter(|module| status(*module, name) == 200);
        let known: BTreeSet<String> = known.flat_map(|module| listed(module, name)).collect();
        assert_eq!(values.len(), known.len());
        assert_eq!(BTreeSet::from_iter(values.iter().map(|it| (*it).to_owned())), known);
    }
    let count = |sql: &str| database.number(&format!("SELECT count(*) FROM {sql}"));
    let (all, failed) = (runs.len() as i64, count("runs WHERE status = 'failed'"));
    assert_eq!((count("runs"), count("charges WHERE kind = 'charge' AND credits = 1")), (all, all));
    assert_eq!(count("charges WHERE kind = 'refund' AND credits = 1"), failed);
    assert_eq!(count("charges"), all + failed);
    assert_eq!(server.get("/v1/credits").json()["credits_used"], all - failed);
    has_no_faults(|sql| database.number(sql));
}

/// A run that crashes each process that drives it would otherwise go on for ever.
#[test]
fn a_search_that_was_interrupted_too_often_fails_and_is_refunded() {
    for database in databases() {
        let setup = Setup::new().database(&database.url).realistic();
        let mut server = setup.flag("--check-workers=1").flag("--run-timeout=10m").start();
        let [worn, last] = ["jane", "joe"].map(|name| server.search("username", name));
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 2);
        server.kill();
        for (run, times) in [(&worn, 64), (&last, 63)] {
            let id = match database.name {
                "sqlite" => format!("X'{}'", run.replace('-', "")),
                _ => format!("'{run}'"),
            };
            let taken_over = format!("epoch = {times}, owner = NULL, lease_until = NULL");
            database.execute(&format!("UPDATE runs SET {taken_over} WHERE id = {id}"));
        }
        let server = server.restart(&[]);
        let given_up = server.finished(&worn);
        let (status, error) = (&given_up["status"], &given_up["error"]["code"]);
        assert_eq!((status, error), (&json!("failed"), &json!("internal_error")), "{given_up}");
        let message = given_up["error"]["message"].as_str().unwrap();
        assert!(message.contains("interrupted too many times"), "{message}");
        assert_eq!(server.finished(&last)["status"], "completed", "it had this last try");
        assert_eq!(server.get("/v1/credits").json()["credits_used"], 1);
    }
}
