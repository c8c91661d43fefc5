//! [`Exchange`]: one request while it is answered, over any transport.

use std::fmt::Display;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::message::{Answer, Message, Params, is_stateless, meta, parse};
use crate::account::service::Caller;
use crate::api::context::Api;
use crate::base::ids::RequestId;
use crate::http::Request;
use crate::model::audit::Origin;
use crate::model::refusal::Refusal;
use crate::model::run::{Progress, RunSummary};

/// The longest time between two looks at the client: whether it still reads, and whether it gets news.
const STEP: Duration = Duration::from_millis(500);
/// The start of the address of a run.
pub(super) const RUNS: &str = "sightline://runs/";

/// The client while its request is answered: sends it an optional notification, and returns whether it still
/// reads.
pub(super) type Client<'a> = dyn FnMut(Option<&Value>) -> bool + 'a;

/// A request that is answered.
pub(super) struct Exchange {
    pub(super) api: Arc<Api>,
    pub(super) caller: Caller,
    pub(super) request_id: RequestId,
    /// Whether the revision of the protocol has no sessions.
    pub(super) is_stateless: bool,
    pub(super) id: Value,
    pub(super) method: String,
    pub(super) params: Params,
}

impl Exchange {
    /// Begins the answer to a message of a client, which came with the request `http` if it came over HTTP. Returns `None` if
    /// the message is not a request.
    ///
    /// # Errors
    /// Returns the answer to what is no message, and to one whose revision is not supported or not what its headers say.
    pub(super) fn begin(
        (api, caller, request_id): (&Arc<Api>, &Caller, &RequestId),
        http: Option<&Request>,
        message: &[u8],
    ) -> Result<Option<Self>, Answer> {
        let message = parse(message)?;
        let is_stateless = is_stateless(&message, http).map_err(|error| error.answer(message.id.as_ref()))?;
        let Message { id: Some(id), method, mut params } = message else { return Ok(None) };
        if params.get("arguments").is_none_or(Value::is_null) {
            params.insert("arguments".to_owned(), json!({}));
        }
        let (api, caller, request_id) = (Arc::clone(api), caller.clone(), request_id.clone());
        Ok(Some(Self { api, caller, request_id, is_stateless, id, method, params }))
    }

    /// Returns the arguments of a call of a tool.
    pub(super) fn arguments(&self) -> &Value {
        self.params.get("arguments").unwrap_or(&Value::Null)
    }

    /// Returns the origin of what the request starts, for the audit.
    pub(super) fn origin(&self) -> Origin {
        Origin::request(self.caller.actor, &self.request_id)
    }

    /// Waits until a run ends, for as long as a request may wait. Sends its progress if the request has a token for it.
    /// Returns `None` if the client is gone; the run continues then.
    pub(super) fn wait(
        &self,
        mut run: RunSummary,
        client: &mut Client<'_>,
    ) -> Result<Option<RunSummary>, Refusal> {
        let until = Instant::now() + self.api.config.sync_wait;
        let token = meta(&self.params, "progressToken");
        let mut sent = None;
        loop {
            if !client(None) {
                return Ok(None);
            }
            let RunSummary { status, progress, .. } = run;
            // The progress of a notification must be more than that of the one before.
            if let Some(token) = token
                && sent.is_none_or(|sent| progress.modules_completed > sent)
            {
                client(Some(&notification(token, &progress)));
                sent = Some(progress.modules_completed);
            }
            if status.is_terminal() || Instant::now() >= until {
                return Ok(Some(run));
            }
            let step = (Instant::now() + STEP).min(until);
            run = self.api.runs.wait_for_end(run, step)?.ok_or_else(|| Refusal::no_such("run"))?;
            if Instant::now() < step && !run.status.is_terminal() {
                // The service is shutting down. The run continues on the next start.
                return Ok(Some(run));
            }
        }
    }
}

fn notification(token: &Value, progress: &Progress) -> Value {
    let Progress { modules_total, modules_completed, modules_with_hits } = progress;
    json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {
        "progressToken": token,
        "progress": modules_completed,
        "total": modules_total,
        "message": format!("{modules_completed} of {modules_total} modules have ended, {modules_with_hits} with a hit"),
    }})
}

/// Returns the address of a run.
pub(super) fn uri(run: impl Display) -> String {
    format!("{RUNS}{run}")
}
