//! Results as cards: which of them are shown, and in which order.
//!
//! While a search runs, its results stand in the order in which they came, so that nothing moves. At its end, results with
//! something to show come before bare ones, which have nothing but their value. Then the more certain comes first, then
//! the one with more to show, then the one of the more popular site. A group comes where its first result would.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use crate::base::words::words;
use crate::model::entity::identified::web_address;
use crate::model::run::ResultRecord;
use crate::modules::catalog::Catalog;
use crate::report::html::titled;
use crate::runs::pictures::avatar::Avatar;
use crate::web::pages::form_parts::FormOption;
use crate::web::visit::Form;

/// The maximum number of cards on a page. Files contain all results.
pub(super) const CARDS: usize = 1000;
/// The most characters of a text on a card.
const MOST_CHARS: usize = 140;
/// The words for levels of confidence, each with its lowest value.
const CONFIDENCE_LABELS: [(f64, &str); 3] = [(0.9, "very likely"), (0.7, "likely"), (0.45, "possible")];

words! {
    /// The order of results.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub(super) enum Order {
        /// By category of the sites, with the best first.
        #[default]
        Category = "category",
        /// By confidence.
        Sure = "sure",
        /// The newest first.
        Newest = "newest",
        /// By the names of the sites.
        Platform = "platform",
    }
}

impl Order {
    fn label(self) -> &'static str {
        match self {
            Self::Category => "By category",
            Self::Sure => "Most certain first",
            Self::Newest => "Newest first",
            Self::Platform => "By site",
        }
    }
}

/// What the reader has chosen to see, from the parameters of the address.
#[derive(Debug, Default)]
pub(super) struct View {
    pub(super) text: String,
    pub(super) kind: String,
    order: Order,
}

impl View {
    pub(super) fn of(query: &Form) -> Self {
        let (text, kind) = (query.get("text").trim().to_owned(), query.get("kind").to_owned());
        Self { text, kind, order: Order::from_name(query.get("order")).unwrap_or_default() }
    }

    /// Returns whether results are left out.
    pub(super) fn is_filter(&self) -> bool {
        !self.text.is_empty() || !self.kind.is_empty()
    }

    /// Returns the parameters for an address.
    pub(super) fn query(&self) -> String {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query.append_pair("text", &self.text).append_pair("kind", &self.kind);
        query.append_pair("order", self.order.as_str()).finish()
    }

    pub(super) fn orders(&self) -> Vec<FormOption> {
        let option = |order: &Order| FormOption::new(order.as_str(), order.label(), *order == self.order);
        Order::ALL.iter().map(option).collect()
    }

    /// Returns the cards of the results that the reader has chosen, in groups.
    pub(super) fn groups(&self, results: &[ResultRecord], is_running: bool, catalog: &Catalog) -> Vec<Group> {
        let words: Vec<String> = self.text.to_lowercase().split_whitespace().map(str::to_owned).collect();
        let cards = results.iter().map(|result| Card::new(result, catalog));
        let mut cards: Vec<Card> = cards.filter(|card| card.matches(&self.kind, &words)).collect();
        match self.order {
            _ if is_running => cards.sort_by_key(|card| card.result.id),
            Order::Category => cards.sort_by_cached_key(Card::standing),
            Order::Sure => cards.sort_by(|a, b| b.result.confidence.total_cmp(&a.result.confidence)),
            Order::Newest => cards.sort_by_key(|card| Reverse(card.result.id)),
            Order::Platform => cards.sort_by_cached_key(|card| card.platform().to_lowercase()),
        }
        let mut groups: Vec<Group> = Vec::new();
        let mut numbers: HashMap<String, usize> = HashMap::new();
        let is_grouped = !is_running && self.order == Order::Category;
        for (position, card) in cards.into_iter().enumerate() {
            let category = if is_grouped { card.category.clone() } else { String::new() };
            let number = *numbers.entry(category.clone()).or_insert_with(|| {
                groups.push(Group { category, ..Group::default() });
                groups.len() - 1
            });
            groups[number].count += 1;
            if position < CARDS {
                let is_line = is_grouped && card.is_bare();
                let list = if is_line { &mut groups[number].lines } else { &mut groups[number].cards };
                list.push(card);
            }
        }
        groups
    }
}

/// Returns the kinds of results as options, of which the view has chosen one or all.
pub(super) fn kinds(results: &[ResultRecord], view: &View) -> Vec<(String, bool)> {
    let kinds: BTreeSet<&str> = results.iter().map(|result| result.result_type.as_str()).collect();
    kinds.into_iter().map(|kind| (kind.to_owned(), kind == view.kind)).collect()
}

/// The results of one category, or all of them.
#[derive(Debug, Default)]
pub(super) struct Group {
    /// The category, or none for all results.
    pub(super) category: String,
    /// The number of its results, also of those that the page leaves out.
    pub(super) count: usize,
    /// The results that have something to show.
    pub(super) cards: Vec<Card>,
    /// The results that have nothing but their value, each a line.
    pub(super) lines: Vec<Card>,
}

impl Group {
    pub(super) fn name(&self) -> String {
        if self.category.is_empty() { "All results".to_owned() } else { titled(&self.category) }
    }

    /// Returns the width of the group: 1 or 2, or 3 for more results.
    pub(super) fn size(&self) -> usize {
        if self.category.is_empty() { 3 } else { self.count.min(3) }
    }

    /// Returns the cards and the lines, each with the CSS class of their list.
    pub(super) fn lists(&self) -> [(&'static str, &Vec<Card>); 2] {
        [("results", &self.cards), ("results lines", &self.lines)]
    }

    /// Returns the cards, and then the lines.
    pub(super) fn all(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().chain(&self.lines)
    }
}

/// A result as a card.
#[derive(Debug)]
pub(super) struct Card {
    pub(super) result: ResultRecord,
    category: String,
    /// The popularity of the site; 1 is the most visited.
    rank: u32,
}

impl Card {
    fn new(result: &ResultRecord, catalog: &Catalog) -> Self {
        let entry = catalog.get(&result.source).map(|module| module.entry());
        Self {
            category: entry.map_or_else(|| "other".to_owned(), |entry| entry.category.clone()),
            rank: entry.and_then(|entry| entry.rank).unwrap_or(u32::MAX),
            result: result.clone(),
        }
    }

    pub(super) fn platform(&self) -> &str {
        self.result.platform.as_deref().unwrap_or(&self.result.source)
    }

    pub(super) fn kind(&self) -> String {
        self.result.result_type.replace('_', " ")
    }

    pub(super) fn profile(&self) -> Option<&str> {
        match self.result.metadata.get("profile_url")? {
            Value::Array(items) => items.first()?.as_str(),
            other => other.as_str(),
        }
    }

    pub(super) fn value(&self) -> Option<&str> {
        self.result.value.as_deref().or_else(|| self.profile())
    }

    /// Returns the link of the result, if its value is a web address.
    pub(super) fn href(&self) -> Option<String> {
        self.profile().or_else(|| self.value()).and_then(web_address).map(String::from)
    }

    /// Returns the name that the profile shows.
    pub(super) fn name(&self) -> Option<String> {
        self.text("display_name").filter(|name| Some(name.as_str()) != self.value())
    }

    /// Returns the beginning of what the person says of themselves.
    pub(super) fn bio(&self) -> Option<String> {
        self.text("bio")
    }

    /// Returns the place, the followers and the days of an account.
    pub(super) fn figures(&self) -> Vec<String> {
        let day = |name: &str| Some(self.text(name)?.chars().take(10).collect::<String>());
        let followers = self.result.metadata.get("followers").and_then(Value::as_u64);
        let parts = [
            self.text("location"),
            followers.map(|count| format!("{count} followers")),
            day("created_at").map(|day| format!("since {day}")),
            day("last_seen_at").or_else(|| day("last_posted_at")).map(|day| format!("active {day}")),
        ];
        parts.into_iter().flatten().collect()
    }

    /// Returns what the owner has noted about the result.
    pub(super) fn note(&self) -> Option<&str> {
        self.result.annotation.as_ref()?.note.as_deref()
    }

    pub(super) fn has_thumbnail(&self) -> bool {
        Avatar::of(&self.result.metadata).is_some()
    }

    /// Returns the number of the background colour, which is always the same for a platform.
    pub(super) fn hue(&self) -> u32 {
        self.platform().chars().fold(0, |hash, c| (hash * 31 + u32::from(c)) % 9973) % 8
    }

    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is from 0 to 100")]
    pub(super) fn percent(&self) -> u32 {
        (self.result.confidence.clamp(0.0, 1.0) * 100.0).round() as u32
    }

    pub(super) fn confidence_label(&self) -> &'static str {
        let label = CONFIDENCE_LABELS.iter().find(|(least, _)| self.result.confidence >= *least);
        label.map_or("uncertain", |(_, word)| word)
    }

    /// Returns whether the card has nothing but its value.
    pub(super) fn is_bare(&self) -> bool {
        self.facts() == 0
    }

    /// Returns the number of facts that the card shows besides its value.
    fn facts(&self) -> usize {
        let others = [self.name().is_some(), self.bio().is_some(), self.has_thumbnail()];
        self.figures().len() + others.into_iter().filter(|is_there| *is_there).count()
    }

    /// Returns the place of the result among others.
    fn standing(&self) -> (bool, Reverse<u32>, Reverse<usize>, u32, u32) {
        (self.is_bare(), Reverse(self.percent()), Reverse(self.facts()), self.rank, self.result.id)
    }

    /// Returns the beginning of a text in the metadata.
    fn text(&self, name: &str) -> Option<String> {
        let text = self.result.metadata.get(name)?.as_str()?.trim();
        let shown: String = text.chars().take(MOST_CHARS).collect();
        let end = if shown.len() < text.len() { "…" } else { "" };
        (!shown.is_empty()).then(|| format!("{shown}{end}"))
    }

    /// Returns whether the result is of this kind, and its values contain all words. Names of fields do not count.
    fn matches(&self, kind: &str, words: &[String]) -> bool {
        let result = &self.result;
        if !kind.is_empty() && result.result_type != kind {
            return false;
        }
        let mut text =
            [self.platform(), self.value().unwrap_or_default(), &self.kind(), &self.category, &result.source]
                .join("\n");
        result.metadata.values().for_each(|value| add_texts(value, &mut text));
        let text = text.to_lowercase();
        words.iter().all(|word| text.contains(word))
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
    use serde_json::json;

    fn result(id: u32, confidence: f64, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "social_account", "entity_type": "social_account", "platform": format!("Site {id}"),
            "value": null, "confidence": confidence, "source": "github", "metadata": metadata,
            "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    fn card(id: u32, rank: u32, confidence: f64, metadata: &Value) -> Card {
        Card { result: result(id, confidence, metadata), category: "coding".to_owned(), rank }
    }

    fn shown(view: &View, results: &[ResultRecord], is_running: bool) -> Vec<u32> {
        let catalog = Catalog::from_text("none", "[]").unwrap();
        view.groups(results, is_running, &catalog)
            .iter()
            .flat_map(Group::all)
            .map(|card| card.result.id)
            .collect()
    }

    #[test]
    fn only_web_addresses_become_links() {
        let shown = |url: &str| card(1, 1, 0.9, &json!({"profile_url": [url]}));
        assert_eq!(shown("https://a.example/\"x").href().as_deref(), Some("https://a.example/%22x"));
        for bad in ["javascript:alert(1)", "data:text/html,x", "//a.example", ""] {
            assert_eq!((shown(bad).href(), shown(bad).value()), (None, Some(bad)), "as text");
        }
    }

    #[test]
    fn notable_results_come_first() {
        let (name, more) = (json!({"display_name": "A"}), json!({"display_name": "A", "followers": 3}));
        let mut cards = [
            card(1, 7, 0.99, &json!({})),
            card(2, 5, 0.9, &name),
            card(3, 4, 0.9, &name),
            card(4, 9, 0.9, &more),
            card(5, 9, 0.951, &name),
            card(6, 1, 0.99, &json!({})),
        ];
        cards.sort_by_key(Card::standing);
        assert_eq!(cards.map(|card| card.result.id), [5, 4, 3, 2, 6, 1]);
    }

    #[test]
    fn results_are_filtered_and_ordered() {
        let results = [
            result(1, 0.5, &json!({"bio": "Lisbon", "links": [{"url": "https://b.example"}]})),
            result(2, 0.9, &json!({"bio": "Osaka"})),
        ];
        for (text, kind, order, is_running, want) in [
            ("", "", "", false, &[2, 1][..]),
            ("", "", "", true, &[1, 2]),
            ("", "", "newest", false, &[2, 1]),
            ("", "", "platform", false, &[1, 2]),
            ("LISBON site", "", "", false, &[1]),
            ("b.example", "social_account", "", false, &[1]),
            ("bio", "", "", false, &[]),
            ("", "email", "", false, &[]),
        ] {
            let order = Order::from_name(order).unwrap_or_default();
            let view = View { text: text.into(), kind: kind.into(), order };
            assert_eq!(shown(&view, &results, is_running), want, "{view:?}");
        }
    }
}
