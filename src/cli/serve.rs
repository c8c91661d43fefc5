//! `serve`.

use clap::{Args, CommandFactory};
use log::warn;

use super::Sightline;
use super::exit::{Exit, Failure};
use crate::app;
use crate::config::{self, LogConfig, ServeConfig};

/// Serve the API until SIGTERM or SIGINT
///
/// The first line on standard output is `listening on http://ADDRESS:PORT`. On its first start with an
/// empty database it creates an account and shows its API key, once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline serve                                   embedded database, loopback only
  sightline serve --sandbox --listen 127.0.0.1:0    a simulated web, for tests and demos
  SIGHTLINE_DATABASE=postgres://user:secret@db/sightline \\
    sightline serve --base-url https://search.example.org --trusted-proxy 10.0.0.0/8

Anything but loopback belongs behind a reverse proxy that speaks TLS.")]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    config: ServeConfig,
}

pub(crate) fn run(args: ServeArgs) -> Result<Exit, Failure> {
    let mut config = args.config;
    config.engine.check(std::env::vars_os())?;
    start_log(&config.log)?;
    for variable in config::unknown_variables(&Sightline::command()) {
        warn!("{variable} is the variable of no option: see `sightline serve --help`");
    }
    app::serve(&config)?;
    Ok(Exit::Done)
}

/// Sends log lines to standard error from here on.
pub(crate) fn start_log(config: &LogConfig) -> Result<(), Failure> {
    crate::base::log::init(config.level, config.format)
        .map_err(|error| Failure::Failed(format!("the log cannot be started: {error}")))
}
