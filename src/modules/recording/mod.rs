//! Recordings: the real answers to one check, and what the check must make of them. `tests/recorded/` has such files.
//!
//! | file | holds |
//! |---|---|
//! | here | the form of the files |
//! | `scrub` | removes what must not be published |

mod scrub;

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::definition::{Entry, Method, ResultType};
use super::keys::OperatorKeys;
use super::mistake::Mistake;
use super::module::Module;
use super::outcome::{Outcome, Report};
use super::probe::{Request, Response};
use super::reason::Reason;

/// The value of every key while a recording is replayed. It also stands in place of the real ones in a recording.
pub const KEY: &str = "KEY";

/// The headers that barriers, redirects and pages are recognised by.
const HEADERS: [&str; 5] = ["content-type", "link", "location", "retry-after", "www-authenticate"];

/// The answers to one check, and the result that the check must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// The id of the module.
    pub module: String,
    /// The query of the check.
    pub query: String,
    /// The day on which the answers were recorded, such as `2026-08-22`, or the month or the year.
    pub date: String,
    /// The origin of the answers.
    pub source: String,
    /// The licence of the source, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub licence: Option<String>,
    /// The kinds of data that were removed from the answers or replaced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scrubbed: Vec<String>,
    /// The requests and their answers, in order.
    pub exchanges: Vec<Exchange>,
    /// The result that the check must have.
    pub expected: Expected,
}

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exchange {
    /// The method of the request.
    #[serde(default, skip_serializing_if = "is_get")]
    pub method: Method,
    /// The address that the module asks.
    pub url: String,
    /// The address that was asked when the answer was recorded, if it was another one with the same answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_url: Option<String>,
    /// The body of the request. Without it, the answer is for any body.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_body: Option<String>,
    /// The status of the answer.
    pub status: u16,
    /// The address after redirects, if they led to another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub final_url: Option<String>,
    /// The headers of the answer that a rule can read. Their names are in lower case.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body of the answer, which is in base64 if it is not UTF-8.
    pub body: String,
    /// Whether the body is in base64.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_base64: bool,
}

/// The result that a check must have.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The outcome of the check.
    pub outcome: Outcome,
    /// The reason of the outcome, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The entities that the check finds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<ExpectedFinding>,
}

/// An entity that a check must find.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExpectedFinding {
    /// The type of the entity.
    #[serde(rename = "type")]
    pub result_type: ResultType,
    /// The primary value of the entity.
    pub value: Option<String>,
    /// The data about the entity.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Recording {
    /// Parses a file.
    ///
    /// # Errors
    /// Returns an error if the text does not have the form of a recording.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Returns the text of the recording's file.
    ///
    /// # Errors
    /// Returns an error if a value cannot be written as JSON.
    pub fn to_text(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self).map(|text| text + "\n")
    }

    /// Returns the name of the recording's file, without its ending: the module and the expected outcome.
    pub fn name(&self) -> String {
        format!("{}.{}", self.module, self.expected.outcome)
    }

    /// Returns the index of the exchange with that request, if it was recorded.
    pub fn find(&self, request: &Request) -> Option<usize> {
        let body = request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body));
        self.exchanges.iter().position(|exchange| {
            exchange.method == request.method
                && exchange.url == request.url.as_str()
                && exchange.request_body.as_deref().is_none_or(|wanted| body.as_deref() == Some(wanted))
        })
    }
}

impl Exchange {
    /// Returns the exchange of a request and its response. `module` tells which headers a rule can read.
    pub fn of(request: &Request, response: &Response, module: &Module) -> Self {
        let url = request.url.to_string();
        let final_url = Some(response.final_url.to_string()).filter(|it| *it != url);
        let body = request.body.as_ref().map(|(_, body)| String::from_utf8_lossy(body).into_owned());
        let headers = response.headers.iter().rev();
        let (answer, is_base64) = match std::str::from_utf8(&response.body) {
            Ok(text) => (text.to_owned(), false),
            Err(_) => (STANDARD.encode(&response.body), true),
        };
        Self {
            method: request.method,
            url,
            recorded_url: None,
            request_body: body,
            status: response.status,
            final_url,
            // The first of several headers with one name is kept, because rules read the first.
            headers: headers.filter(|(name, _)| keeps_header(name, module)).cloned().collect(),
            body: answer,
            is_base64,
        }
    }

    /// Returns the bytes of the answer's body.
    ///
    /// # Errors
    /// Returns an error if a body in base64 is not valid.
    pub fn body_bytes(&self) -> Result<Vec<u8>, base64::DecodeError> {
        match self.is_base64 {
            true => STANDARD.decode(&self.body),
            false => Ok(self.body.clone().into_bytes()),
        }
    }
}

impl Expected {
    /// Returns what is compared of a check's report.
    pub fn of(report: &Report) -> Self {
        let findings = report.findings.iter().map(|finding| ExpectedFinding {
            result_type: finding.result_type,
            value: finding.value.clone(),
            metadata: finding.metadata.clone(),
        });
        Self { outcome: report.outcome, reason: report.reason, findings: findings.collect() }
    }
}

/// Returns a copy of the module that is enabled and makes no control check, because a recording has no answers to one.
///
/// # Errors
/// Returns the mistakes in the entry.
pub fn without_control(module: &Module) -> Result<Module, Vec<Mistake>> {
    Module::compile(Entry { control: Some(false), known: Vec::new(), ..module.entry().to_enabled() })
}

/// Returns the keys with which a recording of the module is replayed.
pub fn replay_keys(module: &Module) -> OperatorKeys {
    let needs = module.entry().needs.iter();
    OperatorKeys::new(needs.map(|need| (need.trim_start_matches("config.").to_owned(), KEY.to_owned())))
}

/// Returns whether a recording keeps this header. Cookies are left out, even if a rule reads them.
fn keeps_header(name: &str, module: &Module) -> bool {
    let is_named =
        || serde_json::to_string(module.entry()).is_ok_and(|entry| entry.to_lowercase().contains(name));
    name != "set-cookie" && (HEADERS.contains(&name) || is_named())
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_get(method: &Method) -> bool {
    *method == Method::Get
}
