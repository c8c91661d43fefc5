//! [`EvidenceKind`]: what joins two accounts, and how much it weighs.
//!
//! # Weights
//! Weights are log-odds. A pair of accounts begins with `PRIOR` (-2.2), and the logistic function turns the sum into a
//! number from 0 to 1. `alone` is the score of a pair that has nothing else.
//!
//! | kind | weight | alone | grade |
//! |---|---|---|---|
//! | `verdict` | 9.0 | 0.999 | |
//! | `verified_link` | 6.5 | 0.987 | proof |
//! | `mutual_link` | 5.5 | 0.964 | proof |
//! | `same_email` | 5.5 | 0.964 | proof |
//! | `verified_site` | 5.5 | 0.964 | proof |
//! | `link_circle` | 4.6 | 0.917 | proof |
//! | `stated_email` | 4.0 | 0.858 | claim |
//! | `same_key` | 4.0 | 0.858 | claim |
//! | `same_site` | 3.7 | 0.818 | claim |
//! | `same_picture` | 3.0 | 0.690 | copy |
//! | `same_bio` | 2.6 | 0.599 | copy |
//! | `similar_picture` | 2.4 | 0.550 | copy |
//! | `stated_link` | 1.4 | 0.310 | copy |
//! | `same_name` | 1.2 | 0.269 | copy |
//! | `shared_by_many` | 0.5 | 0.154 | copy |
//! | `other_name` | -3.5 | 0.003 | |
//!
//! A verdict of the owner of the runs also joins what contradicts. Nobody but the owner of the accounts can produce
//! another proof, but everybody can write a claim into their own profile, and an impostor typically takes over what is easy
//! to copy. So the weights of copies count at most `MOST_COPIED` (3.5) together, and those of claims and copies at most
//! `MOST_CLAIMED` (5.0): claims alone are never `confirmed`, copies alone never `likely`.

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::words::words;

/// The log-odds that two accounts of which nothing is known belong to one person: 1 in 10.
const PRIOR: f64 = -2.2;
/// The most that copies weigh together: a score of 0.786.
const MOST_COPIED: f64 = 3.5;
/// The most that claims and copies weigh together: a score of 0.943.
const MOST_CLAIMED: f64 = 5.0;
/// The highest score of a claim by an account that names a person whose accounts do not name it.
pub(super) const MOST_UNANSWERED: f64 = 0.79;

words! {
    /// What joins two accounts, or contradicts that they belong together.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum EvidenceKind {
        /// The owner of the runs has found both to be accounts of the one who is searched.
        Verdict = "verdict",
        /// A platform has checked the link from one account to the other.
        VerifiedLink = "verified_link",
        /// The accounts name each other.
        MutualLink = "mutual_link",
        /// Both platforms know the account by the same email address, or its hash.
        SameEmail = "same_email",
        /// Both accounts have a verified link to the same site.
        VerifiedSite = "verified_site",
        /// One account names the other, whose links lead back to it through further accounts.
        LinkCircle = "link_circle",
        /// The accounts have the same email address, which at least one of them only states.
        StatedEmail = "stated_email",
        /// The accounts have the same public key.
        SameKey = "same_key",
        /// The accounts name the same site, which is not one where many people publish.
        SameSite = "same_site",
        /// The accounts have the same profile picture, byte for byte. A picture that many accounts have is no evidence,
        /// nor is one of only two colours: platforms draw such pictures themselves.
        SamePicture = "same_picture",
        /// The accounts have the same sentence of six or more words in their bios.
        SameBio = "same_bio",
        /// The accounts have nearly the same profile picture, for example in another size.
        SimilarPicture = "similar_picture",
        /// One account names the other, which does not name it.
        StatedLink = "stated_link",
        /// The accounts show the same full name.
        SameName = "same_name",
        /// The accounts share an address, a site or a page of links with many others, such as `info@example.org`.
        SharedByMany = "shared_by_many",
        /// The accounts show full names that have no word in common.
        OtherName = "other_name",
    }
}

/// Who can produce a kind of evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Grade {
    /// Nobody: the owner of the runs has looked.
    Verdict,
    /// Only the owner of both accounts.
    Proof,
    /// Everybody, but impostors seldom do.
    Claim,
    /// Everybody, and impostors do.
    Copy,
    /// It contradicts.
    Counter,
}

impl EvidenceKind {
    /// Returns who can produce it, its weight in log-odds, and the sentence that says it.
    pub(super) fn row(self) -> (Grade, f64, &'static str) {
        use Grade::{Claim, Copy, Counter, Proof, Verdict};
        match self {
            Self::Verdict => (Verdict, 9.0, "You found {one} and {other} to be accounts of this person"),
            Self::VerifiedLink => (Proof, 6.5, "{one} has a verified link to {other}"),
            Self::MutualLink => (Proof, 5.5, "{one} and {other} name each other"),
            Self::SameEmail => (Proof, 5.5, "{one} and {other} both have {shared}"),
            Self::VerifiedSite => (Proof, 5.5, "{one} and {other} both have a verified link to {shared}"),
            Self::LinkCircle => {
                (Proof, 4.6, "{one} names {other}, from which links lead back over other accounts")
            }
            Self::StatedEmail => (Claim, 4.0, "{one} and {other} both state {shared}"),
            Self::SameKey => (Claim, 4.0, "{one} and {other} both have {shared}"),
            Self::SameSite => (Claim, 3.7, "{one} and {other} both state {shared}"),
            Self::SamePicture => (Copy, 3.0, "{one} and {other} both have {shared}"),
            Self::SameBio => (Copy, 2.6, "{one} and {other} both have {shared}"),
            Self::SimilarPicture => (Copy, 2.4, "{one} and {other} both have {shared}"),
            Self::StatedLink => (Copy, 1.4, "{one} names {other}, which does not name it"),
            Self::SameName => (Copy, 1.2, "{one} and {other} show the same full name"),
            Self::SharedByMany => (Copy, 0.5, "{one} and {other} have {shared}, which many share"),
            Self::OtherName => (Counter, -3.5, "{one} and {other} show different full names"),
        }
    }
}

/// Returns a sentence about two accounts, and what both have.
pub(super) fn filled(sentence: &str, one: &str, other: &str, shared: &str) -> String {
    let word = |part| match part {
        "one" => one,
        "other" => other,
        "shared" => shared,
        text => text,
    };
    sentence.split(['{', '}']).map(word).collect()
}

/// Returns the score of two accounts that are joined by these kinds of evidence, rounded to three decimals.
pub(super) fn score(kinds: &[EvidenceKind]) -> f64 {
    let sum_of =
        |of: Grade| -> f64 { kinds.iter().filter(|kind| kind.row().0 == of).map(|kind| kind.row().1).sum() };
    let claimed = (sum_of(Grade::Claim) + sum_of(Grade::Copy).min(MOST_COPIED)).min(MOST_CLAIMED);
    let log_odds = PRIOR + sum_of(Grade::Verdict) + sum_of(Grade::Proof) + claimed + sum_of(Grade::Counter);
    (1000.0 / (1.0 + (-log_odds).exp())).round() / 1000.0
}

words! {
    /// How sure a score is: `confirmed` from 0.95, `likely` from 0.8, `possible` from 0.5.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    pub enum Band {
        /// From 0.95.
        Confirmed = "confirmed",
        /// From 0.8.
        Likely = "likely",
        /// From 0.5.
        Possible = "possible",
    }
}

impl Band {
    /// Returns the band of a score, or `None` if it is below 0.5.
    pub fn of(score: f64) -> Option<Self> {
        match score {
            0.95.. => Some(Self::Confirmed),
            0.8.. => Some(Self::Likely),
            0.5.. => Some(Self::Possible),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::EvidenceKind::*;
    use super::*;

    #[test]
    fn the_table_says_the_score_of_each_kind() {
        let source = include_str!("evidence.rs");
        for kind in EvidenceKind::ALL {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            let alone = format!("`{}` | {:.1} | {:.3} |", kind.as_str(), kind.row().1, score(&[kind]));
            assert!(source.contains(&alone), "{alone}");
        }
    }

    #[test]
    fn claims_are_never_confirmed_and_copies_never_likely() {
        let copies = [SamePicture, SameBio, SimilarPicture, StatedLink, SameName, SharedByMany];
        assert_eq!(Band::of(score(&copies)), Some(Band::Possible));
        let claims =
            [StatedEmail, SameKey, SameSite, SamePicture, SameBio, StatedLink, SameName, SharedByMany];
        assert_eq!(Band::of(score(&claims)), Some(Band::Likely));
        assert_eq!(Band::of(score(&[LinkCircle, SameName])), Some(Band::Confirmed));
        assert_eq!(Band::of(score(&[StatedLink, SharedByMany])), None);
    }
}
