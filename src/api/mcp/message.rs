//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>), as MCP uses them.

use serde_json::{Map, Value, json};

use crate::api::error::ApiError;
use crate::api::members::{self, Members};

/// The longest id of a request, as JSON text.
const MAX_ID: usize = 256;

pub(super) const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;
pub(super) const METHOD_NOT_FOUND: i32 = -32601;
pub(super) const INVALID_PARAMS: i32 = -32602;
pub(super) const INTERNAL_ERROR: i32 = -32603;

/// The members of `params`.
pub(super) type Params = Map<String, Value>;

/// A message of a client.
#[derive(Debug)]
pub(super) enum Message {
    /// A request, which is answered.
    Request {
        /// The id: a string or an integer.
        id: Value,
        /// The name of the method.
        method: String,
        /// The parameters, empty if there are none.
        params: Params,
    },
    /// A notification, which is not answered.
    Notification {
        /// The name of the method.
        method: String,
        /// The parameters, empty if there are none.
        params: Params,
    },
    /// A response. The server sends no requests, so it is ignored.
    Response,
}

impl Message {
    /// Returns the id of a request.
    pub(super) fn id(&self) -> Option<&Value> {
        if let Self::Request { id, .. } = self { Some(id) } else { None }
    }
}

/// An error of the protocol. Errors of tools are results.
#[derive(Debug)]
pub(super) struct RpcError {
    /// The code (JSON-RPC 2.0, section 5.1, and the error codes of MCP).
    pub code: i32,
    /// The cause, and what is allowed.
    pub message: String,
    /// Facts about the error.
    pub data: Option<Value>,
    /// The status of the HTTP response.
    pub status: u16,
}

impl RpcError {
    /// Creates an error that is answered with status 200, as the answer to a request that was understood.
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None, status: 200 }
    }

    /// Creates an error that is answered with this status.
    pub(super) fn with_status(status: u16, code: i32, message: impl Into<String>) -> Self {
        Self { status, ..Self::new(code, message) }
    }

    pub(super) fn data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }

    /// Returns the response with this error. There is no id if the request had no valid one.
    pub(super) fn response(&self, id: Option<&Value>) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        let mut response = json!({"jsonrpc": "2.0"});
        if let Some(id) = id {
            response["id"] = id.clone();
        }
        response["error"] = error;
        response
    }
}

impl From<ApiError> for RpcError {
    /// Turns a failure of the service into an error of the protocol, for methods that are no tools.
    fn from(error: ApiError) -> Self {
        Self::new(INTERNAL_ERROR, error.message())
    }
}

/// Returns the response with a result.
pub(super) fn response(id: &Value, result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "result": result})
}

/// The answer to a text that is no message.
#[derive(Debug)]
pub(super) struct Refused {
    /// The status of the HTTP response.
    pub(super) status: u16,
    /// The response, with the id of the request if it has a valid one.
    pub(super) response: Value,
}

impl Refused {
    fn new(id: Option<&Value>, code: i32, message: &str) -> Self {
        let error = RpcError::with_status(400, code, message);
        Self { status: error.status, response: error.response(id) }
    }
}

/// Parses a message.
///
/// # Errors
/// Returns the answer to anything else.
pub(super) fn parse(text: &[u8]) -> Result<Message, Refused> {
    let Members(mut members) = members::object(text).map_err(|error| {
        let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
        let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
        let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
        Refused::new(None, code, error.message())
    })?;
    let id = members.remove("id");
    let invalid = |message: &str, id: Option<Value>| Refused::new(id.as_ref(), INVALID_REQUEST, message);
    if let Some(id) = &id
        && !is_valid_id(id)
    {
        return Err(invalid("invalid id: a string or an integer is allowed", None));
    }
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Err(invalid("invalid jsonrpc: \"2.0\" is allowed", id));
    }
    let params = match members.remove("params") {
        None | Some(Value::Null) => Params::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return Err(invalid("invalid params: an object is allowed", id)),
    };
    match (members.remove("method"), id) {
        (Some(Value::String(method)), Some(id)) => Ok(Message::Request { id, method, params }),
        (Some(Value::String(method)), None) => Ok(Message::Notification { method, params }),
        (None, Some(_)) if members.contains_key("result") || members.contains_key("error") => {
            Ok(Message::Response)
        }
        (_, id) => Err(invalid("invalid method: a string is allowed", id)),
    }
}

fn is_valid_id(id: &Value) -> bool {
    match id {
        Value::String(text) => text.len() <= MAX_ID,
        Value::Number(number) => number.is_i64() || number.is_u64(),
        _ => false,
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
