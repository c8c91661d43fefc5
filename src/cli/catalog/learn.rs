//! `catalog learn`: writes an entry for a site from its answers for known accounts and for made-up names.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;
use url::Url;

use super::choice::search_type;
use super::report::Format;
use crate::app::learn_entries;
use crate::base::text::{json, plain, write_json};
use crate::cli::exit::{Exit, Failure};
use crate::cli::interrupt::stop_on_interrupt;
use crate::cli::replace;
use crate::cli::serve::start_log;
use crate::cli::unified::unified;
use crate::config::{EngineConfig, LogConfig, checked};
use crate::modules::catalog::{Catalog, format as form};
use crate::modules::definition::Entry;
use crate::modules::learn::{Lesson, NotLearned};
use crate::modules::query::SearchType;
use crate::runs::proof::Stop;

/// The category of an entry, if none is given.
const CATEGORY: &str = "other";
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
pub(super) struct LearnArgs {
    /// Address of an account, with {query} or the known name in place of the name
    url: String,
    /// Account that exists and will exist for a long time (repeatable)
    #[arg(long = "known", value_name = "NAME", required = true)]
    known: Vec<String>,
    /// Kind of query: domain, email or username
    #[arg(long = "type", value_name = "TYPE", default_value = "username", value_parser = checked(search_type))]
    search_type: SearchType,
    /// Id of the entry; by default made from the host
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// Name of the site; by default its host
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,
    /// Category of the entry
    #[arg(long, value_name = "CATEGORY", default_value = CATEGORY)]
    category: String,
    /// Add the entry to this catalogue file, or replace the entry with the same id, and show the diff
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
}

/// The result for programs.
#[derive(Serialize)]
struct Learned<'l> {
    learned: bool,
    why: Option<String>,
    hit: Option<&'l str>,
    miss: Option<&'l str>,
    entry: Option<&'l Entry>,
}

pub(super) fn run(args: &mut LearnArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    args.engine.check(std::env::vars_os())?;
    start_log(&args.log)?;
    let entry = draft(args)?;
    let stop = Stop::default();
    stop_on_interrupt(&stop)?;
    let learned = learn_entries(&args.engine, std::slice::from_ref(&entry), &stop)?;
    let result = learned.into_iter().next().unwrap_or(Err(NotLearned::Stopped));
    if args.format == Format::Json {
        let lesson = result.as_ref().ok();
        let document = Learned {
            learned: lesson.is_some(),
            why: result.as_ref().err().map(ToString::to_string),
            hit: lesson.map(|lesson| lesson.hit.as_str()),
            miss: lesson.map(|lesson| lesson.miss.as_str()),
            entry: lesson.map(|lesson| &lesson.entry),
        };
        write_json(out, &document)?;
    }
    match result {
        Ok(lesson) => finish(args, &lesson, out),
        Err(why) => {
            if args.format == Format::Text {
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
    let template = template(args)?;
    let address = Url::parse(&template.replace("{query}", "www"));
    let host = address.ok().and_then(|url| url.host_str().map(str::to_owned));
    let Some(host) = host.filter(|_| template.starts_with("https://") || template.starts_with("http://"))
    else {
        return Err(Failure::Usage(format!(
            "invalid address `{}`: expected one that begins with https:// or http://",
            plain(&args.url)
        )));
    };
    let host = host.strip_prefix("www.").unwrap_or(&host);
    let id = args.id.clone().unwrap_or_else(|| {
        let plain =
            host.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' });
        plain.take(MAX_ID_CHARS).collect()
    });
    let platform = args.platform.as_deref().unwrap_or(host);
    let document = serde_json::json!([{
        "id": id, "platform": platform, "type": args.search_type, "category": args.category,
        "profile": template, "probes": [{"url": template}], "hit": [{"status": [200]}], "known": args.known,
    }]);
    let catalog = Catalog::from_text("entry", &document.to_string())
        .map_err(|error| Failure::Usage(super::load::faults(&error)))?;
    let entry = catalog.modules().first().map(|module| module.entry().clone());
    let entry = entry.ok_or_else(|| Failure::Failed("the entry is empty".to_owned()))?;
    // The rule was only there for the check of the other fields.
    Ok(Entry { hit: Vec::new(), ..entry })
}

/// Returns the address with `{query}` in place of the name.
fn template(args: &LearnArgs) -> Result<String, Failure> {
    if args.url.contains("{query") {
        return Ok(args.url.clone());
    }
    let names = args.known.iter().filter(|name| !name.is_empty());
    let found =
        names.filter(|name| args.url.matches(name.as_str()).count() == 1).max_by_key(|name| name.len());
    let Some(name) = found else {
        return Err(Failure::Usage(format!(
            "invalid address `{}`: write {{query}} in place of the name",
            plain(&args.url)
        )));
    };
    let escaped = args.url.replace('{', "{{").replace('}', "}}");
    Ok(escaped.replacen(name.as_str(), "{query}", 1))
}

/// Writes the learned entry.
fn finish(args: &LearnArgs, lesson: &Lesson, out: &mut dyn Write) -> Result<Exit, Failure> {
    // A closed standard error does not change the result.
    let _ = writeln!(io::stderr(), "{}\n{}", plain(&lesson.hit), plain(&lesson.miss));
    let Some(file) = &args.output else {
        if args.format == Format::Text {
            write!(out, "{}", json(&form::write(vec![lesson.entry.clone()])?))?;
        }
        return Ok(Exit::Done);
    };
    let shown = file.display().to_string();
    let shown = plain(&shown);
    let old = match std::fs::read_to_string(file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::Failed(format!("cannot read {shown}: {error}"))),
    };
    let mut entries = match old.trim().is_empty() {
        true => Vec::new(),
        false => {
            let catalog = Catalog::from_text(&shown, &old).map_err(|error| {
                Failure::Usage(format!("the catalogue has mistakes\n{}", super::load::faults(&error)))
            })?;
            catalog.modules().iter().map(|module| module.entry().clone()).collect()
        }
    };
    entries.retain(|entry: &Entry| entry.id != lesson.entry.id);
    entries.push(lesson.entry.clone());
    let new = form::write(entries)?;
    if args.format == Format::Text {
        for line in unified(&shown, &old, &shown, &new).lines() {
            writeln!(out, "{}", json(line))?;
        }
    }
    replace::write(file, &new)?;
    Ok(Exit::Done)
}
