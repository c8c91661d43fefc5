//! Variants of a username.

use super::variant::{Variant, ranked, share};
use crate::modules::catalog::Catalog;

/// The characters that separate the parts of a username.
const SEPARATORS: [char; 3] = ['-', '_', '.'];

/// The number of usernames that are as the one on GitHub of the same person, of 2,983 on other sites.
pub(super) const SAME: (u32, u32) = (650, 2983);
/// The separators that replace all others, with their number of usernames, of 553 whose GitHub name has separators.
const REPLACED: [(&str, u32); 3] = [("_", 58), ("", 48), (".", 5)];
const WITH_SEPARATORS: u32 = 553;
/// The separators that are set between words that begin with a capital letter, of 574 whose GitHub name has such.
const INSERTED: [(&str, u32); 3] = [("_", 18), (".", 1), ("-", 1)];
const WITH_CAPITALS: u32 = 574;
/// The number of usernames without the digits at the end of the GitHub name, of 1,012 that has some.
const WITHOUT_DIGITS: (u32, u32) = (19, 1012);
/// What precedes and follows the GitHub name, of 2,430 without separators. Digits are those of 1,971 names.
const ADDED: [(&str, &str, u32, u32); 11] = [
    ("", "_", 23, 2430),
    ("", "1", 9, 1971),
    ("", "2", 6, 1971),
    ("_", "", 7, 2430),
    ("", "dev", 4, 2430),
    ("the", "", 4, 2430),
    ("the_", "", 3, 2430),
    ("_", "_", 2, 2430),
    ("i", "", 1, 2430),
    ("im", "", 1, 2430),
    ("iam", "", 1, 2430),
];

/// Returns the variants of a username, the most frequent first, at most [`MAX_VARIANTS`](super::variant::MAX_VARIANTS). The
/// first is the username itself, in small letters.
pub fn of_username(username: &str, catalog: &Catalog) -> Vec<Variant> {
    let mut found = Vec::new();
    for (base, rule, weight) in bases(username) {
        for (before, after, count, total) in ADDED {
            found.push(Variant {
                username: format!("{before}{base}{after}"),
                rule: format!("{before}{rule}{after}"),
                weight: weight * share(count, total),
            });
        }
        found.push(Variant { username: base, rule, weight });
    }
    ranked(found, catalog)
}

/// Returns the username itself and with other separators and without digits, with the name of the rule.
fn bases(username: &str) -> Vec<(String, String, f64)> {
    let small = username.to_lowercase();
    let mut bases = vec![(small.clone(), "{username}".to_owned(), share(SAME.0, SAME.1))];
    let inner = small.trim_matches(SEPARATORS);
    let words: Vec<&str> = inner.split(SEPARATORS).filter(|word| !word.is_empty()).collect();
    let mut join = |words: &[String], by: [(&str, u32); 3], total| {
        for (separator, count) in by {
            let rule = vec!["{word}"; words.len()].join(separator);
            bases.push((words.join(separator), rule, share(count, total)));
        }
    };
    if words.len() > 1 {
        join(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>(), REPLACED, WITH_SEPARATORS);
    } else {
        let words = capitalized(username);
        if words.len() > 1 {
            join(&words, INSERTED, WITH_CAPITALS);
        }
    }
    let letters = small.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end_matches(SEPARATORS);
    if letters.len() < small.trim_end_matches(SEPARATORS).len() && !letters.is_empty() {
        bases.push((letters.to_owned(), "{letters}".to_owned(), share(WITHOUT_DIGITS.0, WITHOUT_DIGITS.1)));
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
