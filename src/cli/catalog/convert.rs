//! `catalog convert`: converts lists of other tools into Sightline's own format.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use super::load::{faults, write_list_reports};
use crate::base::text::{plain, write_json};
use crate::cli::exit::{Exit, Failure};
use crate::cli::replace;
use crate::cli::unused::UnusedDatabase;
use crate::config::{checked, readable_file};
use crate::modules::catalog::Catalog;
use crate::modules::import::report::{ListReport, NoteKind};

/// Convert a list of WhatsMyName, Sherlock or Maigret into Sightline's own format
///
/// The output is formatted and valid. Standard error names each entry that was left out, with the reason. The
/// licence of the list also applies to the output.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 written, even if entries were left out, 1 no entry could be converted, or the file is not a known list,
2 usage, 3 failed.

Examples:
  sightline catalog convert wmn-data.json --output wmn.json
  sightline catalog convert data.json --report json 2> report.json | jq -r '.[].id'")]
pub(super) struct ConvertArgs {
    /// wmn-data.json of WhatsMyName, or data.json of Sherlock or Maigret
    #[arg(value_name = "FILE", value_parser = checked(readable_file))]
    file: PathBuf,
    /// File to write, instead of standard output; an existing file is replaced
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Format of the report on standard error
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    report: ReportFormat,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// The format of the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ReportFormat {
    /// One line for each entry
    Text,
    /// One JSON document
    Json,
}

pub(super) fn run(args: &ConvertArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    if let Some(output) = &args.output
        && is_same_file(output, &args.file)
    {
        return Err(Failure::Usage(
            "--output is the same file as the list; another file is allowed".to_owned(),
        ));
    }
    let catalog = match Catalog::load(false, std::slice::from_ref(&args.file)) {
        Ok(catalog) => catalog,
        Err(error) => {
            write_line(&format!("nothing was converted\n{}", faults(&error)));
            return Ok(Exit::NothingFound);
        }
    };
    let [report] = catalog.lists() else {
        write_line(&format!(
            "nothing was converted\n{}: already in Sightline's own format; see `sightline catalog format`",
            plain(&args.file.display().to_string())
        ));
        return Ok(Exit::NothingFound);
    };
    write_report(report, args.report);
    if catalog.modules().is_empty() {
        return Ok(Exit::NothingFound);
    }
    let entries = catalog.modules().iter().map(|module| module.entry().clone()).collect();
    let text = crate::modules::catalog::format::write(entries)?;
    match &args.output {
        None => out.write_all(text.as_bytes())?,
        Some(path) => replace::write(path, &text)?,
    }
    Ok(Exit::Done)
}

fn write_report(report: &ListReport, format: ReportFormat) {
    match format {
        ReportFormat::Text => {
            write_list_reports(std::slice::from_ref(report), &[NoteKind::LeftOut, NoteKind::Changed]);
        }
        // A closed standard error does not change the entries.
        ReportFormat::Json => drop(write_json(&mut io::stderr().lock(), report)),
    }
}

fn write_line(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

fn is_same_file(one: &Path, other: &Path) -> bool {
    matches!((one.canonicalize(), other.canonicalize()), (Ok(one), Ok(other)) if one == other)
}
