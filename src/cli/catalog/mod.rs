//! `catalog list`, `show`, `schema`, `check`, `learn`, `format`, `sign`.
//!
//! | file | holds |
//! |---|---|
//! | `list` | `list` |
//! | `check` | `check`: tests modules against their sites |
//! | `report` | what `check` writes |
//! | `learn` | `learn`: an entry for a new site, and `check --repair`: new rules for modules that no longer work |
//! | `format` | `format` |
//! | `sign` | `sign`: the catalogue that servers fetch |
//! | `choice` | selects modules |

mod check;
mod choice;
mod format;
mod learn;
mod list;
mod report;
mod sign;

use std::io::Write;

use clap::{Args, Subcommand};

pub(crate) use check::proof_command;

use super::exit::{Exit, Failure};
use crate::base::text::{json, write_json};
use crate::config::CatalogConfig;
use crate::modules::catalog::{format as form, json_schema};
pub(super) use choice::load;

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
    Schema(SchemaArgs),
    Check(Box<check::CheckArgs>),
    Learn(Box<learn::LearnArgs>),
    Format(format::FormatArgs),
    Sign(sign::SignArgs),
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
    catalog: CatalogConfig,
}

/// Print the JSON Schema (draft 2020-12) of catalogue files, for editors
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog schema > sightline-catalog.schema.json")]
struct SchemaArgs {}

pub(crate) fn run(args: CatalogArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::List(args) => list::list(&args, out),
        Action::Show(args) => show(&args, out),
        Action::Schema(_) => Ok(write_json(out, &json_schema()).map(|()| Exit::Done)?),
        Action::Check(args) => check::run(*args, out),
        Action::Learn(mut args) => learn::run(&mut args, out),
        Action::Format(args) => format::run(&args, out),
        Action::Sign(args) => sign::run(&args, out),
    }
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.catalog)?;
    let module = choice::by_id(&catalog, &args.id)?;
    let text = form::write_whole(module.entry());
    write!(out, "{}", json(&text))?;
    Ok(Exit::Done)
}
