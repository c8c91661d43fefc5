//! `mcp`.

use clap::Args;

use super::exit::{Exit, Failure};
use super::logging::start_log;
use crate::app;
use crate::config::{EngineConfig, LogConfig, SuppressionConfig};

/// Answer the Model Context Protocol on standard input and output, without a server, an account or a database
///
/// Programs that use language models start this command. Searches are kept until it ends.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline mcp --sandbox
  claude mcp add sightline -- sightline mcp")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    suppression: SuppressionConfig,
    #[command(flatten)]
    log: LogConfig,
}

pub(crate) fn run(mut args: McpArgs) -> Result<Exit, Failure> {
    args.engine.check(std::env::vars_os())?;
    start_log(&args.log)?;
    app::serve_lines(&args.engine, &args.suppression)?;
    Ok(Exit::Done)
}
