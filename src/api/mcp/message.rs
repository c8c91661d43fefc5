//! JSON-RPC 2.0 messages (<https://www.jsonrpc.org/specification>), as MCP uses them.

use serde_json::{Map, Value, json};

use crate::api::request;
use crate::service::refusal::Refusal;

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
    /// The code (JSON-RPC 2.0, section 5.1, and the error codes of MCP).
    pub(super) code: i32,
    /// The cause, and what is allowed.
    message: String,
    /// Facts about the error.
    data: Option<Value>,
    /// The status of the HTTP response.
    pub(super) status: u16,
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

    /// Returns the answer with this error. There is no id if the request had no valid one.
    pub(super) fn answer(self, id: Option<&Value>) -> Answer {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = self.data {
            error["data"] = data;
        }
        let mut response = json!({"jsonrpc": "2.0"});
        if let Some(id) = id {
            response["id"] = id.clone();
        }
        response["error"] = error;
        (self.status, response)
    }
}

impl From<Refusal> for RpcError {
    /// Turns a failure of the service into an error of the protocol, for methods that are no tools.
    fn from(error: Refusal) -> Self {
        Self::new(INTERNAL_ERROR, error.message())
    }
}

/// Parses a message.
///
/// # Errors
/// Returns the answer to anything else, with the id if it is a valid one.
pub(super) fn parse(text: &[u8]) -> Result<Message, Answer> {
    let refused = |code, message: &str, id| RpcError::with_status(400, code, message).answer(id);
    let mut members = match request::object(text) {
        Ok(Value::Object(members)) => members,
        Ok(_) => Map::new(),
        Err(error) => {
            let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
            let is_json = serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok();
            let code = if is_json { INVALID_REQUEST } else { PARSE_ERROR };
            return Err(refused(code, error.message(), None));
        }
    };
    let id = members.remove("id");
    let is_valid = match &id {
        Some(Value::String(text)) => text.len() <= MAX_ID,
        Some(Value::Number(number)) => !number.is_f64(),
        Some(_) => false,
        None => true,
    };
    if !is_valid {
        return Err(refused(INVALID_REQUEST, "invalid id: a string or an integer is allowed", None));
    }
    let invalid = |message| Err(refused(INVALID_REQUEST, message, id.as_ref()));
    if members.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid("invalid jsonrpc: \"2.0\" is allowed");
    }
    let params = match members.remove("params") {
        None | Some(Value::Null) => Params::new(),
        Some(Value::Object(params)) => params,
        Some(_) => return invalid("invalid params: an object is allowed"),
    };
    match members.remove("method") {
        Some(Value::String(method)) => Ok(Message { id, method, params }),
        None if id.is_some() && (members.contains_key("result") || members.contains_key("error")) => {
            Ok(Message { id: None, method: String::new(), params })
        }
        _ => invalid("invalid method: a string is allowed"),
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
