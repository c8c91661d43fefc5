//! File descriptors: how many this process may open, and how they are divided.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The default of the kernel, used where its setting cannot be read.
const DEFAULT_MAX_MAPS: u64 = 65_530;
/// The memory mappings of a thread: two for its stack, two for its allocator. One mapping too many aborts the process.
/// With a quarter of the mappings as descriptors, the threads of all connections take half of the mappings, and the
/// rest of the process the other half.
const MAPS_PER_THREAD: u64 = 4;
const THREAD_MARGIN: u64 = 1000;
/// The most descriptors that are reserved for checks, the database and files rather than incoming connections.
pub const OTHER_DESCRIPTORS: u64 = 2048;
/// The part of the reserved descriptors that the database, the listening sockets, the log and events take.
const FIXED: u64 = 48;
/// The descriptors of a check: a connection or a lookup, and what belongs to it.
const PER_CHECK: u64 = 2;

/// Sets the soft limit on file descriptors to what the machine's limit on mappings allows, but not above the hard
/// limit.
pub fn adjust_limit() {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let maps = maps.and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_MAX_MAPS);
    let (soft, hard) = (limit(), getrlimit(Resource::Nofile).maximum);
    let wanted = wanted(maps).min(hard.unwrap_or(u64::MAX));
    if wanted == soft {
        return;
    }
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum: hard }) {
        Ok(()) => log::debug!("limit on file descriptors: {soft}, now {wanted}"),
        Err(error) => log::warn!("the limit on file descriptors stays at {soft}: {error}"),
    }
}

/// Returns the soft limit on file descriptors for a machine that allows `maps` mappings.
pub fn wanted(maps: u64) -> u64 {
    (maps / MAPS_PER_THREAD).saturating_sub(THREAD_MARGIN).max(1024)
}

/// Returns the present soft limit.
pub fn limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Returns the number of checks that can run at once within that limit, which is at least one.
pub fn checks_within(limit: u64) -> usize {
    let checks = (limit / 2).saturating_sub(FIXED) / PER_CHECK;
    usize::try_from(checks.max(1)).unwrap_or(usize::MAX)
}

/// Returns the limit that is needed to run so many checks at once.
pub fn limit_for_checks(checks: usize) -> u64 {
    2 * (checks as u64 * PER_CHECK + FIXED)
}
