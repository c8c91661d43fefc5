//! Variants of a username.

use super::variant::{COUNTS, Variant, ranked, share};
use crate::modules::catalog::Catalog;

/// The characters that separate the parts of a username.
const SEPARATORS: [char; 3] = ['-', '_', '.'];

/// Returns the variants of a username, the most frequent first, at most [`MAX_VARIANTS`](super::variant::MAX_VARIANTS). The
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
