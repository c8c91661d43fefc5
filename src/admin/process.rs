//! Metrics of the process from `/proc`, under the names that Prometheus' own clients use. A figure that
//! cannot be read is left out.

use std::fs;

use jiff::Timestamp;

use super::exposition::Exposition;
use super::exposition::Kind::{Counter, Gauge};

/// Linux reports CPU time to programs in hundredths of a second, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;
/// Memory is read from `/proc/self/status` in KiB, which does not depend on the page size.
const KIB: f64 = 1024.0;

pub(super) fn write(page: &mut Exposition, started: Timestamp) {
    let read = |file: &str| fs::read_to_string(format!("/proc/self/{file}")).unwrap_or_default();
    let (stat, status, limits) = (read("stat"), read("status"), read("limits"));
    let memory = |key: &str| number_after(&status, key).map(|kib| kib * KIB);
    // The descriptor that reads the folder is not counted.
    let open = fs::read_dir("/proc/self/fd").ok().map(|open| open.count().saturating_sub(1) as f64);
    let started = started.as_millisecond() as f64 / 1000.0;
    let rows = [
        (Gauge, "process_start_time_seconds Start of the process, in seconds since 1970.", Some(started)),
        (Counter, "process_cpu_seconds_total User and system CPU time.", cpu_seconds(&stat)),
        (Gauge, "process_resident_memory_bytes Resident memory.", memory("VmRSS:")),
        (Gauge, "process_virtual_memory_bytes Virtual memory.", memory("VmSize:")),
        (Gauge, "process_threads Threads.", number_after(&status, "Threads:")),
        (Gauge, "process_open_fds Open file descriptors.", open),
        (Gauge, "process_max_fds Limit on open file descriptors.", number_after(&limits, "Max open files")),
    ];
    page.rows(rows.into_iter().filter_map(|(kind, help, value)| Some((kind, help, value?))));
}

/// Returns the sum of fields 14 and 15 (user and system time). The second field, the process name, can
/// contain any character but ends with the last bracket.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some((next()? + next()?) / TICKS_PER_SECOND)
}

fn number_after(text: &str, key: &str) -> Option<f64> {
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.strip_prefix(key)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0 20 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
    }

    #[test]
    fn numbers_are_found_by_their_key() {
        let text = "VmRSS:\t  1234 kB\nMax open files            1024                 4096    files\n";
        assert_eq!(number_after(text, "VmRSS:"), Some(1234.0));
        assert_eq!(number_after(text, "Max open files"), Some(1024.0));
        assert_eq!(number_after("Max open files  unlimited", "Max open files"), None);
    }
}
