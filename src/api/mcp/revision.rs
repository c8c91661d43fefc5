//! The revisions of the protocol.
//!
//! Up to 2025-11-25, a client opens a session with `initialize`. Since 2026-07-28, each request states its revision in
//! `_meta` and, over HTTP, in headers. Both are served at the same address.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::message::{INVALID_PARAMS, Message, Params, RpcError, meta};
use crate::http::Request;

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

/// The two kinds of revisions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Revision {
    /// Up to 2025-11-25: sessions that `initialize` opens.
    WithSessions,
    /// Since 2026-07-28: every request stands alone.
    Stateless,
}

/// Returns all revisions that are served, the newest first.
pub(super) fn supported() -> Vec<&'static str> {
    [STATELESS].into_iter().chain(WITH_SESSIONS).collect()
}

/// Returns the revision of a session: the one that the client asks for, or the newest one.
pub(super) fn of_session(asked: Option<&str>) -> &'static str {
    WITH_SESSIONS.into_iter().find(|known| Some(*known) == asked).unwrap_or(WITH_SESSIONS[0])
}

/// Returns the revision of a message over a channel without headers.
///
/// # Errors
/// Returns the error to answer if the revision is not supported, or if `_meta` lacks a member.
pub(super) fn of_line(message: &Message) -> Result<Revision, RpcError> {
    match stated(&message.params) {
        None => Ok(Revision::WithSessions),
        Some(version) => check_meta(version, &message.params).map(|()| Revision::Stateless),
    }
}

/// Returns the revision of an HTTP request, whose headers repeat parts of its message since 2026-07-28.
///
/// # Errors
/// Returns the error to answer if the revision is not supported, if `_meta` lacks a member, or if the headers differ from
/// the message.
pub(super) fn of_request(request: &Request, message: &Message) -> Result<Revision, RpcError> {
    let header = request.header("mcp-protocol-version").map(str::trim);
    let Message { id: Some(_), method, params } = message else {
        // Up to 2025-11-25, a notification names the revision of its session. Since then it has no rules.
        return Ok(if header == Some(STATELESS) { Revision::Stateless } else { Revision::WithSessions });
    };
    let stated = stated(params);
    match (header, stated) {
        (None, None) => return Ok(Revision::WithSessions),
        (Some(version), None) if WITH_SESSIONS.contains(&version) || version == ASSUMED => {
            return Ok(Revision::WithSessions);
        }
        (Some(STATELESS), None) => return Err(missing(VERSION)),
        (Some(version), None) => return Err(unsupported(version)),
        (None, Some(_)) => return Err(mismatch("MCP-Protocol-Version is missing")),
        (Some(header), Some(stated)) if header != stated => {
            return Err(mismatch(format!("MCP-Protocol-Version is not the {VERSION} of the message")));
        }
        (Some(_), Some(stated)) => check_meta(stated, params)?,
    }
    same(request, "mcp-method", method)?;
    let name = match method.as_str() {
        "tools/call" | "prompts/get" => params.get("name"),
        "resources/read" => params.get("uri"),
        _ => None,
    };
    if let Some(name) = name.and_then(Value::as_str) {
        same(request, "mcp-name", name)?;
    }
    Ok(Revision::Stateless)
}

fn stated(params: &Params) -> Option<&str> {
    meta(params, VERSION).map(|version| version.as_str().unwrap_or_default())
}

fn check_meta(version: &str, params: &Params) -> Result<(), RpcError> {
    if version != STATELESS {
        return Err(unsupported(version));
    }
    if !meta(params, CLIENT_CAPABILITIES).is_some_and(Value::is_object) {
        return Err(missing(CLIENT_CAPABILITIES));
    }
    Ok(())
}

/// Checks that a header repeats a part of the message. A header may have the part in Base64.
fn same(request: &Request, header: &str, part: &str) -> Result<(), RpcError> {
    let mut values = request.header_values(header).map(str::trim);
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(mismatch(format!("the header {header} is missing or sent twice")));
    };
    match decoded(value) {
        Some(value) if value == part => Ok(()),
        _ => Err(mismatch(format!("the header {header} is not what the message says"))),
    }
}

fn decoded(value: &str) -> Option<Cow<'_, str>> {
    let Some(text) = value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) else {
        return Some(Cow::Borrowed(value));
    };
    String::from_utf8(STANDARD.decode(text).ok()?).ok().map(Cow::Owned)
}

fn mismatch(message: impl Into<String>) -> RpcError {
    RpcError::with_status(400, HEADER_MISMATCH, message)
}

fn missing(member: &str) -> RpcError {
    RpcError::with_status(400, INVALID_PARAMS, format!("`_meta` lacks `{member}`"))
}

fn unsupported(version: &str) -> RpcError {
    let shown: String = version.chars().take(64).collect();
    RpcError::with_status(400, UNSUPPORTED_VERSION, "unsupported protocol version")
        .data(json!({"supported": supported(), "requested": shown}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::mcp::message::parse;

    fn outcome(headers: &[(&str, &str)], message: &Value) -> String {
        let request = Request {
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            ..Request::default()
        };
        let message = parse(message.to_string().as_bytes()).unwrap();
        match of_request(&request, &message) {
            Ok(revision) => format!("{revision:?}"),
            Err(error) => format!("{} {}", error.status, error.code),
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
            (vec![], &plain, "WithSessions"),
            (vec![("mcp-protocol-version", "2025-11-25")], &plain, "WithSessions"),
            (vec![("mcp-protocol-version", "1999-01-01")], &plain, "400 -32022"),
            (vec![version], &plain, "400 -32602"),
            (vec![], &modern, "400 -32020"),
            (vec![("mcp-protocol-version", "2025-11-25")], &modern, "400 -32020"),
            (vec![version], &modern, "400 -32020"),
            (vec![version, ("mcp-method", "TOOLS/LIST")], &modern, "400 -32020"),
            (vec![version, ("mcp-method", " tools/list ")], &modern, "Stateless"),
            (vec![version, ("mcp-method", "tools/call")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "x")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", "=?base64?&?=")], &call, "400 -32020"),
            (vec![version, ("mcp-method", "tools/call"), ("mcp-name", &encoded)], &call, "Stateless"),
        ] {
            assert_eq!(outcome(&headers, message), want, "{headers:?} {message}");
        }
    }
}
