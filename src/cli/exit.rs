//! Exit codes of commands, conversions into their errors, and their end on Ctrl-C.

use std::process::ExitCode;
use std::{io, thread};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

pub(crate) use crate::app::Failure;
use crate::base::storage::StorageError;
use crate::model::refusal::{Code, Refusal};
use crate::runs::proof::Stop;

/// The exit codes of all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// Success.
    Done = 0,
    /// A search found nothing; a file has mistakes or is not formatted; a module of the catalogue is
    /// broken or unreliable; a schema is not up to date.
    NothingFound = 1,
    /// The command line, a variable or a query is not valid.
    Usage = 2,
    /// The command failed.
    Failed = 3,
    /// Ctrl-C has ended the command early. A search has written what it has found.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl Failure {
    /// Returns the exit code for this error.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Failed(_) => Exit::Failed,
            Self::Interrupted => Exit::Interrupted,
            Self::OutputClosed => Exit::Done,
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ if StorageError::is_in(&error) => Self::failed(error),
            _ => Self::Failed(format!("cannot write the output: {error}")),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal.code {
            Code::InvalidRequest => Self::usage(refusal),
            _ => Self::failed(refusal),
        }
    }
}

/// Sets `stop` on Ctrl-C, and ends the process on the next one.
pub(super) fn stop_on_interrupt(stop: &Stop) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::Failed(format!("signals: {error}"));
    let (mut signals, stop) = (Signals::new([SIGINT, SIGTERM]).map_err(failed)?, stop.clone());
    let wait = move || {
        for _ in signals.forever() {
            if stop.is_set() {
                std::process::exit(Exit::Interrupted as i32);
            }
            stop.stop();
        }
    };
    // It ends with the process.
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}
