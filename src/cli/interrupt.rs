//! Ends a command early on Ctrl-C.

use std::io;
use std::thread;

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use super::exit::{Exit, Failure};
use crate::runs::proof::Stop;

/// Ends the work of a command on Ctrl-C, and the process on the next one. Ends when it is dropped.
pub(super) struct Watch {
    handle: signal_hook::iterator::Handle,
    thread: Option<thread::JoinHandle<()>>,
}

impl Watch {
    pub(super) fn start(stop: &Stop) -> Result<Self, Failure> {
        let failed = |error: io::Error| Failure::Failed(format!("signals: {error}"));
        let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
        let (handle, stop) = (signals.handle(), stop.clone());
        let watch = move || {
            for _ in signals.forever() {
                if stop.is_set() {
                    std::process::exit(Exit::Interrupted.code().into());
                }
                stop.stop();
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned()).spawn(watch).map_err(failed)?;
        Ok(Self { handle, thread: Some(thread) })
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // The thread only waits for signals.
            let _ = thread.join();
        }
    }
}
