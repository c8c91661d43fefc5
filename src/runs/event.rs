//! What a stream carries: SSE frames (section 6 of the contract), serialized once and shared.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use super::run::{Coverage, ModuleStatus, Progress, ResultRecord, RunError, Status};
use crate::base::ids::RunId;
use crate::modules::query::SearchType;

/// One whole SSE frame, with its empty line at the end.
pub type Frame = Arc<[u8]>;

/// A comment: keeps a quiet stream alive, and clients ignore it.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// Data of the `run` frame: once, first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = RunEventData)]
pub struct RunData<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// What kind of search.
    #[serde(rename = "type")]
    pub search_type: SearchType,
    /// What the caller sent.
    #[schema(examples("octocat"))]
    pub query: &'a str,
    /// Always `running`, also where the run has ended: what follows tells the rest.
    pub status: Status,
}

/// Data of a `progress` frame: whenever modules have ended. Frames may be merged for a slow reader.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ProgressEventData)]
pub struct ProgressData {
    /// Results published so far.
    #[schema(examples(12))]
    pub results_so_far: u32,
    /// Progress block.
    #[serde(flatten)]
    pub progress: Progress,
    /// Outcome counts so far.
    pub coverage: Coverage,
    /// Modules that ended since the previous progress frame: module id to outcome.
    #[schema(value_type = std::collections::BTreeMap<String, crate::modules::outcome::Outcome>,
        examples(json!({"github": "hit", "gitlab": "miss"})))]
    pub module_status: ModuleStatus,
}

/// Data of the `done` frame: once, last. It is not always success: see `status`.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = DoneEventData)]
pub struct DoneData<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// `completed` or `failed`.
    pub status: Status,
    /// Results in all.
    #[schema(examples(42))]
    pub total_results: u32,
    /// Progress block.
    #[serde(flatten)]
    pub progress: Progress,
    /// Outcome counts.
    pub coverage: Coverage,
    /// Whether `GET /v1/searches/{run_id}` has the results.
    #[schema(examples(true))]
    pub results_available: bool,
    /// Why it failed; null where it did not.
    #[schema(required)]
    pub error: Option<&'a RunError>,
}

/// Data of a `reconnect` frame: the stream has reached its longest duration and closes, the run goes on. Attach
/// to the run again.
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

/// Data of an `error` frame: the server breaks off, the stream closes. Read the run or attach to it again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ErrorEventData)]
pub struct ErrorData<'a> {
    /// Identifies the run.
    #[schema(value_type = uuid::Uuid, examples("018f4a7e-5c1d-7b3a-9e2f-0123456789ab"))]
    pub run_id: RunId,
    /// The run's status as far as it is known.
    pub status: Status,
    /// `server_shutdown`, `unavailable` (the database is not reachable), or `not_found` for a run that its
    /// owner deleted. Others may be added.
    #[schema(pattern = "^[a-z_]+$", examples("server_shutdown"))]
    pub error: &'static str,
    /// For a person.
    #[schema(examples("the server shuts down; the run goes on"))]
    pub message: &'static str,
    /// Seconds to wait before attaching again.
    #[schema(examples(1))]
    pub retry_after: u32,
    /// The id of the request that opened the stream: it leads to the reason in the operator's log.
    #[schema(pattern = "^[A-Za-z0-9._-]{1,64}$", examples("b9f6a1d2c3e44f5a8b7c6d5e4f3a2b1c"))]
    pub request_id: &'a str,
}

/// The `run` frame.
pub fn run_frame(data: &RunData<'_>) -> Frame {
    frame("run", data)
}

/// A `result` frame.
pub fn result_frame(record: &ResultRecord) -> Frame {
    frame("result", record)
}

/// A `progress` frame.
pub fn progress_frame(data: &ProgressData) -> Frame {
    frame("progress", data)
}

/// The `done` frame.
pub fn done_frame(data: &DoneData<'_>) -> Frame {
    frame("done", data)
}

/// A `reconnect` frame.
pub fn reconnect_frame(run_id: RunId) -> Frame {
    let data = ReconnectData { run_id, status: Status::Running, reason: "stream_timeout", retry_after: 1 };
    frame("reconnect", &data)
}

/// An `error` frame.
pub fn error_frame(data: &ErrorData<'_>) -> Frame {
    frame("error", data)
}

fn frame(name: &str, data: &impl Serialize) -> Frame {
    let mut bytes = format!("event: {name}\ndata: ").into_bytes();
    // JSON text has no raw line break, so one `data:` line is enough. Our types have string keys and
    // finite numbers alone: writing them to memory cannot fail.
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
