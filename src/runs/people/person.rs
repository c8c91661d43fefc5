//! [`People`]: the accounts of runs, grouped by who they probably belong to.

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::evidence::{Band, EvidenceKind};
use crate::runs::record::ResultRef;

/// The accounts of runs, grouped by who they probably belong to. The same runs give the same people, in whatever order
/// their results came.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct People {
    /// The people with two or more accounts: the highest scores first.
    pub people: Vec<Person>,
    /// The accounts that nothing joins to another one, by platform and value.
    pub unattributed: Vec<PersonAccount>,
}

/// Accounts that probably belong to one person or organization.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Person {
    /// Identifies the person by the first of the accounts: it may change when further results are found.
    pub id: Uuid,
    /// How probable it is that all the accounts belong together, from 0.5 to 1.0: that of the weakest of the joins
    /// between them.
    #[schema(minimum = 0.5, maximum = 1)]
    pub score: f64,
    /// The band of the score.
    pub band: Band,
    /// The names that the accounts show.
    pub names: Vec<String>,
    /// The accounts, by platform and value.
    pub accounts: Vec<PersonAccount>,
    /// The email addresses of the accounts, without those that many share.
    pub emails: Vec<String>,
    /// The evidence of each join: one less than there are accounts, strongest first, with every kind that two accounts
    /// have in common.
    pub evidence: Vec<Evidence>,
    /// What speaks against the accounts, or kept other accounts apart from them.
    pub conflicts: Vec<Conflict>,
}

impl Person {
    /// Returns the first name, or the value of the first account if there is no name.
    pub fn title(&self) -> &str {
        let first = self.names.first().or(self.accounts.first().map(|account| &account.value));
        first.map_or("", String::as_str)
    }
}

/// An account of a person, or one that nothing joins to another.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct PersonAccount {
    /// Identifies the account: it has the same id in every search, and in the graph.
    pub id: Uuid,
    /// Name of the platform; null where only the address of the profile is known.
    #[schema(required, examples("GitHub"))]
    pub platform: Option<String>,
    /// Primary value, such as a username or an address.
    #[schema(examples("octocat"))]
    pub value: String,
    /// Name that the account shows; null where there is none.
    #[schema(required, examples("The Octocat"))]
    pub display_name: Option<String>,
    /// The highest confidence of its results, from 0.0 to 1.0. For an account that is only named, it is that of the
    /// result that names it.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// Present only for an account of a person: how probable it is that it belongs to the largest part of the accounts that
    /// are surer of each other, from 0.5 to 1.0.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, minimum = 0.5, maximum = 1)]
    pub score: Option<f64>,
    /// The band of the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub band: Option<Band>,
    /// The results about it. There are none if another account only names it.
    pub results: Vec<ResultRef>,
    /// What speaks against it, or kept it apart from other accounts.
    pub conflicts: Vec<Conflict>,
}

/// A reason why two accounts belong together, or why not.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Evidence {
    /// The kind.
    pub kind: EvidenceKind,
    /// The change of the log-odds, which is negative for counter-evidence. Weak kinds count only up to a limit
    /// together.
    pub weight: f64,
    /// The two accounts. The first is the one that names the other.
    #[schema(min_items = 2, max_items = 2)]
    pub accounts: [Uuid; 2],
    /// The results that show it: one of each account, or only one if it shows both.
    pub results: Vec<ResultRef>,
    /// The evidence as a sentence.
    #[schema(examples("octocat on Mastodon.social has a verified link to octocat on GitHub"))]
    pub text: String,
}

/// What contradicts that two accounts belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Verified links of different sources lead to these two accounts of one platform.
    VerifiedElsewhere,
    /// Both profiles are verified by their platforms, and show full names that have no word in common.
    OtherName,
    /// The first account was last changed or used before the second was created, so it named another account.
    CreatedLater,
    /// The first account names the second, but no account of that person names it. An impostor does this.
    NoLinkBack,
}

impl ConflictKind {
    /// Returns the sentence that says it.
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::VerifiedElsewhere => "verified links of different sources lead to {one} and {other}",
            Self::OtherName => "{one} and {other} are verified profiles with different names",
            Self::CreatedLater => {
                "{one} was last used before {other} was created, so its link is to an earlier account"
            }
            Self::NoLinkBack => "{one} names {other}, but no account of that person names it",
        }
    }
}

/// Evidence that two accounts do not belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, ToSchema)]
pub struct Conflict {
    /// The kind.
    pub kind: ConflictKind,
    /// The two accounts.
    #[schema(min_items = 2, max_items = 2)]
    pub accounts: [Uuid; 2],
    /// The results that show it: one of each account where there is one.
    pub results: Vec<ResultRef>,
    /// The conflict as a sentence.
    #[schema(examples("0ctocat on GitLab names octocat on GitHub, but no account of that person names it"))]
    pub text: String,
}
