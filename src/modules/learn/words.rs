//! Words that tell an account from a missing one and from a failing site, and answers of failing sites.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::modules::tables;

/// The words, in lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Parts of sentences that say that something does not exist.
    missing: Vec<String>,
    /// Parts of identifiers, without signs, that say the same.
    missing_identifiers: Vec<String>,
    /// Parts of texts that sites show for blocks, limits, sign-in pages and faults.
    failures: Vec<String>,
    /// Whole values that say only that something failed.
    vague: Vec<String>,
    /// Members that name the owner of an account.
    pub(super) names: Vec<String>,
    /// Members that every account has.
    pub(super) identifiers: Vec<String>,
    /// Parts of members that say how a request ended, and those that change with every request.
    pub(super) about_request: Vec<String>,
    /// Members that all accounts of a site have, as far as a single one can show it.
    pub(super) common: Vec<String>,
    /// Words in classes that every profile may have.
    pub(super) profile_classes: Vec<String>,
    /// Words in classes that only some profiles have, or that say how a page is shown.
    pub(super) optional_classes: Vec<String>,
    /// Answers that sites give for every name when they fail: status, content type and body.
    pub(super) failing_answers: Vec<(u16, String, String)>,
}

pub(super) static WORDS: LazyLock<Words> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/learning.json")));

/// Returns whether a text contains one of these parts.
pub(super) fn has_part(text: &str, parts: &[String]) -> bool {
    parts.iter().any(|part| text.contains(part.as_str()))
}

/// Returns whether a text says that something does not exist.
pub(super) fn says_missing(text: &str) -> bool {
    has_part(&text.to_lowercase(), &WORDS.missing) && !is_of_failure(text)
}

/// Returns whether an identifier, such as a class, says that something does not exist.
pub(super) fn names_missing(identifier: &str) -> bool {
    let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
    has_part(&plain.to_lowercase(), &WORDS.missing_identifiers)
}

/// Returns whether a block, a limit, a sign-in page or a fault may show this text as well.
pub(super) fn is_of_failure(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    WORDS.vague.contains(&lower) || has_part(&lower, &WORDS.failures)
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
