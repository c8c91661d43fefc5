//! `search [TYPE] QUERY…`: runs in this process, with the same engine as the server's.

mod files;
mod list;
mod outcome;
mod row;
mod terminal;
mod view;
mod words;

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::bar::Bar;
use super::exit::{Exit, Failure};
use super::interrupt::Watch;
use super::logging::start_log;
use super::unused::UnusedDatabase;
use crate::app::{self, SearchEvent, SearchRequest};
use crate::base::text::plain;
use crate::config::{EngineConfig, LogConfig, SuppressionConfig, checked, duration};
use crate::model::follow::{Class, FollowOrder, MAX_DEPTH, MAX_SEARCHES};
use crate::model::run::{RunOptions, TimeBudget};
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};
use crate::runs::proof::Stop;
use files::{Output, OutputFile};
use outcome::{exit_of, go_on, show, summary};
use view::{Format, View};

/// Run searches without a server, an account or a database
///
/// In a terminal, the results are shown by category at the end of a search, with what they say together. Otherwise the
/// table has a row for each result as it is found. The other formats are written at the end, when all sources of a result
/// are known. A progress bar appears on standard error if that is a terminal. Ctrl-C ends the search and writes what was
/// found; pressed again, it ends the program at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 done, 1 nothing found, 2 usage, 3 failed, 130 ended by Ctrl-C.

Examples:
  sightline search octocat
  sightline search alice bob someone@example.org example.org
  sightline search username example.org          a username that looks like a domain
  sightline search octocat -o octocat.html -o octocat.csv
  sightline search domain example.org --format json | jq .coverage
  sightline search email someone@example.org --format csv > results.csv
  sightline search username alice --category coding,social --exclude-module gitlab
  sightline search username alice --follow=2 --format json | sightline graph - --format graphml
  sightline search username --from names.txt --format csv > results.csv
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
    #[arg(long, value_name = "FORMAT", default_value = "table")]
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
    #[arg(long = "module", value_name = "ID", value_delimiter = ',')]
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
    let (searched, recognized) = searches_of(&args)?;
    args.engine.check(std::env::vars_os())?;
    let follow = Option::<FollowOrder>::from(args.follow);
    let files = args.outputs.iter().map(|path| OutputFile::begin(path)).collect::<Result<Vec<_>, _>>()?;
    let formats = || files.iter().map(|file| file.format).chain([args.format]);
    if follow.is_some() && !formats().all(Format::takes_families) {
        let text = "--follow needs table or json as --format and --output: the other formats hold one search";
        return Err(Failure::Usage(text.to_owned()));
    }
    let is_list = matches!(searched, Searches::List(_));
    if is_list && !formats().all(Format::takes_lists) {
        let text = "html, pdf, md, graphml and stix hold one search: several queries and --from need table, json, \
                    ndjson or csv as --format and --output";
        return Err(Failure::Usage(text.to_owned()));
    }
    if formats().any(|format| format == Format::Pdf) && args.engine.browsers.browser.is_none() {
        let text = "a PDF needs a browser: --browser auto starts one (Debian: install chromium)";
        return Err(Failure::Usage(text.to_owned()));
    }
    if is_list && follow.is_some() {
        return Err(Failure::Usage("--follow needs a single query".to_owned()));
    }
    start_log(&args.log)?;
    refuse_addresses(&args.engine, &recognized)?;
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
    let stop = Stop::default();
    let _watch = Watch::start(&stop)?;
    let output = Output { format: args.format, all: args.all, files };
    let exit = match searched {
        Searches::One(query) => search_one(&request, &query, output, &stop, out),
        Searches::List(rows) => list::search(&request, &rows, output, &stop, out),
    }?;
    Ok(if stop.is_set() { Exit::Interrupted } else { exit })
}

/// What is searched.
enum Searches {
    One(Query),
    List(Vec<list::Row>),
}

/// Returns what is searched, and the texts whose types were recognized.
fn searches_of(args: &SearchArgs) -> Result<(Searches, Vec<String>), Failure> {
    let (search_type, words) = words::split(&args.words);
    let mut recognized = Vec::new();
    let searches = match (&args.from, words) {
        (Some(file), []) => Ok(Searches::List(list::read(file, search_type, &mut recognized)?)),
        (Some(_), _) => Err(Failure::Usage("--from replaces the queries of the command line".to_owned())),
        (None, []) => {
            let text = "a query is missing: sightline search [TYPE] <QUERY>…, or --from FILE";
            Err(Failure::Usage(text.to_owned()))
        }
        (None, words) => {
            if search_type.is_none() {
                recognized = words.to_vec();
            }
            let mut rows = words::rows(search_type, words)?;
            Ok(match (rows.pop(), rows.is_empty()) {
                (Some(row), true) => Searches::One(row.query),
                (last, _) => {
                    rows.extend(last);
                    Searches::List(rows)
                }
            })
        }
    }?;
    Ok((searches, recognized))
}

/// Refuses the addresses of profiles, since they do not say what to search for.
fn refuse_addresses(engine: &EngineConfig, texts: &[String]) -> Result<(), Failure> {
    let texts = texts.iter().map(|text| text.trim_matches(|c: char| c.is_whitespace() || "<>".contains(c)));
    let addresses: Vec<&str> = texts.filter(|text| text.contains('/')).collect();
    if addresses.is_empty() {
        return Ok(());
    }
    let Some((text, account)) = app::account_in(engine, &addresses)? else {
        return addresses.into_iter().try_for_each(refuse_handle);
    };
    let (platform, id, name) = (plain(account.module.platform()), account.module.id(), account.query.raw());
    let (domain, text, name) = (domain_of(text), plain(text), plain(name));
    Err(Failure::Usage(format!(
        "{text} is the address of {name} on {platform}. Nothing was searched; choose one of these:\n  \
         sightline search username {name} --module {id}   only on {platform}\n  \
         sightline search username {name}   on all sites\n  \
         sightline search domain {domain}   the domain"
    )))
}

/// Returns the domain of an address.
fn domain_of(address: &str) -> String {
    let domain = Query::parse(SearchType::Domain, address);
    domain.map_or_else(|_| plain(address).into_owned(), |domain| domain.normal().to_owned())
}

/// Refuses `https://host/@user` and `https://host/@user@home` on a host that the catalogue does not know.
fn refuse_handle(text: &str) -> Result<(), Failure> {
    let address = text.trim().split_once("://").map_or(text.trim(), |(_, address)| address);
    let path = address.split_once('/').and_then(|(_, path)| path.strip_prefix('@'));
    let handle = path.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let (name, home) = handle.split_once('@').unwrap_or((handle, text));
    if Query::parse(SearchType::Username, name).is_err() {
        return Ok(());
    }
    let (text, host, name) = (plain(text), domain_of(home), plain(name));
    Err(Failure::Usage(format!(
        "{text} looks like the address of {name} on {host}. Nothing was searched; choose one of these:\n  \
         sightline search username {name}   on all sites\n  \
         sightline search email {name}@{host}   the address in the Fediverse\n  \
         sightline search domain {host}   the domain"
    )))
}

fn search_one(
    request: &SearchRequest,
    query: &Query,
    output: Output,
    stop: &Stop,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    let mut view = View::new(output.format, output.all);
    let bar = Bar::new();
    let mut broken = None;
    let found = app::search(request, query, stop, |event| {
        let shown = match event {
            SearchEvent::Progress(progress) => {
                show(&bar, progress, "");
                Ok(())
            }
            SearchEvent::Child(search) => bar.suspend_while(|| view.child(out, search)),
            SearchEvent::Result(result) => bar.suspend_while(|| view.result(out, result)),
            // These are events of lists.
            SearchEvent::Ended(..) | SearchEvent::Suppressed => Ok(()),
        };
        go_on(shown, &mut broken)
    });
    bar.clear();
    if let Some(failure) = broken {
        return Err(failure);
    }
    let found = found?;
    let (catalog, print) = (&found.catalog, |page: &str| found.print(page));
    let Some((run, children)) = found.records.split_first() else { return Ok(Exit::Failed) };
    view.finish(out, run, children, catalog, &print)?;
    out.flush()?;
    // A browser may fail, which must not keep the other files from being written.
    let mut files = output.files;
    files.sort_by_key(|file| file.format == Format::Pdf);
    for mut file in files {
        let format = file.format;
        let mut view = View::of_file(format, output.all);
        match format {
            Format::Table => view.table(file.writer(), run, catalog)?,
            _ => view.finish(file.writer(), run, children, catalog, &print)?,
        }
        file.finish()?;
    }
    // A closed standard error does not change the results.
    let _ = writeln!(io::stderr(), "{}", summary(run));
    for child in children {
        let (kind, query) = (child.summary.search_type, plain(&child.summary.query));
        let _ = writeln!(io::stderr(), "{kind} {query}: {}", summary(child));
    }
    Ok(exit_of(run))
}

fn time_budget(text: &str) -> Result<TimeBudget, String> {
    let time = duration("1s", "2m")(text)?;
    let budget = TimeBudget::from_secs(time.as_secs()).filter(|budget| Duration::from(*budget) == time);
    budget.ok_or_else(|| "whole seconds are allowed".to_owned())
}
