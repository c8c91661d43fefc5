//! File descriptors: how many this process may open, and how they are divided.

use std::fs;
use std::sync::LazyLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The default of the kernel, used where its setting cannot be read.
const DEFAULT_MAX_MAPS: u64 = 65_530;
/// The memory mappings of a thread: two for its stack, two for its allocator. One mapping too many aborts the process.
/// With a quarter of the mappings as descriptors, the threads of all connections take half of the mappings, and the
/// rest of the process the other half.
const MAPS_PER_THREAD: u64 = 4;
const THREAD_MARGIN: u64 = 1000;
/// The most descriptors that are reserved for checks, the database and files rather than incoming connections.
const OTHER_DESCRIPTORS: u64 = 2048;
/// The part of the reserved descriptors that the database, the listening sockets, the log and events take.
const FIXED: u64 = 48;
/// The descriptors that tiny_http holds for each connection.
const PER_CONNECTION: u64 = 2;
/// The descriptors of a check: a connection or a lookup, and what belongs to it.
const PER_CHECK: u64 = 2;

/// The soft limit on file descriptors. It is first set to what the machine's limit on mappings allows, but not above the hard
/// limit.
static LIMIT: LazyLock<u64> = LazyLock::new(|| {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let maps = maps.and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_MAX_MAPS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let (soft, hard) = (current.unwrap_or(u64::MAX), maximum.unwrap_or(u64::MAX));
    let wanted = (maps / MAPS_PER_THREAD).saturating_sub(THREAD_MARGIN).max(1024).min(hard);
    match setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum }) {
        Ok(()) => {
            log::debug!("limit on file descriptors: {soft}, now {wanted}");
            wanted
        }
        Err(error) => {
            log::warn!("the limit on file descriptors stays at {soft}: {error}");
            soft
        }
    }
});

/// Returns how many checks run at once: the wanted number, or fewer if there are not enough descriptors. A check without
/// one would end as skipped.
pub fn checks(wanted: usize) -> usize {
    let possible = (*LIMIT / 2).saturating_sub(FIXED) / PER_CHECK;
    let needed = 2 * (wanted as u64 * PER_CHECK + FIXED);
    at_most(
        possible,
        wanted,
        &format!("checks run at once instead of {wanted}, which need a limit of {needed}"),
    )
}

/// Returns how many streams are open at once: the wanted number, or fewer if there are not enough descriptors. Without
/// connections that are left, streams would keep out all other requests.
pub fn streams(wanted: usize) -> usize {
    let limit = *LIMIT;
    let connections = (limit - OTHER_DESCRIPTORS.min(limit / 2)) / PER_CONNECTION;
    let possible = connections * 3 / 4;
    at_most(possible, wanted, &format!("streams and waiting requests are open at once instead of {wanted}"))
}

/// Returns the lower number, which is at least one, and logs a warning if not all that is wanted is possible.
fn at_most(possible: u64, wanted: usize, what: &str) -> usize {
    let possible = usize::try_from(possible.max(1)).unwrap_or(usize::MAX);
    if possible < wanted {
        let limit = *LIMIT;
        log::warn!(
            "the limit on file descriptors is {limit}: {possible} {what}; raise it (`ulimit -n`, `LimitNOFILE=`)"
        );
    }
    possible.min(wanted)
}
