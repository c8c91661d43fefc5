//! The pages of figures.

use super::exposition::{Exposition, Kind};
use super::{Admin, process, storage, traffic, work};

/// `/metrics`. Asks no database: it is answered while that is away. Until the server serves, it has the process'
/// own figures alone.
pub(super) fn page(admin: &Admin) -> String {
    let mut page = Exposition::default();
    let mut build = page.family(Kind::Gauge, "sightline_build_info", "1, with the version as its label.");
    build.put(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    if let Some(parts) = admin.parts.get() {
        traffic::write(&mut page, &parts.gauge.load(), [parts.api.traffic(), &parts.web]);
        work::write(&mut page, parts);
        storage::write(&mut page, &*parts.store);
    }
    process::write(&mut page, admin.started);
    page.into_text()
}

/// `/metrics/modules`: some thousand lines, for who wants each module; its own page, so that it can be scraped less
/// often or not at all.
pub(super) fn modules(admin: &Admin) -> String {
    let mut page = Exposition::default();
    let Some(parts) = admin.parts.get() else { return page.into_text() };
    let modules = parts.health_of_all();
    let mut checks = page.family(
        Kind::Counter,
        "sightline_module_checks_total",
        "Checks of a module that count for its health, on all instances.",
    );
    for (module, health) in &modules {
        checks.put(&[("module", module.id())], health.checks as f64);
    }
    let mut success = page.family(
        Kind::Gauge,
        "sightline_module_success_ratio",
        "Share of hits and misses in about the last twenty checks of a module.",
    );
    for (module, health) in modules.iter().filter(|(_, health)| health.checks > 0) {
        success.put(&[("module", module.id())], health.hit_rate + health.miss_rate);
    }
    let mut latency = page.family(
        Kind::Gauge,
        "sightline_module_latency_seconds",
        "Moving mean of what a check of a module takes.",
    );
    for (module, health) in &modules {
        if let Some(millis) = health.latency_ms {
            latency.put(&[("module", module.id())], millis as f64 / 1000.0);
        }
    }
    page.into_text()
}
