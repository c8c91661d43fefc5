//! `catalog format`: checks files, and sorts and indents them, so that a diff shows one site for each change.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;

use super::choice::{faults, read};
use crate::cli::exit::{Exit, Failure};
use crate::cli::files;
use crate::config::{checked, readable_file};
use crate::modules::catalog::format as form;

/// Sort and indent catalogue files, in place; a file with mistakes stays as it is, and each mistake is shown
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 mistakes, or with --check: not formatted, 2 usage, 3 failed.

Examples:
  sightline catalog format src/modules/catalog/sites/*.json
  sightline catalog format --check my-sites.json")]
pub(crate) struct FormatArgs {
    /// Files in Sightline's own format
    #[arg(required = true, value_name = "FILE", value_parser = checked(readable_file))]
    files: Vec<PathBuf>,
    /// Change nothing, list the files that are not formatted
    #[arg(long)]
    check: bool,
}

pub(super) fn run(args: &FormatArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    for file in &args.files {
        let shown = files::shown(file);
        let text = read(file)?;
        let formatted = match form::format(&shown, &text) {
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
            files::write(file, &formatted)?;
            writeln!(out, "formatted {shown}")?;
        }
    }
    Ok(exit)
}
