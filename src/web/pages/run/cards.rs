//! Results as cards for browsers without scripts, in the order in which the script shows them.
//!
//! One rule gives the order: results with something to show stand before bare ones, which have nothing but their value.
//! Then the more certain comes first, then the one with more to show, then the one of the more popular site. A group
//! stands where its first result would stand.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::Value;

use crate::base::text::{plain, visible};
use crate::model::entity::identified::web_address;
use crate::model::run::ResultRecord;
use crate::report::html::{initial, titled};
use crate::runs::pictures::avatar::Avatar;

/// The maximum number of cards on a page. Files contain all results.
const MOST: usize = 40;
/// The most characters of a text on a card.
const MOST_CHARS: usize = 140;
/// The words for levels of confidence, each with its lowest value.
const CONFIDENCE_LABELS: [(f64, &str); 3] = [(0.9, "very likely"), (0.7, "likely"), (0.45, "possible")];

/// The results of one category.
#[derive(Debug, PartialEq)]
pub(super) struct Group {
    pub(super) category: String,
    pub(super) name: String,
    /// The width of the group: 1 or 2, or 3 for more results.
    pub(super) size: usize,
    /// The number of its results, also of those that the page leaves out.
    pub(super) count: usize,
    /// The results that have something to show.
    pub(super) cards: Vec<Card>,
    /// The results that have nothing but their value, each a line.
    pub(super) lines: Vec<Card>,
}

impl Group {
    /// Returns the cards, and then the lines.
    pub(super) fn all(&self) -> impl Iterator<Item = &Card> {
        self.cards.iter().chain(&self.lines)
    }
}

/// What the catalogue knows of the module of a result.
#[derive(Debug, Default)]
pub(super) struct Site {
    pub(super) category: Option<String>,
    /// The popularity of the site; 1 is the most visited.
    pub(super) rank: Option<u32>,
}

/// The place of a result among others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Standing {
    is_bare: bool,
    percent: Reverse<u32>,
    /// The number of facts that the card shows.
    facts: Reverse<usize>,
    rank: u32,
    id: u32,
}

/// A result as a card.
#[derive(Debug, PartialEq)]
pub(super) struct Card {
    /// The number of the result.
    pub(super) id: u32,
    pub(super) has_thumbnail: bool,
    /// The letter that is shown if there is no thumbnail.
    pub(super) letter: String,
    /// The number of the background colour.
    pub(super) hue: u32,
    pub(super) platform: String,
    pub(super) kind: String,
    pub(super) value: Option<String>,
    /// The link of the result, if its value is a web address.
    pub(super) href: Option<String>,
    /// The name that the profile shows.
    pub(super) name: Option<String>,
    /// The beginning of what the person says of themselves.
    pub(super) bio: Option<String>,
    /// The place, the followers and the days of the account.
    pub(super) figures: Vec<String>,
    pub(super) percent: u32,
    pub(super) confidence_label: &'static str,
    /// What the owner has noted about the result.
    pub(super) note: Option<String>,
    pub(super) is_of_another_person: bool,
}

/// Returns the cards by category, and the number of results that are left out.
pub(super) fn groups(results: &[ResultRecord], site: impl Fn(&str) -> Site) -> (Vec<Group>, usize) {
    let mut by_category: HashMap<String, Vec<(Standing, Card)>> = HashMap::new();
    for result in results {
        let (site, card) = (site(&result.source), card(result));
        let category = site.category.unwrap_or_else(|| "other".to_owned());
        let standing = card.standing(site.rank);
        by_category.entry(category).or_default().push((standing, card));
    }
    let mut sorted: Vec<(String, Vec<(Standing, Card)>)> = by_category.into_iter().collect();
    for (_, cards) in &mut sorted {
        cards.sort_by(|(a, _), (b, _)| a.cmp(b));
    }
    sorted.sort_by(|(_, a), (_, b)| a[0].0.cmp(&b[0].0));
    let mut left = MOST;
    let groups = sorted.into_iter().map(|(category, cards)| {
        let count = cards.len();
        let shown = cards.into_iter().map(|(_, card)| card).take(left);
        let (lines, cards): (Vec<Card>, Vec<Card>) = shown.partition(Card::is_bare);
        left -= lines.len() + cards.len();
        Group { name: titled(&category), category, size: count.min(3), count, cards, lines }
    });
    let groups = groups.filter(|group| group.all().next().is_some()).collect();
    (groups, results.len().saturating_sub(MOST))
}

fn card(result: &ResultRecord) -> Card {
    let platform = plain(result.platform.as_deref().unwrap_or(&result.source)).into_owned();
    let address = first(result.metadata.get("profile_url"));
    let value = result.value.as_deref().or(address);
    let link = address.or(value).and_then(web_address);
    Card {
        id: result.id,
        has_thumbnail: Avatar::of(&result.metadata).is_some(),
        letter: initial(&platform),
        hue: hue(&platform),
        kind: plain(&result.result_type).replace('_', " "),
        value: value.map(|value| plain(value).into_owned()),
        href: link.map(String::from),
        name: text_of(result, "display_name").filter(|name| Some(name.as_str()) != value),
        bio: text_of(result, "bio"),
        figures: figures(result),
        percent: percent(result.confidence),
        confidence_label: confidence_label(result.confidence),
        note: result
            .annotation
            .as_ref()
            .and_then(|annotation| annotation.note.as_deref())
            .map(|note| visible(note).into_owned()),
        is_of_another_person: result.is_of_another_person(),
        platform,
    }
}

impl Card {
    /// Returns whether the card has nothing but its value.
    pub(super) fn is_bare(&self) -> bool {
        self.facts() == 0
    }

    /// Returns the number of facts that the card shows besides its value.
    fn facts(&self) -> usize {
        let others = [self.name.is_some(), self.bio.is_some(), self.has_thumbnail];
        self.figures.len() + others.into_iter().filter(|is_there| *is_there).count()
    }

    fn standing(&self, rank: Option<u32>) -> Standing {
        Standing {
            is_bare: self.is_bare(),
            percent: Reverse(self.percent),
            facts: Reverse(self.facts()),
            rank: rank.unwrap_or(u32::MAX),
            id: self.id,
        }
    }
}

/// Returns the beginning of a text in the metadata. The script shows as much.
fn text_of(result: &ResultRecord, name: &str) -> Option<String> {
    let text = plain(result.metadata.get(name)?.as_str()?.trim()).into_owned();
    let is_cut = text.chars().count() > MOST_CHARS;
    let shown: String = text.chars().take(MOST_CHARS).collect();
    (!shown.is_empty()).then(|| if is_cut { format!("{shown}…") } else { shown })
}

/// Returns the place, the followers and the days of an account. The script has the same text.
fn figures(result: &ResultRecord) -> Vec<String> {
    let day = |name: &str| Some(text_of(result, name)?.chars().take(10).collect::<String>());
    let followers = result.metadata.get("followers").and_then(Value::as_u64);
    let parts = [
        text_of(result, "location"),
        followers.map(|count| format!("{count} followers")),
        day("created_at").map(|day| format!("since {day}")),
        day("last_seen_at").or_else(|| day("last_posted_at")).map(|day| format!("active {day}")),
    ];
    parts.into_iter().flatten().collect()
}

/// Returns a text, or the first text of a list.
fn first(member: Option<&Value>) -> Option<&str> {
    match member? {
        Value::Array(items) => items.first()?.as_str(),
        other => other.as_str(),
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value is from 0 to 100")]
fn percent(confidence: f64) -> u32 {
    (confidence.clamp(0.0, 1.0) * 100.0).round() as u32
}

fn confidence_label(confidence: f64) -> &'static str {
    CONFIDENCE_LABELS.iter().find(|(least, _)| confidence >= *least).map_or("uncertain", |(_, word)| word)
}

/// Returns one of eight numbers that is always the same for a platform. The script calculates the same number.
fn hue(platform: &str) -> u32 {
    platform.chars().fold(0, |hash, c| (hash * 31 + u32::from(c)) % 9973) % 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn result(id: u32, confidence: f64, metadata: &Value) -> ResultRecord {
        serde_json::from_value(json!({
            "id": id, "type": "social_account", "entity_type": "social_account", "platform": "\u{202e}Git <b>",
            "value": null, "confidence": confidence, "source": "github", "metadata": metadata,
            "created_at": "2026-01-01T00:00:00.000Z",
        }))
        .unwrap()
    }

    #[test]
    fn only_web_addresses_become_links() {
        let shown = |url: &str| card(&result(1, 0.9, &json!({"profile_url": [url]})));
        let good = shown("https://a.example/\"x");
        assert_eq!(good.href.as_deref(), Some("https://a.example/%22x"));
        assert_eq!((good.letter.as_str(), good.platform.as_str()), ("G", "\u{fffd}Git <b>"));
        for bad in ["javascript:alert(1)", "data:text/html,x", "//a.example", ""] {
            assert_eq!(shown(bad).href, None, "{bad}");
            assert_eq!(shown(bad).value.as_deref(), Some(bad), "as text");
        }
    }

    #[test]
    fn the_most_confident_results_are_shown_and_the_others_counted() {
        let results: Vec<_> = (1..=50).map(|id| result(id, f64::from(id) / 100.0, &json!({}))).collect();
        let (groups, more) = groups(&results, |_| Site::default());
        assert_eq!((groups.len(), groups[0].name.as_str(), groups[0].size, more), (1, "Other", 3, 10));
        let lines = &groups[0].lines;
        assert_eq!((groups[0].count, lines.len(), lines[0].percent, lines[39].percent), (50, 40, 50, 11));
        assert_eq!((lines[0].confidence_label, lines[39].confidence_label), ("possible", "uncertain"));
    }

    #[test]
    fn notable_results_and_their_groups_come_first() {
        let of = |id: u32, source: &str, confidence: f64, metadata: &Value| {
            let bare = result(id, confidence, metadata);
            ResultRecord { source: source.to_owned(), ..bare }
        };
        let (name, more) = (json!({"display_name": "A"}), json!({"display_name": "A", "followers": 3}));
        let results = [
            of(1, "art-7", 0.99, &json!({})),
            of(2, "blog-5", 0.9, &name),
            of(3, "blog-4", 0.9, &name),
            of(4, "blog-0", 0.9, &more),
            of(5, "code-0", 0.951, &name),
            of(6, "code-1", 0.99, &json!({})),
            of(7, "blog-0", 0.949, &name),
        ];
        let site = |module: &str| {
            let (category, rank) = module.split_once('-').unwrap();
            Site { category: Some(category.to_owned()), rank: rank.parse().ok().filter(|rank| *rank > 0) }
        };
        let (groups, more) = groups(&results, site);
        let shown: Vec<_> = groups.iter().map(|group| (group.name.as_str(), ids(group))).collect();
        assert_eq!(shown, [("Code", vec![5, 6]), ("Blog", vec![7, 4, 3, 2]), ("Art", vec![1])]);
        assert_eq!((groups[0].cards.len(), groups[0].lines.len(), more), (1, 1, 0));
    }

    fn ids(group: &Group) -> Vec<u32> {
        group.all().map(|card| card.id).collect()
    }
}
