//! `serve`, `mcp`.

use clap::Args;
use log::warn;

use super::exit::{Exit, Failure};
use crate::app;
use crate::config::{self, EngineConfig, LogConfig, ServeConfig, SuppressionConfig};

/// Run the web app and the API
///
/// Runs until SIGTERM or SIGINT.
/// The first line on standard output is `listening on http://ADDRESS:PORT`. The first start with an empty
/// database creates an account and prints its API key once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline serve                                   embedded database, loopback only
  sightline serve --sandbox --listen 127.0.0.1:0    a simulated web, for tests and demos
  SIGHTLINE_DATABASE=postgres://user:secret@db/sightline \\
    sightline serve --base-url https://search.example.org --trusted-proxy 10.0.0.0/8

Put a reverse proxy with TLS in front of every address but loopback.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(super) config: ServeConfig,
}

/// Runs the server.
pub(crate) fn serve(ServeArgs { mut config }: ServeArgs) -> Result<Exit, Failure> {
    begin(&mut config.engine, &config.log)?;
    for variable in config::unknown_variables() {
        warn!("unknown variable {variable}: see `sightline serve --help`");
    }
    app::serve(&config)?;
    Ok(Exit::Done)
}

/// Tools for language models (MCP on standard input and output)
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

pub(crate) fn mcp(mut args: McpArgs) -> Result<Exit, Failure> {
    begin(&mut args.engine, &args.log)?;
    app::serve_lines(&args.engine, &args.suppression)?;
    Ok(Exit::Done)
}

/// Checks the options of a command that asks sites, and writes log lines to standard error from now on.
pub(crate) fn begin(engine: &mut EngineConfig, log: &LogConfig) -> Result<(), Failure> {
    engine.check(std::env::vars_os()).map_err(Failure::Usage)?;
    crate::base::log::init(log.level, log.format)
        .map_err(|error| Failure::failed(error).at("cannot start the log"))
}
