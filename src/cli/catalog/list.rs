//! `catalog list`: the modules.

use std::io::Write;

use clap::Args;
use serde_json::{Value, json};

use super::choice::{Choice, load};
use crate::cli::exit::{Exit, Failure};
use crate::cli::table::{TextFormat, write_list};
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
pub(crate) struct ListArgs {
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
    let modules: Vec<Value> = modules.into_iter().map(|module| line(module)).collect();
    let members = ["id", "platform", "type", "category", "evidence", "verified", "metadata", "notes"];
    write_list(out, args.format, &modules, &members)?;
    Ok(Exit::Done)
}

/// Returns a module for a list. It `takes` the keys that it uses if they are configured, but does not need.
fn line(module: &Module) -> Value {
    let entry = module.entry();
    let takes = module.keys().into_iter().filter(|key| key.is_optional);
    let takes: Vec<String> = takes.map(|key| format!("config.{}", key.name)).collect();
    json!({
        "id": entry.id, "platform": entry.platform, "type": entry.search_type, "category": entry.category,
        "tags": entry.tags, "rank": entry.rank, "premium": module.is_premium(), "enabled": entry.enabled,
        "nsfw": entry.nsfw, "engine": entry.engine.as_ref().filter(|_| entry.needs_engines()),
        "discovery": entry.discovery, "contact": entry.contact, "needs": entry.needs,
        "notes": notes(module, &takes), "takes": takes, "evidence": module.evidence().as_str(),
        "both_rules": !entry.miss.is_empty(), "metadata": module.metadata_names(), "known": entry.known.len(),
        "verified": entry.verified, "off": entry.off,
    })
}

/// Returns the special properties of a module as text.
fn notes(module: &Module, takes: &[String]) -> String {
    let entry = module.entry();
    let off = entry.off.as_ref().map_or_else(|| "off".to_owned(), |off| format!("off {}", off.date));
    let contact = json!(entry.contact).as_str().unwrap_or_default().replace('_', " ");
    let notes = [
        (!entry.enabled, off.as_str()),
        (module.is_premium(), "premium"),
        (entry.nsfw, "adult"),
        (entry.needs_engines(), "engine"),
        (entry.discovery, "discovery"),
        (entry.miss.is_empty(), "no miss rule"),
        (entry.contact != Contact::ThirdParty, contact.as_str()),
    ];
    let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note.to_owned());
    let key = |verb: &str, key: &str| format!("{verb} --key {}", key.trim_start_matches("config."));
    let keys = entry.needs.iter().map(|name| key("needs", name));
    notes.chain(keys).chain(takes.iter().map(|name| key("uses", name))).collect::<Vec<_>>().join(", ")
}
