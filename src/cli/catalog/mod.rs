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

use clap::Subcommand;

pub(crate) use check::proof_command;

use super::exit::{Exit, Failure};
use crate::base::text::{json, write_json};
use crate::config::CatalogConfig;
use crate::modules::catalog::{format as form, json_schema};
pub(super) use choice::load;

/// List and test the modules of the catalogue, check and format its files
#[derive(Debug, Subcommand)]
#[command(arg_required_else_help = true)]
pub(crate) enum CatalogAction {
    List(list::ListArgs),
    /// Show one module as a catalogue file with a single entry
    #[command(after_help = "\
Example:
  sightline catalog show github > my-github.json")]
    Show {
        /// Id of the module, as in `catalog list`
        id: String,
        #[command(flatten)]
        catalog: CatalogConfig,
    },
    /// Print the JSON Schema (draft 2020-12) of catalogue files, for editors
    #[command(after_help = "\
Example:
  sightline catalog schema > sightline-catalog.schema.json")]
    Schema,
    Check(Box<check::CheckArgs>),
    Learn(Box<learn::LearnArgs>),
    Format(format::FormatArgs),
    Sign(sign::SignArgs),
}

pub(crate) fn run(action: CatalogAction, out: &mut dyn Write) -> Result<Exit, Failure> {
    match action {
        CatalogAction::List(args) => list::list(&args, out),
        CatalogAction::Show { id, catalog } => show(&id, &catalog, out),
        CatalogAction::Schema => Ok(write_json(out, &json_schema()).map(|()| Exit::Done)?),
        CatalogAction::Check(args) => check::run(*args, out),
        CatalogAction::Learn(mut args) => learn::run(&mut args, out),
        CatalogAction::Format(args) => format::run(&args, out),
        CatalogAction::Sign(args) => sign::run(&args, out),
    }
}

fn show(id: &str, catalog: &CatalogConfig, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(catalog)?;
    let module = choice::by_id(&catalog, id)?;
    let text = form::write_whole(module.entry());
    write!(out, "{}", json(&text))?;
    Ok(Exit::Done)
}
