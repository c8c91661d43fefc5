//! The default limit on connections, from the limits on descriptors and threads.
//!
//! Fault of tiny_http: each connection takes a thread and two descriptors, a stream one thread more, and nothing limits
//! their number. Workaround: above this limit the longest idle connections are closed. Tests:
//! `connections_stay_below_the_limit_on_mappings`, `connections_above_the_limit_close_idle_ones_but_no_busy_one`.

use std::fs;
use std::os::unix::fs::MetadataExt;

use nix::sys::resource::{Resource, getrlimit};

use crate::base::descriptors::{self, OTHER_DESCRIPTORS};

/// The number of threads that are reserved for the rest of the process: checks, requests, searches.
const OTHER_THREADS: u64 = 1024;
/// The number of threads for each connection. tiny_http uses one, and a stream or a wait uses one more.
const THREADS_PER_STREAM: u64 = 2;
/// The number of descriptors that tiny_http holds for each connection.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;
/// The lower limit. With fewer connections a server is useless.
const MIN_CONNECTIONS: u64 = 16;

/// Returns the number of connections that the current limits on file descriptors and threads allow.
pub(super) fn max_connections() -> usize {
    let for_descriptors =
        connections_within(descriptors::limit(), OTHER_DESCRIPTORS, DESCRIPTORS_PER_CONNECTION);
    let threads = thread_limit();
    let for_threads = connections_within(threads, OTHER_THREADS, THREADS_PER_STREAM);
    if for_threads < for_descriptors {
        log::info!("at most {for_threads} connections: the system allows {threads} threads");
    }
    usize::try_from(for_descriptors.min(for_threads)).unwrap_or(usize::MAX)
}

fn connections_within(limit: u64, others: u64, per_connection: u64) -> u64 {
    ((limit - others.min(limit / 2)) / per_connection).max(MIN_CONNECTIONS)
}

/// Returns the number of threads that this process may have, from the limits that can be read.
fn thread_limit() -> u64 {
    let number = |path: &str| fs::read_to_string(path).ok()?.trim().parse::<u64>().ok();
    let group = fs::read_to_string("/proc/self/cgroup").ok();
    let group = group.as_deref().and_then(|text| text.lines().find_map(|line| line.strip_prefix("0::")));
    let group = number(&format!("/sys/fs/cgroup{}/pids.max", group.unwrap_or_default()));
    // The limit on a user's processes does not apply to root.
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let user = if is_root { None } else { getrlimit(Resource::RLIMIT_NPROC).ok().map(|(soft, _)| soft) };
    [number("/proc/sys/kernel/threads-max"), group, user].into_iter().flatten().min().unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_stay_below_the_limit_on_mappings() {
        for maps in [65_530, 262_144, 1_048_576] {
            let connections =
                connections_within(descriptors::wanted(maps), OTHER_DESCRIPTORS, DESCRIPTORS_PER_CONNECTION);
            // A connection needs a thread and two descriptors. A stream needs one thread more.
            let threads = connections + 2000 + 600;
            assert!(threads * 4 < maps, "{maps}: {threads} threads");
        }
        assert_eq!(connections_within(1024, OTHER_DESCRIPTORS, DESCRIPTORS_PER_CONNECTION), 256);
        assert_eq!(connections_within(0, OTHER_DESCRIPTORS, DESCRIPTORS_PER_CONNECTION), MIN_CONNECTIONS);
        // This is the limit in the unit for systemd: TasksMax=20000.
        assert_eq!(connections_within(20_000, OTHER_THREADS, THREADS_PER_STREAM), 9488);
    }
}
