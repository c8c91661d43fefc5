//! Request bodies and parameters: read strictly, and say what was wrong, where, and what is allowed.

use std::collections::HashMap;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::error::ApiError;
use crate::http::Request;
use crate::modules::catalog::{Choice, MAX_NAMES};
use crate::modules::query::{Query, SearchType};

/// Levels of nesting that a body may have: the contract's bodies are flat.
const MAX_DEPTH: usize = 16;
/// The least and the most runs that a page of the list may be asked to have, and how many it has by default
/// (section 4.4).
pub const LIST_LIMITS: (u32, u32, u32) = (1, 100, 20);
/// The most characters of an `Idempotency-Key`.
pub const MAX_IDEMPOTENCY_KEY: usize = 255;

/// The body of `POST /v1/searches`, valid.
#[derive(Debug)]
pub struct SearchBody {
    /// What is searched.
    pub query: Query,
    /// Answer inline if the run ends in time.
    pub wait: bool,
    /// Ask for browser modules too.
    pub premium: bool,
    /// Answer as a stream; takes precedence over `wait`.
    pub stream: bool,
    /// Which modules are asked; its names are not looked up yet.
    pub choice: Choice,
}

impl SearchBody {
    /// Reads the body.
    ///
    /// # Errors
    /// 415 for another content type, 400 for everything else.
    pub fn from_request(request: &Request) -> Result<Self, ApiError> {
        require_json(request)?;
        let members = object(&request.body)?;
        let search_type = search_type(&members)?;
        let query = Query::parse(search_type, text(&members, "query")?)
            .map_err(|error| ApiError::invalid_request("query", error.message, error.allowed))?;
        Ok(Self {
            query,
            wait: flag(&members, "wait")?,
            premium: flag(&members, "premium")?,
            stream: flag(&members, "stream")?,
            choice: Choice {
                modules: names(&members, "modules", 1)?,
                exclude_modules: names(&members, "exclude_modules", 0)?,
                categories: names(&members, "categories", 1)?,
                nsfw: flag(&members, "nsfw")?,
                passive: flag(&members, "passive")?,
            },
        })
    }

    /// Whether browser modules take part: for usernames alone, ignored otherwise.
    pub fn is_premium(&self) -> bool {
        self.premium && self.query.search_type() == SearchType::Username
    }

    /// SHA-256 of the body's meaning: the same for the same fields in another order or spacing.
    pub fn fingerprint(&self) -> [u8; 32] {
        let mut hash = Sha256::new();
        let choice = &self.choice;
        // A body without a choice has the fingerprint that it had before there were choices: keys that
        // were noted then still hold.
        if *choice != Choice::default() {
            for mut list in [&choice.modules, &choice.exclude_modules, &choice.categories].map(Clone::clone) {
                list.sort_unstable();
                list.dedup();
                hash.update(json!(list).to_string());
            }
            hash.update([choice.nsfw, choice.passive].map(u8::from));
        }
        hash.chain_update([self.wait, self.premium, self.stream].map(u8::from))
            .chain_update(self.query.search_type().as_str())
            // No type's name holds a NUL: the query, which comes last, cannot pass for a part of it.
            .chain_update([0])
            .chain_update(self.query.raw())
            .finalize()
            .into()
    }
}

/// Whether a body that could not be read asked for a stream, as far as one can tell: what it counts as.
pub fn asks_for_stream(request: &Request) -> bool {
    object(&request.body).is_ok_and(|members| members.get("stream") == Some(&Value::Bool(true)))
}

fn require_json(request: &Request) -> Result<(), ApiError> {
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

fn object(body: &[u8]) -> Result<HashMap<String, Value>, ApiError> {
    if body.is_empty() {
        return Err(ApiError::invalid_request("body", "the body is empty", "a JSON object"));
    }
    if depth(body) > MAX_DEPTH {
        let message = "the body is nested too deeply";
        return Err(ApiError::invalid_request("body", message, format!("at most {MAX_DEPTH} levels")));
    }
    match serde_json::from_slice::<Members>(body) {
        Ok(Members(members)) => Ok(members),
        Err(error) => {
            // serde_json's words name a place and a kind; they never repeat what the caller sent.
            let message = match error.classify() {
                serde_json::error::Category::Data if error.to_string().starts_with("duplicate member") => {
                    error.to_string()
                }
                serde_json::error::Category::Data => "the body is not a JSON object".to_owned(),
                _ => format!("the body is not valid JSON (line {}, column {})", error.line(), error.column()),
            };
            Err(ApiError::invalid_request("body", message, "a JSON object, each member once"))
        }
    }
}

/// The deepest nesting of brackets outside of strings.
fn depth(body: &[u8]) -> usize {
    let (mut deepest, mut level, mut in_string, mut escaped) = (0usize, 0usize, false, false);
    for byte in body {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'[' | b'{' if !in_string => {
                level += 1;
                deepest = deepest.max(level);
            }
            b']' | b'}' if !in_string => level = level.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Members of an object of which none comes twice: two readers could else see two different requests.
struct Members(HashMap<String, Value>);

impl<'de> serde::Deserialize<'de> for Members {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Members;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a JSON object")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Members, A::Error> {
                let mut members = HashMap::new();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    if members.insert(name, value).is_some() {
                        return Err(serde::de::Error::custom("duplicate member in the body"));
                    }
                }
                Ok(Members(members))
            }
        }
        from.deserialize_map(Visitor)
    }
}

fn text<'a>(members: &'a HashMap<String, Value>, field: &str) -> Result<&'a str, ApiError> {
    match members.get(field) {
        Some(Value::String(text)) => Ok(text),
        Some(_) => Err(ApiError::invalid_request(field, format!("{field} is not a string"), "a string")),
        None => Err(ApiError::invalid_request(field, format!("{field} is missing"), "a string")),
    }
}

fn search_type(members: &HashMap<String, Value>) -> Result<SearchType, ApiError> {
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

fn flag(members: &HashMap<String, Value>, field: &str) -> Result<bool, ApiError> {
    match members.get(field) {
        None => Ok(false),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => {
            Err(ApiError::invalid_request(field, format!("{field} is not a boolean"), "true or false"))
        }
    }
}

/// A list of names: none where the member is missing.
fn names(members: &HashMap<String, Value>, field: &str, at_least: usize) -> Result<Vec<String>, ApiError> {
    let Some(value) = members.get(field) else { return Ok(Vec::new()) };
    let wrong = |message: &str| {
        let allowed = format!("an array of {at_least} to {MAX_NAMES} strings");
        ApiError::invalid_request(field, format!("{field} {message}"), allowed)
    };
    let Value::Array(items) = value else { return Err(wrong("is not an array")) };
    if !(at_least..=MAX_NAMES).contains(&items.len()) {
        return Err(wrong(&format!("has {} members", items.len())));
    }
    let name = |item: &Value| item.as_str().map(str::to_owned);
    items.iter().map(name).collect::<Option<_>>().ok_or_else(|| wrong("has a member that is not a string"))
}

/// A parameter of the query string that may be given once.
///
/// # Errors
/// 400 where it is given twice.
pub fn parameter(request: &Request, name: &str) -> Result<Option<String>, ApiError> {
    let mut values = request.query_pairs().into_iter().filter(|(key, _)| key == name).map(|(_, value)| value);
    let first = values.next();
    if values.next().is_some() {
        return Err(ApiError::invalid_request(name, format!("{name} is given twice"), "one value"));
    }
    Ok(first)
}

/// A whole number between two bounds; the third where the parameter is missing.
///
/// # Errors
/// 400 for anything else.
pub fn number_parameter(
    request: &Request,
    name: &str,
    (from, to, default): (u32, u32, u32),
) -> Result<u32, ApiError> {
    let Some(text) = parameter(request, name)? else { return Ok(default) };
    // `+7` parses as a number, but nobody means it.
    let number = text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
    number.filter(|number| (from..=to).contains(number)).ok_or_else(|| {
        let allowed = format!("a whole number from {from} to {to}");
        ApiError::invalid_request(name, format!("{name} is not {allowed}"), allowed)
    })
}

/// One of some names.
///
/// # Errors
/// 400 for another.
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

/// `Idempotency-Key`: 1 to 255 printable ASCII characters.
///
/// # Errors
/// 400 for another form, or where it is given twice.
pub fn idempotency_key(request: &Request) -> Result<Option<String>, ApiError> {
    let mut keys = request.header_values("idempotency-key");
    let Some(key) = keys.next() else { return Ok(None) };
    let fits = (1..=MAX_IDEMPOTENCY_KEY).contains(&key.len())
        && key.bytes().all(|byte| (0x20..0x7f).contains(&byte));
    if fits && keys.next().is_none() {
        return Ok(Some(key.to_owned()));
    }
    let allowed = "one header of 1 to 255 printable ASCII characters";
    Err(ApiError::invalid_request("Idempotency-Key", "the Idempotency-Key has a wrong form", allowed))
}

/// `Prefer: wait=N` with N from 1 to 30 (RFC 7240); anything else is ignored, as the standard says.
pub fn preferred_wait_secs(request: &Request) -> Option<u64> {
    request
        .header_values("prefer")
        .flat_map(|value| value.split(','))
        .filter_map(|preference| preference.split(';').next()?.split_once('='))
        .filter(|(name, _)| name.trim().eq_ignore_ascii_case("wait"))
        .find_map(|(_, secs)| secs.trim().trim_matches('"').parse().ok())
        .filter(|secs| (1..=30).contains(secs))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&str, &str)], body: &[u8]) -> Request {
        Request {
            method: "POST".into(),
            path: "/v1/searches".into(),
            query: String::new(),
            headers: headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect(),
            body: body.to_vec(),
            client: None,
        }
    }

    #[test]
    fn brackets_in_strings_are_no_nesting() {
        assert_eq!(depth(br#"{"a":"[[[[\"[[","b":[1,[2]]}"#), 3);
        assert_eq!(depth(b"]]]["), 1);
    }

    #[test]
    fn the_fingerprint_is_of_the_meaning() {
        let print = |body: &str| {
            SearchBody::from_request(&request(&[("content-type", "application/json")], body.as_bytes()))
                .unwrap()
                .fingerprint()
        };
        let plain = print(r#"{"type":"username","query":"alice"}"#);
        assert_eq!(plain, print(r#" { "query" : "alice", "wait": false, "type" : "username" } "#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alicf"}"#));
        assert_ne!(plain, print(r#"{"type":"username","query":"alice","premium":true}"#));
        let chosen = print(r#"{"type":"username","query":"alice","modules":["a","b"]}"#);
        assert_eq!(chosen, print(r#"{"type":"username","query":"alice","modules":["b","a","b"]}"#));
        assert_ne!(chosen, print(r#"{"type":"username","query":"alice","exclude_modules":["a","b"]}"#));
        assert_ne!(chosen, print(r#"{"type":"username","query":"alice","modules":["a"]}"#));
        assert_ne!(chosen, plain);
    }

    #[test]
    fn a_preference_outside_its_bounds_is_ignored() {
        for (value, want) in [
            ("wait=5", Some(5)),
            ("respond-async, wait=30", Some(30)),
            ("Wait = 7; x=y", Some(7)),
            ("wait=0", None),
            ("wait=31", None),
            ("wait", None),
            ("wait=abc", None),
            ("return=minimal", None),
        ] {
            assert_eq!(preferred_wait_secs(&request(&[("prefer", value)], b"")), want, "{value}");
        }
    }
}
