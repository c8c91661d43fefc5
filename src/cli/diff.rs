//! `diff`.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use serde_json::Value;

use super::catalog::load;
use super::exit::{Exit, Failure};
use super::report::SavedReport;
use super::table::TextFormat;
use crate::base::text::{line, write_json};
use crate::config::CatalogConfig;
use crate::model::diff::{Diff, DiffCounts, Difference, FieldChange, RunSide, Undecided};

/// The most modules of an unknown result that the text names.
const MOST_MODULES: usize = 3;

/// Show what changed between two reports of one query
///
/// A result is shown as added or removed only if every module that found it in one search looked for it in the other. A
/// site that was blocked in between makes its results unknown. The exit code is 1 if nothing was added, removed or
/// changed.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline search username octocat --sandbox --format json > monday.json
  sightline search username octocat --sandbox --format json > tuesday.json
  sightline diff monday.json tuesday.json")]
pub(crate) struct DiffArgs {
    /// The earlier report in JSON, from `search --format json` or the export of a run; - reads standard input
    #[arg(value_name = "BEFORE.json")]
    before: PathBuf,
    /// The later report; - reads standard input
    #[arg(value_name = "AFTER.json")]
    after: PathBuf,
    /// Format of the output: lines for each result, or the same object as `GET /v1/searches/{run_id}/diff/{other}`
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(crate) fn run(args: &DiffArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    if args.before == args.after && args.before.to_str() == Some("-") {
        return Err(Failure::usage("only one of the reports can be read from standard input"));
    }
    let (before, after) = (SavedReport::read(&args.before)?, SavedReport::read(&args.after)?);
    let catalog = load(&args.catalog)?;
    let diff = Diff::between(&before.to_compare()?, &after.to_compare()?, catalog.profiles())
        .map_err(Failure::usage)?;
    match args.format {
        TextFormat::Json => write_json(out, &diff)?,
        TextFormat::Text => write_text(out, &diff)?,
    }
    let has_changed = !(diff.added.is_empty() && diff.removed.is_empty() && diff.changed.is_empty());
    Ok(if has_changed { Exit::Done } else { Exit::NothingFound })
}

fn write_text(out: &mut dyn Write, diff: &Diff) -> io::Result<()> {
    for (sign, list) in [('+', &diff.added), ('-', &diff.removed), ('~', &diff.changed), ('?', &diff.unknown)]
    {
        for difference in list {
            write_difference(out, sign, difference)?;
        }
    }
    let DiffCounts { added, removed, changed, unknown, unchanged } = diff.counts;
    let (compared, all) = (diff.modules_compared, diff.modules_compared + diff.modules_not_compared);
    write!(out, "{added} added, {removed} removed, {changed} changed, {unknown} unknown, ")?;
    writeln!(out, "{unchanged} unchanged; {compared} of {all} modules compared")
}

fn write_difference(out: &mut dyn Write, sign: char, difference: &Difference) -> io::Result<()> {
    let kind = difference.result_type.replace('_', " ");
    let words = [Some(kind.as_str()), difference.platform.as_deref(), difference.value.as_deref()];
    let url = difference.profile_url.as_deref().filter(|url| Some(*url) != difference.value.as_deref());
    let words: Vec<String> = words.into_iter().chain([url]).flatten().map(line).collect();
    writeln!(out, "{sign} {}", words.join("  "))?;
    for FieldChange { name, before, after } in &difference.fields {
        writeln!(out, "    {}: {} → {}", line(name), shown(before), shown(after))?;
    }
    for Undecided { module, run, cause, reason, .. } in difference.undecided.iter().take(MOST_MODULES) {
        let run = if *run == RunSide::Before { "earlier" } else { "later" };
        let reason = reason.map(|reason| format!(" ({})", reason.as_phrase())).unwrap_or_default();
        writeln!(out, "    {} {} in the {run} search{reason}", line(module), cause.as_phrase())?;
    }
    match difference.undecided.len().saturating_sub(MOST_MODULES) {
        0 => Ok(()),
        more => writeln!(out, "    and {more} more modules"),
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::String(text) => format!("“{}”", line(text)),
        other => line(&other.to_string()),
    }
}
