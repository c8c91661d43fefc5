//! The tools of operators: metrics, probes, logs, the service manager, backups.

mod alerts;
mod backup;
mod container;
mod logs;
mod metrics;
mod package;
mod page;
mod probes;
mod simulation;
mod unit;

use std::net::SocketAddr;

use crate::support::admin::get;
use page::Page;

/// Reads all metrics strictly.
fn scrape(admin: SocketAddr) -> Page {
    let said = get(admin, "/metrics");
    assert_eq!(said.status, 200, "{}", said.text);
    Page::read(&said.text)
}
