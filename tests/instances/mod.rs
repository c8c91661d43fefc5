//! Several instances on one PostgreSQL: real processes, and nginx in front of them.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

mod deleting;
mod following;
mod limits;
mod site;
mod taking_over;

use site::Site;

use crate::support::databases::{TestDatabase, postgres};
use crate::support::folder::Folder;
use crate::support::server::{Event, EventStream, PATIENCE, Server, Setup};

/// Their names: the User-Agent by which the site tells them apart.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Instances on one database that search a site of the test's own.
struct Cluster {
    servers: Vec<Server>,
    database: TestDatabase,
    site: Site,
    _folder: Folder,
}

impl Cluster {
    /// So many instances, and so many modules to ask.
    fn start(instances: usize, modules: usize, flags: &[&str]) -> Self {
        let (folder, site, database) = (Folder::new(), Site::start(), postgres());
        let catalog = folder.path("catalog.json");
        std::fs::write(&catalog, site.catalog(modules)).unwrap();
        let start = |name: &&str| {
            let setup = Setup::real().database(&named(&database.url, name)).flag("--no-builtin");
            let setup = setup.flag("--allow-private-targets").flag(&format!("--catalog={catalog}"));
            let setup = setup.flag(&format!("--user-agent={name}/1")).flag("--check-timeout=5m");
            let setup = setup.flag("--run-timeout=10m");
            flags.iter().fold(setup, |setup, flag| setup.flag(flag)).start()
        };
        let mut servers: Vec<Server> = NAMES[..instances].iter().map(start).collect();
        let key = servers[0].key.clone();
        servers.iter_mut().for_each(|server| server.key.clone_from(&key));
        Self { servers, database, site, _folder: folder }
    }

    /// What the runs, their results and their charges are, but for who drives and until when.
    fn written(&self) -> String {
        self.text(
            "SELECT concat((SELECT json_agg(to_jsonb(r) - 'lease_until' ORDER BY r.id) FROM runs r), \
             (SELECT json_agg(to_jsonb(s) ORDER BY s.run, s.id) FROM results s), \
             (SELECT json_agg(to_jsonb(c) ORDER BY c.run, c.kind) FROM charges c), \
             (SELECT json_agg(to_jsonb(u) ORDER BY u.account, u.cycle_start) FROM credit_usage u))",
        )
    }

    fn text(&self, sql: &str) -> String {
        postgres::Client::connect(&self.database.url, postgres::NoTls)
            .unwrap()
            .query_one(sql, &[])
            .unwrap()
            .get(0)
    }

    /// Waits until that instance asks the database nothing: its readers have seen what there is.
    fn wait_until_quiet(&self, name: &str) {
        let sql = format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '{name}' \
             AND (state <> 'idle' OR clock_timestamp() - state_change < interval '30 ms')"
        );
        let mut client = postgres::Client::connect(&self.database.url, postgres::NoTls).unwrap();
        let end = Instant::now() + PATIENCE;
        while client.query_one(&sql, &[]).unwrap().get::<_, i64>(0) > 0 {
            assert!(Instant::now() < end, "{name} asks again and again");
        }
    }

    /// Which instance drives a run, or drove it when it died or stood still: the id it gave itself.
    fn driver_of(&self, run: &str) -> String {
        self.text(&format!("SELECT coalesce(owner::text, 'nobody') FROM runs WHERE id = '{run}'"))
    }

    /// Waits until another instance than that drives all these runs; gives how long that took.
    fn wait_until_taken_from(&self, driver: &str, runs: &[String]) -> Duration {
        eventually("others go on with them", || {
            runs.iter().all(|run| ![driver, "nobody"].contains(&self.driver_of(run).as_str()))
        })
    }
}

/// The address by which the database knows who asks.
fn named(url: &str, name: &str) -> String {
    format!("{url}{}application_name={name}", if url.contains('?') { '&' } else { '?' })
}

fn stream(server: &Server, run: &str) -> EventStream {
    let stream = server.request("GET", &format!("/v1/searches/{run}/stream")).key(&server.key).stream();
    assert_eq!(stream.status, 200);
    stream
}

/// The next frame; comments are passed over.
fn next_frame(stream: &mut EventStream) -> Event {
    loop {
        let event = stream.next().expect("the stream ends");
        if !event.event.is_empty() {
            return event;
        }
    }
}

/// The next result's frame.
fn next_result(stream: &mut EventStream) -> Value {
    loop {
        let event = next_frame(stream);
        match event.event.as_str() {
            "result" => return event.data,
            "run" | "progress" => {}
            other => panic!("a {other} frame before a result: {}", event.data),
        }
    }
}

/// The ids and platforms of all results in these frames, in their order.
fn results(events: &[Event]) -> Vec<(u64, String)> {
    let results = events.iter().filter(|event| event.event == "result");
    results.map(|event| identity(&event.data)).collect()
}

fn identity(result: &Value) -> (u64, String) {
    (result["id"].as_u64().unwrap(), result["platform"].as_str().unwrap().to_owned())
}

fn signal(server: &Server, name: &str) {
    let done = Command::new("kill").args([name, &server.child.id().to_string()]).status().unwrap();
    assert!(done.success());
}

/// Waits until it holds; gives how long that took.
fn eventually(what: &str, holds: impl Fn() -> bool) -> Duration {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
    began.elapsed()
}

fn search(name: &str) -> Value {
    json!({"type": "username", "query": name})
}
