//! `catalog list`, `show`, `stats`, `schema`, `check`, `learn`, `check-syntax`, `format`, `convert`, `bundle`,
//! `update`, `rollback`.
//!
//! | file | holds |
//! |---|---|
//! | `list` | `list`, `stats` |
//! | `check` | `check`: tests modules against their sites |
//! | `report` | what `check` writes |
//! | `repair` | `check --repair`: new rules for modules that no longer work |
//! | `learn` | `learn`: an entry for a new site |
//! | `format` | `format` |
//! | `convert` | `convert`: converts lists of other tools |
//! | `bundle` | `bundle`: makes signed bundles and their key |
//! | `update` | `update`, `rollback`: the bundle that servers use |
//! | `load` | loads the catalogue for a command |
//! | `choice` | selects modules |

mod bundle;
mod check;
mod choice;
mod convert;
mod format;
mod learn;
mod list;
mod load;
mod repair;
mod report;
mod update;

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};

pub(crate) use check::proof_command;
pub(crate) use update::update_command;

use super::exit::{Exit, Failure};
use super::unused::UnusedDatabase;
use crate::base::text::{json, write_json};
use crate::config::{checked, readable_file};
use crate::modules::catalog::{Catalog, format as form, json_schema};
use crate::modules::import::report::NoteKind;
pub(super) use load::{CatalogOptions, load};
use load::{faults, write_list_reports};

/// List and test the modules of the catalogue, check and format its files
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
    Learn(Box<learn::LearnArgs>),
    CheckSyntax(SyntaxArgs),
    Format(format::FormatArgs),
    Convert(convert::ConvertArgs),
    Bundle(bundle::BundleArgs),
    Update(Box<update::UpdateArgs>),
    Rollback(update::RollbackArgs),
}

/// Show one module as a catalogue file with a single entry
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog show github > my-github.json")]
struct ShowArgs {
    /// Id of the module, as in `catalog list`
    id: String,
    #[command(flatten)]
    shared: CatalogOptions,
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
/// Reads the files together, without the built-in modules and without requests to sites. `catalog check
/// --sandbox` shows whether the rules can tell a hit from a miss.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 no mistakes, 1 mistakes, 2 usage, 3 failed.

Example:
  sightline catalog check-syntax my-sites.json")]
struct SyntaxArgs {
    /// Files in Sightline's own format, or lists of WhatsMyName, Sherlock or Maigret
    #[arg(required = true, value_name = "FILE", value_parser = checked(readable_file))]
    files: Vec<PathBuf>,
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
        Action::Learn(mut args) => learn::run(&mut args, out),
        Action::CheckSyntax(args) => check_syntax(&args, out),
        Action::Format(args) => format::run(&args, out),
        Action::Convert(args) => convert::run(&args, out),
        Action::Bundle(args) => bundle::run(&args, out),
        Action::Update(args) => update::update(*args, out),
        Action::Rollback(args) => update::roll_back(&args, out),
    }
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
            write_list_reports(catalog.lists(), &[NoteKind::LeftOut]);
            writeln!(out, "{} modules, no mistakes", catalog.modules().len())?;
            Ok(Exit::Done)
        }
        Err(error) => {
            writeln!(out, "{}", faults(&error))?;
            Ok(Exit::NothingFound)
        }
    }
}
