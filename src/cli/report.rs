//! `report`: a saved search in another format.

use std::io::Write;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use super::catalog::load;
use super::exit::{Exit, Failure};
use super::report_file::ReportFile;
use super::search::write_table;
use crate::base::text::write_json;
use crate::config::CatalogConfig;
use crate::report;
use crate::report::graph::GraphFormat;
use crate::runs::graph::Graph;
use crate::runs::people::people;

/// Write a saved search in another format
///
/// `people` groups the accounts by who they probably belong to, with the evidence, as JSON; the exit code is then 1 if no
/// two accounts belong together. `graph` is what was found and what joins it, as JSON; `graphml` opens in Gephi, yEd and
/// Neo4j, `stix` is a bundle of version 2.1. All three include the searches that leads have started.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline search octocat --sandbox --format json > octocat.json
  sightline report octocat.json --format html > octocat.html
  sightline search octocat --sandbox --follow --format json | sightline report - --format graphml")]
pub(crate) struct ReportArgs {
    #[command(flatten)]
    report: ReportFile,
    /// Format to write
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = Format::parser())]
    format: Format,
    #[command(flatten)]
    catalog: CatalogConfig,
}

/// A format of a saved search.
#[derive(Debug, Clone, Copy)]
enum Format {
    Table,
    People,
    Graph(GraphFormat),
    Report(report::Format),
}

impl Format {
    fn parser() -> impl TypedValueParser<Value = Self> {
        // A PDF needs the browser of a search, and JSON is what is read.
        let reports = report::Format::ALL
            .into_iter()
            .filter(|it| ![report::Format::Pdf, report::Format::Json].contains(it));
        let names = ["table", "people", "graph"].into_iter().chain(reports.map(report::Format::as_str));
        PossibleValuesParser::new(names).map(|name| match (&*name, report::Format::from_name(&name)) {
            ("people", _) => Self::People,
            ("graph", _) => Self::Graph(GraphFormat::Json),
            (_, Some(report::Format::Graphml)) => Self::Graph(GraphFormat::Graphml),
            (_, Some(report::Format::Stix)) => Self::Graph(GraphFormat::Stix),
            (_, Some(format)) => Self::Report(format),
            (_, None) => Self::Table,
        })
    }
}

pub(crate) fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let report = args.report.read()?;
    let catalog = load(&args.catalog)?;
    match args.format {
        Format::Table => write_table(out, &report.record()?)?,
        Format::People => {
            let found = people(&report.findings()?, catalog.profiles());
            write_json(out, &found)?;
            return Ok(if found.people.is_empty() { Exit::NothingFound } else { Exit::Done });
        }
        Format::Graph(format) => format.write(out, &Graph::of(&report.findings()?, catalog.profiles()))?,
        Format::Report(format) => {
            let print = |_: &str| Err::<Vec<u8>, _>("a PDF needs the browser of a search");
            format.write(out, &report.record()?, &catalog, print)?;
        }
    }
    Ok(Exit::Done)
}
