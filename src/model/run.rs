//! A run: its state, results, module reports and options.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::clock::millis;
use crate::base::ids::{AccountId, BatchId, RunId, WatchId};
use crate::base::words::words;
use crate::model::coverage::{Coverage, Cut};
use crate::model::follow::{FollowOrder, Membership};
use crate::model::notes::{self, Annotation, RunNotes, StoredNotes, Verdict};
use crate::modules::catalog::Choice;
use crate::modules::module::Module;
use crate::modules::outcome::{OpenCircuit, Outcome};
use crate::modules::query::SearchType;
use crate::modules::reason::Reason;
use crate::modules::rules_version::RulesVersion;

words! {
    /// The status of a run: `running` (in progress, or waiting for its turn), `completed` (all modules have ended) or
    /// `failed` (it could not continue). The last two are terminal.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "snake_case")]
    #[schema(as = RunStatus)]
    pub enum Status {
        /// In progress, or waiting for its turn.
        Running = "running",
        /// All modules have ended. Terminal.
        Completed = "completed",
        /// The run could not continue. Terminal.
        Failed = "failed",
    }
}

impl Status {
    /// Returns whether the status is final.
    pub fn is_terminal(self) -> bool {
        self != Self::Running
    }
}

/// The error of a failed run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RunError {
    /// `no_conclusion` (no module came to a conclusion, for example without a network), `stopped` (the search was
    /// stopped before one did), `store_failed` (the results could not be stored) or `internal_error`. Others may be
    /// added.
    #[schema(pattern = "^[a-z_]+$", examples("no_conclusion"))]
    pub code: String,
    /// A message for people.
    #[schema(examples("no module came to a conclusion"))]
    pub message: String,
}

// The form is that of the API (`src/manual/api.md`). The name `sources` is `entity::merge::SOURCES`.
/// One entity that was found. Its id never changes after it was shown; the result may be shown again with more sources
/// and a higher confidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Result)]
pub struct ResultRecord {
    /// The number of the result in its run: from 1, without gaps.
    #[schema(minimum = 1)]
    pub id: u32,
    /// Kind of entity, such as `account`, `profile`, `email` or `dns_record`.
    #[serde(rename = "type")]
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub result_type: String,
    /// The same value as `type`.
    #[schema(pattern = "^[a-z_]+$", examples("account"))]
    pub entity_type: String,
    /// Name of the platform or service; null where there is none.
    #[schema(examples("GitHub"))]
    pub platform: Option<String>,
    /// Primary value, such as a username or an address; null where there is none.
    #[schema(examples("octocat"))]
    pub value: Option<String>,
    /// The confidence from 0.0 to 1.0, computed from the evidence.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The id of the module that found it first: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub source: String,
    /// Further values that the module extracted; names and values differ between modules. `sources` lists every module
    /// that found the result, each once, with `module` (its id), `platform` (null where there is none) and `confidence`.
    #[schema(value_type = std::collections::HashMap<String, Value>)]
    pub metadata: Map<String, Value>,
    /// Time at which the result was recorded: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Present only if the owner of the search has noted something about the result. Streams leave it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub annotation: Option<Annotation>,
}

impl ResultRecord {
    /// Returns the name of the platform, or the id of the module if there is none.
    pub fn site(&self) -> &str {
        self.platform.as_deref().unwrap_or(&self.source)
    }

    /// Returns the address of the profile, the first if there are several.
    pub fn profile_url(&self) -> Option<&str> {
        let url = self.metadata.get("profile_url")?;
        url.as_str().or_else(|| url.get(0)?.as_str())
    }

    /// Returns what the owner has noted about the result.
    pub fn note(&self) -> Option<&str> {
        self.annotation.as_ref()?.note.as_deref()
    }

    /// Returns a text in the metadata.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.metadata.get(name)?.as_str().map(str::trim).filter(|text| !text.is_empty())
    }

    /// Returns the verdict of the owner of the run.
    pub fn verdict(&self) -> Option<Verdict> {
        self.annotation.as_ref()?.verdict
    }

    /// Returns the rank among other results: what is mine comes first, what is not mine last.
    pub fn rank(&self) -> u8 {
        notes::rank(self.verdict())
    }

    /// Returns whether the owner has found that it belongs to somebody else. What is not mine says nothing about who is
    /// searched.
    pub fn is_not_mine(&self) -> bool {
        self.verdict() == Some(Verdict::NotMine)
    }
}

// The form is that of the API, and of the store.
/// The outcome of one module of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModuleReport {
    /// Module id: see `GET /v1/modules`.
    #[schema(pattern = "^[a-z0-9_.-]{1,64}$", examples("github"))]
    pub module: String,
    /// Name of the platform.
    #[schema(examples("GitHub"))]
    pub platform: String,
    /// The outcome of the module.
    pub status: Outcome,
    /// A machine-readable word, such as `captcha`, `dns` or `timeout_connect`; null where the outcome needs none. With
    /// `skipped` and `local_resources`, `no_network` or `no_resolver`, the machine of the service could not send the
    /// check. Others may be added.
    #[schema(value_type = Option<String>, examples("captcha"))]
    pub reason: Option<Reason>,
    /// The last HTTP status that the site sent; null where it sent none.
    #[schema(minimum = 100, maximum = 999)]
    pub http_status: Option<u16>,
    /// Milliseconds from the start of the check to its end, without the time in the queue.
    pub elapsed_ms: u64,
    /// Present only with the reasons `circuit_open` (the site was not asked, because it gave no answer to the last
    /// checks) and `quarantined` (the module was not asked, because it failed its last control checks).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub circuit: Option<OpenCircuit>,
    /// Present if the module came to a conclusion: the version of its rules and the source that answered. Results of two
    /// runs can be compared if it is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = String, nullable = false, pattern = "^[0-9a-f]{8}(\\.[0-9]+)?$", examples("3f9a1c07"))]
    pub rules: Option<RulesVersion>,
    /// Present only if true: the site may have more about the query than was read, since a request failed, or a body or a
    /// list was cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
    /// Present only if true: the site was asked because the search asks for engines, or names it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub engine: bool,
}

impl ModuleReport {
    /// Returns the report of a module that is not asked. `module` is that of the id, if the catalogue has it.
    pub fn skipped(id: &str, module: Option<&Arc<Module>>, reason: Reason) -> Self {
        Self {
            module: id.to_owned(),
            platform: module.map_or(id, |module| module.platform()).to_owned(),
            status: Outcome::Skipped,
            reason: Some(reason),
            http_status: None,
            elapsed_ms: 0,
            circuit: None,
            rules: None,
            partial: false,
            engine: module.is_some_and(|module| module.entry().needs_engines()),
        }
    }

    /// Counts the module in a coverage.
    pub fn count_in(&self, coverage: &mut Coverage) {
        coverage.add(self.status, self.cut(), self.circuit);
        if self.engine {
            coverage.add_to_engines(self.status);
        }
    }

    /// Returns why the module was not asked, or not given the configured time, if that was so.
    pub fn cut(&self) -> Option<Cut> {
        let is_asked = self.http_status.is_some();
        match self.reason? {
            Reason::CircuitOpen => self.circuit.map(|_| Cut::Down),
            Reason::Quarantined => self.circuit.map(|_| Cut::Quarantine),
            Reason::RetryAfter => (!is_asked).then_some(Cut::Limits),
            Reason::DailyLimit => Some(Cut::Limits),
            Reason::LearntDeadline => Some(Cut::LearntDeadline),
            Reason::TimeBudget => Some(Cut::TimeBudget),
            // A check that was given up took some time.
            Reason::Stopped => Some(if self.elapsed_ms == 0 { Cut::Stopped } else { Cut::GivenUp }),
            _ => None,
        }
    }

    /// Returns the coverage of the modules that have ended.
    pub fn coverage_of(reports: &[Self]) -> Coverage {
        let mut coverage = Coverage::default();
        reports.iter().for_each(|report| report.count_in(&mut coverage));
        coverage
    }
}

// The form is that of the API (`src/manual/api.md`).
/// The progress of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Progress {
    /// Modules of the run.
    pub modules_total: u32,
    /// Modules that ended, with any outcome.
    pub modules_completed: u32,
    /// Modules that ended as a hit.
    pub modules_with_hits: u32,
}

impl Progress {
    /// Returns the progress of a run with these modules that have ended.
    pub fn of(modules_total: u32, ended: Coverage) -> Self {
        let modules_with_hits = ended.count_of(Outcome::Hit);
        Self { modules_total, modules_completed: ended.checked, modules_with_hits }
    }
}

/// A run without its results and module outcomes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RunSummary {
    /// Identifies the search.
    #[serde(rename = "run_id")]
    pub id: RunId,
    /// The account that owns the run.
    #[serde(skip, default = "AccountId::new")]
    pub account: AccountId,
    /// State of the search.
    pub status: Status,
    /// Kind of identifier that is searched.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: String,
    /// Number of results so far.
    pub total_results: u32,
    /// The revision of the last write of results; 0 if there was none, or one by an earlier version.
    #[serde(skip)]
    pub revision: u64,
    /// Number of modules that have ended, and of all modules.
    pub progress: Progress,
    /// Time at which the search was accepted: RFC 3339, UTC, milliseconds.
    #[serde(serialize_with = "millis")]
    pub created_at: Timestamp,
    /// Time at which the search ended; null until then.
    #[serde(serialize_with = "millis")]
    pub completed_at: Option<Timestamp>,
    /// Present only if the search was stopped, or the following of its leads: the time (RFC 3339, UTC, milliseconds).
    #[serde(default, serialize_with = "millis", skip_serializing_if = "Option::is_none")]
    pub stopped_at: Option<Timestamp>,
    /// Whether modules that need a browser take part.
    pub premium: bool,
    /// How its checks are made.
    #[serde(flatten, serialize_with = "shown")]
    pub options: RunOptions,
    /// The choice of its modules, if the caller has made one. It is not known for a run of an earlier version.
    #[serde(skip)]
    pub choice: Option<Arc<Choice>>,
    /// Outcomes of the modules that have ended.
    pub coverage: Coverage,
    /// Cost of the search in credits; 0 if it failed, because its credits are refunded.
    pub credits_charged: u64,
    /// Cause of the failure; null if the search did not fail.
    pub error: Option<RunError>,
    /// Present only while the search waits for its turn, and not in lists: its position among all that wait, from 1.
    /// Accounts take turns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub queue_position: Option<u32>,
    /// How leads are followed, if they are.
    #[serde(skip)]
    pub follow: Option<Arc<FollowOrder>>,
    /// Its place in a family, if a lead has started it.
    #[serde(flatten)]
    #[schema(value_type = Membership)]
    pub family: Option<Membership>,
    /// Present only if a watch has started the search: the watch, which may have been deleted since.
    #[serde(rename = "watch_id", skip_serializing_if = "Option::is_none")]
    pub watch: Option<WatchId>,
    /// Present only if the search is of a batch: see `GET /v1/batches/{batch_id}`.
    #[serde(rename = "batch_id", skip_serializing_if = "Option::is_none")]
    pub batch: Option<BatchId>,
    /// Present only if the search asks the modules of another one again: that search, which may have been deleted since.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_of: Option<RunId>,
    /// What the owner notes about it.
    #[serde(flatten)]
    pub notes: RunNotes,
    /// Present only if true: the results come from the simulated web and are not real.
    #[serde(default, rename = "sandbox", skip_serializing_if = "std::ops::Not::not")]
    pub simulated: bool,
}

impl RunSummary {
    /// Returns whether the run has the share of batches: it is of one, or a lead of such a run has started it.
    pub fn is_of_batch(&self) -> bool {
        self.batch.is_some() || self.options.of_batch
    }

    /// Returns the first run of its family, which may have been deleted.
    pub fn root(&self) -> RunId {
        self.family.map_or(self.id, |place| place.root)
    }

    /// Returns the number of leads between the first run of its family and this one.
    pub fn depth(&self) -> u8 {
        self.family.map_or(0, |place| place.depth)
    }

    /// Returns whether the run is the first of a family whose leads are followed.
    pub fn is_following_root(&self) -> bool {
        self.follow.is_some() && self.family.is_none()
    }
}

/// Converts a length to the type of the API. A run has far fewer results and modules than that type can count.
pub fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// Outcomes by module id, for progress frames.
pub type ModuleStatus = BTreeMap<String, Outcome>;

/// The thumbnails of a run as PNGs, by the ids of their results.
pub type Thumbnails = BTreeMap<u32, Vec<u8>>;

/// The longest time budget of a search in seconds.
pub const MAX_TIME_BUDGET_SECS: u8 = 120;

/// How the checks of a search are made.
// As JSON, it is stored with the run, too. An option with its default value has no member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct RunOptions {
    /// Present only if true: every check had the configured deadline, and no deadline that was learned.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub patient: bool,
    /// Present only if it was given: seconds after which the search ends with the answers that it has.
    // They count from the moment when the run is first driven, without its time in the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = u8, minimum = 1, maximum = 120)]
    pub time_budget: Option<u8>,
    /// Present only if true: the caller has named the modules. Hosts that gave no answer lately were asked, too. Only the
    /// store has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(ignore)]
    pub named: bool,
    /// Present only if true: a lead of a run of a batch has started it, so it has the share of batches. Only the store
    /// has it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(ignore)]
    pub of_batch: bool,
    /// Present only if true: adult sites were asked, too. This also holds for searches that its leads start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub nsfw: bool,
    /// Present only if true: the sites of engines were asked, too. This also holds for searches that its leads start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub engines: bool,
    /// Present only if true: only third parties were asked. This also holds for searches that its leads start.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub passive: bool,
    /// Present only if true: the profile pictures of accounts are fetched. It has no effect with `passive`.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub avatars: bool,
    /// Present only if true: the judged answers of hits are kept as evidence.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub evidence: bool,
}

/// Writes the options of a run for its reader.
fn shown<S: Serializer>(options: &RunOptions, serializer: S) -> Result<S::Ok, S::Error> {
    RunOptions { named: false, of_batch: false, ..*options }.serialize(serializer)
}

impl StoredNotes {
    /// Adds the annotations to their results.
    pub fn annotate(&self, results: &mut [ResultRecord]) {
        if self.results.is_empty() {
            return;
        }
        for result in results {
            result.annotation = self.results.get(&result.id).cloned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_with_their_default_values_are_not_stored() {
        for (options, json) in [
            (RunOptions::default(), "{}"),
            (RunOptions { patient: true, ..RunOptions::default() }, r#"{"patient":true}"#),
            (RunOptions { avatars: true, ..RunOptions::default() }, r#"{"avatars":true}"#),
            (RunOptions { time_budget: Some(6), ..RunOptions::default() }, r#"{"time_budget":6}"#),
        ] {
            assert_eq!(serde_json::to_string(&options).unwrap(), json);
            assert_eq!(serde_json::from_str::<RunOptions>(json).unwrap(), options);
        }
        let of_tomorrow = r#"{"patient":true,"of_tomorrow":[1]}"#;
        assert!(serde_json::from_str::<RunOptions>(of_tomorrow).unwrap().patient);
    }
}
