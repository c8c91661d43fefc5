//! The frames of a stream of server-sent events: serialized once, and shared by all readers (`src/manual/streams.md`).

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::base::ids::RunId;
use crate::model::coverage::Coverage;
use crate::model::run::{ModuleStatus, Progress, ResultRecord, RunError, RunSummary, Status};
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
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// Type of the query.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// Query as the caller sent it.
    #[schema(examples("octocat"))]
    pub query: &'a str,
    /// Always `running`, even if the run has ended: the frames that follow tell the rest.
    pub status: Status,
}

/// Data of a `progress` frame, which is sent when modules have ended. Frames may be merged for a slow reader.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgressEventData)]
pub struct ProgressData {
    /// Results published so far.
    #[schema(examples(12))]
    pub results_so_far: u32,
    /// Progress of the run.
    #[serde(flatten)]
    pub progress: Progress,
    /// Number of modules by outcome so far.
    pub coverage: Coverage,
    /// Modules that ended since the previous progress frame: module id to outcome.
    #[schema(value_type = std::collections::BTreeMap<String, crate::modules::outcome::Outcome>,
        examples(json!({"github": "hit", "gitlab": "miss"})))]
    pub module_status: ModuleStatus,
}

/// Data of the `done` frame, which is sent once, as the last frame. It does not always mean success: see `status`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DoneEventData)]
pub struct DoneData<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// `completed` or `failed`.
    pub status: Status,
    /// The number of all results.
    #[schema(examples(42))]
    pub total_results: u32,
    /// Progress of the run.
    #[serde(flatten)]
    pub progress: Progress,
    /// Number of modules by outcome.
    pub coverage: Coverage,
    /// Whether `GET /v1/searches/{run_id}` has the results.
    #[schema(examples(true))]
    pub results_available: bool,
    /// Cause of the failure; null if the run did not fail.
    #[schema(required)]
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
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// Always `running`.
    pub status: Status,
    /// Always `stream_timeout`.
    #[schema(examples("stream_timeout"))]
    pub reason: &'static str,
    /// Seconds to wait before attaching again.
    #[schema(examples(1))]
    pub retry_after: u32,
}

/// Data of an `error` frame: the server closes the stream early. If there is a `retry_after`, read the run or attach to
/// it again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorEventData)]
pub struct ErrorData<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The last known status of the run; `failed` where it was deleted.
    pub status: Status,
    /// `server_shutdown`, `unavailable` (the database is not reachable), `not_found` for a run that its owner deleted,
    /// or `invalid_api_key` for a key that was revoked meanwhile. Others may be added.
    #[schema(pattern = "^[a-z_]+$", examples("server_shutdown"))]
    pub error: &'static str,
    /// A message for people.
    #[schema(examples("the server is shutting down; the run continues"))]
    pub message: &'static str,
    /// Seconds to wait before attaching again. Absent where attaching again would fail: the run was deleted, or the
    /// reader may not read it any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, examples(1))]
    pub retry_after: Option<u32>,
    /// The id of the request that opened the stream, by which the operator's log can be searched.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
}

/// Returns the `run` frame.
pub fn run_frame(data: &RunData<'_>) -> Frame {
    frame("run", data)
}

/// Returns a `result` frame.
pub fn result_frame(record: &ResultRecord) -> Frame {
    frame("result", record)
}

/// Returns a `progress` frame.
pub fn progress_frame(data: &ProgressData) -> Frame {
    frame("progress", data)
}

/// Returns a `lead` frame.
pub fn lead_frame(data: &impl Serialize) -> Frame {
    frame("lead", data)
}

/// Returns a `child` frame.
pub fn child_frame(data: &impl Serialize) -> Frame {
    frame("child", data)
}

/// Returns the `done` frame.
pub fn done_frame(data: &DoneData<'_>) -> Frame {
    frame("done", data)
}

/// Returns a `reconnect` frame.
pub fn reconnect_frame(run_id: RunId) -> Frame {
    let data = ReconnectData { run_id, status: Status::Running, reason: "stream_timeout", retry_after: 1 };
    frame("reconnect", &data)
}

/// Returns an `error` frame.
pub fn error_frame(data: &ErrorData<'_>) -> Frame {
    frame("error", data)
}

fn frame(name: &str, data: &impl Serialize) -> Frame {
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
        let frame = String::from_utf8(run_frame(&data).to_vec()).unwrap();
        assert!(frame.ends_with("\n\n"));
        assert_eq!(frame.trim_end().lines().count(), 2, "{frame}");
        assert!(frame.starts_with("event: run\ndata: {\"run_id\":\""));
    }
}
