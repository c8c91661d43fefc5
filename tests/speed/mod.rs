//! What decides how long a search takes: the limits of hosts, time budgets, shared answers, fairness and failing sites, over the real binary and a site of the test's own.

use serde_json::{Value, json};

mod budget;
pub(crate) mod circuits;
mod failures;
mod fairness;
mod hosts;
mod in_vain;
mod learnt;
mod quarantine;
mod resets;
mod resolver;
mod sharing;
pub(crate) mod site;

use site::Site;

use crate::support::eventually;
use crate::support::server::{Server, Setup};

/// Starts a server that asks this site, with long deadlines.
fn server_for(site: &Site, modules: &[Value], flags: &[&str]) -> Server {
    setup_for(site, modules, flags).start()
}

fn setup_for(site: &Site, modules: &[Value], flags: &[&str]) -> Setup {
    let catalog = site.catalog(modules);
    let flags: Vec<String> = flags.iter().map(|flag| (*flag).to_owned()).collect();
    let setup = Setup::real().flag("--no-builtin").flag("--allow-private-targets").flag(&catalog);
    let is_given = |option: &str| flags.iter().any(|flag| flag.starts_with(option));
    let deadlines = ["--check-timeout=", "--run-timeout="].into_iter().zip(["10m", "1h"]);
    let deadlines =
        deadlines.filter(|(option, _)| !is_given(option)).map(|(option, time)| format!("{option}{time}"));
    let deadlines: Vec<String> = deadlines.collect();
    setup.flags(&deadlines).flags(&flags)
}
