//! Results in a terminal: by category, in colours, cut to its width.

use std::collections::HashMap;
use std::env;
use std::io::{self, IsTerminal, Write};

use terminal_size::{Width, terminal_size_of};

use super::row::{about, is_account, page_of, with_reason, without_hits};
use crate::base::text::{columns, cut, padded, plain};
use crate::model::entity::identified::web_address;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::runs::facts::Facts;
use crate::runs::record::RunRecord;

/// The width of a terminal that does not tell its own, and the least that rows are cut to.
const USUAL_WIDTH: usize = 80;
const LEAST_WIDTH: usize = 40;
/// The most columns of a platform's name.
const PLATFORM_WIDTH: usize = 24;
/// The columns before the platform: two spaces, the confidence, two spaces.
const BEFORE: usize = 8;
/// The least columns that are worth a part of a text.
const LEAST_TEXT: usize = 12;
/// The columns that a name and a text have at least.
const NAME_WIDTH: usize = 32;
/// The most facts of a kind that the summary shows.
const MOST_FACTS: usize = 5;

/// A terminal as standard output.
#[derive(Debug, Clone, Copy)]
pub(super) struct Terminal {
    width: usize,
    has_colours: bool,
    has_links: bool,
}

impl Terminal {
    /// Returns the terminal, if standard output is one. <https://no-color.org> turns colours and links off.
    pub(super) fn of_output() -> Option<Self> {
        if !io::stdout().is_terminal() {
            return None;
        }
        let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
        let has_colours = !is_set("NO_COLOR") && env::var_os("TERM").is_none_or(|term| term != "dumb");
        let width = terminal_size_of(io::stdout()).map_or(USUAL_WIDTH, |(Width(width), _)| width.into());
        Some(Self { width: width.max(LEAST_WIDTH), has_colours, has_links: has_colours && knows_links() })
    }

    /// Writes the results of a run, what they say together, and with `all` the modules that found nothing.
    pub(super) fn write(
        self,
        out: &mut dyn Write,
        run: &RunRecord,
        catalog: &Catalog,
        all: bool,
    ) -> io::Result<()> {
        let widest = run.results.iter().map(|result| columns(platform_of(result))).max().unwrap_or_default();
        let width = widest.min(PLATFORM_WIDTH);
        for (category, results) in groups(&run.results, catalog) {
            writeln!(out, "{} {}", self.bold(&category), self.faint(&format!("({})", results.len())))?;
            results.iter().try_for_each(|result| self.row(out, result, width))?;
            writeln!(out)?;
        }
        if all {
            for (outcome, modules) in without_hits(run) {
                writeln!(
                    out,
                    "{} {}",
                    self.bold(outcome.title()),
                    self.faint(&format!("({})", modules.len()))
                )?;
                for module in modules {
                    writeln!(out, "  {}", cut(&with_reason(module), self.width - 2))?;
                }
                writeln!(out)?;
            }
        }
        self.facts(out, &Facts::of(&run.results))
    }

    fn row(self, out: &mut dyn Write, result: &ResultRecord, platform_width: usize) -> io::Result<()> {
        let percent = format!("{:>3.0}%", result.confidence.clamp(0.0, 1.0) * 100.0);
        let platform = padded(&cut(platform_of(result), platform_width), platform_width);
        let mut left = self.width.saturating_sub(BEFORE + platform_width + 2);
        let kind = if is_account(result) {
            String::new()
        } else {
            format!("{} ", result.result_type.replace('_', " "))
        };
        let page = page_of(result).and_then(web_address).map(String::from);
        let value = result.value.as_deref().unwrap_or("-");
        let value = cut(&format!("{}{value}", plain(&kind)), left);
        left = left.saturating_sub(columns(&value));
        let shown_page = page.as_deref().filter(|_| !self.has_links);
        let about = about(result);
        // A name is worth more than an address on the same line.
        let needed = if about.is_empty() { 0 } else { NAME_WIDTH.min(columns(&about) + 2) };
        let fits = shown_page.is_some_and(|page| columns(page) + 2 + needed <= left);
        if let Some(page) = shown_page.filter(|_| fits) {
            left -= columns(page) + 2;
        }
        let mut row = format!(
            "  {}  {platform}  {}",
            self.sure(&percent, result.confidence),
            self.link(&value, page.as_deref())
        );
        if let Some(page) = shown_page.filter(|_| fits) {
            row.push_str(&format!("  {}", self.faint(page)));
        }
        if !about.is_empty() && left >= LEAST_TEXT + 2 {
            row.push_str(&format!("  {}", self.faint(&cut(&about, left - 2))));
        }
        writeln!(out, "{row}")?;
        match shown_page.filter(|_| !fits) {
            // An address that is cut cannot be opened.
            Some(page) => writeln!(out, "{:BEFORE$}{}", "", self.faint(page)),
            None => Ok(()),
        }
    }

    fn facts(self, out: &mut dyn Write, facts: &Facts) -> io::Result<()> {
        for (name, facts) in &facts.lists {
            let shown = facts.iter().take(MOST_FACTS).map(|fact| match fact.results.len() {
                1 => fact.text.clone(),
                sources => format!("{} ({sources} sources)", fact.text),
            });
            let more = match facts.len().saturating_sub(MOST_FACTS) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let text = format!("{}{more}", shown.collect::<Vec<_>>().join(", "));
            writeln!(out, "{} {}", self.bold(&padded(name, 9)), cut(&text, self.width - 10))?;
        }
        if let Some(oldest) = &facts.oldest {
            let newest = facts.newest.as_ref();
            let newest =
                newest.map(|it| format!(", newest {} ({})", it.day, it.platform)).unwrap_or_default();
            let text = format!("oldest {} ({}){newest}", oldest.day, oldest.platform);
            writeln!(out, "{} {}", self.bold(&padded("Accounts", 9)), cut(&text, self.width - 10))?;
        }
        Ok(())
    }

    fn styled(self, code: &str, text: &str) -> String {
        if self.has_colours { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    fn bold(self, text: &str) -> String {
        self.styled("1", text)
    }

    fn faint(self, text: &str) -> String {
        self.styled("2", text)
    }

    /// Colours a confidence: green, yellow or plain.
    fn sure(self, text: &str, confidence: f64) -> String {
        match confidence {
            0.8.. => self.styled("32", text),
            0.45.. => self.styled("33", text),
            _ => self.faint(text),
        }
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

fn platform_of(result: &ResultRecord) -> &str {
    result.platform.as_deref().unwrap_or("-")
}

/// Returns the results by category: the largest one first, and in each the most certain first.
fn groups<'a>(results: &'a [ResultRecord], catalog: &Catalog) -> Vec<(String, Vec<&'a ResultRecord>)> {
    let mut groups: HashMap<String, Vec<&ResultRecord>> = HashMap::new();
    for result in results {
        let category = catalog.get(&result.source).map_or("other", |module| &module.entry().category);
        groups.entry(titled(category)).or_default().push(result);
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by(|(one, a), (other, b)| b.len().cmp(&a.len()).then_with(|| one.cmp(other)));
    for (_, results) in &mut groups {
        results.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
    }
    groups
}

fn titled(name: &str) -> String {
    let name = plain(name).replace('_', " ");
    let mut rest = name.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const BARE: Terminal = Terminal { width: 80, has_colours: false, has_links: false };

    fn row(terminal: Terminal, metadata: &serde_json::Value) -> String {
        let result = serde_json::from_value(json!({
            "id": 1, "type": "account", "entity_type": "account", "platform": "Git\u{1b}Hub", "value": "octocat",
            "confidence": 0.94, "source": "github", "metadata": metadata, "created_at": "2026-01-01T00:00:00.000Z",
        }));
        let mut out = Vec::new();
        terminal.row(&mut out, &result.unwrap(), 8).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_row_shows_the_name_and_fits_the_terminal() {
        let bio = "x ".repeat(200);
        let page = "https://github.com/octocat";
        let shown = row(BARE, &json!({"display_name": "The\u{1b} Octocat", "bio": bio, "profile_url": page}));
        let (first, second) = shown.trim_end().split_once('\n').unwrap();
        assert!(first.starts_with("   94%  Git\u{fffd}Hub   octocat  The\u{fffd} Octocat · x x"), "{shown}");
        assert!(first.ends_with('…') && columns(first) <= 80, "{shown}");
        assert_eq!(second.trim(), page);
        let shown = row(BARE, &json!({"profile_url": page}));
        assert_eq!(shown, format!("   94%  Git\u{fffd}Hub   octocat  {page}\n"));
        // An address that does not fit has a line of its own.
        let long = format!("https://a.example/{}", "y".repeat(90));
        let shown = row(BARE, &json!({"display_name": "Ana", "profile_url": long}));
        assert_eq!(shown.lines().last().unwrap().trim(), long);
    }

    #[test]
    fn colours_and_links_are_codes_around_the_same_text() {
        let terminal = Terminal { has_colours: true, has_links: true, ..BARE };
        let shown = row(terminal, &json!({"profile_url": "https://github.com/octocat"}));
        assert!(shown.contains("\u{1b}[32m 94%\u{1b}[0m"), "{shown:?}");
        assert!(
            shown.contains("\u{1b}]8;;https://github.com/octocat\u{1b}\\octocat\u{1b}]8;;\u{1b}\\"),
            "{shown:?}"
        );
        assert_eq!(row(terminal, &json!({"profile_url": "javascript:alert(1)"})).matches("]8;;").count(), 0);
    }
}
