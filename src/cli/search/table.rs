//! The table of results: a row for each result as it is found. In a terminal it has colours and links, and is cut to the
//! width.

use std::env;
use std::io::{self, IsTerminal, Write};

use serde_json::Value;
use terminal_size::{Width, terminal_size_of};

use crate::base::text::{columns, cut, line, padded, plain};
use crate::model::entity::identified::web_address;
use crate::model::run::{ModuleReport, ResultRecord};
use crate::modules::outcome::Outcome;
use crate::runs::facts::Facts;
use crate::runs::record::RunRecord;

/// The widths of the columns before the value. They are fixed, because rows are written before the last result is known.
const TYPE_WIDTH: usize = 12;
const PLATFORM_WIDTH: usize = 24;
/// The columns before the value, with the confidence and two spaces between columns.
const BEFORE: usize = 4 + 2 + TYPE_WIDTH + 2 + PLATFORM_WIDTH + 2;
/// The width of a terminal that does not tell its own, and the least to which rows are cut.
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
    terminal: Option<Terminal>,
    /// Whether it lists the modules that found nothing.
    all: bool,
    has_head: bool,
    is_empty: bool,
}

/// A terminal as standard output.
#[derive(Debug, Clone, Copy)]
struct Terminal {
    width: usize,
    has_colours: bool,
    has_links: bool,
}

impl Table {
    /// Creates a table on standard output.
    pub(super) fn of_output(all: bool) -> Self {
        Self { terminal: Terminal::of_output(), ..Self::of_file(all) }
    }

    /// Creates a table in a file.
    pub(super) fn of_file(all: bool) -> Self {
        Self { terminal: None, all, has_head: false, is_empty: true }
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
        let value = result.value.as_deref().unwrap_or("-");
        let (about, page) = (about(result), page_of(result));
        let confidence = format!("{:.2}", result.confidence);
        let platform = result.platform.as_deref().unwrap_or("-");
        match self.terminal {
            None => {
                let about = Some(about.as_str()).filter(|about| !about.is_empty());
                let parts = [Some(value), about, page].into_iter().flatten().collect::<Vec<_>>();
                writeln!(out, "{}", row(&confidence, &result.result_type, platform, &parts.join("  ")))?;
            }
            Some(terminal) => {
                let page = page.and_then(web_address).map(String::from);
                let left = terminal.width - BEFORE;
                let value = cut(value, left);
                let about = cut(&about, left.saturating_sub(columns(&value) + 2));
                let start = row(&confidence, &result.result_type, &cut(platform, PLATFORM_WIDTH), "");
                let start =
                    padded(start.strip_prefix(&confidence).unwrap_or(&start), BEFORE - confidence.len());
                writeln!(
                    out,
                    "{}{start}{}  {}",
                    terminal.sure(&confidence, result.confidence),
                    terminal.link(&value, page.as_deref()),
                    terminal.styled("2", &about)
                )?;
                if let Some(page) = page.filter(|_| !terminal.has_links) {
                    // It has a line to itself, because an address that is cut cannot be opened.
                    writeln!(out, "{:6}{}", "", terminal.styled("2", &page))?;
                }
            }
        }
        out.flush()
    }

    /// Writes what follows the last result of a run: the modules that found nothing, if they are wanted, and in a terminal
    /// what the results say together.
    pub(super) fn end(&mut self, out: &mut dyn Write, run: &RunRecord) -> io::Result<()> {
        let others = Outcome::ALL.into_iter().filter(|outcome| self.all && *outcome != Outcome::Hit);
        for (outcome, module) in
            others.flat_map(|it| run.modules_that(it).into_iter().map(move |module| (it, module)))
        {
            self.is_empty = false;
            writeln!(out, "{}", row("-", outcome.as_str(), &with_reason(module), "-"))?;
        }
        if let Some(terminal) = self.terminal {
            terminal.facts(out, &Facts::of(&run.results))?;
        }
        out.flush()
    }

    fn styled(&self, code: &str, text: &str) -> String {
        self.terminal.map_or_else(|| text.to_owned(), |terminal| terminal.styled(code, text))
    }
}

impl Terminal {
    /// Returns the terminal, if standard output is one. <https://no-color.org> turns colours and links off.
    fn of_output() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_colours = !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let width = terminal_size_of(io::stdout()).map_or(USUAL_WIDTH, |(Width(width), _)| width.into());
        Some(Self { width: width.max(LEAST_WIDTH), has_colours, has_links: has_colours && knows_links() })
    }

    fn facts(self, out: &mut dyn Write, facts: &Facts) -> io::Result<()> {
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
            writeln!(out, "{} {}", self.styled("1", &padded(name, 9)), cut(&text, self.width - 10))
        })
    }

    fn styled(self, code: &str, text: &str) -> String {
        match self.has_colours && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }

    /// Colours a confidence: green, yellow or faint.
    fn sure(self, text: &str, confidence: f64) -> String {
        let code = match confidence {
            0.8.. => "32",
            0.45.. => "33",
            _ => "2",
        };
        self.styled(code, text)
    }

    /// Returns the text as a link (OSC 8). The address is ASCII, because it was parsed.
    fn link(self, text: &str, address: Option<&str>) -> String {
        match address.filter(|_| self.has_links) {
            Some(address) => format!("\u{1b}]8;;{address}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\"),
            None => text.to_owned(),
        }
    }
}

/// Returns whether the terminal is known to show links. Others may show the codes instead.
fn knows_links() -> bool {
    let is_any = |name: &str, known: &[&str]| {
        env::var(name).is_ok_and(|value| known.iter().any(|known| value.contains(known)))
    };
    is_any("TERM_PROGRAM", &["iTerm.app", "WezTerm", "vscode", "ghostty", "Hyper", "Tabby"])
        || is_any("TERM", &["kitty", "alacritty", "foot", "ghostty"])
        || env::var("VTE_VERSION")
            .is_ok_and(|version| version.parse().is_ok_and(|version: u32| version >= 5000))
        || ["WT_SESSION", "KONSOLE_VERSION"].iter().any(|name| env::var_os(name).is_some())
}

/// Returns a row. Text from outside is escaped for terminals.
fn row(confidence: &str, kind: &str, platform: &str, value: &str) -> String {
    let (kind, platform) = (padded(kind, TYPE_WIDTH), padded(platform, PLATFORM_WIDTH));
    format!("{confidence:<4}  {kind}  {platform}  {}", line(value)).trim_end().to_owned()
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
        let members = first
            .chain(others)
            .filter_map(|(name, value)| Some(format!("{} {}", name.replace('_', " "), shown(value)?)));
        parts = members.take(MOST_MEMBERS).collect();
    }
    parts.join(" · ")
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()).filter(|text| !text.is_empty()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(is_so) => Some(if *is_so { "yes" } else { "no" }.to_owned()),
        _ => None,
    }
}

/// Returns the page that a person wants to open, if it is not the value itself.
fn page_of(result: &ResultRecord) -> Option<&str> {
    let page = result.metadata.get("profile_url")?;
    let page = page.as_str().or_else(|| page.get(0)?.as_str())?;
    Some(page).filter(|page| Some(*page) != result.value.as_deref())
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
    use serde_json::json;

    fn result(value: &str, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": 1, "type": "profile", "entity_type": "profile", "platform": "Git\u{1b}Hub", "value": value,
            "confidence": 0.94, "source": "github", "metadata": metadata, "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    fn shown(terminal: Option<Terminal>, results: &[ResultRecord]) -> String {
        let (mut out, mut table) = (Vec::new(), Table { terminal, ..Table::of_file(false) });
        results.iter().for_each(|result| table.result(&mut out, result).unwrap());
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_table_has_a_head_and_a_line_for_each_result() {
        let bio = json!({"bio": "=cmd()\u{9b}"});
        let page = json!({"profile_url": "https://example.org/octocat"});
        assert_eq!(
            shown(None, &[result("=HYPERLINK(1)\n", &bio), result("octocat", &page)]),
            "CONF  TYPE          PLATFORM                  VALUE\n\
             0.94  profile       Git\u{fffd}Hub                   =HYPERLINK(1)   =cmd()\u{fffd}\n\
             0.94  profile       Git\u{fffd}Hub                   octocat  https://example.org/octocat\n"
        );
        let same = shown(None, &[result("https://example.org/octocat", &page)]);
        assert_eq!(same.matches("https://").count(), 1);
    }

    #[test]
    fn text_from_sites_stays_in_its_cell() {
        let mut result = result(&format!("o{}ctocat", "\u{0301}".repeat(500)), &json!({}));
        result.platform = Some("名前\u{202e}".to_owned());
        let shown = shown(None, &[result]);
        let row = shown.lines().nth(1).unwrap();
        assert_eq!(columns(&row[..row.find("o\u{0301}").unwrap()]), BEFORE);
        assert!(row.matches('\u{0301}').count() == 4 && !row.contains('\u{202e}'), "{row}");
    }

    #[test]
    fn a_terminal_cuts_rows_and_has_colours_and_links_around_the_same_text() {
        let bare = Terminal { width: 100, has_colours: false, has_links: false };
        let page = "https://github.com/octocat";
        let metadata =
            json!({"display_name": "The\u{1b} Octocat", "bio": "x ".repeat(200), "profile_url": page});
        let text = shown(Some(bare), &[result("octocat", &metadata)]);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[1].contains("octocat  The\u{fffd} Octocat · x x") && lines[1].ends_with('…'), "{text}");
        assert!(columns(lines[1]) <= 100 && lines[2].trim() == page, "{text}");
        let terminal = Terminal { has_colours: true, has_links: true, ..bare };
        let text = shown(Some(terminal), &[result("octocat", &json!({"profile_url": page}))]);
        assert!(text.contains("\u{1b}[32m0.94\u{1b}[0m"), "{text:?}");
        assert!(text.contains(&format!("\u{1b}]8;;{page}\u{1b}\\octocat\u{1b}]8;;\u{1b}\\")), "{text:?}");
        let no_page = result("octocat", &json!({"profile_url": "javascript:alert(1)"}));
        assert_eq!(shown(Some(terminal), &[no_page]).matches("]8;;").count(), 0);
    }
}
