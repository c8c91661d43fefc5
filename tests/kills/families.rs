//! Kills while leads are followed: no limit is exceeded, nothing is charged twice, and each family ends.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use serde_json::json;

use crate::support::chance::{Chance, setting};
use crate::support::databases::{TestDatabase, on_each_database};
use crate::support::eventually;
use crate::support::folder::Folder;
use crate::support::modules::{entry, own_flags, with};
use crate::support::server::{Server, Setup};
use crate::support::site::{Site, answer};
use crate::support::tier::often;

/// The families that are followed at once.
const FAMILIES: usize = 4;
const MAX_SEARCHES: usize = 12;

/// Starts two sites whose profiles name further accounts: `root` names `roota`, `rootb` and `rootc`, and so on.
fn start_sites() -> Site {
    Site::start(|socket, request| {
        let name = request.path().rsplit('/').next().unwrap_or_default();
        let links = ["a", "b", "c"].map(|next| format!("https://second.example.com/{name}{next}"));
        // The client may have been killed.
        let _ = socket.write_all(&answer(200, "application/json", &json!({"links": links}).to_string()));
    })
}

fn flags(site: &Site, folder: &Folder) -> Vec<String> {
    let modules = ["first", "second"].map(|id| {
        let changes = json!({
            "profile": format!("https://{id}.example.com/{{query}}"),
            "result": {"type": "profile", "metadata": {"links": "json:/links"}}
        });
        with(entry(id, &site.url(&format!("/{id}/{{query}}"))), &changes)
    });
    let more = ["--times=lease=5s", "--check-workers=4"].map(str::to_owned);
    own_flags(folder, &modules).into_iter().chain(more).collect()
}

on_each_database!(families_survive_kills);

fn families_survive_kills(database: &TestDatabase) {
    let (site, folder) = (start_sites(), Folder::new());
    let setup = || Setup::real().database(&database.url).flags(&flags(&site, &folder));
    let mut chance = Chance::new(setting("SIGHTLINE_TEST_KILLS_SEED", 1));
    let mut server = setup().start();
    let key = server.key.clone();
    let mut roots: Vec<String> = Vec::new();
    for _ in 0..setting("SIGHTLINE_TEST_KILLS", often(3, 12)) {
        // No kill falls into a moment without a family.
        let running = roots.iter().filter(|root| !is_completed(&server, root)).count();
        for _ in running..FAMILIES {
            let follow = json!({"depth": 3, "max_searches": MAX_SEARCHES});
            let query = format!("root{}", roots.len());
            let answer = server.post(&json!({"type": "username", "query": query, "follow": follow}));
            roots.push(answer.json()["run_id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned());
        }
        let until = site.connections() + 1 + chance.below(12);
        eventually("there are more requests, or all is done", || {
            site.connections() >= until || roots.iter().all(|root| is_completed(&server, root))
        });
        server.kill();
        server = setup().start();
        server.key.clone_from(&key);
    }
    eventually("all families end", || roots.iter().all(|root| is_completed(&server, root)));
    let runs: usize = roots.iter().map(|root| family_is_well(&server, root)).sum();
    let credits = server.get("/v1/credits").json();
    assert_eq!(credits["credits_used"], json!(runs), "{credits}");
}

fn is_completed(server: &Server, root: &str) -> bool {
    server.get(&format!("/v1/searches/{root}")).json()["follow"]["status"] == "completed"
}

/// Returns the number of runs of a family that has ended as it should.
fn family_is_well(server: &Server, root: &str) -> usize {
    let list = server.get(&format!("/v1/searches?root_run_id={root}&limit=100")).json();
    let runs = list["searches"].as_array().unwrap();
    let queries: BTreeSet<&str> = runs.iter().filter_map(|run| run["query"].as_str()).collect();
    assert_eq!((runs.len(), queries.len()), (1 + MAX_SEARCHES, 1 + MAX_SEARCHES), "{queries:?}");
    for run in runs {
        assert_eq!((&run["status"], &run["credits_charged"]), (&json!("completed"), &json!(1)), "{run}");
        let depth = run["depth"].as_u64().unwrap_or(0);
        assert!(depth <= 3, "{run}");
        let id = run["run_id"].as_str().unwrap();
        let results = server.get(&format!("/v1/searches/{id}")).json()["results"].clone();
        let mut values: BTreeMap<String, usize> = BTreeMap::new();
        let mut lookups = 0;
        for result in results.as_array().unwrap() {
            *values.entry(format!("{} {}", result["platform"], result["value"])).or_default() += 1;
            lookups += usize::from(!result["metadata"]["found_by"].is_null());
        }
        assert!(values.values().all(|count| *count == 1), "a result is doubled: {values:?}");
        // Each level of look-ups has three times as many as the one before: 3, 9 and 27 from the root.
        let most = [39, 12, 3, 0][usize::try_from(depth).unwrap()];
        assert!(lookups <= most && (lookups > 0 || depth == 3), "{lookups} look-ups at depth {depth}");
    }
    runs.len()
}
