//! The frames of a stream of server-sent events: serialized once, and shared by all readers (`src/manual/streams.md`).

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::leads::LeadStatus;
use crate::base::ids::RunId;
use crate::model::coverage::Coverage;
use crate::model::entity::identified::kind_of;
use crate::model::follow::{Class, FollowedLead, Lookup};
use crate::model::run::{ModuleReport, ModuleStatus, Progress, RunError, RunSummary, Status};
use crate::modules::definition::ResultType;
use crate::modules::outcome::Outcome;
use crate::modules::query::SearchType;

/// A whole frame, including the empty line at its end.
pub type Frame = Arc<[u8]>;

/// A comment, which keeps a quiet stream alive and is ignored by clients.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Data of the `run` frame, which is sent once, as the first frame.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunEventData)]
pub struct RunData<'a> {
    /// Identifies the run.
    #[schema(value_type = Uuid)]
    pub run_id: RunId,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    pub query: &'a str,
    /// Always `running`, even if the run has ended: the frames that follow tell the rest.
    pub status: Status,
}

/// Returns the first frame of a stream of the run.
pub fn run_frame(run: &RunSummary) -> Frame {
    let RunSummary { id: run_id, search_type, ref query, .. } = *run;
    frame("run", &RunData { run_id, search_type, query, status: Status::Running })
}

/// Data of a `progress` frame, which is sent when modules have ended. Frames may be merged for a slow reader.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgressEventData)]
pub struct ProgressData {
    /// Results published so far.
    pub results_so_far: u32,
    /// Progress of the run.
    #[serde(flatten)]
    pub progress: Progress,
    /// Number of modules by outcome so far.
    pub coverage: Coverage,
    /// Modules that ended since the previous progress frame: module id to outcome.
    #[schema(value_type = std::collections::BTreeMap<String, Outcome>)]
    pub module_status: ModuleStatus,
}

impl ProgressData {
    /// Returns the data of a run when these modules have ended.
    pub(super) fn of<'r>(run: &RunSummary, ended: impl IntoIterator<Item = &'r ModuleReport>) -> Self {
        let RunSummary { total_results: results_so_far, progress, coverage, .. } = *run;
        let module_status = ended.into_iter().map(|report| (report.module.clone(), report.status)).collect();
        Self { results_so_far, progress, coverage, module_status }
    }
}

/// Data of the `done` frame, which is sent once, as the last frame. It does not always mean success: see `status`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DoneEventData)]
pub struct DoneData<'a> {
    /// Identifies the run.
    #[schema(value_type = Uuid)]
    pub run_id: RunId,
    /// `completed` or `failed`.
    pub status: Status,
    /// The number of all results.
    pub total_results: u32,
    /// Progress of the run.
    #[serde(flatten)]
    pub progress: Progress,
    /// Number of modules by outcome.
    pub coverage: Coverage,
    /// Whether `GET /v1/searches/{run_id}` has the results.
    pub results_available: bool,
    /// Cause of the failure; null if the run did not fail.
    pub error: Option<&'a RunError>,
}

impl<'a> DoneData<'a> {
    /// Returns the data of a run that has ended and is stored.
    pub fn of(run: &'a RunSummary) -> Self {
        Self {
            run_id: run.id,
            status: run.status,
            total_results: run.total_results,
            progress: run.progress,
            coverage: run.coverage,
            results_available: true,
            error: run.error.as_ref(),
        }
    }
}

/// Data of a `reconnect` frame: the stream closes because it has reached its longest duration, and the run continues.
/// Attach to the run again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ReconnectEventData)]
pub struct ReconnectData {
    /// Identifies the run.
    #[schema(value_type = Uuid)]
    pub run_id: RunId,
    /// Always `running`.
    pub status: Status,
    /// Always `stream_timeout`.
    pub reason: &'static str,
    /// Seconds to wait before attaching again.
    pub retry_after: u32,
}

/// Data of an `error` frame: the server closes the stream early. If there is a `retry_after`, read the run or attach to
/// it again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorEventData)]
pub struct ErrorData<'a> {
    /// Identifies the run.
    #[schema(value_type = Uuid)]
    pub run_id: RunId,
    /// The last known status of the run; `failed` where it was deleted.
    pub status: Status,
    /// `server_shutdown`, `unavailable` (the database is not reachable), `internal_error` (the run cannot be read),
    /// `not_found` for a run that its owner deleted, or `invalid_api_key` for a key that was revoked meanwhile. Others may be
    /// added.
    #[schema(pattern = "^[a-z_]+$")]
    pub error: &'static str,
    /// A message for people.
    pub message: &'static str,
    /// Present only where attaching again may succeed: seconds to wait before. It fails if the run was deleted, or if the
    /// reader may not read it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retry_after: Option<u32>,
    /// The id of the request that opened the stream, by which the operator's log can be searched.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub request_id: &'a str,
}

/// Data of a `lead` frame: a lead that was looked up or followed. Frames of this kind come before the `done` frame.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LeadEventData)]
pub struct LeadData<'a> {
    /// Identifies the lead: see `GET /v1/searches/{run_id}/leads`.
    pub lead_id: Uuid,
    /// Kind of the lead: `account`, `username`, `email` or `domain`.
    #[serde(rename = "type")]
    #[schema(value_type = String, pattern = "^[a-z_]+$")]
    pub kind: ResultType,
    /// The username, address or domain.
    pub value: &'a str,
    /// Name of the platform of an account; null for other leads.
    pub platform: Option<&'a str>,
    /// How sure the lead is.
    pub class: Class,
    /// `looked_up` or `followed`.
    pub status: LeadStatus,
    /// The outcome of the module that was asked; null if none was.
    pub outcome: Option<Outcome>,
    /// The run that was started for it; null if none was.
    #[schema(value_type = Option<Uuid>)]
    pub run_id: Option<RunId>,
}

/// Data of a `child` frame: a run that a lead has started. Frames of this kind come before the `done` frame.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChildEventData)]
pub struct ChildData<'a> {
    /// Identifies the run.
    #[schema(value_type = Uuid)]
    pub run_id: RunId,
    /// The run whose lead was followed.
    #[schema(value_type = Uuid)]
    pub parent_run_id: RunId,
    /// Number of leads between the first run of the family and this one.
    #[schema(minimum = 1)]
    pub depth: u8,
    /// The lead.
    pub lead_id: Uuid,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query of the run.
    pub query: &'a str,
}

/// Returns a frame for each lead of a run that was looked up or followed, and one for each run that was started.
pub(super) fn family_frames(lookups: &[Lookup], children: &[(FollowedLead, RunSummary)]) -> Vec<Frame> {
    let looked_up = lookups.iter().map(|lookup| {
        frame(
            "lead",
            &LeadData {
                lead_id: lookup.lead_id,
                kind: ResultType::Account,
                value: &lookup.query,
                platform: Some(&lookup.platform),
                class: lookup.class,
                status: LeadStatus::LookedUp,
                outcome: lookup.outcome,
                run_id: None,
            },
        )
    });
    let followed = children.iter().flat_map(|(followed, run)| {
        let (lead_id, run_id, query) = (followed.lead, run.id, run.query.as_str());
        let (kind, class, status) = (kind_of(run.search_type), followed.class, LeadStatus::Followed);
        let (platform, outcome, value, started) = (None, None, query, Some(run_id));
        let lead = LeadData { lead_id, kind, value, platform, class, status, outcome, run_id: started };
        let (parent_run_id, search_type) = (followed.parent, run.search_type);
        let child = ChildData { run_id, parent_run_id, depth: run.depth(), lead_id, search_type, query };
        [frame("lead", &lead), frame("child", &child)]
    });
    looked_up.chain(followed).collect()
}

/// Returns a frame with that name. Its data is written as JSON.
pub(super) fn frame(name: &str, data: &impl Serialize) -> Frame {
    let mut bytes = format!("event: {name}\ndata: ").into_bytes();
    // JSON text has no raw line break, so one `data:` line is enough. The types have string keys and finite numbers
    // only, so writing them to memory cannot fail.
    if serde_json::to_writer(&mut bytes, data).is_err() {
        bytes.extend_from_slice(b"{}");
    }
    bytes.extend_from_slice(b"\n\n");
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_with_line_breaks_stays_in_one_data_line() {
        let data = RunData {
            run_id: RunId::new(),
            search_type: SearchType::Username,
            query: "a\r\n\nevent: done\u{2028}b",
            status: Status::Running,
        };
        let frame = String::from_utf8(frame("run", &data).to_vec()).unwrap();
        assert!(frame.ends_with("\n\n"));
        assert_eq!(frame.trim_end().lines().count(), 2, "{frame}");
        assert!(frame.starts_with("event: run\ndata: {\"run_id\":\""));
    }
}
