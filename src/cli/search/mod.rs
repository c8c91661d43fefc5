//! `search TYPE QUERY`: the same engine as the server's, in this process, for one run.

mod view;

use std::io::{self, Write};
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};

use super::bar::Bar;
use super::exit::{Exit, Failure};
use super::serve::start_log;
use super::unused::UnusedDatabase;
use crate::app::{self, SearchEvent, SearchRequest};
use crate::base::text::plain;
use crate::config::{EngineConfig, LogConfig, SuppressionConfig, checked};
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};
use crate::runs::run::{Progress, RunSummary, Status};
use view::View;

/// Run one search, without a server, an account or a database
///
/// The table shows results as they are found. The other formats are written at the end, when every source
/// of a result is known. A progress bar shows on standard error where that is a terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed.

Examples:
  sightline search username octocat
  sightline search domain example.org --format json | jq .coverage
  sightline search email someone@example.org --format csv > results.csv
  sightline search username octocat --format html > report.html
  sightline search username alice --category coding,social --exclude-module gitlab
  sightline search username alice --sandbox      nothing outside is asked")]
pub(crate) struct SearchArgs {
    /// What kind of query: domain, email or username
    #[arg(value_name = "TYPE", value_parser = checked(search_type))]
    search_type: SearchType,
    /// The domain, email address or username
    query: String,
    /// How results are written
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Ask the modules that need a browser too (usernames only)
    #[arg(long)]
    premium: bool,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    suppression: SuppressionConfig,
    #[command(flatten)]
    log: LogConfig,
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// Which modules are asked.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which modules")]
struct ChoiceArgs {
    /// Ask only these modules, by id (repeatable, or separated by commas)
    #[arg(long = "module", visible_alias = "modules", value_name = "ID", value_delimiter = ',')]
    modules: Vec<String>,
    /// Leave these modules out, by id (repeatable, or separated by commas)
    #[arg(long = "exclude-module", visible_alias = "exclude-modules", value_name = "ID")]
    #[arg(value_delimiter = ',')]
    exclude_modules: Vec<String>,
    /// Ask only modules of these categories (repeatable, or separated by commas)
    #[arg(long = "category", visible_alias = "categories", value_name = "NAME", value_delimiter = ',')]
    categories: Vec<String>,
    /// Ask adult sites too
    #[arg(long)]
    nsfw: bool,
    /// Ask third parties only: nothing reaches what is looked up, nor its name servers
    #[arg(long)]
    passive: bool,
}

impl From<ChoiceArgs> for Choice {
    fn from(args: ChoiceArgs) -> Self {
        let ChoiceArgs { modules, exclude_modules, categories, nsfw, passive } = args;
        Self { modules, exclude_modules, categories, nsfw, passive }
    }
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, line by line
    Table,
    /// One Run record and how each module ended, at the end
    Json,
    /// One Result record a line, at the end
    Ndjson,
    /// One row a result, with a head, at the end
    Csv,
    /// One page to read, to print, to keep, at the end
    Html,
}

/// Reads a type of search.
pub(crate) fn search_type(text: &str) -> Result<SearchType, String> {
    SearchType::from_name(text).ok_or_else(|| "domain, email or username is allowed".to_owned())
}

pub(crate) fn run(mut args: SearchArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let query = Query::parse(args.search_type, &args.query)
        .map_err(|error| Failure::Usage(format!("invalid query for {}: {error}", args.search_type)))?;
    args.engine.check(std::env::vars_os())?;
    start_log(&args.log)?;

    let mut view = View::new(args.format);
    let bar = Bar::new();
    let mut broken = None;
    let request = SearchRequest {
        engine: args.engine,
        query,
        premium: args.premium,
        choice: args.choice.into(),
        suppression: args.suppression,
    };
    let found = app::search(&request, |event| {
        let shown = match event {
            SearchEvent::Progress(progress) => {
                show(&bar, progress);
                Ok(())
            }
            SearchEvent::Result(result) => bar.aside(|| view.result(out, result)),
        };
        match shown {
            Ok(()) => ControlFlow::Continue(()),
            Err(failure) => {
                broken = Some(failure);
                ControlFlow::Break(())
            }
        }
    });
    bar.clear();
    if let Some(failure) = broken {
        return Err(failure);
    }
    let run = found?;
    view.finish(out, &run)?;
    out.flush()?;
    Ok(conclude(&run.summary))
}

fn show(bar: &Bar, progress: Progress) {
    let hits = format!("{} hits", progress.modules_with_hits);
    bar.show(progress.modules_completed.into(), progress.modules_total.into(), hits);
}

/// Says on standard error how it ended, and picks the exit code.
fn conclude(run: &RunSummary) -> Exit {
    // That it cannot be said changes nothing about the results.
    let _ = writeln!(io::stderr(), "{}", summary(run));
    match (run.status, run.total_results) {
        (Status::Completed, 0) => Exit::NothingFound,
        (Status::Completed, _) => Exit::Done,
        (Status::Running | Status::Failed, _) => Exit::Failed,
    }
}

fn summary(run: &RunSummary) -> String {
    let coverage = &run.coverage;
    let asked = coverage.checked - coverage.skipped;
    let mut text = format!(
        "{} results; {} of {asked} modules that were asked came to a conclusion",
        run.total_results, coverage.conclusive
    );
    let others: Vec<String> = [
        (coverage.blocked, "blocked"),
        (coverage.rate_limited, "rate limited"),
        (coverage.timeout, "timed out"),
        (coverage.error, "failed"),
        (coverage.unreliable, "unreliable"),
        (coverage.skipped, "skipped"),
    ]
    .iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, outcome)| format!("{count} {outcome}"))
    .collect();
    if !others.is_empty() {
        text = format!("{text} ({})", others.join(", "));
    }
    if let Some(error) = &run.error {
        text = format!("error: the search failed: {}: {text}", plain(&error.message));
    }
    if run.simulated { format!("{text}; SIMULATED: nothing of this is real") } else { text }
}
