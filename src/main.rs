//! The `sightline` binary.

use std::process::ExitCode;

// jemalloc reserves memory lazily and serves many threads without contention, also with transparent huge
// pages.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    sightline::cli::run(std::env::args_os()).into()
}
