//! The composition root: turns the configuration into parts.

use std::fmt;
use std::ops::ControlFlow;

use crate::config::{EngineConfig, ServeConfig};
use crate::modules::query::Query;
use crate::runs::run::{Progress, ResultRecord, RunSummary};

/// Why a command could not be carried out. The text never holds a secret.
#[derive(Debug)]
pub enum AppError {
    /// What was configured cannot be used: a catalogue file with mistakes, say.
    Config(String),
    /// It went wrong: the address is taken, the store is not reachable, …
    Failed(String),
}

impl fmt::Display for AppError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Config(message) | Self::Failed(message) => f.write_str(message),
        }
    }
}

impl std::error::Error for AppError {}

/// One search without a server.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// Which modules, and how they are asked.
    pub engine: EngineConfig,
    /// What is searched.
    pub query: Query,
    /// Whether browser modules take part.
    pub premium: bool,
}

/// What happens during a search.
#[derive(Debug, Clone)]
pub enum SearchEvent<'a> {
    /// A result was numbered.
    Result(&'a ResultRecord),
    /// Modules came to their end.
    Progress(Progress),
}

/// How a search ended.
#[derive(Debug, Clone)]
pub struct SearchReport {
    /// The run, ended.
    pub summary: RunSummary,
    /// All its results.
    pub results: Vec<ResultRecord>,
}

/// Serves until the process is told to stop.
///
/// # Errors
/// It could not start, or broke.
pub fn serve(config: &ServeConfig) -> Result<(), AppError> {
    let _ = config;
    Err(AppError::Failed("this build has no server yet".to_owned()))
}

/// Runs one search to its end, or until `sink` breaks it off.
///
/// # Errors
/// It could not start. A run that fails is a report, not an error.
pub fn search(
    request: &SearchRequest,
    sink: impl FnMut(SearchEvent<'_>) -> ControlFlow<()>,
) -> Result<SearchReport, AppError> {
    let _ = (request, sink);
    Err(AppError::Failed("this build has no engine yet".to_owned()))
}
