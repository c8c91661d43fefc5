//! Sightline: the binary.

use std::process::ExitCode;

// Reserves memory lazily and keeps many threads apart: see the server's notes on huge allocations.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    sightline::cli::run(std::env::args_os()).into()
}
