//! How many connections the machine can carry.

use std::fs;

use rlimit::Resource;

/// Used where the kernel does not say: its default.
const DEFAULT_MAX_MAPS: u64 = 65_530;
/// A thread costs four mappings (two for its stack, two for its allocator), and one too many aborts the
/// process; a connection is a thread and two descriptors, a stream one thread more. A quarter of the
/// mappings as descriptors keeps even a full house at half of them; this much is for everything else.
const MAPS_PER_THREAD: u64 = 4;
const THREAD_MARGIN: u64 = 1000;
/// Descriptors that the rest of the product may need: outgoing connections, database, files.
const OTHER_DESCRIPTORS: u64 = 2048;
/// tiny_http holds each connection twice.
const DESCRIPTORS_PER_CONNECTION: u64 = 2;
/// Below this a server is of no use.
const FEWEST_CONNECTIONS: u64 = 16;

/// Sets the soft limit on file descriptors to what the machine's limit on mappings allows, and no higher than
/// the hard limit.
pub(super) fn adjust_descriptor_limit() {
    let maps = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
    let maps = maps.and_then(|text| text.trim().parse().ok()).unwrap_or(DEFAULT_MAX_MAPS);
    let Ok((soft, hard)) = Resource::NOFILE.get() else { return };
    let wanted = wanted_descriptors(maps).min(hard);
    if wanted == soft {
        return;
    }
    match Resource::NOFILE.set(wanted, hard) {
        Ok(()) => log::debug!("limit on file descriptors: {soft}, now {wanted}"),
        Err(error) => log::warn!("the limit on file descriptors stays at {soft}: {error}"),
    }
}

fn wanted_descriptors(maps: u64) -> u64 {
    (maps / MAPS_PER_THREAD).saturating_sub(THREAD_MARGIN).max(1024)
}

/// Connections that the present limit on file descriptors leaves room for.
pub(super) fn connections_for_descriptors() -> usize {
    let soft = Resource::NOFILE.get().map_or(1024, |(soft, _)| soft);
    usize::try_from(connections_within(soft)).unwrap_or(usize::MAX)
}

fn connections_within(descriptors: u64) -> u64 {
    let others = OTHER_DESCRIPTORS.min(descriptors / 2);
    ((descriptors - others) / DESCRIPTORS_PER_CONNECTION).max(FEWEST_CONNECTIONS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_house_stays_below_the_limit_on_mappings() {
        for maps in [65_530, 262_144, 1_048_576] {
            let connections = connections_within(wanted_descriptors(maps));
            let threads = connections + 2000 + 600;
            assert!(threads * MAPS_PER_THREAD < maps, "{maps}: {threads} threads");
        }
        assert_eq!(connections_within(1024), 256);
        assert_eq!(connections_within(0), FEWEST_CONNECTIONS);
    }
}
