//! [`Variant`]: a username that a person may have chosen.

use std::collections::HashSet;
use std::sync::LazyLock;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::modules::catalog::Catalog;
use crate::modules::query::{Query, SearchType};
use crate::modules::tables;

/// The counted usernames. Every count is followed by the number of usernames of which it is a part.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(super) struct Counts {
    /// The usernames that are as the one on GitHub of the same person, of those on other sites.
    pub(super) same: (u32, u32),
    /// The separators that replace all others, of usernames whose GitHub name has separators.
    pub(super) replaced: Vec<(&'static str, u32, u32)>,
    /// The separators that are set between words that begin with a capital letter, of those whose GitHub name has such.
    pub(super) inserted: Vec<(&'static str, u32, u32)>,
    /// The usernames without the digits at the end of the GitHub name, of those that have some.
    pub(super) without_digits: (u32, u32),
    /// What precedes and follows the GitHub name, of those without separators. Digits are of those without digits.
    pub(super) added: Vec<(&'static str, &'static str, u32, u32)>,
    /// The forms of a person's names.
    pub(super) names: Vec<Form>,
}

/// A form of usernames with the number of usernames that have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
pub(super) struct Form {
    /// The pieces: a whole name, or initials.
    pub(super) pieces: Vec<&'static str>,
    /// The separators between the pieces, with the number of usernames.
    pub(super) separators: Vec<(&'static str, u32)>,
    /// The number of usernames without separators that end in two digits, and in a year from 1940 to 2015.
    pub(super) years: [u32; 2],
    /// The number of all usernames of people with as many names.
    pub(super) of: u32,
}

pub(super) static COUNTS: LazyLock<Counts> =
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
pub(super) fn ranked(mut variants: Vec<Variant>, catalog: &Catalog) -> Vec<Variant> {
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
pub(super) fn share(count: u32, total: u32) -> f64 {
    f64::from(count) / f64::from(total)
}
