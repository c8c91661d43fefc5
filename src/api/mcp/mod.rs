//! The Model Context Protocol (<https://modelcontextprotocol.io>): the API as tools of language models.
//!
//! `POST /mcp` is the transport over HTTP, and [`serve`] the one over standard input and output. A call of a tool is
//! turned into the same use cases as a request to `/v1`, so credits, plans, suppression and the audit hold for both.
//!
//! | file | holds |
//! |---|---|
//! | this one | `POST /mcp` |
//! | `lines` | messages in lines |
//! | `message` | JSON-RPC messages and errors, the revisions of the protocol |
//! | `exchange`, `methods` | a request while it is answered; the methods, runs as resources |
//! | `tools` | the tools: their arguments, and the functions that answer |
//! | `answers` | the answers of tools: coverage, and marks on text of third parties |
//!
//! To add a tool: add it to `tools` with the types of its arguments and its answer, a row in `src/manual/mcp.md`, and a
//! call in `tests/mcp`.

mod answers;
mod exchange;
mod lines;
mod message;
mod methods;
mod tools;

use std::sync::Arc;
use std::time::Instant;

use serde_json::Value;
use url::Url;

pub use lines::serve;

use super::context::{Api, Call, json_response};
use super::request::require_json;
use crate::base::address::is_loopback;
use crate::http::{Reply, Request, Response};
use crate::model::refusal::Refusal;
use exchange::Exchange;
use message::{Answer, INVALID_REQUEST, RpcError};

/// Returns whether a message calls a tool that starts a search. Decides what the request counts as.
pub(super) fn starts_search(request: &Request) -> bool {
    message::parse(&request.body).is_ok_and(|message| {
        message.id.is_some()
            && message.method == "tools/call"
            && tools::Tool::of_call(&message.params).is_some_and(|tool| tool.starts_search)
    })
}

/// `POST /mcp`: answers one message.
///
/// # Errors
/// Returns 415 for another content type. Other errors of the protocol are answered as JSON-RPC.
pub fn message(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let caller = call.caller()?;
    if !may_call(api, call.request) {
        let error = RpcError::new(INVALID_REQUEST, "this origin may not call the service").with_status(403);
        return Ok(document(&error.answer(None)));
    }
    require_json(call.request)?;
    match Exchange::begin((api, caller, call.request_id), Some(call.request), &call.request.body) {
        Ok(Some(exchange)) => Ok(reply(exchange, accepts_stream(call.request))),
        Ok(None) => Ok(Reply::Now(Response::empty(202))),
        Err(refused) => Ok(document(&refused)),
    }
}

fn reply(exchange: Exchange, streams: bool) -> Reply {
    // The thread for a wait is reserved before a search starts. If there is none, the 503 comes before anything is
    // charged.
    match (exchange.waits(), streams) {
        (true, true) => Reply::Stream(
            Response::event_stream(),
            Box::new(move |out| {
                let keep_alive = exchange.api.config.keep_alive;
                let (mut written_at, mut reads) = (Instant::now(), true);
                // A client cancels by closing the stream, which only a write shows.
                let mut client = |message: Option<&Value>| {
                    let text = match message {
                        Some(message) => format!("event: message\ndata: {message}\n\n"),
                        None if written_at.elapsed() >= keep_alive => ":\n\n".to_owned(),
                        None => return reads,
                    };
                    reads = reads && out.write_all(text.as_bytes()).and_then(|()| out.flush()).is_ok();
                    written_at = Instant::now();
                    reads
                };
                exchange.answer(&mut client).is_none_or(|(_, answer)| client(Some(&answer)))
            }),
        ),
        (true, false) => Reply::Later(Box::new(move || waited(&exchange))),
        (false, _) => waited(&exchange),
    }
}

/// Returns the answer as one JSON document.
fn waited(exchange: &Exchange) -> Reply {
    exchange
        .answer(&mut |_| true)
        .map_or_else(|| Reply::Now(Response::empty(204)), |answer| document(&answer))
}

fn document((status, answer): &Answer) -> Reply {
    Reply::Now(json_response(*status, answer))
}

/// Returns whether the client reads streams, as its `Accept` header says.
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
    let (Ok(own), Ok(origin)) = (Url::parse(&api.base_url), Url::parse(origin)) else { return false };
    own.origin() == origin.origin() || (is_loopback(&own) && is_loopback(&origin))
}
