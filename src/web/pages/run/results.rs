//! The table of results: which of them are shown, and in which order.
//!
//! While a search runs, its results are in the order in which they came, so that nothing moves. At its end, what is mine comes
//! first and what is not mine last, in each the more certain first, then the one with more to show, then the one of the more popular site. Results that have nothing but their
//! value are listed after the table, by category of the sites.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::ids::RunId;
use crate::base::words::words;
use crate::model::entity::identified::web_address;
use crate::model::notes::Verdict;
use crate::model::run::{ResultRecord, RunSummary};
use crate::modules::catalog::Catalog;
use crate::report::html::{count_of_facts, facts, name, titled, years};
use crate::runs::pictures::avatar::Avatar;
use crate::web::Form;

/// The maximum number of results on a page. Files contain all results.
pub(super) const MOST_RESULTS: usize = 1000;

words! {
    /// The order of results.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(super) enum Order {
        /// The best first.
        #[default]
        Best = "best",
        /// By confidence.
        Sure = "sure",
        /// The newest first.
        Newest = "newest",
        /// By the names of the sites.
        Platform = "platform",
    }
}

/// The results that the reader has chosen.
#[derive(Debug)]
pub(super) struct Results {
    /// The rows of the table.
    pub(super) rows: Vec<Row>,
    /// The results that have nothing but their value, by category.
    pub(super) bare: BTreeMap<String, Vec<Row>>,
    /// The number of results that match, also of those that the page omits.
    pub(super) matching: usize,
    /// Whether the parameters choose some of the results.
    pub(super) is_filtered: bool,
    /// The choices of results by their verdict: the parameter, its label, and the number of results.
    pub(super) verdicts: [(&'static str, &'static str, usize); 5],
}

impl Results {
    /// Returns the results that match the parameters `text`, `kind` and `verdict`, in the order of `order`. Each comes with its
    /// run, which may be one below the run of the page.
    pub(super) fn new<'r>(
        page: RunId,
        all: impl Iterator<Item = (&'r RunSummary, &'r ResultRecord)> + Clone,
        form: &Form,
        is_running: bool,
        catalog: &Catalog,
    ) -> Self {
        let (kind, verdict, text) = (form.get("kind"), form.get("verdict"), form.get("text").to_lowercase());
        let words: Vec<&str> = text.split_whitespace().collect();
        let is_judged = |result: &ResultRecord, verdict: &str| match verdict {
            "" => true,
            _ => result.verdict().map_or("none", Verdict::as_str) == verdict,
        };
        let labels = [
            ("", "All"),
            ("mine", "Mine"),
            ("unsure", "Unsure"),
            ("not_mine", "Not mine"),
            ("none", "Not judged"),
        ];
        let count = |verdict| all.clone().filter(|(_, result)| is_judged(result, verdict)).count();
        let rows = all
            .clone()
            .filter(|(_, it)| is_judged(it, verdict) && (kind.is_empty() || it.result_type == kind));
        let rows = rows.map(|(run, result)| Row {
            origin: (run.id != page).then(|| (run.id, run.query.clone())),
            ..Row::new(result, catalog)
        });
        let mut rows: Vec<Row> = rows.filter(|row| row.contains(&words)).collect();
        rows.iter_mut().for_each(|row| row.matched = row.hidden_match(&words));
        let order = Order::from_name(form.get("order")).unwrap_or_default();
        match order {
            _ if is_running => rows.sort_by_key(|row| row.result.id),
            Order::Best => rows.sort_by_cached_key(Row::standing),
            Order::Sure => rows.sort_by(|a, b| b.result.confidence.total_cmp(&a.result.confidence)),
            Order::Newest => rows.sort_by_key(|row| Reverse((row.result.created_at, row.result.id))),
            Order::Platform => rows.sort_by_cached_key(|row| row.platform().to_lowercase()),
        }
        let matching = rows.len();
        rows.truncate(MOST_RESULTS);
        let mut bare: BTreeMap<String, Vec<Row>> = BTreeMap::new();
        if !is_running && order == Order::Best {
            for row in rows.extract_if(.., |row| row.facts == 0) {
                bare.entry(row.category.clone()).or_default().push(row);
            }
        }
        let verdicts = labels.map(|(verdict, label)| (verdict, label, count(verdict)));
        let is_filtered = [kind, verdict, &text].iter().any(|chosen| !chosen.is_empty());
        Self { rows, bare, matching, is_filtered, verdicts }
    }
}

/// A result with what the catalogue knows of its site.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) result: ResultRecord,
    /// The search for a lead that has found it, and its query.
    pub(super) origin: Option<(RunId, String)>,
    pub(super) category: String,
    /// The popularity of the site; 1 is the most visited.
    rank: u32,
    /// The number of facts that the row shows after its value.
    facts: usize,
    /// The fact that the row does not show and that the filter has found, with its name.
    pub(super) matched: Option<(String, String)>,
}

impl Row {
    fn new(result: &ResultRecord, catalog: &Catalog) -> Self {
        let entry = catalog.get(&result.source).map(|module| module.entry());
        Self {
            category: entry.map_or_else(|| "other".to_owned(), |entry| entry.category.clone()),
            rank: entry.and_then(|entry| entry.rank).unwrap_or(u32::MAX),
            facts: count_of_facts(result),
            origin: None,
            matched: None,
            result: result.clone(),
        }
    }

    /// Returns what names the result on the page: its number, after the id of the run if that is another one.
    pub(super) fn anchor(&self) -> String {
        let id = self.result.id;
        self.origin.as_ref().map_or_else(|| id.to_string(), |(run, _)| format!("{run}-{id}"))
    }

    /// Returns whether the owner of the run has given this verdict.
    pub(super) fn is(&self, verdict: Verdict) -> bool {
        self.result.verdict() == Some(verdict)
    }

    pub(super) fn platform(&self) -> &str {
        self.result.platform.as_deref().unwrap_or(&self.result.source)
    }

    pub(super) fn value(&self) -> Option<&str> {
        self.result.value.as_deref().or_else(|| self.result.profile_url())
    }

    /// Returns the link of the result, if its value is a web address.
    pub(super) fn href(&self) -> Option<String> {
        self.result.profile_url().or_else(|| self.value()).and_then(web_address).map(String::from)
    }

    pub(super) fn has_thumbnail(&self) -> bool {
        Avatar::of(&self.result.metadata).is_some()
    }

    /// Returns what orders the results.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is from 0 to 100")]
    fn standing(&self) -> (u8, bool, Reverse<u32>, Reverse<usize>, u32, u32) {
        let percent = (self.result.confidence.clamp(0.0, 1.0) * 100.0).round() as u32;
        (
            self.result.rank(),
            self.facts == 0,
            Reverse(percent),
            Reverse(self.facts),
            self.rank,
            self.result.id,
        )
    }

    /// Returns whether the values of the result contain all words. Names of fields do not count.
    fn contains(&self, words: &[&str]) -> bool {
        let kind = self.result.result_type.replace('_', " ");
        let value = self.value().unwrap_or_default();
        let mut text = [self.platform(), value, &kind, &self.category, &self.result.source].join("\n");
        facts(&self.result).into_iter().for_each(|(_, value)| add_texts(value, &mut text));
        let shown = [self.result.profile_url(), self.result.note()];
        text.extend(shown.into_iter().flatten().flat_map(|shown| ["\n", shown]));
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
    }

    /// Returns the first fact with one of those words that the row does not show.
    fn hidden_match(&self, words: &[&str]) -> Option<(String, String)> {
        let years = years(&self.result);
        let shown = [Some(self.platform()), self.value(), name(&self.result), self.result.text("location")];
        let shown = shown.into_iter().chain([years.as_deref(), self.result.note()]).flatten();
        let shown = shown.collect::<Vec<_>>().join("\n").to_lowercase();
        let hidden: Vec<_> = words.iter().filter(|word| !shown.contains(**word)).collect();
        facts(&self.result).into_iter().find_map(|(name, value)| {
            let mut text = String::new();
            add_texts(value, &mut text);
            let lower = text.to_lowercase();
            let is_found = hidden.iter().any(|word| lower.contains(**word));
            is_found.then(|| (titled(name), text.trim().to_owned()))
        })
    }
}

fn add_texts(value: &Value, text: &mut String) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| add_texts(item, text)),
        Value::Object(members) => members.values().for_each(|member| add_texts(member, text)),
        Value::String(value) => text.extend(["\n", value]),
        other => text.extend(["\n", &other.to_string()]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::run;
    use serde_json::json;

    fn result(id: u32, confidence: f64, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "social_account", "entity_type": "social_account", "platform": format!("Site {id}"),
            "value": null, "confidence": confidence, "source": "github", "metadata": metadata,
            "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn results_are_filtered_and_ordered() {
        let results = [
            result(1, 0.5, &json!({"bio": "Lisbon", "links": [{"url": "https://b.example"}]})),
            result(2, 0.9, &json!({"bio": "Osaka"})),
            result(3, 0.9, &json!({"timezone": "UTC"})),
        ];
        let catalog = Catalog::from_text("none", "[]").unwrap();
        let run = run(Vec::new()).summary;
        let all = results.iter().map(|result| (&run, result));
        for (address, is_running, want, bare) in [
            ("", false, &[2, 1][..], 1),
            ("", true, &[1, 2, 3], 0),
            ("order=newest", false, &[3, 2, 1], 0),
            ("order=platform", false, &[1, 2, 3], 0),
            ("text=LISBON+site", false, &[1], 0),
            ("text=b.example&kind=social_account", false, &[1], 0),
            ("text=bio", false, &[], 0),
            ("kind=email", false, &[], 0),
        ] {
            let results =
                Results::new(run.id, all.clone(), &Form::parse(address.as_bytes()), is_running, &catalog);
            let shown: Vec<u32> = results.rows.iter().map(|row| row.result.id).collect();
            assert_eq!((&*shown, results.bare.len()), (want, bare), "{address}");
            let matched = results.rows.first().and_then(|row| row.matched.clone());
            let hidden = ["LISBON", "b.example"].iter().position(|word| address.contains(word));
            let want = hidden.map(|at| [("Bio", "Lisbon"), ("Links", "https://b.example")][at]);
            assert_eq!(matched, want.map(|(name, text)| (name.into(), text.into())), "{address}");
        }
    }
}
