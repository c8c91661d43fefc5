//! `people`.

use std::io::Write;

use clap::Args;

use super::catalog::{CatalogOptions, load};
use super::exit::{Exit, Failure};
use super::report_file::ReportFile;
use crate::base::text::write_json;
use crate::runs::people::people;

/// Group the accounts that a search found by who they probably belong to, as JSON
///
/// Every join is explained by its evidence. The same username alone joins nothing. The exit code is 1 if no two accounts
/// belong together.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline search email octocat@example.com --sandbox --format json > octocat.json
  sightline people octocat.json")]
pub(crate) struct PeopleArgs {
    #[command(flatten)]
    report: ReportFile,
    #[command(flatten)]
    shared: CatalogOptions,
}

pub(crate) fn run(args: &PeopleArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let report = args.report.read()?;
    let catalog = load(&args.shared.catalog)?;
    let found = people(&report.findings()?, catalog.profiles());
    write_json(out, &found)?;
    Ok(if found.people.is_empty() { Exit::NothingFound } else { Exit::Done })
}
