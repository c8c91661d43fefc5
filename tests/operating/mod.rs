//! The tools of operators: metrics, probes, logs, the service manager, backups.

mod backup;
mod logs;
mod metrics;
mod page;
mod probes;
mod unit;

mod campaigns {
    mod alerts;
    mod container;
    mod package;
}

use std::net::SocketAddr;
use std::process::Output;

use crate::support::admin::get;
use page::Page;

/// Reads all metrics strictly.
fn scrape(admin: SocketAddr) -> Page {
    let said = get(admin, "/metrics");
    assert_eq!(said.status, 200, "{said}");
    Page::read(said.text())
}

/// Returns what a program said, which must have succeeded.
#[track_caller]
fn succeeds(output: &Output) -> String {
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    said
}
