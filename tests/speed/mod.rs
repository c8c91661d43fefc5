//! What decides how long a search takes: the limits of hosts, learned deadlines, fairness and failing sites, over the real
//! binary and a site of the test's own. `api/speed.txt` has shared answers, time budgets, and what is shown of cut modules.

use serde_json::{Value, json};

mod failures;
mod fairness;
mod hosts;
mod in_vain;
mod learned;
mod quarantine;
mod resets;
mod resolver;

use crate::support::databases::{TestDatabase, databases};
use crate::support::eventually;
use crate::support::held_site::Site;
use crate::support::server::{Server, Setup};

/// The host that refuses connections.
const DOWN: &str = "127.0.0.9";

/// Starts a server that asks this site, with long deadlines.
fn server_for(site: &Site, modules: &[Value], flags: &[&str]) -> Server {
    setup_for(site, modules, flags).start()
}

fn setup_for(site: &Site, modules: &[Value], flags: &[&str]) -> Setup {
    Setup::real().flags(&site.flags_of(modules, flags))
}

/// Waits for the end of a run. Returns the report of a module in it, and the run.
fn ended(server: &Server, run: &str, module: &str) -> (Value, Value) {
    let ended = server.finished(run);
    let reports = server.get(&format!("/v1/searches/{run}/modules")).json();
    let mut reports = reports["modules"].as_array().unwrap().iter();
    (reports.find(|report| report["module"] == module).unwrap().clone(), ended)
}

/// Returns the health of a module as `/v1/modules` shows it.
fn health(server: &Server, module: &str) -> Value {
    let shown = server.get("/v1/modules").json();
    let mut all = shown["modules"].as_array().unwrap().iter();
    all.find(|shown| shown["id"] == module).unwrap()["health"].clone()
}

/// Starts as many instances as the database allows, which share the key of the first one.
fn instances(database: &TestDatabase, start: impl Fn() -> Setup) -> Vec<Server> {
    let count = if database.name == "postgres" { 2 } else { 1 };
    let mut servers: Vec<Server> = (0..count).map(|_| start().database(&database.url).start()).collect();
    let key = servers[0].key.clone();
    servers.iter_mut().for_each(|server| server.key.clone_from(&key));
    servers
}
