//! `catalog convert`: another tool's list in our own format.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::format::replace;
use super::tell_lists;
use crate::base::text::{plain, write_json};
use crate::cli::exit::{Exit, Failure};
use crate::cli::unused::UnusedDatabase;
use crate::config::{checked, readable_file};
use crate::modules::catalog::Catalog;
use crate::modules::import::report::{ListReport, NoteKind};

/// Write a list of WhatsMyName, Sherlock or Maigret in Sightline's own format
///
/// What is written is in canonical form and has no mistakes. What could not be taken over is said on
/// standard error, entry by entry, with the reason. The list's licence holds for what is written, too.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 written, whatever was left out, 1 no entry could be taken over, or it is no list that is known,
2 usage, 3 failed.

Examples:
  sightline catalog convert wmn-data.json --output wmn.json
  sightline catalog convert data.json --report json 2> report.json | jq -r '.[].id'")]
pub(super) struct ConvertArgs {
    /// wmn-data.json of WhatsMyName, or data.json of Sherlock or Maigret
    #[arg(value_name = "FILE", value_parser = checked(readable_file))]
    file: PathBuf,
    /// Where the entries go, instead of standard output; a file that is there is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// How the report on standard error is written
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    report: ReportFormat,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// How a report is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// One line an entry
    Text,
    /// One JSON document
    Json,
}

pub(super) fn run(args: &ConvertArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    if let Some(output) = &args.output
        && is_same_file(output, &args.file)
    {
        return Err(Failure::Usage("--output is the list itself; another file is allowed".to_owned()));
    }
    let catalog = match Catalog::load(false, std::slice::from_ref(&args.file)) {
        Ok(catalog) => catalog,
        Err(error) => {
            tell(&format!("nothing was converted\n{}", super::faults(&error)));
            return Ok(Exit::NothingFound);
        }
    };
    let [report] = catalog.lists() else {
        tell(&format!(
            "nothing was converted\n{}: it is in Sightline's own format already: see `sightline catalog format`",
            plain(&args.file.display().to_string())
        ));
        return Ok(Exit::NothingFound);
    };
    tell_report(report, args.report);
    if catalog.modules().is_empty() {
        return Ok(Exit::NothingFound);
    }
    let entries = catalog.modules().iter().map(|module| module.entry().clone()).collect();
    let text = crate::modules::catalog::format::write(entries)?;
    match &args.output {
        None => out.write_all(text.as_bytes())?,
        Some(path) => replace(path, &text).map_err(|error| {
            let shown = path.display().to_string();
            Failure::Failed(format!("{} cannot be written: {}", plain(&shown), plain(&error.to_string())))
        })?,
    }
    Ok(Exit::Done)
}

fn tell_report(report: &ListReport, format: ReportFormat) {
    match format {
        ReportFormat::Text => {
            tell_lists(std::slice::from_ref(report), &[NoteKind::LeftOut, NoteKind::Changed]);
        }
        // That it cannot be said changes nothing about the entries.
        ReportFormat::Json => drop(write_json(&mut io::stderr().lock(), report)),
    }
}

fn tell(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
