//! `search TYPE QUERY`: runs in this process, with the same engine as the server's.

mod list;
mod outcome;
mod view;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::bar::Bar;
use super::exit::{Exit, Failure};
use super::logging::start_log;
use super::options::search_type;
use super::unused::UnusedDatabase;
use crate::app::{self, SearchEvent, SearchRequest};
use crate::base::text::plain;
use crate::config::{EngineConfig, LogConfig, SuppressionConfig, checked, duration};
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};
use crate::runs::family::member::{FollowOrder, MAX_DEPTH, MAX_SEARCHES};
use crate::runs::leads::class::Class;
use crate::runs::run_options::{RunOptions, TimeBudget};
use outcome::{exit_of, go_on, show, summary};
use view::{Format, View};

/// Run one search or those of a list, without a server, an account or a database
///
/// The table shows results as they are found. The other formats are written at the end, when all sources of a
/// result are known. A progress bar appears on standard error if that is a terminal.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed.

Examples:
  sightline search username octocat
  sightline search domain example.org --format json | jq .coverage
  sightline search email someone@example.org --format csv > results.csv
  sightline search username octocat --format html > report.html
  sightline search username alice --category coding,social --exclude-module gitlab
  sightline search username alice --follow=2 --format json | sightline graph - --format graphml
  sightline search username --from names.txt --format csv > results.csv
  sightline search username alice --sandbox      nothing outside is asked")]
pub(crate) struct SearchArgs {
    /// Kind of the query: domain, email or username
    #[arg(value_name = "TYPE", value_parser = checked(search_type))]
    search_type: SearchType,
    /// The domain, email address or username
    #[arg(required_unless_present = "from")]
    query: Option<String>,
    /// Search for each query of this file (`-` for standard input): one on each line, or CSV with the columns type and query
    #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "follow"])]
    from: Option<PathBuf>,
    /// Format of the results
    #[arg(long, value_name = "FORMAT", default_value = "table")]
    format: Format,
    /// Also ask the modules that need a browser (usernames only)
    #[arg(long)]
    premium: bool,
    /// Give every check the whole --check-timeout, even to sites that usually answer sooner
    #[arg(long)]
    patient: bool,
    /// End after this time with the answers so far; the other modules end as timeout
    #[arg(long, value_name = "DURATION", value_parser = checked(time_budget))]
    time_budget: Option<TimeBudget>,
    /// Fetch the profile pictures of the accounts that are found; the HTML format shows them
    #[arg(long)]
    avatars: bool,
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
    #[command(flatten)]
    unused: UnusedDatabase,
}

/// The options that select modules.
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
    /// Also ask adult sites
    #[arg(long)]
    nsfw: bool,
    /// Ask only third parties, so that no request reaches the searched domain or its name servers
    #[arg(long)]
    passive: bool,
}

impl From<ChoiceArgs> for Choice {
    fn from(args: ChoiceArgs) -> Self {
        let ChoiceArgs { modules, exclude_modules, categories, nsfw, passive } = args;
        Self { modules, exclude_modules, categories, nsfw, passive }
    }
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
    /// The most searches that leads start
    #[arg(long, value_name = "N", requires = "follow", default_value_t = FollowOrder::DEFAULT_SEARCHES)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=i64::from(MAX_SEARCHES)))]
    max_searches: u8,
    /// Follow only leads that are verified, or also those that a profile states
    #[arg(long, value_name = "CLASS", requires = "follow", default_value = "stated")]
    #[arg(value_parser = checked(link_class))]
    links: Class,
}

impl From<FollowArgs> for Option<FollowOrder> {
    fn from(args: FollowArgs) -> Self {
        let FollowArgs { follow, max_searches, links } = args;
        follow.map(|depth| FollowOrder { depth, max_searches, links, choice: Choice::default() })
    }
}

fn link_class(text: &str) -> Result<Class, String> {
    Class::from_name(text).ok_or_else(|| "verified and stated are allowed".to_owned())
}

pub(crate) fn run(mut args: SearchArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let searched = match (&args.query, &args.from) {
        (Some(query), _) => Searched::Query(read_query(args.search_type, query)?),
        (None, Some(file)) => Searched::List(list::read(file, args.search_type)?),
        (None, None) => return Err(Failure::Usage("a query or --from is missing".to_owned())),
    };
    args.engine.check(std::env::vars_os())?;
    let follow = Option::<FollowOrder>::from(args.follow);
    if follow.is_some() && !args.format.takes_families() {
        let text = "--follow needs --format table or json: the other formats hold one search";
        return Err(Failure::Usage(text.to_owned()));
    }
    if matches!(searched, Searched::List(_)) && args.format == Format::Html {
        let text = "--from needs --format table, json, ndjson or csv: an HTML page holds one search";
        return Err(Failure::Usage(text.to_owned()));
    }
    start_log(&args.log)?;
    let request = SearchRequest {
        engine: args.engine,
        premium: args.premium,
        options: RunOptions {
            patient: args.patient,
            time_budget: args.time_budget,
            avatars: args.avatars,
            ..RunOptions::default()
        },
        choice: args.choice.into(),
        follow,
        suppression: args.suppression,
    };
    match searched {
        Searched::Query(query) => search_one(&request, &query, args.format, out),
        Searched::List(rows) => list::search(&request, &rows, args.format, out),
    }
}

/// What is searched.
enum Searched {
    Query(Query),
    List(Vec<list::Row>),
}

fn read_query(search_type: SearchType, text: &str) -> Result<Query, Failure> {
    Query::parse(search_type, text)
        .map_err(|error| Failure::Usage(format!("invalid query for {search_type}: {error}")))
}

fn search_one(
    request: &SearchRequest,
    query: &Query,
    format: Format,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut view = View::new(format);
    let bar = Bar::new();
    let mut broken = None;
    let found = app::search(request, query, |event| {
        let shown = match event {
            SearchEvent::Progress(progress) => {
                show(&bar, progress, "");
                Ok(())
            }
            SearchEvent::Child(search) => bar.suspend_while(|| view.child(out, search)),
            SearchEvent::Result(result) => bar.suspend_while(|| view.result(out, result)),
        };
        go_on(shown, &mut broken)
    });
    bar.clear();
    if let Some(failure) = broken {
        return Err(failure);
    }
    let runs = found?;
    let Some((run, children)) = runs.split_first() else { return Ok(Exit::Failed) };
    view.finish(out, run, children)?;
    out.flush()?;
    // A closed standard error does not change the results.
    let _ = writeln!(io::stderr(), "{}", summary(run));
    for child in children {
        let (kind, query) = (child.summary.search_type, plain(&child.summary.query));
        let _ = writeln!(io::stderr(), "{kind} {query}: {}", summary(child));
    }
    Ok(exit_of(&run.summary))
}

fn time_budget(text: &str) -> Result<TimeBudget, String> {
    let time = duration("1s", "2m")(text)?;
    let budget = TimeBudget::from_secs(time.as_secs()).filter(|budget| Duration::from(*budget) == time);
    budget.ok_or_else(|| "whole seconds are allowed".to_owned())
}
