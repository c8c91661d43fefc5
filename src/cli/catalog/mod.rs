//! `catalog list`, `show`, `check-syntax`, `format`.

mod format;

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::account::ListFormat;
use super::exit::{Exit, Failure};
use super::search::search_type;
use super::text::{plain, write_json, write_table};
use crate::config::{CatalogConfig, DatabaseAddress, checked, database_option, readable_file};
use crate::modules::catalog::{Catalog, CatalogError};
use crate::modules::module::Module;
use crate::modules::query::SearchType;

/// Look at the catalogue of modules, check and format its files
#[derive(Debug, Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct CatalogArgs {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    List(ListArgs),
    Show(ShowArgs),
    CheckSyntax(CheckArgs),
    Format(format::FormatArgs),
}

/// List modules: id, platform, type, category, and what is special
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog list --type domain
  sightline catalog list --category coding --format json | jq -r '.[].id'
  sightline catalog list --no-builtin --catalog my-sites.json")]
struct ListArgs {
    /// Only modules for this kind of query: domain, email or username
    #[arg(long = "type", value_name = "TYPE", value_parser = checked(search_type))]
    search_type: Option<SearchType>,
    /// Only modules of this category
    #[arg(long)]
    category: Option<String>,
    /// How the list is written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    shared: Shared,
}

/// Show one module: its whole entry, as JSON
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline catalog show github")]
struct ShowArgs {
    /// Id of the module, as `catalog list` shows it
    id: String,
    #[command(flatten)]
    shared: Shared,
}

/// Check catalogue files: every mistake, with its place and what is allowed
///
/// Reads the files together and without the built-in modules; asks no site.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 in order, 1 there are mistakes, 2 usage, 3 failed.

Example:
  sightline catalog check-syntax my-sites.json")]
struct CheckArgs {
    /// Files in Sightline's own format
    #[arg(required = true, value_name = "FILE", value_parser = checked(readable_file))]
    files: Vec<PathBuf>,
    #[command(flatten)]
    unused: Unused,
}

#[derive(Debug, Args)]
struct Shared {
    #[command(flatten)]
    catalog: CatalogConfig,
    #[command(flatten)]
    unused: Unused,
}

#[derive(Debug, Args)]
struct Unused {
    /// Accepted so that one set of options fits all commands; these look at files alone
    #[arg(long, env = "SIGHTLINE_DATABASE", value_name = "URL", hide = true)]
    #[arg(value_parser = database_option())]
    database: Option<DatabaseAddress>,
}

/// A module as `--format json` lists it.
#[derive(Serialize)]
struct ModuleLine<'a> {
    id: &'a str,
    platform: &'a str,
    #[serde(rename = "type")]
    search_type: SearchType,
    category: &'a str,
    premium: bool,
    enabled: bool,
    nsfw: bool,
    discovery: bool,
    needs: &'a [String],
}

pub(crate) fn run(args: CatalogArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.action {
        Action::List(args) => list(&args, out),
        Action::Show(args) => show(&args, out),
        Action::CheckSyntax(args) => check(&args, out),
        Action::Format(args) => format::run(&args, out),
    }
}

fn load(config: &CatalogConfig) -> Result<Catalog, Failure> {
    config.check()?;
    Catalog::load(!config.no_builtin, &config.files)
        .map_err(|error| Failure::Usage(format!("the catalogue is not in order\n{}", faults(&error))))
}

/// One fault a line; entries may come from anywhere.
fn faults(error: &CatalogError) -> String {
    let lines: Vec<String> = error.faults().iter().map(|fault| plain(&fault.to_string()).into()).collect();
    lines.join("\n")
}

fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.shared.catalog)?;
    let mut modules: Vec<&Arc<Module>> = catalog
        .modules()
        .iter()
        .filter(|module| args.search_type.is_none_or(|wanted| module.search_type() == wanted))
        .filter(|module| args.category.as_ref().is_none_or(|wanted| module.entry().category == *wanted))
        .collect();
    modules.sort_by(|one, other| one.id().cmp(other.id()));
    let lines: Vec<ModuleLine<'_>> = modules.into_iter().map(|module| line(module)).collect();
    match args.format {
        ListFormat::Json => write_json(out, &lines)?,
        ListFormat::Table => {
            let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
            write_table(out, &["ID", "PLATFORM", "TYPE", "CATEGORY", "NOTES"], &rows)?;
        }
    }
    Ok(Exit::Done)
}

fn line(module: &Module) -> ModuleLine<'_> {
    let entry = module.entry();
    ModuleLine {
        id: module.id(),
        platform: module.platform(),
        search_type: module.search_type(),
        category: &entry.category,
        premium: module.is_premium(),
        enabled: entry.enabled,
        nsfw: entry.nsfw,
        discovery: entry.discovery,
        needs: &entry.needs,
    }
}

fn row(line: &ModuleLine<'_>) -> Vec<String> {
    let notes = [
        (!line.enabled, "off"),
        (line.premium, "premium"),
        (line.nsfw, "adult"),
        (line.discovery, "discovery"),
    ];
    let notes = notes.iter().filter(|(holds, _)| *holds).map(|(_, note)| (*note).to_owned());
    let keys = line.needs.iter().map(|key| format!("needs --key {}", key.trim_start_matches("config.")));
    let notes: Vec<String> = notes.chain(keys).collect();
    vec![
        line.id.to_owned(),
        line.platform.to_owned(),
        line.search_type.to_string(),
        line.category.to_owned(),
        notes.join(", "),
    ]
}

fn show(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.shared.catalog)?;
    let module = catalog.get(&args.id).ok_or_else(|| {
        Failure::Usage(format!(
            "there is no module \"{}\": the ids that `sightline catalog list` shows are allowed",
            plain(&args.id)
        ))
    })?;
    write_json(out, module.entry())?;
    Ok(Exit::Done)
}

fn check(args: &CheckArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match Catalog::load(false, &args.files) {
        Ok(catalog) => {
            writeln!(out, "{} modules, no mistakes", catalog.modules().len())?;
            Ok(Exit::Done)
        }
        Err(error) => {
            writeln!(out, "{}", faults(&error))?;
            Ok(Exit::NothingFound)
        }
    }
}
