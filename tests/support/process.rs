//! Processes on this machine.

use std::process::Command;

/// Sends a signal, such as `TERM`.
pub(crate) fn signal(id: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), id.to_string()]).status().unwrap();
    assert!(status.success());
}

/// Returns a number from `/proc/ID/status`, such as that of `Threads`, or `VmHWM`, the most memory in kilobytes.
pub(crate) fn status_of(id: u32, name: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap()
}
