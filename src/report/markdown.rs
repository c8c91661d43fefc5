//! The report as Markdown (CommonMark with the tables of GitHub), for notes and for language models: the same overview as on
//! the page, and the template `report.md`.
//!
//! Text from outside is escaped, so that it cannot become a heading, a link, an image or HTML. Only `http` and `https`
//! addresses are links, written as autolinks.

use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::io;

use askama::Template;
use askama::filters::Escaper;
use serde_json::Value;

use super::html::{Overview, cut, in_order};
use crate::base::clock::to_the_second;
use crate::base::text::plain;
use crate::model::entity::identified::web_address;
use crate::model::run::{ResultRecord, RunSummary, Status};
use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::runs::record::RunRecord;

/// The characters that Markdown or HTML would interpret anywhere.
const SPECIAL: &[char] = &['\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '#', '!', '|', '~', '&', '$'];
/// The most characters of a text.
const MOST_CHARS: usize = 300;
/// The members of the metadata that the table of accounts shows in its last column.
const ABOUT: [&str; 6] = ["display_name", "bio", "location", "followers", "created_at", "last_seen_at"];

/// Writes every value of the template as [`escaped`] text. `askama.toml` applies it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Markdown;

impl Escaper for Markdown {
    fn write_escaped_str<W: Write>(&self, dest: W, text: &str) -> fmt::Result {
        { dest }.write_str(&escaped(text))
    }
}

#[derive(Template)]
#[template(path = "report.md", config = "src/report/html/askama.toml", whitespace = "preserve")]
struct Page<'r> {
    run: &'r RunRecord,
    summary: &'r RunSummary,
    overview: Overview,
    /// The results of a username, those with the highest confidence first.
    accounts: Vec<&'r ResultRecord>,
}

/// Returns the document.
///
/// # Errors
/// Returns an error if the template cannot be rendered.
pub(super) fn page(run: &RunRecord, catalog: &Catalog) -> io::Result<String> {
    let (overview, accounts) = (Overview::whole(run, catalog), in_order(&run.results));
    let page = Page { run, summary: &run.summary, overview, accounts };
    let rendered = page.render().map_err(io::Error::other)?;
    let mut text = String::with_capacity(rendered.len());
    for line in rendered.lines().map(str::trim_end) {
        // Omitted parts leave their empty lines.
        if !line.is_empty() || !text.ends_with("\n\n") {
            text.push_str(line);
            text.push('\n');
        }
    }
    Ok(text)
}

impl Page<'_> {
    fn has_notes(&self) -> bool {
        let notes = &self.summary.notes;
        !notes.tags.is_empty()
            || notes.note.is_some()
            || self.run.results.iter().any(|result| result.annotation.is_some())
    }
}

/// Returns the names of the platforms of results, each once and escaped.
fn sources(results: &[(u32, String)]) -> String {
    let names: BTreeSet<String> = results.iter().map(|(_, name)| escaped(name)).collect();
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Returns what the last column of the table of accounts says.
fn about(result: &ResultRecord) -> String {
    let shown = |value: &Value| match value {
        Value::String(text) => Some(escaped(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let about = ABOUT.iter().filter_map(|name| result.metadata.get(*name)).filter_map(shown);
    about.collect::<Vec<_>>().join("; ")
}

/// Returns text from outside in one line, in which no character has a meaning. It must not be the first text of a line or
/// of an item of a list: there, `1.` or `-` would begin a list.
fn escaped(text: &str) -> String {
    whole(&cut(text, MOST_CHARS))
}

/// Returns the whole text as [`escaped`] does.
fn whole(text: &str) -> String {
    let mut shown = String::new();
    for c in plain(text).chars() {
        if SPECIAL.contains(&c) {
            shown.push('\\');
        }
        shown.push(if c.is_whitespace() { ' ' } else { c });
    }
    shown.trim().to_owned()
}

/// Returns a web address as a link, and other text escaped.
fn linked(text: &str) -> String {
    match web_address(text) {
        // The parts of a URL are percent-encoded, so it has no `<`, `>` or space. A `|` would end the cell.
        Some(url) if url.as_str().len() <= MOST_CHARS => format!("<{}>", url.as_str().replace('|', "%7C")),
        _ => escaped(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_has_no_meaning() {
        assert_eq!(
            escaped("# [a](javascript:x)\n| <img src=x> **b**"),
            "\\# \\[a\\](javascript:x) \\| \\<img src=x\\> \\*\\*b\\*\\*"
        );
        assert_eq!(escaped("\u{202e}a\r\nb").chars().filter(|c| c.is_control()).count(), 0);
        assert_eq!(linked("https://a.example/a b|c"), "<https://a.example/a%20b%7Cc>");
        assert_eq!(linked("javascript:alert(1)"), "javascript:alert(1)");
    }
}
