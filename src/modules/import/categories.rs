//! Converts the categories and tags of lists into those of the catalogue.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::modules::tables;

/// The category of adult sites.
pub(super) const ADULT: &str = "adult";

/// The tags of lists, in lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Tags {
    /// The tags of adult sites.
    adult_tags: Vec<&'static str>,
    /// The category of each tag. The first tag of an entry that is found here determines the category.
    of_tag: BTreeMap<&'static str, &'static str>,
}

static TAGS: LazyLock<Tags> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/import_categories.json")));

/// Returns the category for a `cat` of WhatsMyName. The word is kept, except for adult sites.
pub(super) fn whatsmyname(cat: &str) -> String {
    let word = word(cat);
    match word.as_deref() {
        Some(text) if text.split_whitespace().any(|part| TAGS.adult_tags.contains(&part)) => ADULT.to_owned(),
        Some(text) => text.to_owned(),
        None => "misc".to_owned(),
    }
}

/// Returns the category of the first tag that has one.
pub(super) fn of_tags(tags: &[&str]) -> String {
    if is_adult(tags) {
        return ADULT.to_owned();
    }
    let found = tags.iter().find_map(|tag| TAGS.of_tag.get(tag.to_lowercase().as_str()));
    found.copied().unwrap_or("misc").to_owned()
}

/// Returns whether a tag says that the site is for adults.
pub(super) fn is_adult(tags: &[&str]) -> bool {
    tags.iter().any(|tag| TAGS.adult_tags.contains(&tag.to_lowercase().as_str()))
}

/// Returns the tags as words that a catalogue entry may contain, without duplicates.
pub(super) fn words(tags: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in tags.iter().filter_map(|tag| word(tag)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Returns a tag as lower-case ASCII letters and digits, `_`, `-` and spaces. Any other character becomes a
/// `-`. Returns `None` if nothing is left.
fn word(text: &str) -> Option<String> {
    let fit = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ' ') { c } else { '-' }
    };
    let word: String = text.trim().chars().take(64).map(fit).collect();
    let word = word.trim_matches(['-', ' ']);
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_categories_are_converted() {
        assert_eq!(whatsmyname("xx NSFW xx"), ADULT);
        assert_eq!(whatsmyname("political"), "political");
        assert_eq!(whatsmyname("!"), "misc");
        assert_eq!(of_tags(&["us", "photo", "coding"]), "images");
        assert_eq!(of_tags(&["social", "Porn"]), ADULT);
        assert_eq!(of_tags(&["ru"]), "misc");
        assert_eq!(words(&["Q&A", "us", "us", "музыка", "a b"]), ["q-a", "us", "a b"]);
    }
}
