//! `openapi`, `manual`, `completions`.

use std::io::Write;

use clap::builder::PossibleValuesParser;
use clap::{Args, Command};
use clap_complete::Shell;

use super::account::BaseUrl;
use super::exit::{Exit, Failure};
use super::table::write_table;
use crate::api::openapi::document;
use crate::base::text::write_json;
use crate::manual::{TOPICS, topic};

/// Print the OpenAPI 3.1 document of the API, the same as a server's /openapi.json
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  sightline openapi --base-url https://search.example.org > openapi.json")]
pub(crate) struct OpenApiArgs {
    #[command(flatten)]
    base_url: BaseUrl,
}

pub(crate) fn openapi(args: &OpenApiArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    write_json(out, &document(&args.base_url.base_url))?;
    Ok(Exit::Done)
}

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

pub(crate) fn manual(args: &ManualArgs, out: &mut dyn Write) -> Result<Exit, Failure> {
    match args.topic.as_deref().and_then(topic) {
        Some(topic) => out.write_all(topic.markdown.as_bytes())?,
        None => {
            let row = |topic: &crate::manual::Topic| vec![topic.name.to_owned(), topic.title().to_owned()];
            write_table(out, &["TOPIC", "TITLE"], &TOPICS.iter().map(row).collect::<Vec<_>>())?;
        }
    }
    Ok(Exit::Done)
}

/// Print a script that lets a shell complete commands, options and their values
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sightline completions bash > ~/.local/share/bash-completion/completions/sightline
  sightline completions zsh > ~/.zfunc/_sightline
  sightline completions fish > ~/.config/fish/completions/sightline.fish
  sightline completions powershell >> $PROFILE")]
pub(crate) struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

pub(crate) fn completions(
    args: &CompletionsArgs,
    mut command: Command,
    out: &mut dyn Write,
) -> Result<Exit, Failure> {
    // Writing to memory does not fail, and a closed output is an error of `write_all`.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "sightline", &mut script);
    out.write_all(&script)?;
    Ok(Exit::Done)
}
