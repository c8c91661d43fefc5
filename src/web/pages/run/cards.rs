//! Results as cards for browsers without scripts: by category, in order of confidence.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::text::plain;
use crate::report::html::{initial, titled, web_address};
use crate::runs::pictures::avatar::Avatar;
use crate::runs::run::ResultRecord;

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
    pub(super) cards: Vec<Card>,
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
    pub(super) figures: Option<String>,
    pub(super) percent: u32,
    pub(super) confidence_label: &'static str,
}

/// Returns the cards by category, and the number of results that are left out.
pub(super) fn groups(
    results: &[ResultRecord],
    category: impl Fn(&str) -> Option<String>,
) -> (Vec<Group>, usize) {
    let mut sorted: Vec<&ResultRecord> = results.iter().collect();
    sorted.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
    let mut groups: BTreeMap<String, Vec<Card>> = BTreeMap::new();
    for result in sorted.iter().take(MOST) {
        let name = category(&result.source).unwrap_or_else(|| "other".to_owned());
        groups.entry(name).or_default().push(card(result));
    }
    let groups = groups.into_iter().map(|(category, cards)| Group {
        name: titled(&category),
        size: cards.len().min(3),
        category,
        cards,
    });
    (groups.collect(), results.len().saturating_sub(MOST))
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
        platform,
    }
}

impl Card {
    /// Returns whether the card has nothing but its value.
    pub(super) fn is_bare(&self) -> bool {
        self.name.is_none() && self.bio.is_none() && self.figures.is_none() && !self.has_thumbnail
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
fn figures(result: &ResultRecord) -> Option<String> {
    let day = |name: &str| Some(text_of(result, name)?.chars().take(10).collect::<String>());
    let followers = result.metadata.get("followers").and_then(Value::as_u64);
    let parts = [
        text_of(result, "location"),
        followers.map(|count| format!("{count} followers")),
        day("created_at").map(|day| format!("since {day}")),
        day("last_seen_at").or_else(|| day("last_posted_at")).map(|day| format!("active {day}")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" · "))
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
        let (groups, more) = groups(&results, |_| None);
        assert_eq!((groups.len(), groups[0].name.as_str(), groups[0].size, more), (1, "Other", 3, 10));
        let percents: Vec<u32> = groups[0].cards.iter().map(|card| card.percent).collect();
        assert_eq!((percents[0], percents[39]), (50, 11));
        assert_eq!(
            (groups[0].cards[0].confidence_label, groups[0].cards[39].confidence_label),
            ("possible", "uncertain")
        );
    }
}
