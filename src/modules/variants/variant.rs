//! [`Variant`]: a username that a person may have chosen.

use std::collections::HashMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::modules::catalog::Catalog;
use crate::modules::query::{Query, SearchType};

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
pub(super) fn ranked(found: Vec<Variant>, catalog: &Catalog) -> Vec<Variant> {
    let mut best: HashMap<String, Variant> = HashMap::new();
    for variant in found {
        match best.get(&variant.username) {
            Some(known) if known.weight >= variant.weight => {}
            _ => drop(best.insert(variant.username.clone(), variant)),
        }
    }
    let mut variants: Vec<Variant> = best.into_values().collect();
    variants.sort_by(|a, b| b.weight.total_cmp(&a.weight).then_with(|| a.username.cmp(&b.username)));
    let is_possible = |variant: &Variant| {
        let query = Query::parse(SearchType::Username, &variant.username);
        query.is_ok_and(|query| catalog.accepts(&query))
    };
    variants.retain(is_possible);
    variants.truncate(MAX_VARIANTS);
    // The smallest share is one of some millions.
    variants.iter_mut().for_each(|variant| variant.weight = (variant.weight * 1e7).round() / 1e7);
    variants
}

/// Returns the share of so many usernames.
pub(super) fn share(count: u32, total: u32) -> f64 {
    f64::from(count) / f64::from(total)
}
