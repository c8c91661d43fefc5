//! A [`Refusal`] as a response, and the refusals of the server below the API.

use log::{Level, log};
use serde_json::{Value, json};

use crate::base::ids::RequestId;
use crate::http::{self, Response, RouteError};
use crate::service::refusal::{Code, Refusal, values};

impl Refusal {
    /// Returns the response. Logs an internal failure once, with the request id that the response contains.
    pub fn into_response(self, request_id: &RequestId) -> Response {
        let (status, code, message, facts) = (self.status(), self.code(), self.message(), self.facts());
        let id = request_id.as_str();
        if status >= 500 {
            let level = match code {
                Code::InternalError => Level::Error,
                // The store logs once for all requests that it is unavailable.
                Code::Unavailable => Level::Debug,
                _ => Level::Warn,
            };
            let cause = self.cause().unwrap_or(message);
            log!(level, request_id = id; "answers {status} {}: {cause}", code.as_str());
        }
        let mut detail = json!({"error": code.as_str(), "message": message, "request_id": id});
        if let Value::Object(members) = &mut detail {
            members.extend(facts.clone());
        }
        let body = json!({"error": code.as_str(), "message": message, "detail": detail});
        let mut response = Response::new(status, "application/json", body.to_string().into_bytes());
        if let Some(secs) = facts.get("retry_after") {
            response = response.with_header("Retry-After", secs.to_string());
        }
        match (code, facts.get("allowed").and_then(Value::as_array)) {
            (Code::InvalidApiKey, _) => response.with_header("WWW-Authenticate", "Bearer"),
            (Code::MethodNotAllowed, Some(methods)) => {
                let methods: Vec<&str> = methods.iter().filter_map(Value::as_str).collect();
                response.with_header("Allow", methods.join(", "))
            }
            _ => response,
        }
    }
}

impl From<RouteError> for Refusal {
    fn from(error: RouteError) -> Self {
        let RouteError::MethodNotAllowed(allow) = error else { return Self::no_such("address") };
        let message = format!("method not allowed: this address supports {allow}");
        let methods = values(&allow.split(", ").collect::<Vec<_>>());
        Self::new(Code::MethodNotAllowed, message).with("allowed", methods)
    }
}

impl From<http::Refusal> for Refusal {
    fn from(refusal: http::Refusal) -> Self {
        use http::Refusal as Why;
        let refused = |status: u16, field: &str, message: &str| {
            Self::new(Code::InvalidRequest, message).with("field", field).with_status(status)
        };
        match refusal {
            Why::Malformed(what) => Self::new(Code::InvalidRequest, what),
            Why::BodyTimeout => refused(408, "body", "the body did not arrive in time"),
            Why::LengthRequired => {
                let message =
                    "send a Content-Length: a body in chunks is only read behind a proxy that collects it";
                refused(411, "body", message)
            }
            Why::BodyTooLarge => Self::new(Code::PayloadTooLarge, "the body is larger than allowed")
                .with("field", "body")
                .with("allowed", "at most 65536 bytes, and 2097152 bytes for a batch"),
            Why::TargetTooLong => refused(414, "target", "the request target is too long"),
            Why::HeadTooLarge => refused(431, "headers", "the request headers are too large"),
            Why::Overloaded { retry_after } => Self::overloaded(retry_after.as_secs()),
            Why::ShuttingDown => Self::shutting_down(),
            Why::Internal => Self::internal("the handler panicked"),
        }
    }
}
