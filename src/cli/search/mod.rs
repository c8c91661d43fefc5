//! `search TYPE QUERY`: the same engine as the server's, in this process, for one run.

mod view;

use std::io::{self, IsTerminal, Write};
use std::ops::ControlFlow;

use clap::{Args, ValueEnum};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::exit::{Exit, Failure};
use super::serve::start_log;
use super::text::plain;
use crate::app::{self, SearchEvent, SearchRequest};
use crate::config::{DatabaseAddress, EngineConfig, LogConfig, checked, database_option};
use crate::modules::query::{Query, SearchType};
use crate::runs::run::{Progress, RunSummary, Status};
use view::View;

/// Run one search, without a server, an account or a database
///
/// Results come as they are found (with `--format json`: one Run record at the end). A progress bar
/// shows on standard error where that is a terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed.

Examples:
  sightline search username octocat
  sightline search domain example.org --format json | jq .coverage
  sightline search email someone@example.org --format csv > report.csv
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
    engine: EngineConfig,
    #[command(flatten)]
    log: LogConfig,
    /// Accepted so that one set of options fits all commands; a search keeps nothing
    #[arg(long, env = "SIGHTLINE_DATABASE", value_name = "URL", hide = true)]
    #[arg(value_parser = database_option())]
    database: Option<DatabaseAddress>,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// For people, line by line
    Table,
    /// One Run record, at the end
    Json,
    /// One Result record a line
    Ndjson,
    /// One row a result, with a head
    Csv,
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
    let request = SearchRequest { engine: args.engine, query, premium: args.premium };
    let report = app::search(&request, |event| {
        let shown = match event {
            SearchEvent::Progress(progress) => {
                bar.show(progress);
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
    let report = report?;
    view.finish(out, &report.summary, &report.results)?;
    out.flush()?;
    Ok(conclude(&report.summary))
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

/// The progress bar; nothing where standard error is no terminal.
struct Bar(Option<ProgressBar>);

impl Bar {
    fn new() -> Self {
        if !io::stderr().is_terminal() {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::stderr());
        if let Ok(style) = ProgressStyle::with_template("{bar:30} {pos}/{len} modules, {msg}, {elapsed}") {
            bar.set_style(style);
        }
        Self(Some(bar))
    }

    fn show(&self, progress: Progress) {
        if let Some(bar) = &self.0 {
            bar.set_length(u64::from(progress.modules_total));
            bar.set_position(u64::from(progress.modules_completed));
            bar.set_message(format!("{} hits", progress.modules_with_hits));
        }
    }

    /// Writes something else without leaving pieces of the bar in it.
    fn aside<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    fn clear(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
