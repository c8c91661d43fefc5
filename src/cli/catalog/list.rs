//! `catalog list`: the modules.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::choice::{Choice, load};
use crate::base::text::write_json;
use crate::cli::exit::{Exit, Failure};
use crate::cli::table::{TextFormat, write_table};
use crate::config::CatalogConfig;
use crate::modules::definition::Contact;
use crate::modules::module::Module;

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
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(super) fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.catalog)?;
    let modules = args.choice.modules(&catalog)?;
    let head = ["ID", "PLATFORM", "TYPE", "CATEGORY", "EVIDENCE", "VERIFIED", "METADATA", "NOTES"];
    match args.format {
        TextFormat::Json => write_json(out, &modules.iter().map(|module| line(module)).collect::<Vec<_>>())?,
        TextFormat::Text => write_table(out, &head, &modules.iter().map(|it| row(it)).collect::<Vec<_>>())?,
    }
    Ok(Exit::Done)
}

/// Returns a module for programs. It `takes` the keys that it uses if they are configured, but does not need.
fn line(module: &Module) -> Value {
    let entry = module.entry();
    let takes: Vec<String> = optional_keys(module).map(|name| format!("config.{name}")).collect();
    json!({
        "id": entry.id, "platform": entry.platform, "type": entry.search_type, "category": entry.category,
        "tags": entry.tags, "rank": entry.rank, "premium": module.is_premium(), "enabled": entry.enabled,
        "nsfw": entry.nsfw, "discovery": entry.discovery, "contact": entry.contact, "needs": entry.needs,
        "takes": takes, "evidence": module.evidence().as_str(), "both_rules": !entry.miss.is_empty(),
        "metadata": module.metadata_names(), "known": entry.known.len(), "verified": entry.verified,
        "off": entry.off,
    })
}

fn optional_keys(module: &Module) -> impl Iterator<Item = &str> {
    module.keys().into_iter().filter(|key| key.is_optional).map(|key| key.name)
}

fn row(module: &Module) -> Vec<String> {
    let entry = module.entry();
    let contact = json!(entry.contact).as_str().unwrap_or_default().replace('_', " ");
    let notes = [
        (
            !entry.enabled,
            entry.off.as_ref().map_or_else(|| "off".to_owned(), |off| format!("off {}", off.date)),
        ),
        (module.is_premium(), "premium".to_owned()),
        (entry.nsfw, "adult".to_owned()),
        (entry.discovery, "discovery".to_owned()),
        (entry.miss.is_empty(), "no miss rule".to_owned()),
        (entry.contact != Contact::ThirdParty, contact),
    ];
    let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note);
    let keys = entry.needs.iter().map(|key| format!("needs --key {}", key.trim_start_matches("config.")));
    let taken = optional_keys(module).map(|name| format!("uses --key {name}"));
    let notes: Vec<String> = notes.chain(keys).chain(taken).collect();
    // The kind and the date of the evidence, such as `list 2026-08`.
    let verified = entry.verified.as_ref().map(|it| format!("{} {}", it.by.as_str(), it.date));
    vec![
        entry.id.clone(),
        entry.platform.clone(),
        entry.search_type.to_string(),
        entry.category.clone(),
        module.evidence().as_str().replace('_', " "),
        verified.unwrap_or_default(),
        module.metadata_names().len().to_string(),
        notes.join(", "),
    ]
}
