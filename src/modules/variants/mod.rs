//! Variants: the usernames that a person may have chosen, by the frequency of such forms.
//!
//! # Where the weights come from
//! The weight of a variant is the share of usernames that have its form. The forms were counted in November 2026 in
//! public profiles that state a name and the owner's usernames: those of BioDrop
//! (<https://github.com/EddieHubCommunity/BioDrop>) and of the members of the Rust project
//! (<https://github.com/rust-lang/team>). Their 2,613 owners have 5,392 usernames on GitHub, Twitter, Instagram and 16
//! smaller sites. 45 % of these have a form that is listed in `catalog/tables/variants.json`; the others have nothing to do with the name of
//! their owner, or only with a part of it. Most owners are programmers: another group of people may prefer other forms.

pub mod person;

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::catalog::Catalog;
use super::query::{Query, SearchType};
use super::tables;

/// The counted usernames. Every count is followed by the number of usernames of which it is a part.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Counts {
    /// The usernames that are as the one on GitHub of the same person, of those on other sites.
    same: (u32, u32),
    /// The separators that replace all others, of usernames whose GitHub name has separators.
    replaced: Vec<(&'static str, u32, u32)>,
    /// The separators that are set between words that begin with a capital letter, of those whose GitHub name has such.
    inserted: Vec<(&'static str, u32, u32)>,
    /// The usernames without the digits at the end of the GitHub name, of those that have some.
    without_digits: (u32, u32),
    /// What precedes and follows the GitHub name, of those without separators. Digits are of those without digits.
    added: Vec<(&'static str, &'static str, u32, u32)>,
    /// The forms of a person's names as rules of variants, of usernames of people with as many names. `{year}` is from
    /// 1940 to 2015.
    names: Vec<(&'static str, u32, u32)>,
}

static COUNTS: LazyLock<Counts> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/variants.json")));

/// The maximum number of variants.
pub const MAX_VARIANTS: usize = 100;

/// A username that a person may have chosen.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Variant {
    /// The username.
    #[schema(examples("ada.lovelace"))]
    pub username: String,
    /// The rule that formed it. Braces hold parts of the names: `{first}`, `{middle}`, `{last}`, `{nick}`, initials as
    /// `{f}`, `{m}`, `{l}`, `{n}`, the year as `{year}` or `{yy}`. Of a username: `{username}` as it was given, `{word}` for
    /// each of its parts, `{letters}` without digits at the end.
    #[schema(examples("{first}.{last}"))]
    pub rule: String,
    /// The share of usernames that have such a form, greater than 0 and at most 1.
    #[schema(minimum = 0, maximum = 1, examples(0.0016488))]
    pub weight: f64,
}

/// Ranks variants: the most frequent first, each username once, at most [`MAX_VARIANTS`]. Leaves out names that no
/// enabled module of the catalogue accepts.
fn ranked(mut variants: Vec<Variant>, catalog: &Catalog) -> Vec<Variant> {
    variants.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.username.cmp(&b.username)));
    let mut seen = HashSet::new();
    let is_possible = |username: &str| {
        Query::parse(SearchType::Username, username).is_ok_and(|query| catalog.accepts(&query))
    };
    variants.retain(|variant| seen.insert(variant.username.clone()) && is_possible(&variant.username));
    variants.truncate(MAX_VARIANTS);
    // The smallest share is one of some millions.
    variants.iter_mut().for_each(|variant| variant.weight = (variant.weight * 1e7).round() / 1e7);
    variants
}

/// Returns the share of so many usernames.
fn share(count: u32, total: u32) -> f64 {
    f64::from(count) / f64::from(total)
}

/// The characters that separate the parts of a username.
const SEPARATORS: [char; 3] = ['-', '_', '.'];

/// Returns the variants of a username, the most frequent first, at most [`MAX_VARIANTS`]. The
/// first is the username itself, in small letters.
pub fn of_username(username: &str, catalog: &Catalog) -> Vec<Variant> {
    let mut found = Vec::new();
    for (base, rule, weight) in bases(username) {
        for (before, after, count, total) in &COUNTS.added {
            found.push(Variant {
                username: format!("{before}{base}{after}"),
                rule: format!("{before}{rule}{after}"),
                weight: weight * share(*count, *total),
            });
        }
        found.push(Variant { username: base, rule, weight });
    }
    ranked(found, catalog)
}

/// Returns the username itself and with other separators and without digits, with the name of the rule.
fn bases(username: &str) -> Vec<(String, String, f64)> {
    let small = username.to_lowercase();
    let mut bases = vec![(small.clone(), "{username}".to_owned(), share(COUNTS.same.0, COUNTS.same.1))];
    let inner = small.trim_matches(SEPARATORS);
    let parts = inner.split(SEPARATORS).filter(|word| !word.is_empty()).map(str::to_owned);
    let parts: Vec<String> = parts.collect();
    let (words, separators) = match parts.len() {
        ..=1 => (capitalized(username), &COUNTS.inserted),
        _ => (parts, &COUNTS.replaced),
    };
    for (separator, count, total) in separators.iter().filter(|_| words.len() > 1) {
        let rule = vec!["{word}"; words.len()].join(separator);
        bases.push((words.join(separator), rule, share(*count, *total)));
    }
    let letters = small.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(SEPARATORS);
    if letters.len() < small.trim_end_matches(SEPARATORS).len() && !letters.is_empty() {
        let (count, total) = COUNTS.without_digits;
        bases.push((letters.to_owned(), "{letters}".to_owned(), share(count, total)));
    }
    bases
}

/// Splits a username where a capital letter follows a small one, and returns the words in small letters.
fn capitalized(username: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_small = false;
    for letter in username.chars() {
        if was_small && letter.is_uppercase() {
            words.push(String::new());
        }
        was_small = letter.is_lowercase();
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}
