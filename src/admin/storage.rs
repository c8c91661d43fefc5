//! Metric families of the store.

use super::exposition::{Exposition, Kind};
use crate::store::Store;

pub(super) fn write(page: &mut Exposition, store: &Store) {
    let load = store.load();
    let mut connections =
        page.family(Kind::Gauge, "sightline_store_connections", "Open connections of the store's pool.");
    connections.sample(&[("state", "used")], load.used as f64);
    connections.sample(&[("state", "idle")], load.idle as f64);
    page.gauge(
        "sightline_store_connections_max",
        "Limit on open connections of the store's pool.",
        load.max as f64,
    );
    page.gauge(
        "sightline_store_away",
        "1 while the database is unavailable, or since it refused a write until a health check writes again.",
        f64::from(u8::from(load.is_unavailable)),
    );
    let operations = store.metrics().operations();
    let help = "Duration of operations of the store, including the wait for a connection, and failures.";
    let mut durations = page.family(Kind::Histogram, "sightline_store_operation_duration_seconds", help);
    for operation in &operations {
        durations.histogram(&[("operation", operation.name)], &operation.spread);
    }
    let help = "Failed operations of the store: unavailable can be retried, broken is a defect.";
    let mut failures = page.family(Kind::Counter, "sightline_store_failures_total", help);
    for operation in &operations {
        for (kind, count) in [("unavailable", operation.unavailable), ("broken", operation.broken)] {
            failures.sample(&[("operation", operation.name), ("kind", kind)], count as f64);
        }
    }
}
