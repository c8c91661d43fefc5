//! `catalog list`: the modules.

use std::io::Write;

use clap::Args;
use serde::Serialize;

use super::choice::Choice;
use super::load::load;
use crate::base::text::write_json;
use crate::cli::exit::{Exit, Failure};
use crate::cli::table::{ListFormat, write_table};
use crate::config::CatalogConfig;
use crate::modules::definition::{Contact, Off, Verified};
use crate::modules::module::Module;
use crate::modules::query::SearchType;

/// List modules: id, platform, type, category, evidence of their hits and rules, and special properties
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog list --type domain
  sightline catalog list --category coding --format json | jq -r '.[].id'
  sightline catalog list --no-builtin --catalog my-sites.json")]
pub(super) struct ListArgs {
    #[command(flatten)]
    choice: Choice,
    /// Format of the list
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    catalog: CatalogConfig,
}

/// A module in the list.
#[derive(Serialize)]
struct Line<'a> {
    id: &'a str,
    platform: &'a str,
    #[serde(rename = "type")]
    search_type: SearchType,
    category: &'a str,
    tags: &'a [String],
    rank: Option<u32>,
    premium: bool,
    enabled: bool,
    nsfw: bool,
    discovery: bool,
    contact: Contact,
    needs: &'a [String],
    /// Keys that it uses if they are configured, but does not need.
    takes: Vec<String>,
    evidence: &'static str,
    both_rules: bool,
    metadata: Vec<&'a str>,
    known: usize,
    verified: Option<&'a Verified>,
    off: Option<&'a Off>,
}

pub(super) fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.catalog)?;
    let modules = args.choice.modules(&catalog)?;
    let lines: Vec<Line<'_>> = modules.into_iter().map(|module| line(module)).collect();
    let head = ["ID", "PLATFORM", "TYPE", "CATEGORY", "EVIDENCE", "VERIFIED", "METADATA", "NOTES"];
    match args.format {
        ListFormat::Json => write_json(out, &lines)?,
        ListFormat::Table => write_table(out, &head, &lines.iter().map(row).collect::<Vec<_>>())?,
    }
    Ok(Exit::Done)
}

fn line(module: &Module) -> Line<'_> {
    let entry = module.entry();
    Line {
        id: module.id(),
        platform: module.platform(),
        search_type: module.search_type(),
        category: &entry.category,
        tags: &entry.tags,
        rank: entry.rank,
        premium: module.is_premium(),
        enabled: entry.enabled,
        nsfw: entry.nsfw,
        discovery: entry.discovery,
        contact: entry.contact,
        needs: &entry.needs,
        takes: optional_keys(module),
        evidence: module.evidence().as_str(),
        both_rules: !entry.miss.is_empty(),
        metadata: module.metadata_names().into_iter().collect(),
        known: entry.known.len(),
        verified: entry.verified.as_ref(),
        off: entry.off.as_ref(),
    }
}

fn optional_keys(module: &Module) -> Vec<String> {
    let keys = module.keys();
    keys.iter().filter(|key| key.is_optional).map(|key| format!("config.{}", key.name)).collect()
}

fn row(line: &Line<'_>) -> Vec<String> {
    let notes = [
        (!line.enabled, line.off.map_or_else(|| "off".to_owned(), |off| format!("off {}", off.date))),
        (line.premium, "premium".to_owned()),
        (line.nsfw, "adult".to_owned()),
        (line.discovery, "discovery".to_owned()),
        (!line.both_rules, "no miss rule".to_owned()),
        (line.contact != Contact::ThirdParty, contact(line.contact).replace('_', " ")),
    ];
    let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note);
    let keys = line.needs.iter().map(|key| format!("needs --key {}", key.trim_start_matches("config.")));
    let taken = line.takes.iter().map(|key| format!("uses --key {}", key.trim_start_matches("config.")));
    let notes: Vec<String> = notes.chain(keys).chain(taken).collect();
    vec![
        line.id.to_owned(),
        line.platform.to_owned(),
        line.search_type.to_string(),
        line.category.to_owned(),
        line.evidence.replace('_', " "),
        verified(line.verified),
        line.metadata.len().to_string(),
        notes.join(", "),
    ]
}

/// Returns the kind and the date of the evidence, such as `list 2026-08`, or an empty text without evidence.
fn verified(verified: Option<&Verified>) -> String {
    verified.map_or_else(String::new, |it| format!("{} {}", it.by.as_str(), it.date))
}

fn contact(contact: Contact) -> &'static str {
    match contact {
        Contact::ThirdParty => "third_party",
        Contact::Resolver => "resolver",
        Contact::TargetWeb => "target_web",
        Contact::ThirdPartyScan => "third_party_scan",
    }
}
