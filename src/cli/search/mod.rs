//! `search [TYPE] QUERY…`: runs in this process, with the same engine as the server's.

mod outcome;
mod output;
mod queries;
mod table;

use std::fs;
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::PathBuf;

use clap::Args;

use super::bar::Bar;
use super::exit::{Exit, Failure, stop_on_interrupt};
use super::files::{Replacement, cannot_write};
use super::serve::begin;
use crate::app::{self, SearchEvent};
use crate::base::text::plain;
use crate::config::{EngineConfig, LogConfig, SuppressionConfig, checked, duration};
use crate::model::follow::{Class, FollowOrder, MAX_DEPTH, MAX_SEARCHES};
use crate::model::run::RunOptions;
use crate::model::search::Search;
use crate::modules::catalog::Choice;
use crate::runs::proof::Stop;
use crate::runs::record::RunRecord;
use outcome::{exit_of, show, summary};
use output::{Format, Output};
use queries::{Queries, Row};
use table::Table;

const SUPPRESSED: &str = "the query is suppressed: it is on the list of what is never searched (--suppress)";

/// Search for usernames, email addresses or domains
///
/// The table has a row for each result as it is found; in a terminal, what the results say together follows. The other
/// formats are written at the end, when all sources of a result are known. Ctrl-C ends the search and writes what was found;
/// pressed again, it ends the program at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed, 130 ended by Ctrl-C.

Examples:
  sightline search octocat
  sightline search alice bob someone@example.org example.org
  sightline search octocat -o octocat.html -o octocat.csv
  sightline search username alice --sandbox      nothing outside is asked")]
pub(crate) struct SearchArgs {
    /// The domains, email addresses or usernames to search for. The first word may be their type: domain, email or
    /// username; otherwise the type of each is recognized
    #[arg(value_name = "QUERY")]
    words: Vec<String>,
    /// Search for each query of this file (`-` for standard input): one on each line, or CSV with the columns type and query
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    from: Option<PathBuf>,
    /// Format of the results on standard output
    #[arg(long, value_name = "FORMAT", default_value = "table", value_parser = Format::parser())]
    format: Format,
    /// Also write the results into this file, in the format that its suffix names (repeatable)
    #[arg(short, long = "output", value_name = "FILE")]
    outputs: Vec<PathBuf>,
    /// Also list the modules that found nothing, in the table
    #[arg(long)]
    all: bool,
    /// Also ask the modules that need a browser (usernames only)
    #[arg(long)]
    premium: bool,
    /// Give every check the whole --check-timeout, even to sites that usually answer sooner
    #[arg(long, hide_short_help = true)]
    patient: bool,
    /// End after this time with the answers so far; the other modules end as timeout
    #[arg(long, value_name = "DURATION", value_parser = checked(time_budget), hide_short_help = true)]
    time_budget: Option<u8>,
    /// Fetch the profile pictures of the accounts that are found; the HTML format shows them
    #[arg(long, hide_short_help = true)]
    avatars: bool,
    /// Keep the answer that each hit was judged by in this folder, as MODULE-SHA256.txt; HTML, PDF and Markdown list the hashes
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    evidence: Option<PathBuf>,
    #[command(flatten)]
    choice: ChoiceArgs,
    #[command(flatten)]
    follow: FollowArgs,
    #[command(flatten)]
    engine: EngineConfig,
    #[command(flatten)]
    suppression: SuppressionConfig,
    #[command(flatten)]
    log: LogConfig,
}

/// The options that select modules.
#[derive(Debug, Args)]
#[command(next_help_heading = "Which modules")]
struct ChoiceArgs {
    /// Ask only these modules, by id (repeatable, or separated by commas)
    #[arg(long = "module", value_name = "ID", value_delimiter = ',')]
    modules: Vec<String>,
    /// Skip these modules, by id (repeatable, or separated by commas)
    #[arg(long = "exclude-module", visible_alias = "exclude-modules", value_name = "ID")]
    #[arg(value_delimiter = ',')]
    exclude_modules: Vec<String>,
    /// Ask only modules of these categories (repeatable, or separated by commas)
    #[arg(long = "category", visible_alias = "categories", value_name = "NAME", value_delimiter = ',')]
    categories: Vec<String>,
    /// Also ask adult sites
    #[arg(long)]
    nsfw: bool,
    /// Also ask more than 2,000 sites that run the software of a known engine, such as Discourse or MediaWiki
    #[arg(long)]
    engines: bool,
    /// Ask only third parties, so that no request reaches the searched domain or its name servers
    #[arg(long)]
    passive: bool,
}

/// The options that follow leads.
#[derive(Debug, Args)]
#[command(next_help_heading = "Following leads")]
struct FollowArgs {
    /// Look up the accounts that profiles name, and search for the names, addresses and domains in them, up to this many
    /// leads away
    #[arg(long, value_name = "DEPTH", num_args = 0..=1, require_equals = true, default_missing_value = "1")]
    #[arg(value_parser = clap::value_parser!(u8).range(1..=i64::from(MAX_DEPTH)))]
    follow: Option<u8>,
    /// At most this many further searches
    #[arg(long, value_name = "N", requires = "follow", default_value_t = FollowOrder::DEFAULT_SEARCHES)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_SEARCHES)))]
    max_searches: u8,
    /// Follow only leads that are verified, or also those that a profile states
    #[arg(long, value_name = "CLASS", requires = "follow", default_value = "stated")]
    links: Class,
}

pub(crate) fn run(mut args: SearchArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let queries = Queries::read(&args.words, args.from.as_deref())?;
    begin(&mut args.engine, &args.log)?;
    let FollowArgs { follow, max_searches, links } = args.follow;
    let follow = follow.map(|depth| FollowOrder { depth, max_searches, links, choice: Choice::default() });
    let ChoiceArgs { modules, exclude_modules, categories, nsfw, engines, passive } = args.choice;
    let choice = Choice { modules, exclude_modules, categories, nsfw, engines, passive };
    let begun = |path: &PathBuf| {
        let (format, mut file) = (Format::of_file(path)?, Replacement::begin_private(path)?);
        file.write_all(format.mark()).map_err(|error| cannot_write(path, &error))?;
        Ok((format, file))
    };
    let mut files = args.outputs.iter().map(begun).collect::<Result<Vec<_>, Failure>>()?;
    let formats: Vec<Format> = files.iter().map(|(format, _)| *format).chain([args.format]).collect();
    check_formats(&formats, queries.is_list, follow.is_some(), &args.engine)?;
    let options = RunOptions {
        patient: args.patient,
        time_budget: args.time_budget,
        avatars: args.avatars,
        evidence: args.evidence.is_some(),
        ..RunOptions::default()
    };
    if let Some(folder) = &args.evidence {
        fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    }
    let wanted = |row: &Row| Search {
        premium: args.premium,
        options,
        choice: choice.clone(),
        follow: follow.clone().map(Into::into),
        ..Search::plain(&row.query)
    };
    let searches = queries.rows.iter().map(wanted).collect();
    let stop = Stop::default();
    stop_on_interrupt(&stop)?;
    let mut outputs = vec![Output::begin(out, args.format, queries.is_list, Table::of_output(args.all))?];
    // A browser may fail, which must not keep the other files from being written.
    files.sort_by_key(|(format, _)| format.is_pdf());
    for (format, file) in &mut files {
        outputs.push(Output::begin(file, *format, queries.is_list, Table::of_file(args.all))?);
    }
    outputs.extend(args.evidence.map(Output::Evidence));
    let exit = search(&args.engine, &args.suppression, searches, &queries, &mut outputs, &stop)?;
    let mut ends: Vec<Result<(), Failure>> = outputs.into_iter().map(Output::end).collect();
    let written = ends.remove(0);
    for ((_, file), end) in files.into_iter().zip(&ends) {
        if end.is_ok() {
            file.finish()?;
        }
    }
    ends.into_iter().fold(written, Result::and)?;
    Ok(if stop.is_set() { Exit::Interrupted } else { exit })
}

/// Refuses formats that cannot hold what is searched.
fn check_formats(
    formats: &[Format],
    is_list: bool,
    follows: bool,
    engine: &EngineConfig,
) -> Result<(), Failure> {
    let text = if follows && !formats.iter().all(|format| format.takes_families()) {
        "--follow needs table or json as --format and --output: the other formats hold one search"
    } else if is_list && !formats.iter().all(|format| format.takes_lists()) {
        "html, pdf, md, graphml and stix hold one search: several queries and --from need table, json, ndjson or csv as \
         --format and --output"
    } else if formats.iter().any(|format| format.is_pdf()) && engine.browsers.browser.is_none() {
        "a PDF needs a browser: --browser auto starts one (Debian: install chromium)"
    } else if is_list && follows {
        "--follow needs a single query; write a depth as --follow=2"
    } else {
        return Ok(());
    };
    Err(Failure::usage(text))
}

/// Searches for each query. The exit code is that of the worst search, and 1 only if nothing was found for any query.
fn search(
    engine: &EngineConfig,
    suppression: &SuppressionConfig,
    searches: Vec<Search>,
    Queries { rows, is_list }: &Queries,
    outputs: &mut [Output<'_>],
    stop: &Stop,
) -> Result<Exit, Failure> {
    let (bar, mut written, mut ends) = (Bar::new(), Ok(()), Vec::new());
    let sink = |index: usize, event: SearchEvent<'_>| {
        let row = &rows[index];
        written = match event {
            SearchEvent::Progress(progress) => {
                let place = format!("{} of {}: {}, ", index + 1, rows.len(), plain(row.query.raw()));
                show(&bar, progress, if *is_list { &place } else { "" });
                return ControlFlow::Continue(());
            }
            SearchEvent::Suppressed if !*is_list => Err(Failure::usage(SUPPRESSED)),
            event => bar.suspend_while(|| {
                outputs.iter_mut().try_for_each(|output| output.note(row, event))?;
                match event {
                    SearchEvent::Ended(runs, _) => {
                        ends.push(exit_of(&runs[0]));
                        runs.iter()
                            .for_each(|run| write_summary(run, *is_list || run.summary.family.is_some()));
                    }
                    SearchEvent::Suppressed => {
                        let (kind, query) = (row.query.search_type(), plain(row.query.raw()));
                        let _ = writeln!(io::stderr(), "{kind} {query}: suppressed, so it was not searched");
                    }
                    _ => {}
                }
                Ok(())
            }),
        };
        // A search whose results cannot be written ends.
        if written.is_ok() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    };
    let done = app::search(engine, suppression, searches, stop, sink);
    bar.clear();
    written?;
    done?;
    let exits = [Exit::Failed, Exit::Done];
    Ok(exits.into_iter().find(|exit| ends.contains(exit)).unwrap_or(Exit::NothingFound))
}

/// Writes the summary of a search to standard error, with its query if there are several.
fn write_summary(run: &RunRecord, is_named: bool) {
    let (kind, query) = (run.summary.search_type, plain(&run.summary.query));
    let name = if is_named { format!("{kind} {query}: ") } else { String::new() };
    // A closed standard error does not change the results.
    let _ = writeln!(io::stderr(), "{name}{}", summary(run));
}

/// Writes the table of a run that has ended.
pub(super) fn write_table(out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
    let mut table = Table::of_output(false);
    run.results.iter().try_for_each(|result| table.result(out, result))?;
    table.end(out, run)
}

fn time_budget(text: &str) -> Result<u8, String> {
    let time = duration("1s", "2m")(text)?;
    let secs = u8::try_from(time.as_secs()).ok().filter(|_| time.subsec_nanos() == 0);
    secs.ok_or_else(|| "expected whole seconds".to_owned())
}
