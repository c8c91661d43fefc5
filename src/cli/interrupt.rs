//! Ends a command early on Ctrl-C.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::{Exit, Failure};
use crate::runs::proof::Stop;

/// Sets `stop` on Ctrl-C, and ends the process on the next one.
pub(super) fn stop_on_interrupt(stop: &Stop) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("signals: {error}"));
    let (mut signals, stop) = (Signals::new([SIGINT, SIGTERM]).map_err(failed)?, stop.clone());
    let wait = move || {
        for _ in signals.forever() {
            if stop.is_set() {
                std::process::exit(Exit::Interrupted.code().into());
            }
            stop.stop();
        }
    };
    // It ends with the process.
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}
