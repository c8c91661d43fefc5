//! The commands. The command line is parsed and checked completely before anything is done.
//!
//! | file | command |
//! |---|---|
//! | `serve` | `serve`, `mcp` |
//! | `search` | `search [TYPE] QUERY…` |
//! | `account` | `account create`, `list`, `set-plan`, `link`, `set-role`, `export`, `delete` |
//! | `key` | `key create`, `list`, `revoke` |
//! | `audit` | `audit` |
//! | `health` | `health list`, `reset` |
//! | `diff` | `diff BEFORE.json AFTER.json` |
//! | `variants` | `variants` |
//! | `report` | `report REPORT.json`; reads reports |
//! | `suppress` | `suppress hash`, `key` |
//! | `catalog` | `catalog list`, `show`, `schema`, `check`, `learn`, `format`, `sign` |
//! | `print` | `openapi`, `manual`, `completions SHELL` |
//! | `database` | `migrate`, `backup`; opens the database of a command |
//! | `bar` | the progress bar |
//! | `files` | reads files and standard input, writes files atomically |
//! | `table` | prints lists: tables for people, or JSON |
//! | `exit` | exit codes and errors, Ctrl-C |
//!
//! To add a command: write an args struct with its help and examples in its own file, and add a variant
//! of `Action` and a row in `src/manual/command-line.md`.

mod account;
mod audit;
mod bar;
mod catalog;
mod database;
mod diff;
mod exit;
mod files;
mod health;
mod key;
mod print;
mod report;
mod search;
mod serve;
mod suppress;
mod table;
mod variants;

use std::ffi::OsString;
use std::io::{self, BufWriter, Write};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory, FromArgMatches, Parser, Subcommand};

pub use exit::Exit;
use exit::Failure;

use crate::base::log::{LogFormat, fatal_line};
use crate::config;

const ABOUT: &str = "Find public accounts and records of a username, an email address or a domain";

const AFTER_HELP: &str = "\
An option with [env: NAME] in its help can also be set by that variable. A flag takes precedence.

Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed, 130 ended by Ctrl-C.

Examples:
  sightline serve                              listens on 127.0.0.1:8080, keeps its data in data/
  sightline search octocat --sandbox           a first search, without a server or the network
  sightline key create --account me@example.org";

/// The options under a heading that `-h` shows. `--help` shows all.
const ORDINARY: &str = "listen admin_listen base_url trusted_proxy max_runs database plans retain_days sandbox \
    modules categories nsfw engines passive follow";

#[derive(Debug, Parser)]
#[command(name = "sightline", version, about = ABOUT, after_help = AFTER_HELP)]
#[command(arg_required_else_help = true, max_term_width = 110)]
struct Sightline {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Serve(Box<serve::ServeArgs>),
    Search(Box<search::SearchArgs>),
    Diff(diff::DiffArgs),
    Report(report::ReportArgs),
    Variants(Box<variants::VariantsArgs>),
    Mcp(Box<serve::McpArgs>),
    #[command(subcommand)]
    Account(account::AccountAction),
    #[command(subcommand)]
    Key(key::KeyAction),
    Audit(audit::AuditArgs),
    #[command(subcommand)]
    Health(health::HealthAction),
    #[command(subcommand)]
    Suppress(suppress::SuppressAction),
    Migrate(database::MigrateArgs),
    Backup(database::BackupArgs),
    #[command(subcommand)]
    Catalog(catalog::CatalogAction),
    #[command(name = "openapi")]
    OpenApi(print::OpenApiArgs),
    Manual(print::ManualArgs),
    Completions(print::CompletionsArgs),
}

/// Returns the whole command line for clap. Help texts and the manual's table of options are made from it.
pub fn command() -> Command {
    // Commands for people log only warnings by default, so that the log does not hide their output.
    let command = Sightline::command().mut_subcommands(|command| match command.get_name() {
        // Further names are those of Sherlock and Maigret.
        "search" => command
            .mut_arg("log_level", |level| level.default_value("warn"))
            .mut_arg("modules", |modules| modules.visible_aliases(["modules", "site"]))
            .mut_arg("check_timeout", |timeout| timeout.visible_alias("timeout"))
            .mut_arg("outbound_proxy", |proxy| proxy.visible_alias("proxy")),
        "mcp" => command.mut_arg("log_level", |level| level.default_value("warn")),
        "catalog" => command.mut_subcommands(|command| match command.get_name() {
            "check" | "learn" => catalog::proof_command(command),
            _ => command,
        }),
        _ => command,
    });
    config::with_environment(with_short_help(command))
}

/// Lets `-h` show the ordinary options, so that it fits on a screen.
fn with_short_help(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let is_ordinary =
            arg.get_help_heading().is_none() || ORDINARY.split(' ').any(|id| arg.get_id() == id);
        if is_ordinary { arg } else { arg.hide_short_help(true) }
    });
    command.mut_subcommands(with_short_help)
}

/// Runs the command of `args`, which start with the program's name.
pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {
    let parsed = command().try_get_matches_from(args).and_then(|found| Sightline::from_arg_matches(&found));
    let action = match parsed {
        Ok(sightline) => sightline.action,
        Err(error) => return show(error),
    };
    // The collector of a server's log also reads the error that ends it.
    let errors = if let Action::Serve(args) = &action { args.config.log.format } else { LogFormat::Text };
    let mut out = BufWriter::new(io::stdout());
    let ended = act(action, &mut out).and_then(|exit| out.flush().map(|()| exit).map_err(Failure::from));
    // Dropped without another attempt to write to a closed output.
    drop(out.into_parts());
    ended.unwrap_or_else(|failure| {
        if !matches!(failure, Failure::Interrupted | Failure::OutputClosed) {
            // If standard error is also closed, nothing can report the error.
            let _ = io::stderr().write_all(fatal_line(errors, &failure.to_string()).as_bytes());
        }
        failure.exit()
    })
}

fn act(action: Action, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        Action::Serve(args) => serve::serve(*args),
        Action::Search(args) => search::run(*args, out),
        Action::Diff(args) => diff::run(&args, out),
        Action::Report(args) => report::run(&args, out),
        Action::Variants(args) => variants::run(*args, out),
        Action::Mcp(args) => serve::mcp(*args),
        Action::Account(action) => account::run(action, out),
        Action::Key(action) => key::run(action, out),
        Action::Audit(args) => audit::run(&args, out),
        Action::Health(action) => health::run(&action, out),
        Action::Suppress(action) => suppress::run(action, out),
        Action::Migrate(args) => database::migrate(&args, out),
        Action::Backup(args) => database::backup(&args, out),
        Action::Catalog(action) => catalog::run(action, out),
        Action::OpenApi(args) => print::openapi(&args, out),
        Action::Manual(args) => print::manual(&args, out),
        Action::Completions(args) => print::completions(&args, command(), out),
    }
}

/// Prints help and version to standard output, errors to standard error.
fn show(mut error: clap::Error) -> Exit {
    if let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg)
        && let Some(message) = config::gone(given)
    {
        error = command().error(ErrorKind::UnknownArgument, message);
    } else if error.kind() == ErrorKind::UnknownArgument {
        hide_value(&mut error);
    }
    let _ = error.print();
    if error.use_stderr() { Exit::Usage } else { Exit::Done }
}

/// Removes the value of an unknown argument from the message: it may be a misplaced
/// `database=postgres://user:password@…`.
fn hide_value(error: &mut clap::Error) {
    let Some(ContextValue::String(given)) = error.get(ContextKind::InvalidArg) else { return };
    let end = given.find(['=', ':', '@']).unwrap_or(given.len());
    if end < given.len() {
        let shown = format!("{}…", &given[..end]);
        error.insert(ContextKind::InvalidArg, ContextValue::String(shown));
    }
}
