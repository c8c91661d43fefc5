//! Texts that say that something does not exist, and texts that failing sites show, too.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::modules::tables;

/// Texts in lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Wording {
    /// Parts of sentences that say that something does not exist.
    missing: Vec<&'static str>,
    /// Parts of identifiers, without signs, that say the same.
    missing_identifiers: Vec<&'static str>,
    /// Parts of texts that sites show for blocks, limits, sign-in pages and faults.
    failures: Vec<&'static str>,
    /// Whole values that say only that something failed.
    vague: Vec<&'static str>,
}

static WORDING: LazyLock<Wording> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/failure_words.json")));

/// Returns whether a text says that something does not exist.
pub(super) fn says_missing(text: &str) -> bool {
    let lower = text.to_lowercase();
    WORDING.missing.iter().any(|part| lower.contains(part)) && !is_of_failure(text)
}

/// Returns whether an identifier, such as a class, says that something does not exist.
pub(super) fn names_missing(identifier: &str) -> bool {
    let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
    let plain = plain.to_lowercase();
    WORDING.missing_identifiers.iter().any(|part| plain.contains(part))
}

/// Returns whether a block, a limit, a sign-in page or a fault may show this text, too.
pub(super) fn is_of_failure(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    WORDING.vague.contains(&lower.as_str()) || WORDING.failures.iter().any(|part| lower.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_account_is_told_from_a_failure() {
        for text in ["User not found", "Cette page est introuvable", "Oops! No such user."] {
            assert!(says_missing(text), "{text}");
        }
        for text in ["Welcome", "Log in to see if this user does not exist", "Access denied", "No posts yet"]
        {
            assert!(!says_missing(text), "{text}");
        }
        assert!(names_missing("error-page__not-found") && !names_missing("error"));
        assert!(is_of_failure("Error") && is_of_failure("FORBIDDEN") && !is_of_failure("USER_NOT_FOUND"));
    }
}
