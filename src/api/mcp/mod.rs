//! The Model Context Protocol (<https://modelcontextprotocol.io>): the API as tools of language models.
//!
//! `POST /mcp` is the transport over HTTP, and [`Lines`] the one over standard input and output. A call of a tool is
//! turned into the same use cases as a request to `/v1`, so credits, plans, suppression and the audit hold for both.
//!
//! | file | holds |
//! |---|---|
//! | this one | `POST /mcp` |
//! | `lines` | messages in lines |
//! | `message` | JSON-RPC messages and errors |
//! | `revision` | the revisions of the protocol |
//! | `session`, `methods` | the sender of a request; the methods |
//! | `tools`, `schemas` | the tools with their schemas |
//! | `calls` | calls of tools |
//! | `answers` | the content of answers: coverage, and marks on text of third parties |
//! | `resources` | runs as resources |
//! | `waiting`, `client` | waiting for a run, its progress, and cancellation |
//!
//! To add a tool: add it to `tools` with its schemas, a case in `calls`, a row in `src/manual/mcp.md`, and a call in
//! `tests/mcp`.

mod answers;
mod calls;
mod client;
mod lines;
mod message;
mod methods;
mod resources;
mod revision;
mod schemas;
mod session;
mod tools;
mod waiting;

use std::sync::Arc;

use serde_json::Value;
use url::Url;
use uuid::Uuid;

pub use lines::Lines;

use super::call_table::{CallName, call_name};
use super::context::{Api, Call, json_response};
use super::decode;
use super::error::ApiError;
use crate::account::service::Caller;
use crate::base::address::is_loopback;
use crate::base::ids::RequestId;
use crate::http::{Reply, Request, Response};
use client::{StreamingClient, WaitingClient};
use message::{Message, Params, RpcError, response};
use revision::Revision;
use session::Session;

/// The longest session id that is used.
const MAX_SESSION: usize = 128;

/// Returns whether a message calls a tool that starts a search. Decides what the request counts as.
pub(super) fn starts_search(request: &Request) -> bool {
    match message::parse(&request.body) {
        Ok(Message::Request { method, params, .. }) if method == "tools/call" => {
            let name = params.get("name").and_then(Value::as_str).unwrap_or_default();
            tools::tool(name).is_some_and(|tool| tool.starts_search)
        }
        _ => false,
    }
}

/// `POST /mcp`: answers one message.
///
/// # Errors
/// Returns 415 for another content type. Other errors of the protocol are answered as JSON-RPC.
pub fn message(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let (caller, request) = (call.caller()?, call.request);
    if !may_call(api, request) {
        let error = RpcError::with_status(403, message::INVALID_REQUEST, "this origin is not allowed");
        return Ok(Reply::Now(json_response(error.status, &error.response(None))));
    }
    decode::require_json(request)?;
    let message = match message::parse(&request.body) {
        Ok(message) => message,
        Err(refused) => return Ok(Reply::Now(json_response(refused.status, &refused.response))),
    };
    let revision = match revision::of_request(request, &message) {
        Ok(revision) => revision,
        Err(error) => return Ok(Reply::Now(json_response(error.status, &error.response(message.id())))),
    };
    let session_id =
        request.header("mcp-session-id").filter(|id| id.len() <= MAX_SESSION).unwrap_or_default();
    match message {
        Message::Response => Ok(accepted()),
        Message::Notification { method, params } => {
            if method == "notifications/cancelled"
                && let Some(id) = params.get("requestId")
            {
                api.mcp_calls.cancel(&call_name(caller.account.id, session_id, id));
            }
            Ok(accepted())
        }
        Message::Request { id, method, params } => {
            let name = call_name(caller.account.id, session_id, &id);
            let (caller, request_id) = (caller.clone(), call.request_id.clone());
            let exchange =
                Exchange { api: Arc::clone(api), caller, request_id, revision, name, id, method, params };
            Ok(exchange.reply(accepts_stream(request)))
        }
    }
}

/// A request that is answered.
struct Exchange {
    api: Arc<Api>,
    caller: Caller,
    request_id: RequestId,
    revision: Revision,
    name: CallName,
    id: Value,
    method: String,
    params: Params,
}

impl Exchange {
    fn reply(self, streams: bool) -> Reply {
        // The thread for a wait is reserved before a search starts. If there is none, the 503 comes before anything is
        // charged.
        match (self.waits(), streams) {
            (true, true) => Reply::Stream(
                Response::event_stream(),
                Box::new(move |out| {
                    let keep_alive = self.api.config.keep_alive;
                    let call = self.api.mcp_calls.begin(self.name.clone());
                    let mut client = StreamingClient::new(out, call, keep_alive);
                    let answer = self.answer(&mut client);
                    answer.is_none_or(|(_, answer)| client.send(&answer))
                }),
            ),
            (true, false) => Reply::Later(Box::new(move || Reply::Now(self.document()))),
            (false, _) => Reply::Now(self.document()),
        }
    }

    fn waits(&self) -> bool {
        let name = self.params.get("name").and_then(Value::as_str).unwrap_or_default();
        let arguments = self.params.get("arguments").and_then(Value::as_object);
        self.method == "tools/call" && tools::tool(name).is_some_and(|tool| tool.waits(arguments))
    }

    /// Returns the answer as one JSON document.
    fn document(&self) -> Response {
        let mut client = WaitingClient(self.api.mcp_calls.begin(self.name.clone()));
        let Some((status, answer)) = self.answer(&mut client) else { return Response::empty(204) };
        let response = json_response(status, &answer);
        if self.method == "initialize" && status == 200 && answer.get("result").is_some() {
            // It only tells the requests of one client from those of another, so it is not stored.
            return response.with_header("Mcp-Session-Id", Uuid::new_v4().to_string());
        }
        response
    }

    /// Returns the status and the message of the answer, or `None` if the client is gone.
    fn answer(&self, client: &mut dyn client::Client) -> Option<(u16, Value)> {
        let session = Session {
            api: &self.api,
            caller: &self.caller,
            request_id: &self.request_id,
            revision: self.revision,
        };
        match session.answer(&self.method, &self.params, client) {
            Ok(result) => result.map(|result| (200, response(&self.id, &result))),
            Err(error) => Some((error.status, error.response(Some(&self.id)))),
        }
    }
}

fn accepted() -> Reply {
    Reply::Now(Response::empty(202))
}

/// Returns whether the client reads streams. Clients of the protocol say so.
fn accepts_stream(request: &Request) -> bool {
    request.header_values("accept").any(|value| value.to_ascii_lowercase().contains("text/event-stream"))
}

/// Returns whether the origin of a request may call the service: no web page, one of the service itself, or one that the
/// operator allows. Otherwise a page whose name suddenly leads to this machine (DNS rebinding) could call it.
fn may_call(api: &Api, request: &Request) -> bool {
    let Some(origin) = request.header("origin") else { return true };
    let allowed = &api.config.cors_origins;
    if allowed.iter().any(|known| known == "*" || known == origin) {
        return true;
    }
    let (Ok(own), Ok(origin)) = (Url::parse(&api.config.base_url), Url::parse(origin)) else { return false };
    own.origin() == origin.origin() || (is_loopback(&own) && is_loopback(&origin))
}
