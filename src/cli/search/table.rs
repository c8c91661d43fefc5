//! The table of results: a row for each result as it is found. In a terminal it has colours, and is cut to the width.

use std::env;
use std::io::{self, IsTerminal, Write};

use rustix::termios::tcgetwinsize;

use crate::base::text::{columns, cut, line, padded, plain};
use crate::cli::table::shown;
use crate::model::entity::identified::web_address;
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::outcome::Outcome;
use crate::report::facts::Facts;
use crate::runs::record::RunRecord;

/// The widths of the columns before the value. They are fixed, because rows are written before the last result is known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;
/// The columns before the value, with the confidence and two spaces between columns.
const BEFORE: usize = 4 + 2 + TYPE_WIDTH + 2 + PLATFORM_WIDTH + 2;
/// The width if the terminal does not report one, and the minimum.
const USUAL_WIDTH: usize = 80;
const LEAST_WIDTH: usize = 60;
/// The most facts of a kind that a terminal shows.
const MOST_FACTS: usize = 5;
/// The metadata of people that rows show.
const OF_PEOPLE: [&str; 5] = ["display_name", "real_name", "bio", "job_title", "location"];
/// The metadata of other results that rows show first.
const FIRST: [&str; 6] = ["kind", "service", "record_type", "name", "role", "issuer"];
/// Metadata that rows show elsewhere, or not at all.
const HIDDEN: [&str; 6] = ["sources", "profile_url", "avatar_url", "banner_url", "avatar", "found_by"];
/// The most members of metadata that a row shows.
const MOST_MEMBERS: usize = 3;

/// A table that is being written.
pub(super) struct Table {
    /// The width of a terminal; `None` for a file or a pipe, whose rows are never cut.
    width: Option<usize>,
    has_colours: bool,
    /// Whether it lists the modules that found nothing.
    all: bool,
    has_head: bool,
    is_empty: bool,
}

impl Table {
    /// Creates a table on standard output, like one in a file if that is no terminal. `NO_COLOR` turns colours off
    /// (<https://no-color.org>).
    pub(super) fn of_output(all: bool) -> Self {
        let file = Self::of_file(all);
        if !io::stdout().is_terminal() {
            return file;
        }
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_colours = !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let size = tcgetwinsize(io::stdout()).ok().filter(|size| size.ws_col > 0);
        let width = size.map_or(USUAL_WIDTH, |size| size.ws_col.into());
        Self { width: Some(width.max(LEAST_WIDTH)), has_colours, ..file }
    }

    /// Creates a table in a file.
    pub(super) fn of_file(all: bool) -> Self {
        Self { width: None, has_colours: false, all, has_head: false, is_empty: true }
    }

    /// Writes a line about the results that follow.
    pub(super) fn heading(&mut self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        let space = if self.is_empty { "" } else { "\n" };
        (self.has_head, self.is_empty) = (false, false);
        writeln!(out, "{space}{}", self.styled("1", text))
    }

    /// Writes a result and flushes it, with its first source.
    pub(super) fn result(&mut self, out: &mut dyn Write, result: &ResultRecord) -> io::Result<()> {
        if !self.has_head {
            (self.has_head, self.is_empty) = (true, false);
            writeln!(out, "{}", row("CONF", "TYPE", "PLATFORM", "VALUE"))?;
        }
        let left = self.width.map_or(usize::MAX, |width| width - BEFORE);
        let value = cut(result.value.as_deref().unwrap_or("-"), left);
        let about = cut(&about(result), left.saturating_sub(columns(&value) + 2));
        let page = page_of(result);
        let in_row = page.filter(|_| self.width.is_none()).map(line).unwrap_or_default();
        let parts = [value, self.styled("2", &about), in_row];
        let text = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  ");
        let platform = result.platform.as_deref().unwrap_or("-");
        let platform = cut(platform, self.width.map_or(usize::MAX, |_| PLATFORM_WIDTH));
        let confidence = self.sure(result.confidence);
        writeln!(out, "{}", row(&confidence, &result.result_type, &platform, &text))?;
        if let Some(address) = page.filter(|_| self.width.is_some()).and_then(web_address) {
            // It has a line to itself, because an address that is cut cannot be opened.
            writeln!(out, "{:6}{}", "", self.styled("2", address.as_str()))?;
        }
        out.flush()
    }

    /// Writes what follows the last result of a run: the modules that found nothing, if they are wanted, and in a terminal
    /// what the results say together.
    pub(super) fn end(&mut self, out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
        for outcome in Outcome::ALL.into_iter().filter(|outcome| self.all && *outcome != Outcome::Hit) {
            for module in run.modules_that(outcome) {
                self.is_empty = false;
                writeln!(out, "{}", row("-", outcome.as_str(), &with_reason(module), "-"))?;
            }
        }
        if let Some(width) = self.width {
            self.facts(out, width, &Facts::of(&run.results, run.as_of))?;
        }
        out.flush()
    }

    fn facts(&self, out: &mut dyn Write, width: usize, facts: &Facts) -> io::Result<()> {
        let mut lines: Vec<(&str, String)> = Vec::new();
        for (name, facts) in &facts.lists {
            let shown = facts.iter().take(MOST_FACTS).map(|fact| match fact.results.len() {
                1 => fact.text.clone(),
                sources => format!("{} ({sources} sources)", fact.text),
            });
            let more = match facts.len().saturating_sub(MOST_FACTS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            lines.push((name, format!("{}{more}", shown.collect::<Vec<_>>().join(", "))));
        }
        if let Some(oldest) = &facts.oldest {
            let newest = facts.newest.as_ref();
            let newest =
                newest.map(|it| format!(", newest {} ({})", it.day, it.platform)).unwrap_or_default();
            lines.push(("Accounts", format!("oldest {} ({}){newest}", oldest.day, oldest.platform)));
        }
        if !lines.is_empty() {
            writeln!(out)?;
        }
        lines.into_iter().try_for_each(|(name, text)| {
            writeln!(out, "{} {}", self.styled("1", &padded(name, 9)), cut(&text, width - 10))
        })
    }

    fn styled(&self, code: &str, text: &str) -> String {
        match self.has_colours && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// Returns a confidence in green, yellow or faint.
    fn sure(&self, confidence: f64) -> String {
        let code = match confidence {
            0.8.. => "32",
            0.45.. => "33",
            _ => "2",
        };
        self.styled(code, &format!("{confidence:.2}"))
    }
}

/// Returns a row. The type and the platform, which are from outside, are escaped for terminals.
fn row(confidence: &str, kind: &str, platform: &str, value: &str) -> String {
    let (kind, platform) = (padded(kind, TYPE_WIDTH), padded(platform, PLATFORM_WIDTH));
    format!("{confidence:<4}  {kind}  {platform}  {value}").trim_end().to_owned()
}

/// Returns what the row says of a result beside its value: the name, the text and the place of a person, else the first
/// members of its metadata.
fn about(result: &ResultRecord) -> String {
    let text = |name: &&str| result.metadata.get(*name)?.as_str().map(str::trim);
    let is_new = |text: &&str| !text.is_empty() && Some(*text) != result.value.as_deref();
    let mut parts: Vec<String> =
        OF_PEOPLE.iter().filter_map(text).filter(is_new).map(str::to_owned).collect();
    parts.dedup();
    if parts.is_empty() && !matches!(result.result_type.as_str(), "account" | "profile") {
        let first = FIRST.iter().filter_map(|name| result.metadata.get_key_value(*name));
        let others = result.metadata.iter();
        let others =
            others.filter(|(name, _)| !FIRST.contains(&name.as_str()) && !HIDDEN.contains(&name.as_str()));
        let members = first.chain(others).filter(|(_, value)| {
            !(value.is_null() || value.is_array() || value.is_object() || value.as_str() == Some(""))
        });
        let members = members.map(|(name, value)| format!("{} {}", name.replace('_', " "), shown(value)));
        parts = members.take(MOST_MEMBERS).collect();
    }
    parts.join(" · ")
}

/// Returns the profile address, unless it equals the value.
fn page_of(result: &ResultRecord) -> Option<&str> {
    result.profile_url().filter(|page| Some(*page) != result.value.as_deref())
}

/// Returns the name of a module's platform, with the reason of its outcome.
fn with_reason(module: &ModuleReport) -> String {
    let platform = plain(&module.platform);
    match module.reason {
        Some(reason) => format!("{platform} ({})", reason.as_phrase()),
        None => platform.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn result(value: &str, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": 1, "type": "profile", "entity_type": "profile", "platform": "Git\u{1b}Hub", "value": value,
            "confidence": 0.94, "source": "github", "metadata": metadata, "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    fn shown(results: &[ResultRecord]) -> String {
        let (mut out, mut table) = (Vec::new(), Table::of_file(false));
        results.iter().for_each(|result| table.result(&mut out, result).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_a_head_and_a_line_for_each_result() {
        let bio = json!({"bio": "=cmd()\u{9b}"});
        let page = json!({"profile_url": "https://example.org/octocat"});
        assert_eq!(
            shown(&[result("=HYPERLINK(1)\n", &bio), result("octocat", &page)]),
            "CONF  TYPE          PLATFORM                  VALUE\n\
             0.94  profile       Git\u{fffd}Hub                   =HYPERLINK(1)   =cmd()\u{fffd}\n\
             0.94  profile       Git\u{fffd}Hub                   octocat  https://example.org/octocat\n"
        );
        let mut long = result("octocat", &page);
        long.platform = Some("a".repeat(30));
        assert!(shown(&[long]).contains("aa  octocat"));
        let same = shown(&[result("https://example.org/octocat", &page)]);
        assert_eq!(same.matches("https://").count(), 1);
    }

    #[test]
    fn text_from_sites_stays_in_its_cell() {
        let mut result = result(&format!("o{}ctocat", "\u{0301}".repeat(500)), &json!({}));
        result.platform = Some("名前\u{202e}".to_owned());
        let shown = shown(&[result]);
        let row = shown.lines().nth(1).unwrap();
        assert_eq!(columns(&row[..row.find("o\u{0301}").unwrap()]), BEFORE);
        assert!(row.matches('\u{0301}').count() == 4 && !row.contains('\u{202e}'), "{row}");
    }
}
