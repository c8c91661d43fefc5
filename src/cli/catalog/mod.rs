//! `catalog list`, `show`, `stats`, `schema`, `check`, `check-syntax`, `format`, `convert`.
//!
//! | file | holds |
//! |---|---|
//! | `list` | `list`, `stats` |
//! | `check` | `check`: a catalogue that proves itself |
//! | `report` | what `check` writes |
//! | `format` | `format` |
//! | `convert` | `convert`: other tools' lists in our format |
//! | `choice` | which modules a command is about |
//! | `replace` | files that are there whole or not at all |

mod check;
mod choice;
mod convert;
mod format;
mod list;
mod report;

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use check::proof_command;

use super::exit::{Exit, Failure};
use super::unused::UnusedDatabase;
use crate::base::text::{json, plain, write_json};
use crate::config::{CatalogConfig, checked, readable_file};
use crate::modules::catalog::{Catalog, CatalogError, format as form, json_schema};
use crate::modules::import::report::{ListReport, NoteKind};

/// Look at the catalogue of modules, prove it, check and format its files
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct CatalogArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(list::ListArgs),
    Show(ShowArgs),
    Stats(list::StatsArgs),
    Schema(SchemaArgs),
    Check(Box<check::CheckArgs>),
    CheckSyntax(SyntaxArgs),
    Format(format::FormatArgs),
    Convert(convert::ConvertArgs),
}

/// Show one module: a catalogue file with its entry alone
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog show github > my-github.json")]
struct ShowArgs {
    /// Id of the module, as `catalog list` shows it
    id: String,
    #[command(flatten)]
    shared: Shared,
}

/// Print the JSON Schema (draft 2020-12) of catalogue files, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog schema > sightline-catalog.schema.json")]
struct SchemaArgs {
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// Check catalogue files: every mistake, with its place and what is allowed
///
/// Reads the files together and without the built-in modules; asks no site.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 in order, 1 there are mistakes, 2 usage, 3 failed.

Example:
  sightline catalog check-syntax my-sites.json")]
struct SyntaxArgs {
    /// Files in Sightline's own format, or lists of WhatsMyName, Sherlock or Maigret
    #[arg(required = true, value_name = "FILE", value_parser = checked(readable_file))]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unused: UnusedDatabase,
}

#[derive(Debug, Args)]
struct Shared {
    #[command(flatten)]
    catalog: CatalogConfig,
    #[command(flatten)]
    unused: UnusedDatabase,
}

pub(crate) fn run(args: CatalogArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::List(args) => list::list(&args, out),
        Action::Show(args) => show(&args, out),
        Action::Stats(args) => list::stats(&args, out),
        Action::Schema(_) => Ok(write_json(out, &json_schema()).map(|()| Exit::Done)?),
        Action::Check(args) => check::run(*args, out),
        Action::CheckSyntax(args) => check_syntax(&args, out),
        Action::Format(args) => format::run(&args, out),
        Action::Convert(args) => convert::run(&args, out),
    }
}

fn load(config: &CatalogConfig) -> Result<Catalog, Failure> {
    config.check()?;
    let catalog = Catalog::load(!config.no_builtin, &config.files)
        .map_err(|error| Failure::Usage(format!("the catalogue is not in order\n{}", faults(&error))))?;
    tell_lists(catalog.lists(), &[NoteKind::LeftOut]);
    Ok(catalog)
}

/// Says on standard error what became of other tools' lists: the notes of these kinds, then the sum.
fn tell_lists(lists: &[ListReport], kinds: &[NoteKind]) {
    let mut err = io::stderr().lock();
    for list in lists {
        for line in kinds.iter().flat_map(|kind| list.lines(*kind)) {
            // Nobody may be reading: that changes nothing about the catalogue.
            let _ = writeln!(err, "{line}");
        }
        let _ = writeln!(err, "{}", list.summary());
    }
}

/// One fault a line; entries may come from anywhere.
fn faults(error: &CatalogError) -> String {
    let text = error.to_string();
    text.lines().map(plain).collect::<Vec<_>>().join("\n")
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.shared.catalog)?;
    let module = choice::by_id(&catalog, &args.id)?;
    let text = form::write(vec![module.entry().clone()])?;
    write!(out, "{}", json(&text))?;
    Ok(Exit::Done)
}

fn check_syntax(args: &SyntaxArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match Catalog::load(false, &args.files) {
        Ok(catalog) => {
            tell_lists(catalog.lists(), &[NoteKind::LeftOut]);
            writeln!(out, "{} modules, no mistakes", catalog.modules().len())?;
            Ok(Exit::Done)
        }
        Err(error) => {
            writeln!(out, "{}", faults(&error))?;
            Ok(Exit::NothingFound)
        }
    }
}
