//! Commands. The command line is read and checked whole before anything is done.
//!
//! | file | command |
//! |---|---|
//! | `serve` | `serve` |
//! | `search` | `search TYPE QUERY` |
//! | `account` | `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete` |
//! | `key` | `key create`, `list`, `revoke` |
//! | `audit` | `audit` |
//! | `suppress` | `suppress hash`, `key` |
//! | `migrate` | `migrate` |
//! | `backup` | `backup` |
//! | `catalog` | `catalog list`, `show`, `stats`, `schema`, `check`, `check-syntax`, `format`, `convert` |
//! | `openapi` | `openapi` |
//! | `bar` | the progress bar |
//! | `replace` | files that are there whole or not at all |
//! | `table` | a table for people |
//! | `unused` | options that a command takes and does not need |
//! | `exit` | exit codes, and why a command failed |
//!
//! To add a command: an args struct with its help and examples in a file of its own, a variant of
//! `Action`, a line in the README.

mod account;
mod audit;
mod backup;
mod bar;
mod catalog;
mod exit;
mod key;
mod migrate;
mod openapi;
mod replace;
mod search;
mod serve;
mod suppress;
mod table;
mod unused;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use exit::Exit;
use exit::Failure;

use crate::config;

const ABOUT: &str = "Looks up an email address, a username or a domain across public sources, live, and \
                     answers in structured JSON";

const AFTER_HELP: &str = "\
Every option of a command can be set by the variable that its help names; a flag overrules it.

Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed.

Examples:
  sightline serve                              listens on 127.0.0.1:8080, keeps its data in data/
  sightline search username octocat --sandbox  a first search, without a server or the network
  sightline key create --account me@example.org";

#[derive(Debug, Parser)]
#[command(name = "sightline", version, about = ABOUT, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true, disable_help_subcommand = true, max_term_width = 110)]
struct Sightline {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Serve(Box<serve::ServeArgs>),
    Search(Box<search::SearchArgs>),
    Account(account::AccountArgs),
    Key(key::KeyArgs),
    Audit(audit::AuditArgs),
    Suppress(suppress::SuppressArgs),
    Migrate(migrate::MigrateArgs),
    Backup(backup::BackupArgs),
    Catalog(catalog::CatalogArgs),
    #[command(name = "openapi")]
    OpenApi(openapi::OpenApiArgs),
}

/// The whole command line, as clap knows it: for help, and for the README's table.
pub fn command() -> Command {
    // A search talks to a person: only what matters goes beside its results.
    let command = Sightline::command().mut_subcommands(|command| match command.get_name() {
        "search" => command.mut_arg("log_level", |level| level.default_value("warn")),
        "catalog" => command.mut_subcommands(|command| match command.get_name() {
            "check" => catalog::proof_command(command),
            _ => command,
        }),
        _ => command,
    });
    config::with_environment(command)
}

/// Runs the command that `args` (the program's name first) ask for.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let parsed = command().try_get_matches_from(args).and_then(|found| Sightline::from_arg_matches(&found));
    let action = match parsed {
        Ok(sightline) => sightline.action,
        Err(error) => return show(error),
    };
    let mut out = BufWriter::new(io::stdout());
    let ended = act(action, &mut out).and_then(|exit| out.flush().map(|()| exit).map_err(Failure::from));
    // What is left in the buffer of a closed output must not be tried again.
    drop(out.into_parts());
    ended.unwrap_or_else(|failure| {
        if !matches!(failure, Failure::OutputClosed) {
            // Standard error may be closed too; there is nobody to tell then.
            let _ = writeln!(io::stderr(), "error: {failure}");
        }
        failure.exit()
    })
}

fn act(action: Action, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        Action::Serve(args) => serve::run(*args),
        Action::Search(args) => search::run(*args, out),
        Action::Account(args) => account::run(args, out),
        Action::Key(args) => key::run(args, out),
        Action::Audit(args) => audit::run(&args, out),
        Action::Suppress(args) => suppress::run(&args, out),
        Action::Migrate(args) => migrate::run(&args, out),
        Action::Backup(args) => backup::run(&args, out),
        Action::Catalog(args) => catalog::run(args, out),
        Action::OpenApi(args) => openapi::run(&args, out),
    }
}

/// Help and version go to standard output, refusals to standard error.
fn show(mut error: clap::Error) -> Exit {
    if error.kind() == ErrorKind::UnknownArgument {
        hide_value(&mut error);
    }
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// An unknown argument may be a misplaced `database=postgres://user:password@…`: its name is enough.
fn hide_value(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let end = given.find(['=', ':', '@']).unwrap_or(given.len());
    if end < given.len() {
        let shown = format!("{}…", &given[..end]);
        error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    }
}
