//! `catalog learn` and `catalog check --repair`: rules that are learned from the answers of sites.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use serde_json::json;
use url::Url;

use super::choice::{faults, has_mistakes, read};
use crate::app::learn_entries;
use crate::base::text::{json as plain_json, plain, write_json};
use crate::cli::exit::{Exit, Failure, stop_on_interrupt};
use crate::cli::files::{self, shown};
use crate::cli::serve::begin;
use crate::cli::table::TextFormat;
use crate::config::{EngineConfig, LogConfig};
use crate::modules::catalog::{Catalog, CatalogError, format as form};
use crate::modules::definition::Entry;
use crate::modules::learn::{Lesson, NotLearned};
use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::runs::proof::{ModuleProof, Stop};

/// The most characters of an id that is made from a host.
const MAX_ID_CHARS: usize = 64;

/// Learn an entry for a site from its answers for a known account and for made-up names
///
/// Asks for each name twice, compares the answers, and proves the rules with further made-up names. An answer that
/// is a block, a limit or a sign-in page proves nothing, and nothing is learned from it.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 learned, 1 no reliable rules, 2 usage, 3 failed: stopped, or the site gave no answer.

Examples:
  sightline catalog learn 'https://forum.example.net/u/{query}' --known admin
  sightline catalog learn https://api.example.net/users/admin --known admin --output my-sites.json")]
pub(crate) struct LearnArgs {
    /// Address of an account, with {query} or the known name in place of the name
    url: String,
    /// Account that exists and will exist for a long time (repeatable)
    #[arg(long = "known", value_name = "NAME", required = true)]
    known: Vec<String>,
    /// Kind of query
    #[arg(long = "type", value_name = "TYPE", default_value = "username")]
    search_type: SearchType,
    /// Id of the entry; by default made from the host
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Name of the site; by default its host
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Category of the entry
    #[arg(long, value_name = "CATEGORY", default_value = "other")]
    category: String,
    /// Add the entry to this catalogue file, or replace the entry with the same id, and show the diff
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
}

pub(super) fn run(args: &mut LearnArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    begin(&mut args.engine, &args.log)?;
    let entry = draft(args)?;
    let stop = Stop::default();
    stop_on_interrupt(&stop)?;
    let learned = learn_entries(&args.engine, std::slice::from_ref(&entry), &stop)?;
    let result = learned.into_iter().next().unwrap_or(Err(NotLearned::Stopped));
    if args.format == TextFormat::Json {
        let (lesson, why) = (result.as_ref().ok(), result.as_ref().err().map(ToString::to_string));
        let document = json!({
            "learned": lesson.is_some(), "why": why, "hit": lesson.map(|lesson| &lesson.hit),
            "miss": lesson.map(|lesson| &lesson.miss), "entry": lesson.map(|lesson| &lesson.entry),
        });
        write_json(out, &document)?;
    }
    match result {
        Ok(lesson) => finish(args, lesson, out),
        Err(why) => {
            if args.format == TextFormat::Text {
                writeln!(out, "nothing learned: {}", plain(&why.to_string()))?;
            }
            Ok(match why {
                NotLearned::NoAnswer(_) | NotLearned::Stopped => Exit::Failed,
                _ => Exit::NothingFound,
            })
        }
    }
}

/// Returns the entry without rules.
fn draft(args: &LearnArgs) -> Result<Entry, Failure> {
    let invalid = |why: &str| Failure::Usage(format!("invalid address `{}`: {why}", plain(&args.url)));
    let template = template(args).ok_or_else(|| invalid("write {query} in place of the name"))?;
    let url = Url::parse(&template.replace("{query}", "www")).ok();
    let url = url.filter(|url| matches!(url.scheme(), "http" | "https"));
    let host = url.as_ref().and_then(Url::host_str);
    let host = host.ok_or_else(|| invalid("expected one that starts with https:// or http://"))?;
    let host = host.strip_prefix("www.").unwrap_or(host);
    let id = args.id.clone().unwrap_or_else(|| {
        let plain =
            host.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        plain.take(MAX_ID_CHARS).collect()
    });
    let document = json!([{
        "id": id, "platform": args.platform.as_deref().unwrap_or(host), "type": args.search_type,
        "category": args.category, "profile": template, "probes": [{"url": template}], "hit": [{"status": [200]}],
        "known": args.known,
    }]);
    let entries = entries("entry", &document.to_string()).map_err(|error| Failure::Usage(faults(&error)))?;
    let entry = entries.into_iter().next().ok_or_else(|| Failure::failed("the entry is empty"))?;
    // The rule was only there for the check of the other fields.
    Ok(Entry { hit: [].into(), ..entry })
}

/// Returns the address with `{query}` in place of the name, or `None` if it has the name not exactly once.
fn template(args: &LearnArgs) -> Option<String> {
    if args.url.contains("{query") {
        return Some(args.url.clone());
    }
    let is_once = |name: &&String| !name.is_empty() && args.url.matches(name.as_str()).count() == 1;
    let name = args.known.iter().filter(is_once).max_by_key(|name| name.len())?;
    Some(args.url.replace('{', "{{").replace('}', "}}").replacen(name.as_str(), "{query}", 1))
}

/// Writes the learned entry.
fn finish(args: &LearnArgs, lesson: Lesson, out: &mut dyn Write) -> Result<Exit, Failure> {
    // A closed standard error does not change the result.
    let _ = writeln!(io::stderr(), "{}\n{}", plain(&lesson.hit), plain(&lesson.miss));
    let Some(file) = &args.output else {
        if args.format == TextFormat::Text {
            write!(out, "{}", plain_json(&form::write(vec![lesson.entry])))?;
        }
        return Ok(Exit::Done);
    };
    let [old, new] = put(file, vec![lesson.entry])?;
    if args.format == TextFormat::Text {
        write_diff(&diff(&old, &new), out)?;
    }
    Ok(Exit::Done)
}

/// Adds entries to a catalogue file, in place of those with the same ids. Returns the old and the new text.
fn put(file: &Path, learned: Vec<Entry>) -> Result<[String; 2], Failure> {
    let old = if file.exists() { read(file)? } else { String::new() };
    let text = if old.trim().is_empty() { "[]" } else { &old };
    let mut all = entries(&shown(file), text).map_err(|error| has_mistakes(&error))?;
    all.retain(|entry| learned.iter().all(|new| new.id != entry.id));
    all.extend(learned);
    let new = form::write(all);
    files::write(file, &new)?;
    Ok([old, new])
}

/// The options of a repair.
#[derive(Debug, Args)]
pub(super) struct RepairArgs {
    /// Learn new rules for broken and unreliable modules from the answers for their known accounts and for
    /// made-up names, and show them as a diff
    #[arg(long, conflicts_with = "sandbox")]
    repair: bool,
    /// Add the repaired entries to this catalogue file, for --catalog, or replace those with the same ids
    #[arg(long, value_name = "FILE", requires = "repair")]
    repaired: Option<PathBuf>,
}

/// The repair of one module.
#[derive(Debug, Default, Serialize)]
pub(super) struct Repair {
    module: String,
    /// Whether new rules were learned and proved.
    repaired: bool,
    /// The reason why there are no new rules.
    why: Option<String>,
    /// The rule that the known account fulfils.
    hit: Option<String>,
    /// The rule that made-up names fulfil.
    miss: Option<String>,
    /// The lines of the entry that have changed.
    diff: Option<String>,
    /// The repaired entry.
    entry: Option<Entry>,
}

impl RepairArgs {
    /// Repairs the modules whose proof failed. Returns nothing if no repair was asked for.
    pub(super) fn repair(
        &self,
        engine: &EngineConfig,
        modules: &[Arc<Module>],
        proofs: &[ModuleProof],
        stop: &Stop,
    ) -> Result<Vec<Repair>, Failure> {
        if !self.repair {
            return Ok(Vec::new());
        }
        let failing = proofs.iter().filter(|proof| proof.verdict.is_failing());
        let of_proof = |proof: &ModuleProof| modules.iter().find(|module| **module.id() == *proof.module);
        let entries: Vec<Entry> = failing.filter_map(of_proof).map(|module| module.entry().clone()).collect();
        let lessons = learn_entries(engine, &entries, stop)?;
        entries.iter().zip(lessons).map(|(entry, lesson)| Repair::new(entry, lesson)).collect()
    }

    /// Writes the repaired entries to the file, if one is given. Returns what to say about it.
    pub(super) fn save(&self, repairs: &[Repair]) -> Result<Option<String>, Failure> {
        let Some(file) = &self.repaired else { return Ok(None) };
        let repaired: Vec<Entry> = repairs.iter().filter_map(|repair| repair.entry.clone()).collect();
        let count = repaired.len();
        put(file, repaired)?;
        Ok(Some(format!("wrote {count} repaired entries to {}", shown(file))))
    }
}

impl Repair {
    fn new(before: &Entry, lesson: Result<Lesson, NotLearned>) -> Result<Self, Failure> {
        let mut repair = Self { module: before.id.clone(), ..Self::default() };
        match lesson {
            Err(why) => repair.why = Some(why.to_string()),
            Ok(Lesson { entry, hit, miss }) => {
                let text = |entry: &Entry| form::write(vec![entry.clone()]);
                repair.diff = Some(diff(&text(before), &text(&entry)));
                (repair.repaired, repair.hit, repair.miss) = (true, Some(hit), Some(miss));
                repair.entry = Some(entry);
            }
        }
        Ok(repair)
    }

    /// Writes the repair for people.
    pub(super) fn write(&self, out: &mut dyn Write) -> Result<(), Failure> {
        if let Some(why) = &self.why {
            return Ok(writeln!(out, "not repaired: {}: {}", self.module, plain(why))?);
        }
        writeln!(out, "repaired: {}", self.module)?;
        for rule in self.hit.iter().chain(&self.miss) {
            writeln!(out, "  {}", plain(rule))?;
        }
        write_diff(self.diff.as_deref().unwrap_or_default(), out)
    }
}

/// Returns the entries of a catalogue file. `name` is its name in error messages.
fn entries(name: &str, text: &str) -> Result<Vec<Entry>, CatalogError> {
    let catalog = Catalog::from_text(name, text)?;
    Ok(catalog.modules().iter().map(|module| module.entry().clone()).collect())
}

/// Writes a diff, which contains texts of a site, and those may have control characters.
fn write_diff(diff: &str, out: &mut dyn Write) -> Result<(), Failure> {
    Ok(diff.lines().try_for_each(|line| writeln!(out, "{}", plain_json(line)))?)
}

/// Returns the lines from the first to the last change between two texts: the old ones, and then the new ones.
fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let front = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
    let ends = old[front..].iter().rev().zip(new[front..].iter().rev());
    let back = ends.take_while(|(one, other)| one == other).count();
    let part =
        |mark: char, lines: &[&str]| lines.iter().map(|line| format!("{mark}{line}\n")).collect::<String>();
    part('-', &old[front..old.len() - back]) + &part('+', &new[front..new.len() - back])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_has_the_lines_from_the_first_to_the_last_change() {
        assert_eq!(diff("1\n2\n3\n4\n5\n", "1\ntwo\n3\nfour\n5\n"), "-2\n-3\n-4\n+two\n+3\n+four\n");
        assert_eq!(diff("x\n", "x\ny\n"), "+y\n");
    }
}
