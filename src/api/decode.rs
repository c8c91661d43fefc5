//! Strict parsing of request bodies and parameters. Errors name the field, the mistake and what is allowed.

use std::sync::Arc;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use utoipa::IntoParams;

use super::error::ApiError;
use super::follow_body;
use super::members::{Members, object, whole};
use crate::http::Request;
use crate::model::follow::FollowOrder;
use crate::model::run::{RunOptions, TimeBudget};
use crate::model::search::Search;
use crate::modules::catalog::Choice;
use crate::modules::query::{Query, SearchType};

/// The longest `Idempotency-Key` in characters.
const MAX_IDEMPOTENCY_KEY: usize = 255;

/// The validated body of `POST /v1/searches`.
#[derive(Debug)]
pub struct SearchBody {
    /// The query.
    pub query: Query,
    /// Whether to answer with the results if the run ends in time.
    pub wait: bool,
    /// Whether to ask browser modules too.
    pub premium: bool,
    /// Whether to answer with a stream. Takes precedence over `wait`.
    pub stream: bool,
    /// How long its checks may take, and whether profile pictures are fetched.
    pub options: RunOptions,
    /// The modules to ask. Their ids are not looked up yet.
    pub choice: Choice,
    /// How leads are followed, if they are.
    pub follow: Option<Arc<FollowOrder>>,
    /// Why the caller searches, for the audit.
    pub purpose: Option<String>,
}

impl SearchBody {
    /// Parses the body.
    ///
    /// # Errors
    /// Returns 415 for another content type, 400 for any other mistake.
    pub fn from_request(request: &Request) -> Result<Self, ApiError> {
        require_json(request)?;
        Self::from_members(&object(&request.body)?)
    }

    /// Parses the members of a body that describes a search.
    ///
    /// # Errors
    /// Returns 400 for a mistake.
    pub(super) fn from_members(members: &Members) -> Result<Self, ApiError> {
        let search_type = search_type(members)?;
        let query = Query::parse(search_type, members.text("query")?)
            .map_err(|error| ApiError::invalid_request("query", error.message, error.allowed))?;
        let choice = Choice {
            modules: members.names("modules", 1)?,
            exclude_modules: members.names("exclude_modules", 0)?,
            categories: members.names("categories", 1)?,
            nsfw: members.flag("nsfw")?,
            passive: members.flag("passive")?,
        };
        let follow = follow_body::follow(members)?;
        let follow = follow.map(|order| Arc::new(FollowOrder { choice: choice.clone(), ..order }));
        Ok(Self {
            query,
            wait: members.flag("wait")?,
            premium: members.flag("premium")?,
            stream: members.flag("stream")?,
            options: RunOptions {
                patient: members.flag("patient")?,
                time_budget: members.optional("time_budget", time_budget)?,
                avatars: members.flag("avatars")?,
                ..RunOptions::default()
            },
            choice,
            follow,
            purpose: members.optional("purpose", follow_body::purpose)?,
        })
    }

    /// Returns whether browser modules take part. Only usernames have them; the flag is ignored for other
    /// types.
    pub fn is_premium(&self) -> bool {
        self.premium && self.query.search_type() == SearchType::Username
    }

    /// Returns what is searched for.
    pub fn search(&self) -> Search {
        let Self { options, choice, follow, purpose, .. } = self;
        Search {
            premium: self.is_premium(),
            options: *options,
            choice: choice.clone(),
            follow: follow.clone(),
            purpose: purpose.clone(),
            ..Search::plain(&self.query)
        }
    }

    /// Returns the SHA-256 of the body's meaning. Order and spacing of the fields do not matter.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let choice = &self.choice;
        // A body with default values keeps the fingerprint from before these members existed, so that stored keys
        // stay valid. The options are an object and the choice begins with an array, so they cannot be confused.
        hash.update(self.options.fingerprint());
        if *choice != Choice::default() {
            for mut list in [&choice.modules, &choice.exclude_modules, &choice.categories].map(Clone::clone) {
                list.sort_unstable();
                list.dedup();
                hash.update(json!(list).to_string());
            }
            hash.update([choice.nsfw, choice.passive].map(u8::from));
        }
        if let Some(order) = &self.follow {
            // The choice is a part of its own.
            let FollowOrder { depth, max_searches, links, .. } = &**order;
            hash.update(json!({"depth": depth, "max_searches": max_searches, "links": links}).to_string());
        }
        if let Some(purpose) = &self.purpose {
            hash.update(json!({"purpose": purpose}).to_string());
        }
        hash.chain_update([self.wait, self.premium, self.stream].map(u8::from))
            .chain_update(self.query.search_type().as_str())
            // No name of a type contains a NUL byte, so the query, which comes last, cannot be confused with
            // the choice.
            .chain_update([0])
            .chain_update(self.query.raw())
            .finalize()
            .into()
    }
}

/// Returns whether a body that failed to parse asked for a stream, as far as it can be read. Decides what the
/// request counts as.
pub fn asks_for_stream(request: &Request) -> bool {
    object(&request.body).is_ok_and(|members| members.get("stream") == Some(&Value::Bool(true)))
}

pub(super) fn require_json(request: &Request) -> Result<(), ApiError> {
    let content_type = request.header("content-type").unwrap_or_default();
    let mut parts = content_type.split(';').map(str::trim);
    let is_json = parts.next().is_some_and(|media| media.eq_ignore_ascii_case("application/json"));
    let is_utf8 = parts.all(|parameter| match parameter.split_once('=') {
        Some((name, value)) if name.trim().eq_ignore_ascii_case("charset") => {
            value.trim().trim_matches('"').eq_ignore_ascii_case("utf-8")
        }
        _ => true,
    });
    if is_json && is_utf8 { Ok(()) } else { Err(ApiError::unsupported_media_type()) }
}

pub(super) fn search_type(members: &Members) -> Result<SearchType, ApiError> {
    let message = match members.get("type") {
        Some(Value::String(name)) => match SearchType::from_name(name) {
            Some(known) => return Ok(known),
            None => "the type is unknown",
        },
        Some(_) => "type is not a string",
        None => "type is missing",
    };
    let names = SearchType::ALL.map(SearchType::as_str);
    Err(ApiError::invalid_request("type", message, &names[..]))
}

fn time_budget(members: &Members, field: &str) -> Result<TimeBudget, ApiError> {
    let secs = members.get(field).and_then(|value| whole(value, 0..=u16::MAX));
    secs.and_then(|secs| TimeBudget::from_secs(secs.into())).ok_or_else(|| {
        let allowed = format!("a whole number of seconds from 1 to {}", TimeBudget::MAX_SECS);
        ApiError::invalid_request(field, format!("{field} is not {allowed}"), allowed)
    })
}

/// Returns a query parameter that may be given once.
///
/// # Errors
/// Returns 400 if it is given twice.
pub fn parameter(request: &Request, name: &str) -> Result<Option<String>, ApiError> {
    let mut values = request.query_pairs().into_iter().filter(|(key, _)| key == name).map(|(_, value)| value);
    let first = values.next();
    if values.next().is_some() {
        return Err(ApiError::invalid_request(name, format!("{name} is given twice"), "one value"));
    }
    Ok(first)
}

/// Returns a query parameter that is a whole number from `from` to `to`, or `default` if it is missing.
///
/// # Errors
/// Returns 400 for any other value.
pub fn number_parameter(
    request: &Request,
    name: &str,
    (from, to, default): (u32, u32, u32),
) -> Result<u32, ApiError> {
    let Some(text) = parameter(request, name)? else { return Ok(default) };
    // `+7` parses as a number, but is most likely a mistake.
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    number.filter(|number| (from..=to).contains(number)).ok_or_else(|| {
        let allowed = format!("a whole number from {from} to {to}");
        ApiError::invalid_request(name, format!("{name} is not {allowed}"), allowed)
    })
}

/// Returns a query parameter that is one of some names.
///
/// # Errors
/// Returns 400 for any other value.
pub fn choice_parameter<T>(
    request: &Request,
    name: &str,
    choose: impl Fn(&str) -> Option<T>,
    allowed: &[&str],
) -> Result<Option<T>, ApiError> {
    let Some(text) = parameter(request, name)? else { return Ok(None) };
    match choose(&text) {
        Some(chosen) => Ok(Some(chosen)),
        None => Err(ApiError::invalid_request(name, format!("{name} is unknown"), allowed)),
    }
}

/// Returns a query parameter that is `true` or `false`.
///
/// # Errors
/// Returns 400 for any other value.
pub fn flag_parameter(request: &Request, name: &str) -> Result<Option<bool>, ApiError> {
    choice_parameter(request, name, |text| text.parse().ok(), &["true", "false"])
}

/// Returns the `Idempotency-Key`: 1 to 255 printable ASCII characters.
///
/// # Errors
/// Returns 400 for any other value, or if it is given twice.
pub fn idempotency_key(request: &Request) -> Result<Option<String>, ApiError> {
    let mut keys = request.header_values("idempotency-key");
    let Some(key) = keys.next() else { return Ok(None) };
    let fits = (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len())
        && key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits && keys.next().is_none() {
        return Ok(Some(key.to_owned()));
    }
    let allowed = "one header of 1 to 255 printable ASCII characters";
    Err(ApiError::invalid_request("Idempotency-Key", "invalid Idempotency-Key", allowed))
}

/// Returns the whole seconds of `Prefer: wait=N` (RFC 7240, section 4.3), of any size. Any other value is
/// ignored, as the RFC says.
pub fn preferred_wait_secs(request: &Request) -> Option<u64> {
    request
        .header_values("prefer")
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .find_map(|(_, secs)| whole_secs(secs.trim().trim_matches('"')))
}

fn whole_secs(text: &str) -> Option<u64> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Only a number that is too large fails to parse.
    is_number.then(|| text.parse().unwrap_or(u64::MAX))
}

/// `If-None-Match`, for operations whose answers have an `ETag`.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IfNoneMatch {
    /// Entity tags of answers that the caller has (`ETag`), or `*`. If one of them is current, the answer is
    /// 304 without a body. Compared weakly (RFC 9110).
    #[param(rename = "If-None-Match", nullable = false, example = "\"5d41402abc4b2a76b9719d911017c592\"")]
    pub if_none_match: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &[u8]) -> Request {
        Request {
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.to_vec(),
            ..Request::default()
        }
    }

    #[test]
    fn the_fingerprint_ignores_order_and_spacing() {
        let print = |body: &str| {
            SearchBody::from_request(&request(&[("content-type", "application/json")], body.as_bytes()))
                .unwrap()
                .fingerprint()
        };
        let plain = print(r#"{"type":"username","query":"alice"}"#);
        assert_eq!(plain, print(r#" { "query" : "alice", "wait": false, "type" : "username" } "#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alicf"}"#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alice","premium":true}"#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alice","patient":true}"#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alice","avatars":true}"#));
        let budget = print(r#"{"type":"username","query":"alice","time_budget":6}"#);
        assert_ne!(plain, budget);
        assert_ne!(budget, print(r#"{"type":"username","query":"alice","time_budget":7}"#));
        let chosen = print(r#"{"type":"username","query":"alice","modules":["a","b"]}"#);
        assert_eq!(chosen, print(r#"{"type":"username","query":"alice","modules":["b","a","b"]}"#));
        assert_ne!(chosen, print(r#"{"type":"username","query":"alice","exclude_modules":["a","b"]}"#));
        assert_ne!(chosen, print(r#"{"type":"username","query":"alice","modules":["a"]}"#));
        assert_ne!(chosen, plain);
    }

    #[test]
    fn a_preference_that_is_not_a_whole_number_is_ignored() {
        for (value, want) in [
            ("wait=5", Some(5)),
            ("respond-async, wait=30", Some(30)),
            ("Wait = 7; x=y", Some(7)),
            ("wait=0", Some(0)),
            ("wait=31", Some(31)),
            ("wait=99999999999999999999999", Some(u64::MAX)),
            ("wait", None),
            ("wait=", None),
            ("wait=+7", None),
            ("wait=-7", None),
            ("wait=1.5", None),
            ("wait=abc", None),
            ("return=minimal", None),
        ] {
            assert_eq!(preferred_wait_secs(&request(&[("prefer", value)], b"")), want, "{value}");
        }
    }
}
