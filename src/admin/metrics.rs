//! The pages of metrics.

use jiff::Timestamp;

use super::exposition::{Exposition, Kind};
use super::parts::Parts;
use super::{process, storage, traffic, work};

/// Returns the page `/metrics`. It makes no database query, so it also answers while the database is
/// unavailable. Until the server serves, it contains only the metrics of the process.
pub(super) fn page(started: Timestamp, parts: Option<&Parts>) -> String {
    let mut page = Exposition::default();
    let mut build = page.family(Kind::Gauge, "sightline_build_info", "1, with the version as its label.");
    build.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    if let Some(parts) = parts {
        traffic::write(
            &mut page,
            &parts.load_reader.load(),
            parts.traffic.each_ref().map(|traffic| &**traffic),
        );
        work::write(&mut page, parts);
        storage::write(&mut page, &parts.store);
    }
    process::write(&mut page, started);
    page.into_text()
}

/// Returns the page `/metrics/modules`: some thousand lines with figures of each module. It is a page of its
/// own so that it can be scraped less often or not at all.
pub(super) fn modules(parts: Option<&Parts>) -> String {
    let mut page = Exposition::default();
    let Some(parts) = parts else { return page.into_text() };
    let catalog = parts.runs.catalog();
    let modules = parts.health_of_all(&catalog);
    let mut checks = page.family(
        Kind::Counter,
        "sightline_module_checks_total",
        "Checks that count for a module's health, on all instances.",
    );
    for (module, health) in &modules {
        checks.sample(&[("module", module.id())], health.checks as f64);
    }
    let mut success = page.family(
        Kind::Gauge,
        "sightline_module_success_ratio",
        "Share of hits and misses in about the last twenty checks of a module.",
    );
    for (module, health) in modules.iter().filter(|(_, health)| health.checks > 0) {
        success.sample(&[("module", module.id())], health.hit_rate + health.miss_rate);
    }
    let mut latency = page.family(
        Kind::Gauge,
        "sightline_module_latency_seconds",
        "Moving mean of the duration of a module's checks.",
    );
    for (module, health) in &modules {
        if let Some(millis) = health.latency_ms {
            latency.sample(&[("module", module.id())], millis as f64 / 1000.0);
        }
    }
    page.into_text()
}
