//! Several instances on one PostgreSQL: real processes, and nginx in front of them.

use serde_json::{Value, json};

mod deleting;
mod following;
mod limits;
mod queue;
mod taking_over;

use crate::support::databases::{TestDatabase, postgres};
use crate::support::held_site::Site;
use crate::support::modules::with;
use crate::support::process::signal;
use crate::support::server::{Event, EventStream, Server, Setup};
use crate::support::{eventually, race};

/// The names of the instances, which are the User-Agents by which the site distinguishes them.
const NAMES: [&str; 3] = ["one", "two", "three"];

/// Instances on one database that query a site of the test.
struct Cluster {
    servers: Vec<Server>,
    database: TestDatabase,
    site: Site,
}

impl Cluster {
    /// Starts so many instances with so many modules.
    fn start(instances: usize, modules: usize, flags: &[&str]) -> Self {
        let (site, database) = (Site::start(), postgres());
        let module = |number: usize| {
            let platform = json!({"platform": format!("Platform {number}")});
            with(site.module(&format!("m{number}"), number), &platform)
        };
        let all = site.flags_of(&(0..modules).map(module).collect::<Vec<_>>(), flags);
        let start = |name: &&str| {
            let setup = Setup::real().database(&database.url).flag(&format!("--user-agent={name}/1"));
            setup.flags(&all).start()
        };
        let mut servers: Vec<Server> = NAMES[..instances].iter().map(start).collect();
        let key = servers[0].key.clone();
        servers.iter_mut().for_each(|server| server.key.clone_from(&key));
        Self { servers, database, site }
    }

    /// Returns the stored runs, results and charges, without the leases.
    fn written(&self) -> String {
        let all = self.database.texts(
            "SELECT concat((SELECT json_agg(to_jsonb(r) - 'lease_until' ORDER BY r.id) FROM runs r), \
             (SELECT json_agg(to_jsonb(s) ORDER BY s.run, s.id) FROM results s), \
             (SELECT json_agg(to_jsonb(c) ORDER BY c.run, c.kind) FROM charges c), \
             (SELECT json_agg(to_jsonb(u) ORDER BY u.account, u.cycle_start) FROM credit_usage u))",
        );
        all.concat()
    }

    /// Returns the id of the instance that drives a run, or drove it last.
    fn driver_of(&self, run: &str) -> String {
        self.database
            .texts(&format!("SELECT coalesce(owner::text, 'nobody') FROM runs WHERE id = '{run}'"))
            .remove(0)
    }

    /// Waits until another instance drives all these runs.
    fn wait_until_taken_from(&self, driver: &str, runs: &[String]) {
        eventually("others go on with them", || {
            runs.iter().all(|run| ![driver, "nobody"].contains(&self.driver_of(run).as_str()))
        });
    }
}

fn stream(server: &Server, run: &str) -> EventStream {
    let stream = server.stream(&format!("/v1/searches/{run}/stream"));
    assert_eq!(stream.status, 200);
    stream
}

/// Returns the next frame, without comments.
fn next_frame(stream: &mut EventStream) -> Event {
    loop {
        let event = stream.next().expect("the stream ends");
        if !event.event.is_empty() {
            return event;
        }
    }
}

/// Returns the data of the next `result` frame.
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

/// Returns the ids and platforms of all results in these frames, in their order.
fn results(events: &[Event]) -> Vec<(u64, String)> {
    let results = events.iter().filter(|event| event.event == "result");
    results.map(|event| identity(&event.data)).collect()
}

fn identity(result: &Value) -> (u64, String) {
    (result["id"].as_u64().unwrap(), result["platform"].as_str().unwrap().to_owned())
}

fn search(name: &str) -> Value {
    json!({"type": "username", "query": name})
}
