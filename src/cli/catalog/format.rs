//! `catalog format`: sorts and indents files, so that a diff shows one site for each change.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::load::faults;
use crate::base::text::plain;
use crate::cli::exit::{Exit, Failure};
use crate::cli::replace::Replacement;
use crate::cli::unused::UnusedDatabase;
use crate::config::{checked, readable_file};
use crate::modules::catalog::Catalog;

/// Sort and indent catalogue files, in place
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 mistakes, or with --check: not formatted, 2 usage, 3 failed.

Examples:
  sightline catalog format src/modules/catalog/sites/*.json
  sightline catalog format --check my-sites.json")]
pub(super) struct FormatArgs {
    /// Files in Sightline's own format
    #[arg(required = true, value_name = "FILE", value_parser = checked(readable_file))]
    files: Vec<PathBuf>,
    /// Change nothing, list the files that are not formatted
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    unused: UnusedDatabase,
}

pub(super) fn run(args: &FormatArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for file in &args.files {
        let shown = file.display().to_string();
        let shown = plain(&shown);
        let fail = |what: &str, why: &dyn std::fmt::Display| {
            Failure::Failed(format!("{what} {shown}: {}", plain(&why.to_string())))
        };
        let text = fs::read_to_string(file).map_err(|error| fail("cannot read", &error))?;
        let formatted = match Catalog::format(&shown, &text) {
            Ok(formatted) => formatted,
            Err(error) => {
                writeln!(out, "{shown} has mistakes:\n{}", faults(&error))?;
                exit = Exit::NothingFound;
                continue;
            }
        };
        if formatted == text {
            continue;
        }
        if args.check {
            writeln!(out, "{shown} is not formatted")?;
            exit = Exit::NothingFound;
        } else {
            replace(file, &formatted).map_err(|error| fail("cannot write", &error))?;
            writeln!(out, "formatted {shown}")?;
        }
    }
    Ok(exit)
}

/// Replaces the file atomically: after a failure it has the old text or the new one.
pub(super) fn replace(file: &Path, text: &str) -> io::Result<()> {
    let mut new = Replacement::begin(file)?;
    new.write_all(text.as_bytes())?;
    new.finish()
}
