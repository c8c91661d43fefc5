//! The diff as it is shown.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::schema::{ObjectBuilder, Schema, SchemaType};

use crate::base::clock::millis;
use crate::base::ids::RunId;
use crate::model::notes::Verdict;
use crate::model::run::Status;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;
use crate::modules::reason::Reason;

/// What changed between two runs of the same query.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct Diff {
    /// Kind of identifier that both runs searched.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query in its normal form, which is the same in both runs.
    #[schema(examples("octocat"))]
    pub query: String,
    /// Run that the other one is compared with.
    pub before: ComparedRun,
    /// Run whose changes are listed.
    pub after: ComparedRun,
    /// Number of results of each kind.
    pub counts: DiffCounts,
    /// Number of modules that came to a conclusion in both runs.
    pub modules_compared: usize,
    /// Number of modules that came to a conclusion in one run at most, or took part in one only. Nothing is known about
    /// changes on their sites.
    pub modules_not_compared: usize,
    /// Results of the run after that every module which found them looked for in the run before, without finding them.
    pub added: Vec<Difference>,
    /// Results of the run before that every module which found them looked for in the run after, without finding them.
    pub removed: Vec<Difference>,
    /// Results of both runs whose data differs.
    pub changed: Vec<Difference>,
    /// Results of one run of which nobody can say whether they are in the other, and results of both whose data differs
    /// for a reason that may lie in the runs.
    pub unknown: Vec<Difference>,
}

/// A run that is compared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ComparedRun {
    /// Identifies the run.
    pub run_id: RunId,
    /// State of the run, which has ended.
    pub status: Status,
    /// Time at which the search was accepted: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Number of results.
    pub total_results: usize,
}

/// The number of results of each kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct DiffCounts {
    /// Number of results in `added`.
    pub added: usize,
    /// Number of results in `removed`.
    pub removed: usize,
    /// Number of results in `changed`.
    pub changed: usize,
    /// Number of results in `unknown`.
    pub unknown: usize,
    /// Number of results that are the same in both runs.
    pub unchanged: usize,
}

/// A result that differs between the runs, or may differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Difference {
    /// Kind of entity, as in the result of the later of the runs that have it.
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub result_type: String,
    /// Name of the platform or service; null where there is none.
    #[schema(examples("GitHub"))]
    pub platform: Option<String>,
    /// Primary value, such as a username; null where there is none.
    #[schema(examples("octocat"))]
    pub value: Option<String>,
    /// Address of the profile; null where the result has none.
    #[schema(examples("https://github.com/octocat"))]
    pub profile_url: Option<String>,
    /// Number of the result in the run before; null if it is not there.
    #[schema(minimum = 1)]
    pub before_id: Option<u32>,
    /// Number of the result in the run after; null if it is not there.
    #[schema(minimum = 1)]
    pub after_id: Option<u32>,
    /// Present only if the owner has judged the result, in the run after or else in the run before. Results that are mine or
    /// unsure come first in each list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub verdict: Option<Verdict>,
    /// Data that differs: what identifies first, counts and times last. Empty if only one run has the result.
    pub fields: Vec<FieldChange>,
    /// Why nobody can say more. Only results in `unknown` have an entry here.
    pub undecided: Vec<Undecided>,
}

/// A member of a result's metadata that differs, or its `type` or `value`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FieldChange {
    /// Name of the member.
    #[schema(examples("display_name"))]
    pub name: String,
    /// Value in the run before; null if it has none.
    #[schema(schema_with = any_value)]
    pub before: Value,
    /// Value in the run after; null if it has none.
    #[schema(schema_with = any_value)]
    pub after: Value,
}

/// Returns the schema of any JSON value. A field of the type [`Value`] would have no example.
fn any_value() -> Schema {
    let value = ObjectBuilder::new().schema_type(SchemaType::AnyValue);
    value.description(Some("Value in that run; null if it has none.")).examples(["Mona Lisa"]).build().into()
}

/// A module of which nobody can say whether its site has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Undecided {
    /// Module id: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub module: String,
    /// Run in which the module did not decide.
    pub run: RunSide,
    /// What keeps the runs from being compared.
    pub cause: Cause,
    /// Outcome of the module in that run; null if it took no part.
    pub status: Option<Outcome>,
    /// Reason of the outcome, as in the run's modules; null where it has none.
    #[schema(value_type = Option<String>, examples("captcha"))]
    pub reason: Option<Reason>,
}

/// One of the two runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DiffSide)]
pub enum RunSide {
    /// The run that the other one is compared with.
    Before,
    /// The run whose changes are listed.
    After,
}

/// What keeps two runs from being compared. Further causes may be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = DiffCause)]
pub enum Cause {
    /// The module took no part in the run: another choice of modules, or another catalogue.
    NotAsked,
    /// The module came to no conclusion: `status` and `reason` say why.
    NoConclusion,
    /// The module found nothing public, or its miss was not confirmed. That proves no absence.
    WeakMiss,
    /// The module did not read all of its answer, or its list has more entries than are read.
    Incomplete,
    /// The module's rules changed between the runs, or another of its sources answered.
    OtherRules,
    /// The run was made by a version that did not record the rules of its modules.
    RulesUnknown,
    /// The result was found by following a link, which the other run may not have seen.
    LookedUp,
    /// Several modules found the result, not the same ones or in another order. A value may be that of another module.
    OtherSources,
    /// The account is in this run, as a result of another type.
    StillFound,
    /// The run failed, so its results may not be complete.
    RunFailed,
}

impl Cause {
    /// Returns the cause for people, as the end of a sentence about the module.
    pub fn as_phrase(self) -> &'static str {
        match self {
            Self::NotAsked => "took no part",
            Self::NoConclusion => "came to no conclusion",
            Self::WeakMiss => "found nothing public, which proves no absence",
            Self::Incomplete => "did not read everything",
            Self::OtherRules => "used other rules or another source",
            Self::RulesUnknown => "used rules that were not recorded",
            Self::LookedUp => "was asked only because of a link",
            Self::OtherSources => "is one of several sources, which differ",
            Self::StillFound => "found the same account in another way",
            Self::RunFailed => "belongs to a run that failed",
        }
    }
}
