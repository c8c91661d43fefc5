//! The report as Markdown (CommonMark with the tables of GitHub), for notes and for language models.
//!
//! Text from outside is escaped, so that it cannot become a heading, a link, an image or HTML. Only `http` and `https`
//! addresses are links, written as autolinks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::dossier::{Section, sections};
use super::timeline::Timeline;
use crate::base::clock::to_the_second;
use crate::base::text::plain;
use crate::model::entity::identified::web_address;
use crate::model::notes::RunNotes;
use crate::model::run::{ResultRecord, Status};
use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::runs::facts::Facts;
use crate::runs::people::people;
use crate::runs::record::RunRecord;

/// The characters that Markdown or HTML would interpret anywhere.
const SPECIAL: &[char] = &['\\', '`', '*', '_', '{', '}', '[', ']', '<', '>', '#', '!', '|', '~', '&', '$'];
/// The most characters of a text.
const MOST_CHARS: usize = 300;
/// The members of the metadata that the table of accounts shows in its last column.
const ABOUT: [&str; 6] = ["display_name", "bio", "location", "followers", "created_at", "last_seen_at"];

/// Returns the document.
pub(super) fn page(run: &RunRecord, catalog: &Catalog) -> String {
    let mut page = Page::default();
    page.head(run);
    page.notes(run);
    page.facts(&run.results);
    page.people(run, catalog);
    match run.summary.search_type {
        SearchType::Username => page.accounts(&run.results),
        SearchType::Email | SearchType::Domain => {
            sections(run).iter().for_each(|section| page.section(section));
        }
    }
    page.timeline(run);
    page.coverage(run);
    page.line("");
    page.line("A hit is a hint, not a proof: somebody else may use the name. A miss means that nothing was found there, not \
               that a name is free.");
    page.text
}

#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes a heading between empty lines.
    fn title(&mut self, level: &str, title: &str) {
        if !self.text.ends_with("\n\n") {
            self.line("");
        }
        self.line(&format!("{level} {title}\n"));
    }

    fn table(&mut self, heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) {
        self.line(&format!("| {} |", heads.join(" | ")));
        self.line(&format!("|{}", "---|".repeat(heads.len())));
        for row in rows {
            self.line(&format!("| {} |", row.join(" | ")));
        }
    }

    fn head(&mut self, run: &RunRecord) {
        let summary = &run.summary;
        self.line(&format!("# {} search for {}\n", summary.search_type, escaped(&summary.query)));
        if summary.simulated {
            self.line(
                "**Simulated.** The results come from a simulated web: nothing in this report is real.\n",
            );
        }
        match summary.status {
            Status::Completed => {}
            Status::Running => {
                self.line("**Still running.** It shows what was known when the report was made.\n");
            }
            Status::Failed => {
                let why = summary.error.as_ref().map_or("the reason was not stored", |error| &error.message);
                self.line(&format!("**The search failed:** {}.\n", escaped(why)));
            }
        }
        let ended = summary.completed_at.unwrap_or(run.as_of);
        self.line(&format!(
            "{} results, {} to {}. Run `{}`, made by Sightline {}.",
            run.results.len(),
            to_the_second(summary.created_at),
            to_the_second(ended),
            summary.id,
            env!("CARGO_PKG_VERSION")
        ));
    }

    /// Writes what the owner has noted.
    fn notes(&mut self, run: &RunRecord) {
        let RunNotes { tags, note, .. } = &run.summary.notes;
        let annotated =
            || run.results.iter().filter_map(|result| Some((result, result.annotation.as_ref()?)));
        if tags.is_empty() && note.is_none() && annotated().next().is_none() {
            return;
        }
        self.title("##", "Notes");
        if !tags.is_empty() {
            self.line(&format!(
                "- tags: {}",
                tags.iter().map(|tag| escaped(tag)).collect::<Vec<_>>().join(", ")
            ));
        }
        if let Some(note) = note {
            self.line(&format!("- note: {}", whole(note)));
        }
        for (result, annotation) in annotated() {
            let value = result.value.as_deref().map(escaped).unwrap_or_default();
            let mark = if annotation.not_this_person { " **not this person**" } else { "" };
            let note = annotation.note.as_deref().map(whole).unwrap_or_default();
            self.line(&format!("- on {} {value}:{mark} {note}", escaped(platform(result))));
        }
    }

    fn facts(&mut self, results: &[ResultRecord]) {
        let facts = Facts::of(results);
        let platforms: BTreeMap<u32, &str> = results.iter().map(|it| (it.id, platform(it))).collect();
        let accounts = [("oldest account", &facts.oldest), ("newest account", &facts.newest)];
        if facts.is_empty() {
            return;
        }
        self.title("##", "What the results say");
        for (name, facts) in &facts.lists {
            for fact in facts {
                let named = fact.results.iter().filter_map(|id| platforms.get(id)).map(|name| escaped(name));
                let named: BTreeSet<String> = named.collect();
                let named = named.into_iter().collect::<Vec<_>>().join(", ");
                self.line(&format!("- {name}: {} ({named})", linked(&fact.text)));
            }
        }
        for (word, created) in accounts {
            if let Some(created) = created {
                self.line(&format!("- {word}: {} ({})", created.day, escaped(&created.platform)));
            }
        }
    }

    fn people(&mut self, run: &RunRecord, catalog: &Catalog) {
        let Some(findings) = run.findings() else { return };
        let found = people(&[findings], catalog.profiles()).people;
        if found.is_empty() {
            return;
        }
        self.title("##", "People");
        self.line("Accounts that probably belong together. The same username alone is no reason.\n");
        for person in found {
            let names = person.names.iter().map(|name| escaped(name)).collect::<Vec<_>>().join(", ");
            self.line(&format!("- **{names}**: {}, {:.0}%", person.band.as_str(), person.score * 100.0));
            for account in &person.accounts {
                let platform = account
                    .platform
                    .as_deref()
                    .map_or_else(String::new, |name| format!("{}: ", escaped(name)));
                self.line(&format!("  - account {platform}{}", linked(&account.value)));
            }
            for evidence in &person.evidence {
                self.line(&format!("  - why: {}", escaped(&evidence.text)));
            }
            for conflict in &person.conflicts {
                self.line(&format!("  - against: {}", escaped(&conflict.text)));
            }
        }
    }

    fn accounts(&mut self, results: &[ResultRecord]) {
        self.title("##", "Results");
        if results.is_empty() {
            self.line("Nothing was found. The modules that gave no answer are below.");
            return;
        }
        let mut sorted: Vec<&ResultRecord> = results.iter().collect();
        sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
        let row = |result: &ResultRecord| {
            let address = result.metadata.get("profile_url").and_then(Value::as_str);
            let about = ABOUT.iter().filter_map(|name| result.metadata.get(*name)).filter_map(shown);
            vec![
                escaped(platform(result)),
                escaped(&result.result_type.replace('_', " ")),
                result.value.as_deref().map(linked).unwrap_or_default(),
                format!("{:.0}%", result.confidence * 100.0),
                address.map(linked).unwrap_or_default(),
                about.collect::<Vec<_>>().join("; "),
            ]
        };
        self.table(
            &["Platform", "Type", "Value", "Confidence", "Address", "About"],
            sorted.into_iter().map(row),
        );
    }

    fn section(&mut self, section: &Section) {
        self.title("##", section.title);
        if !section.verdicts.is_empty() {
            let rows = section.verdicts.iter().map(|verdict| {
                let record = verdict.record.as_deref().map(escaped).unwrap_or_default();
                vec![
                    verdict.name.to_owned(),
                    verdict.grade.as_str().to_owned(),
                    escaped(&verdict.reason),
                    record,
                ]
            });
            self.table(&["Record", "Verdict", "Why", "Found"], rows);
        }
        for table in &section.tables {
            self.title("###", table.title);
            let heads: Vec<&str> = table.heads.iter().copied().chain(["Found by"]).collect();
            let rows = table.rows.iter().map(|row| {
                let sources =
                    row.sources.iter().map(|(_, name)| escaped(name)).collect::<Vec<_>>().join(", ");
                row.cells.iter().map(|cell| linked(cell)).chain([sources]).collect()
            });
            self.table(&heads, rows);
        }
    }

    fn timeline(&mut self, run: &RunRecord) {
        let timeline = Timeline::of(&run.results, run.as_of);
        if timeline.events.len() < 2 {
            return;
        }
        self.title("##", "Timeline");
        let rows = timeline.events.iter().map(|event| {
            let value = event.value.as_deref().map(escaped).unwrap_or_default();
            vec![event.day.to_string(), event.kind.title().to_owned(), escaped(&event.platform), value]
        });
        self.table(&["Day", "What", "Where", "Value"], rows);
    }

    fn coverage(&mut self, run: &RunRecord) {
        let coverage = &run.summary.coverage;
        self.title("##", "Coverage");
        let _ = writeln!(
            self.text,
            "{} ({:.0}%). The others are neither a hit nor a miss: nothing is known about them.",
            coverage.answers_text(),
            coverage.ratio() * 100.0
        );
        if let Some(cuts) = coverage.cuts_text() {
            self.line(&format!("\n{}.", escaped(&cuts)));
        }
        self.line("");
        let used = Outcome::ALL.into_iter().filter(|outcome| coverage.count_of(*outcome) > 0);
        let rows = used.map(|it| {
            vec![it.title().to_owned(), coverage.count_of(it).to_string(), it.meaning().to_owned()]
        });
        self.table(&["Outcome", "Modules", "What it means"], rows);
        for outcome in Outcome::ALL.into_iter().filter(|outcome| !outcome.is_conclusive()) {
            let modules = run.modules_that(outcome);
            if modules.is_empty() {
                continue;
            }
            self.title("###", outcome.title());
            for module in modules {
                let why = module
                    .reason
                    .map_or_else(String::new, |reason| format!(": {}", escaped(&reason.as_phrase())));
                self.line(&format!("- **{}**{why}", escaped(&module.platform)));
            }
        }
    }
}

fn platform(result: &ResultRecord) -> &str {
    result.platform.as_deref().unwrap_or(&result.source)
}

/// Returns a text or a number for a cell.
fn shown(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(escaped(text)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Returns text from outside in one line, in which no character has a meaning. It must not be the first text of a line or
/// of an item of a list: there, `1.` or `-` would begin a list.
fn escaped(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", whole(&text[..end])),
        None => whole(text),
    }
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
    use crate::model::notes::Annotation;
    use crate::report::csv::tests::{result, run};

    fn catalog() -> Catalog {
        Catalog::from_text("none", "[]").unwrap()
    }

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

    #[test]
    fn each_result_is_a_row_and_each_unanswered_module_has_its_reason() {
        let mut record = run(vec![result(1, "octo|cat"), result(2, "other")]);
        record.summary.simulated = true;
        record.summary.notes = RunNotes { tags: vec!["case-7".into()], note: Some("[a](b)".into()) };
        record.results[1].annotation = Some(Annotation { note: None, not_this_person: true });
        let page = page(&record, &catalog());
        assert_eq!(page.lines().filter(|line| line.contains("| 90% |")).count(), 2, "{page}");
        for present in [
            "octo\\|cat",
            "**Simulated.**",
            "2 of 3 modules",
            "captcha",
            "needs key",
            "## Coverage",
            "tags: case-7",
            "note: \\[a\\](b)",
            "other: **not this",
        ] {
            assert!(page.contains(present), "{present}: {page}");
        }
        assert!(!page.contains("<b>") && !page.contains("](javascript"), "{page}");
    }
}
