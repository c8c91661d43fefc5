//! How much is tested: see `scripts/test`.

use std::io::Write as _;

/// Returns whether `SIGHTLINE_TEST_TIER`, which `scripts/test` sets, is this word.
fn is(tier: &str) -> bool {
    std::env::var("SIGHTLINE_TEST_TIER").is_ok_and(|set| set == tier)
}

/// Returns whether only what needs no PostgreSQL is tested.
pub(crate) fn is_quick() -> bool {
    is("quick")
}

/// Returns whether everything is tested that this machine can test.
pub(crate) fn is_all() -> bool {
    is("all")
}

/// Returns how often something is repeated: a few times, or as often as `scripts/test all` does.
pub(crate) fn often<T>(few: T, all: T) -> T {
    if is_all() { all } else { few }
}

/// Reports that a test, or a part of one, cannot run on this machine. `scripts/test` lists and counts the reasons.
///
/// # Panics
/// Panics where `CI` is set: there, a missing tool is a failure.
pub(crate) fn left_out(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "not tested: {reason}");
    eprintln!("not tested: {reason}");
    if let Some(list) = std::env::var_os("SIGHTLINE_TEST_LEFT_OUT") {
        let mut list = std::fs::OpenOptions::new().append(true).create(true).open(list).unwrap();
        writeln!(list, "{}: {reason}", std::thread::current().name().unwrap_or("a test")).unwrap();
    }
}
