//! Families of the store.

use super::exposition::{Exposition, Kind};
use crate::store::Store;

pub(super) fn write(page: &mut Exposition, store: &Store) {
    let load = store.load();
    let mut connections =
        page.family(Kind::Gauge, "sightline_store_connections", "Open connections of the store's pool.");
    connections.put(&[("state", "used")], f64::from(load.used));
    connections.put(&[("state", "idle")], f64::from(load.idle));
    page.gauge("sightline_store_connections_max", "Connections that there may be.", f64::from(load.max));
    page.gauge(
        "sightline_store_away",
        "1 while the database is known to be away, or refused a write and has taken none for a health check since.",
        f64::from(u8::from(load.is_away)),
    );
    let operations: Vec<_> = store.figures().operations().collect();
    let help = "What operations of the store took, the wait for a connection and failures included.";
    let mut durations = page.family(Kind::Histogram, "sightline_store_operation_duration_seconds", help);
    for operation in &operations {
        durations.spread(&[("operation", operation.name)], &operation.spread);
    }
    let help = "Operations that failed: unavailable, to be tried again; broken, a defect.";
    let mut failures = page.family(Kind::Counter, "sightline_store_failures_total", help);
    for operation in &operations {
        for (kind, count) in [("unavailable", operation.unavailable), ("broken", operation.broken)] {
            failures.put(&[("operation", operation.name), ("kind", kind)], count as f64);
        }
    }
}
