//! `manual`.

use std::io::Write;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::manual::{TOPICS, topic};

/// Print a page of the manual in Markdown, or the list of its pages
///
/// A server shows the same pages at /manual.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline manual
  sightline manual getting-started | less")]
pub(crate) struct ManualArgs {
    /// Name of the page; without it, the pages are listed
    #[arg(value_parser = PossibleValuesParser::new(TOPICS.iter().map(|topic| topic.name)))]
    #[arg(hide_possible_values = true)]
    topic: Option<String>,
}

pub(crate) fn run(args: &ManualArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.topic.as_deref().and_then(topic) {
        Some(topic) => out.write_all(topic.markdown.as_bytes())?,
        None => {
            let rows: Vec<Vec<String>> =
                TOPICS.iter().map(|topic| vec![topic.name.to_owned(), topic.title().to_owned()]).collect();
            write_table(out, &["TOPIC", "TITLE"], &rows)?;
        }
    }
    Ok(Exit::Done)
}
