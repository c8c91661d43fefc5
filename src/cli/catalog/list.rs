//! `catalog list` and `catalog stats`: the modules, and figures about them.

use std::collections::BTreeMap;
use std::io::Write;
use std::time::Instant;

use clap::{Args, ValueEnum};
use serde::Serialize;
use serde_json::Value;

use super::choice::Choice;
use super::load::{CatalogOptions, load};
use crate::base::text::{cell, json, write_csv, write_csv_head, write_json};
use crate::cli::exit::{Exit, Failure};
use crate::cli::options::ListFormat;
use crate::cli::table::write_table;
use crate::modules::definition::{Contact, Off, Verified, VerifiedBy};
use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::modules::traits::Evidence;

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
    format: Format,
    #[command(flatten)]
    shared: CatalogOptions,
}

/// The format of a list of modules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people
    Table,
    /// One JSON array
    Json,
    /// One JSON object on each line
    Ndjson,
    /// One row for each module, with a header
    Csv,
    /// One id on each line
    Ids,
}

/// Count modules by type, category and evidence, and show the time and memory of loading them
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline catalog stats
  sightline catalog stats --type username --format json | jq .by_evidence")]
pub(super) struct StatsArgs {
    #[command(flatten)]
    choice: Choice,
    /// Format of the figures
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: ListFormat,
    #[command(flatten)]
    shared: CatalogOptions,
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
    evidence: Evidence,
    both_rules: bool,
    metadata: Vec<&'a str>,
    known: usize,
    verified: Option<&'a Verified>,
    off: Option<&'a Off>,
}

/// The columns in CSV: all members of the JSON form, in their order.
const CSV_COLUMNS: &str = "id platform type category tags rank premium enabled nsfw discovery contact needs takes \
                           evidence both_rules metadata known verified off";

pub(super) fn list(args: &ListArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let catalog = load(&args.shared.catalog)?;
    let modules = args.choice.modules(&catalog)?;
    let lines: Vec<Line<'_>> = modules.into_iter().map(|module| line(module)).collect();
    match args.format {
        Format::Json => write_json(out, &lines)?,
        Format::Ndjson => {
            for line in &lines {
                writeln!(out, "{}", json(&serde_json::to_string(line)?))?;
            }
        }
        Format::Ids => lines.iter().try_for_each(|line| writeln!(out, "{}", line.id))?,
        Format::Csv => {
            let columns: Vec<&str> = CSV_COLUMNS.split(' ').collect();
            write_csv_head(out, &columns)?;
            for line in &lines {
                write_csv(out, &csv_row(&columns, line)?)?;
            }
        }
        Format::Table => {
            let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
            let head = ["ID", "PLATFORM", "TYPE", "CATEGORY", "EVIDENCE", "VERIFIED", "METADATA", "NOTES"];
            write_table(out, &head, &rows)?;
        }
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
        evidence: module.evidence(),
        both_rules: module.has_both_rules(),
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
        line.evidence.as_str().replace('_', " "),
        verified(line.verified),
        line.metadata.len().to_string(),
        notes.join(", "),
    ]
}

/// Returns a module's cells in CSV, from its JSON form.
fn csv_row(columns: &[&str], line: &Line<'_>) -> serde_json::Result<Vec<String>> {
    let members = serde_json::to_value(line)?;
    // Tags may contain spaces.
    let separator = |name: &str| if name == "tags" { ";" } else { " " };
    Ok(columns.iter().map(|name| cell(&csv_text(&members[*name], separator(name)))).collect())
}

fn csv_text(value: &Value, separator: &str) -> String {
    let joined = |values: Vec<&Value>| {
        values.iter().map(|it| csv_text(it, separator)).collect::<Vec<_>>().join(separator)
    };
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => joined(items.iter().collect()),
        Value::Object(members) => joined(members.values().collect()),
        other => other.to_string(),
    }
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

/// The figures. Counts cover the selected modules, costs the whole catalogue.
#[derive(Serialize, Default)]
struct Stats {
    modules: usize,
    enabled: usize,
    by_type: BTreeMap<String, usize>,
    by_category: BTreeMap<String, usize>,
    by_evidence: BTreeMap<&'static str, usize>,
    by_contact: BTreeMap<&'static str, usize>,
    /// By kind of evidence for the entry. Entries without evidence are not counted.
    by_verified: BTreeMap<&'static str, usize>,
    both_rules: usize,
    with_metadata: usize,
    with_known: usize,
    nsfw: usize,
    discovery: usize,
    premium: usize,
    with_key: usize,
    load_ms: u128,
    /// Memory of loading in KiB; null if the system does not tell.
    load_kib: Option<u64>,
}

pub(super) fn stats(args: &StatsArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let (began, before) = (Instant::now(), resident_kib());
    let catalog = load(&args.shared.catalog)?;
    let (load_ms, after) = (began.elapsed().as_millis(), resident_kib());
    let modules = args.choice.modules(&catalog)?;
    let load_kib = before.zip(after).map(|(before, after)| after.saturating_sub(before));
    let mut stats = Stats { load_ms, load_kib, ..Stats::default() };
    for module in modules {
        stats.count(module);
    }
    match args.format {
        ListFormat::Json => write_json(out, &stats)?,
        ListFormat::Table => write_table(out, &["FIGURE", "", "MODULES"], &stats.rows())?,
    }
    Ok(Exit::Done)
}

impl Stats {
    fn count(&mut self, module: &Module) {
        let entry = module.entry();
        self.modules += 1;
        *self.by_type.entry(module.search_type().to_string()).or_default() += 1;
        *self.by_category.entry(entry.category.clone()).or_default() += 1;
        *self.by_evidence.entry(module.evidence().as_str()).or_default() += 1;
        *self.by_contact.entry(contact(entry.contact)).or_default() += 1;
        if let Some(verified) = &entry.verified {
            *self.by_verified.entry(verified.by.as_str()).or_default() += 1;
        }
        for (count, holds) in [
            (&mut self.enabled, entry.enabled),
            (&mut self.both_rules, module.has_both_rules()),
            (&mut self.with_metadata, !module.metadata_names().is_empty()),
            (&mut self.with_known, !entry.known.is_empty()),
            (&mut self.nsfw, entry.nsfw),
            (&mut self.discovery, entry.discovery),
            (&mut self.premium, module.is_premium()),
            (&mut self.with_key, !entry.needs.is_empty()),
        ] {
            *count += usize::from(holds);
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |figure: &str, of: &str, count: String| vec![figure.to_owned(), of.to_owned(), count];
        let mut rows = vec![row("modules", "", self.modules.to_string())];
        for (figure, count) in [
            ("enabled", self.enabled),
            ("with hit and miss rule", self.both_rules),
            ("with metadata", self.with_metadata),
            ("with a known name", self.with_known),
            ("with a key", self.with_key),
            ("adult", self.nsfw),
            ("discovery", self.discovery),
            ("premium", self.premium),
        ] {
            rows.push(row(figure, "", count.to_string()));
        }
        let by_type = self.by_type.iter().map(|(name, count)| ("type", name.as_str(), count));
        let by_evidence = Evidence::ALL.iter().filter_map(|evidence| {
            Some(("evidence", evidence.as_str(), self.by_evidence.get(evidence.as_str())?))
        });
        let by_contact = self.by_contact.iter().map(|(name, count)| ("contact", *name, count));
        let by_verified = VerifiedBy::ALL
            .iter()
            .filter_map(|by| Some(("verified by", by.as_str(), self.by_verified.get(by.as_str())?)));
        let by_category = self.by_category.iter().map(|(name, count)| ("category", name.as_str(), count));
        let all = by_type.chain(by_evidence).chain(by_verified).chain(by_contact).chain(by_category);
        rows.extend(all.map(|(figure, of, count)| row(figure, &of.replace('_', " "), count.to_string())));
        rows.push(row("load time", "", format!("{} ms", self.load_ms)));
        rows.extend(self.load_kib.map(|kib| row("load memory", "", format!("{kib} KiB"))));
        rows
    }
}

/// Returns the memory of this process in KiB, or `None` if the system does not tell.
fn resident_kib() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix(" kB")?.parse().ok()
}
