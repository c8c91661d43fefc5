//! The `sightline` binary.

use std::process::ExitCode;

fn main() -> ExitCode {
    sightline::cli::run(std::env::args_os()).into()
}
