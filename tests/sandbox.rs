//! The simulated web, and every built-in module played on it.

use std::sync::Arc;

use sightline::modules::catalog::Catalog;
use sightline::modules::module::Module;
use sightline::sandbox::{Sandbox, SandboxOptions};

fn modules() -> Vec<Arc<Module>> {
    Catalog::builtin().unwrap().modules().to_vec()
}

#[test]
fn every_builtin_module_can_be_made_to_hit_and_to_miss() {
    let sandbox = Sandbox::start(modules(), SandboxOptions::perfect()).unwrap();
    let problems = sandbox.problems();
    let report: Vec<String> = problems.iter().map(|it| format!("{}: {}", it.module, it.what)).collect();
    assert!(report.is_empty(), "{} problems:\n{}", report.len(), report.join("\n"));
}
