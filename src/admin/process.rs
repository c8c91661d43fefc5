//! Metrics of the process from `/proc`, under the names that Prometheus' own clients use. A figure that
//! cannot be read is left out.

use std::fs;

use jiff::Timestamp;

use super::exposition::Exposition;

/// Linux reports CPU time to programs in hundredths of a second, whatever the kernel's own tick.
const TICKS_PER_SECOND: f64 = 100.0;
/// Memory is read from `/proc/self/status` in KiB, which does not depend on the page size.
const KIB: f64 = 1024.0;

pub(super) fn write(page: &mut Exposition, started: Timestamp) {
    page.gauge(
        "process_start_time_seconds",
        "Start time of the process, in seconds since 1970.",
        started.as_millisecond() as f64 / 1000.0,
    );
    if let Some(seconds) = cpu_seconds() {
        let name = "process_cpu_seconds_total";
        let help = "User and system CPU time of the process.";
        page.family(super::exposition::Kind::Counter, name, help).sample(&[], seconds);
    }
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    for (name, help, key, unit) in [
        ("process_resident_memory_bytes", "Resident memory of the process.", "VmRSS:", KIB),
        ("process_virtual_memory_bytes", "Virtual memory of the process.", "VmSize:", KIB),
        ("process_threads", "Threads of the process.", "Threads:", 1.0),
    ] {
        if let Some(value) = number_after(&status, key) {
            page.gauge(name, help, value * unit);
        }
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The descriptor that reads the folder is not counted.
        let count = open.count().saturating_sub(1);
        page.gauge("process_open_fds", "Open file descriptors.", count as f64);
    }
    let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
    if let Some(most) = number_after(&limits, "Max open files") {
        page.gauge("process_max_fds", "Limit on open file descriptors.", most);
    }
}

fn cpu_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    ticks(&stat).map(|ticks| ticks / TICKS_PER_SECOND)
}

/// Returns the sum of fields 14 and 15 (user and system time). The second field, the process name, can
/// contain any character but ends with the last bracket.
fn ticks(stat: &str) -> Option<f64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
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
        assert_eq!(ticks(stat), Some(300.0));
    }

    #[test]
    fn numbers_are_found_by_their_key() {
        let text = "VmRSS:\t  1234 kB\nMax open files            1024                 4096    files\n";
        assert_eq!(number_after(text, "VmRSS:"), Some(1234.0));
        assert_eq!(number_after(text, "Max open files"), Some(1024.0));
        assert_eq!(number_after("Max open files  unlimited", "Max open files"), None);
    }
}
