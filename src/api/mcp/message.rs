//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>), as MCP uses them, and the revisions of the protocol.
//!
//! Up to 2025-11-25, a client opens a session with `initialize`. Since 2026-07-28, each request states its revision in
//! `_meta` and, over HTTP, in headers. Both are served at the same address.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};

use crate::api::request;
use crate::http::Request;
use crate::model::refusal::Refusal;

/// The newest revision without sessions.
const STATELESS: &str = "2026-07-28";
/// The revisions with sessions, the newest first. They differ in nothing that this server does.
const WITH_SESSIONS: [&str; 2] = ["2025-11-25", "2025-06-18"];
/// A client that names no revision may have this one (2025-11-25, "Protocol Version Header").
const ASSUMED: &str = "2025-03-26";

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const CLIENT_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

const HEADER_MISMATCH: i32 = -32020;
const UNSUPPORTED_VERSION: i32 = -32022;

/// The longest id of a request, as JSON text.
const MAX_ID: usize = 256;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;

/// The members of `params`.
pub(super) type Params = Map<String, Value>;

/// The answer to a message, with the status of the HTTP response.
pub(super) type Answer = (u16, Value);

/// A message of a client.
#[derive(Debug)]
pub(super) struct Message {
    /// The id of a request: a string or an integer. A notification has none.
    pub(super) id: Option<Value>,
    /// The name of the method. It is empty for a response, which is ignored, since the server sends no requests.
    pub(super) method: String,
    /// The parameters, empty if there are none.
    pub(super) params: Params,
}

/// An error of the protocol. Errors of tools are results.
#[derive(Debug)]
pub(super) struct RpcError {
    /// The status of the HTTP response: 200 if the request was understood.
    status: u16,
    /// The code (JSON-RPC 2.0, section 5.1, and the error codes of MCP), the cause, and facts about it.
    error: Value,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { status: 200, error: json!({"code": code, "message": message.into()}) }
    }

    pub(super) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(super) fn data(mut self, data: Value) -> Self {
        self.error["data"] = data;
        self
    }

    /// Returns the answer with this error. There is no id if the request had no valid one.
    pub(super) fn answer(self, id: Option<&Value>) -> Answer {
        let mut response = json!({"jsonrpc": "2.0", "error": self.error});
        if let Some(id) = id {
            response["id"] = id.clone();
        }
        (self.status, response)
    }
}

impl From<Refusal> for RpcError {
    /// Turns a failure of the service into an error of the protocol, for methods that are no tools.
    fn from(error: Refusal) -> Self {
        Self::new(INTERNAL_ERROR, error.message.as_str())
    }
}

/// Parses a message.
///
/// # Errors
/// Returns the answer to anything else, with the id if it is a valid one.
pub(super) fn parse(text: &[u8]) -> Result<Message, Answer> {
    let refused = |code, mistake: &str| RpcError::new(code, mistake).with_status(400);
    let object = request::object(text).map_err(|error| {
        let is_json = serde_json::from_slice::<IgnoredAny>(text).is_ok();
        refused(if is_json { INVALID_REQUEST } else { PARSE_ERROR }, error.message.as_str()).answer(None)
    })?;
    let id = object.get("id");
    let is_id =
        |id: &Value| id.is_i64() || id.is_u64() || id.as_str().is_some_and(|text| text.len() <= MAX_ID);
    if !id.is_none_or(is_id) {
        return Err(refused(INVALID_REQUEST, "invalid id: expected a string or an integer").answer(None));
    }
    let params = match object.get("params") {
        None | Some(Value::Null) => Some(Params::new()),
        Some(params) => params.as_object().cloned(),
    };
    match (object["method"].as_str(), params) {
        (Some(method), Some(params)) if object["jsonrpc"] == "2.0" => {
            Ok(Message { id: id.cloned(), method: method.to_owned(), params })
        }
        _ if id.is_some() && (object.get("result").is_some() || object.get("error").is_some()) => {
            Ok(Message { id: None, method: String::new(), params: Params::new() })
        }
        _ => {
            let mistake =
                "invalid message: expected `jsonrpc` \"2.0\", a `method`, and an object as `params`";
            Err(refused(INVALID_REQUEST, mistake).answer(id))
        }
    }
}

/// Returns a member of `_meta`.
pub(super) fn meta<'a>(params: &'a Params, name: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(name)
}

/// Returns a parameter that is a string.
///
/// # Errors
/// Returns the error for a missing parameter or another type.
pub(super) fn text<'a>(params: &'a Params, name: &str) -> Result<&'a str, RpcError> {
    let text = params.get(name).and_then(Value::as_str);
    text.ok_or_else(|| RpcError::new(INVALID_PARAMS, format!("`{name}` is missing or not a string")))
}

/// Returns all revisions that are served, the newest first.
pub(super) fn supported() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_SESSIONS).collect()
}

/// Returns the revision of a session: the one that the client asks for, or the newest one.
pub(super) fn of_session(asked: Option<&str>) -> &'static str {
    WITH_SESSIONS.into_iter().find(|known| Some(*known) == asked).unwrap_or(WITH_SESSIONS[0])
}

/// Returns whether the revision of a message has no sessions. Such a revision repeats parts of a message in the headers of
/// its HTTP request.
///
/// # Errors
/// Returns the error to answer if the revision is not supported, if `_meta` lacks a member, or if the headers differ from
/// the message.
pub(super) fn is_stateless(message: &Message, http: Option<&Request>) -> Result<bool, RpcError> {
    let header = http.and_then(|request| request.header("mcp-protocol-version")).map(str::trim);
    let Message { id: Some(_), method, params } = message else {
        // Up to 2025-11-25, a notification names the revision of its session. Since then it has no rules.
        return Ok(header == Some(STATELESS));
    };
    let Some(stated) = meta(params, VERSION).map(|version| version.as_str().unwrap_or_default()) else {
        return match header {
            Some(STATELESS) => Err(missing(VERSION)),
            Some(known) if known != ASSUMED && !WITH_SESSIONS.contains(&known) => Err(unsupported(known)),
            _ => Ok(false),
        };
    };
    same(http, "mcp-protocol-version", stated)?;
    if stated != STATELESS {
        return Err(unsupported(stated));
    }
    if !meta(params, CLIENT_CAPABILITIES).is_some_and(Value::is_object) {
        return Err(missing(CLIENT_CAPABILITIES));
    }
    same(http, "mcp-method", method)?;
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    name.and_then(Value::as_str).map_or(Ok(()), |name| same(http, "mcp-name", name))?;
    Ok(true)
}

/// Checks that a header of an HTTP request repeats a part of the message. A header may have the part in Base64.
fn same(http: Option<&Request>, header: &str, part: &str) -> Result<(), RpcError> {
    let Some(request) = http else { return Ok(()) };
    let mut values = request.header_values(header).map(str::trim);
    let mistake = match (values.next(), values.next()) {
        (Some(value), None) if decoded(value).is_some_and(|value| value == part) => return Ok(()),
        (Some(_), None) => "is not what the message says",
        _ => "is missing or sent twice",
    };
    Err(RpcError::new(HEADER_MISMATCH, format!("the header {header} {mistake}")).with_status(400))
}

fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(text) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode(text).ok()?).ok().map(Cow::Owned)
}

fn missing(member: &str) -> RpcError {
    RpcError::new(INVALID_PARAMS, format!("`_meta` lacks `{member}`")).with_status(400)
}

fn unsupported(version: &str) -> RpcError {
    let shown: String = version.chars().take(64).collect();
    let error = RpcError::new(UNSUPPORTED_VERSION, "unsupported protocol version").with_status(400);
    error.data(json!({"supported": supported(), "requested": shown}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(headers: &[(&str, &str)], message: &Value) -> String {
        let request = Request {
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Request::default()
        };
        let message = parse(message.to_string().as_bytes()).unwrap();
        match is_stateless(&message, Some(&request)) {
            Ok(is_stateless) => is_stateless.to_string(),
            Err(error) => format!("{} {}", error.status, error.error["code"]),
        }
    }

    #[test]
    fn the_revision_and_the_headers_of_a_request_are_checked() {
        let meta = json!({VERSION: STATELESS, CLIENT_CAPABILITIES: {}});
        let plain = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
        let modern = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sé", "_meta": meta}});
        let version = ("mcp-protocol-version", STATELESS);
        let encoded = format!("=?base64?{}?=", STANDARD.encode("sé"));
        for (headers, message, want) in [
            (vec![], &plain, "false"),
            (vec![("mcp-protocol-version", "2025-11-25")], &plain, "false"),
            (vec![("mcp-protocol-version", "1999-01-01")], &plain, "400 -32022"),
            (vec![version], &plain, "400 -32602"),
            (vec![], &modern, "400 -32020"),
            (vec![("mcp-protocol-version", "2025-11-25")], &modern, "400 -32020"),
            (vec![version], &modern, "400 -32020"),
            (vec![version, ("mcp-method", "TOOLS/LIST")], &modern, "400 -32020"),
            (vec![version, ("mcp-method", " tools/list ")], &modern, "true"),
            (vec![version, ("mcp-method", "tools/call")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "x")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?&?=")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", &encoded)], &call, "true"),
        ] {
            assert_eq!(outcome(&headers, message), want, "{headers:?} {message}");
        }
    }
}
