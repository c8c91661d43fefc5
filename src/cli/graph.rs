//! `graph`.

use std::io::Write;

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser;

use super::catalog::{CatalogOptions, load};
use super::exit::{Exit, Failure};
use super::report_file::ReportFile;
use crate::report::graph::GraphFormat;
use crate::runs::graph::Graph;

/// Write the graph of a search: what it found, what the results name, and what joins them
///
/// GraphML opens in Gephi, yEd and Neo4j. STIX is a bundle of version 2.1 for threat intelligence platforms.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline search username octocat --sandbox --format json > octocat.json
  sightline graph octocat.json --format graphml > octocat.graphml")]
pub(crate) struct GraphArgs {
    #[command(flatten)]
    report: ReportFile,
    /// Format of the graph
    #[arg(long, value_name = "FORMAT", default_value = "json", value_parser = formats())]
    format: GraphFormat,
    #[command(flatten)]
    shared: CatalogOptions,
}

fn formats() -> impl TypedValueParser<Value = GraphFormat> {
    let names = PossibleValuesParser::new(GraphFormat::ALL.map(GraphFormat::as_str));
    names.try_map(|name| GraphFormat::from_name(&name).ok_or("not a format"))
}

pub(crate) fn run(args: &GraphArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let report = args.report.read()?;
    let catalog = load(&args.shared.catalog)?;
    let graph = Graph::of(&report.findings()?, catalog.profiles());
    args.format.write(out, &graph)?;
    Ok(Exit::Done)
}
