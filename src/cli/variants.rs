//! `variants`.

use std::io::Write;

use clap::{ArgGroup, Args};
use serde_json::json;

use super::catalog::load;
use super::exit::{Exit, Failure};
use super::table::TextFormat;
use crate::base::text::write_json;
use crate::config::CatalogConfig;
use crate::modules::query::{Query, SearchType};
use crate::modules::variants::of_username;
use crate::modules::variants::person::Person;

/// List usernames that a person may have chosen, the most frequent forms first
///
/// Give the person's names or one of their usernames. Nothing is searched. The exit code is 1 if there are none.
#[derive(Debug, Args)]
#[command(
    group = ArgGroup::new("from").required(true).args(["username", "first"]),
    after_help = "\
Examples:
  sightline variants --first Jürgen --last Weiß --year 1985
  sightline variants ada.lovelace --format json"
)]
pub(crate) struct VariantsArgs {
    /// A username of the person
    #[arg(conflicts_with_all = ["last", "middle", "nick", "year"])]
    username: Option<String>,
    /// First name
    #[arg(long, value_name = "NAME", requires = "last")]
    first: Option<String>,
    /// Last name
    #[arg(long, value_name = "NAME", requires = "first")]
    last: Option<String>,
    /// Middle name
    #[arg(long, value_name = "NAME", requires = "first")]
    middle: Option<String>,
    /// Nickname, which may replace the first name
    #[arg(long, value_name = "NAME", requires = "first")]
    nick: Option<String>,
    /// Year that may follow a name, such as the year of birth
    #[arg(long, value_name = "YEAR", requires = "first", value_parser = clap::value_parser!(u16).range(1900..=2099))]
    year: Option<u16>,
    /// Format of the output: one username in each line, or the same object as `POST /v1/variants`
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: TextFormat,
    #[command(flatten)]
    catalog: CatalogConfig,
}

pub(crate) fn run(args: VariantsArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    let VariantsArgs { username, first, last, middle, nick, year, format, catalog } = args;
    let catalog = load(&catalog)?;
    let variants = match username {
        Some(name) => {
            let name = name.trim();
            let name = name.strip_prefix('@').unwrap_or(name);
            Query::parse(SearchType::Username, name).map_err(Failure::usage)?;
            of_username(name, &catalog)
        }
        None => {
            let (first, last) = (first.unwrap_or_default(), last.unwrap_or_default());
            Person { first, last, middle, nick, year }.variants(&catalog)
        }
    };
    match format {
        TextFormat::Text => variants.iter().try_for_each(|variant| writeln!(out, "{}", variant.username))?,
        TextFormat::Json => write_json(out, &json!({ "count": variants.len(), "variants": variants }))?,
    }
    Ok(if variants.is_empty() { Exit::NothingFound } else { Exit::Done })
}
