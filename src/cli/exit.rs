//! How a command ends.

use std::fmt;
use std::io;
use std::process::ExitCode;

use crate::account::service::AccountError;
use crate::account::sign_in::SignInError;
use crate::app::AppError;
use crate::base::storage::StorageError;
use crate::config::ConfigError;

/// Exit codes, the same for all commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// 0: done.
    Done,
    /// 1: a search came to its end and found nothing; a file checked, formatted or converted was not in order; a
    /// module of the catalogue proved broken or unreliable; a schema is not up to date.
    NothingFound,
    /// 2: the command line, a variable or a query is not what is allowed.
    Usage,
    /// 3: it could not be done.
    Failed,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::NothingFound => 1,
            Self::Usage => 2,
            Self::Failed => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command did not do its work. The text never holds a secret.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was asked for is not allowed.
    Usage(String),
    /// It went wrong.
    Failed(String),
    /// Whoever read the output has gone: nothing to say, and nobody to say it to.
    OutputClosed,
}

impl Failure {
    /// The exit code that goes with it.
    pub(crate) fn exit(&self) -> Exit {
        match self {
            Self::Usage(_) => Exit::Usage,
            Self::Failed(_) => Exit::Failed,
            Self::OutputClosed => Exit::Done,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(message) | Self::Failed(message) => f.write_str(message),
            Self::OutputClosed => f.write_str("the output is closed"),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::OutputClosed,
            _ => Self::Failed(format!("the output cannot be written: {error}")),
        }
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        Self::from(io::Error::from(error))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<AppError> for Failure {
    fn from(error: AppError) -> Self {
        match error {
            AppError::Config(message) => Self::Usage(message),
            AppError::Failed(message) => Self::Failed(message),
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<AccountError> for Failure {
    fn from(error: AccountError) -> Self {
        let message = error.to_string();
        match error {
            AccountError::InvalidEmail | AccountError::InvalidLabel | AccountError::UnknownPlan(_) => {
                Self::Usage(message)
            }
            AccountError::InvalidKey
            | AccountError::UnknownAccount
            | AccountError::EmailTaken
            | AccountError::UnknownKey
            | AccountError::BeingDeleted
            | AccountError::Unfinished(_)
            | AccountError::Random(_)
            | AccountError::Storage(_) => Self::Failed(message),
        }
    }
}

impl From<SignInError> for Failure {
    fn from(error: SignInError) -> Self {
        Self::Failed(error.to_string())
    }
}
