//! The entries of Sherlock's and of Maigret's `data.json`, which have most members in common.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::parts::{
    ADULT, MISS_STATUSES, Made, Many, Reason, accepts, address, category, content_type, headers, home,
    json_body, literals, profile, read, tags, template,
};
use super::python::python_format;
use super::report::{ListKind, shown};
use crate::modules::text::constant;

/// The text for the name in Sherlock's list.
const SHERLOCK_NAME: &str = "{}";
/// The text for the name while the templates of Maigret are converted. It is a private-use character, which
/// no address contains.
const NAME: &str = "\u{e000}";
/// What an entry may judge by.
const CHECK_TYPES: [&str; 3] = ["status_code", "message", BY_REDIRECT];
const BY_REDIRECT: &str = "response_url";

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Site {
    #[serde(rename = "type")]
    kind: String,
    protocol: String,
    activation: Map<String, Value>,
    similar_search: bool,
    url: String,
    url_main: String,
    url_probe: String,
    url_subpath: String,
    get_params: Map<String, Value>,
    headers: Map<String, Value>,
    #[serde(alias = "request_method")]
    request_method: String,
    #[serde(alias = "request_payload")]
    request_payload: Map<String, Value>,
    #[serde(alias = "errorType")]
    check_type: Many,
    /// Maigret's list spells it in both ways.
    presence_strs: Many,
    presense_strs: Many,
    #[serde(alias = "errorMsg")]
    absence_strs: Many,
    /// Further statuses of missing accounts.
    error_code: Many<u16>,
    errors: Map<String, Value>,
    /// Whether a page with status 403 may be that of an account or of a missing one.
    ignore403: bool,
    regex_check: String,
    #[serde(rename = "isNSFW")]
    is_nsfw: bool,
    tags: Many,
    engine: Many,
    alexa_rank: Value,
    #[serde(alias = "username_claimed")]
    username_claimed: Many,
    #[serde(flatten)]
    unused: Map<String, Value>,
}

/// Makes a catalogue entry of a site, merged with its engines.
pub(super) fn entry(
    kind: ListKind,
    members: &Map<String, Value>,
    engines: &Value,
    changes: &mut Vec<Reason>,
) -> Result<Made, Reason> {
    let site: Site = read(&merged(members, engines)?)?;
    check_convertible(&site)?;
    let is_maigret = kind == ListKind::Maigret;
    let placeholder = if is_maigret { NAME } else { SHERLOCK_NAME };
    let fields = [("username", NAME), ("urlMain", &site.url_main), ("urlSubpath", &site.url_subpath)];
    let fill = |text: &str| if is_maigret { python_format(text, &fields) } else { Ok(text.to_owned()) };
    let page = fill(site.url.trim())?;
    let page = if is_maigret { SLASHES.replace_all(&page, "$1/").into_owned() } else { page };
    let asked = if site.url_probe.trim().is_empty() { page.clone() } else { fill(&site.url_probe)? };
    let mut asked = asked.split('#').next().unwrap_or_default().to_owned();
    for (name, value) in &site.get_params {
        let mark = if asked.contains('?') { '&' } else { '?' };
        asked.push_str(&format!("{mark}{name}={}", text_of(value)));
    }
    let url = address(&asked, placeholder)?;
    let headers = headers(&site.headers, placeholder, changes)?;
    let method = site.request_method.to_ascii_uppercase();
    let is_followed = !site.check_type.0.iter().any(|name| name == BY_REDIRECT);
    let mut probe = json!({"url": url, "headers": headers, "follow": is_followed});
    if !method.is_empty() {
        probe["method"] = method.as_str().into();
    }
    // Maigret sends a body with POST only.
    if !site.request_payload.is_empty() && (!is_maigret || method == "POST") {
        let (field, body) = body(&site.request_payload, is_maigret, &content_type(&headers))?;
        probe[field] = body;
    }
    let [barrier, hit, miss] = rules(&site)?;
    let adult = site.is_nsfw.then(|| ADULT.to_owned());
    let words = [site.tags.0, site.engine.0].concat();
    let entry = json!({
        "probes": [probe], "barrier": barrier, "hit": hit, "miss": miss,
        "profile": profile(&page, placeholder, changes), "home": home(&site.url_main),
        "accepts": accepts(&site.regex_check, changes), "tags": tags(kind, &words),
        "category": category(&[words, Vec::from_iter(adult)].concat()),
        "rank": site.alexa_rank.as_u64().filter(|rank| (1..=u32::MAX.into()).contains(rank)),
    });
    Ok(Made { entry, known: site.username_claimed.0, unused: site.unused })
}

/// Returns the text of a value, or else its JSON.
fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the site merged with its engines. The lists of an engine are appended to those of the site, and
/// the other members of an engine replace those of the site.
fn merged(site: &Map<String, Value>, engines: &Value) -> Result<Map<String, Value>, Reason> {
    let mut whole = site.clone();
    let engine = site.get("engine").map(Many::<String>::deserialize);
    for name in engine.and_then(Result::ok).unwrap_or_default().0 {
        let part = engines[&name]["site"].as_object();
        let part = part.ok_or_else(|| {
            format!("its engine `{}` is not among the list's `engines`, or has no `site`", shown(&name))
        })?;
        for (member, value) in part {
            match (whole.entry(member.clone()).or_insert(Value::Null), value) {
                (Value::Array(own), Value::Array(more)) => own.extend(more.iter().cloned()),
                (Value::Object(own), Value::Object(more)) => {
                    own.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
                }
                (own, other) => *own = other.clone(),
            }
        }
    }
    Ok(whole)
}

/// Refuses entries that cannot be reproduced with one request.
fn check_convertible(site: &Site) -> Result<(), Reason> {
    Err(match (site.kind.as_str(), site.protocol.as_str()) {
        _ if site.url.trim().is_empty() => "`url` is missing".to_owned(),
        (kind, _) if !["", "username"].contains(&kind) => {
            format!("it accepts a `{}`, not a username", shown(kind))
        }
        (_, "dns") => "it looks up a domain of that name, and a domain is not an account".to_owned(),
        (_, other) if !["", "http", "https"].contains(&other) => {
            format!("it is reached over `{}`, and only public websites are supported", shown(other))
        }
        _ if !site.activation.is_empty() => {
            "it needs a token that Maigret's own code fetches first (`activation`)".to_owned()
        }
        _ if site.similar_search => "it finds accounts with similar names (`similarSearch`)".to_owned(),
        _ => return Ok(()),
    })
}

/// A run of slashes, for which Maigret writes one, or two directly after a colon.
static SLASHES: LazyLock<Regex> = LazyLock::new(|| constant("(:/)?/+"));

/// Returns a body, with its field of the probe. Maigret fills in only texts at the top level.
fn body(
    payload: &Map<String, Value>,
    is_maigret: bool,
    content_type: &str,
) -> Result<(&'static str, Value), Reason> {
    if !is_maigret {
        return Ok(("json", json_body(&payload.clone().into(), SHERLOCK_NAME)?));
    }
    let mut filled = payload.clone();
    for value in filled.values_mut() {
        if let Value::String(text) = value {
            *text = python_format(text, &[("username", NAME)])?;
        }
    }
    if content_type != "application/x-www-form-urlencoded" {
        return Ok(("json", json_body(&filled.into(), NAME)?));
    }
    let fields = filled.iter().map(|(name, value)| (name.clone(), template(&text_of(value), NAME).into()));
    Ok(("form", Value::Object(fields.collect())))
}

/// Returns the barriers, and the rules for a hit and a miss.
fn rules(site: &Site) -> Result<[Vec<Value>; 3], Reason> {
    let types = &site.check_type.0;
    if let Some(other) = types.iter().find(|name| !CHECK_TYPES.contains(&name.as_str())) {
        return Err(format!("unknown type `{}`; {} are supported", shown(other), CHECK_TYPES.join(", ")));
    }
    let [by_status, by_message, by_redirect] = CHECK_TYPES.map(|name| types.iter().any(|it| it == name));
    let barriers: Vec<String> = site.errors.keys().filter(|text| !text.is_empty()).cloned().collect();
    let (mut presence, mut absence) =
        ([site.presence_strs.0.as_slice(), &site.presense_strs.0].concat(), site.absence_strs.0.clone());
    let has_presence = !presence.is_empty();
    // A barrier takes precedence over a presence text that contains it.
    presence.retain(|text| !barriers.iter().any(|barrier| text.contains(barrier)));
    if presence.is_empty() && has_presence {
        return Err("each of its presence texts is among its own `errors`".into());
    }
    if !(by_message || by_redirect) {
        presence.clear();
    }
    if !by_message {
        absence.clear();
    }
    if types.is_empty() {
        return Err("the type of its check is missing".into());
    }
    if by_message && presence.is_empty() && absence.is_empty() {
        return Err("its type is `message`, but it has neither presence nor absence texts".into());
    }
    if presence.iter().any(|text| absence.contains(text)) {
        return Err("one text marks both an existing account and a missing one".into());
    }
    let mut gone: BTreeSet<u16> = BTreeSet::new();
    if by_status || by_redirect {
        gone.extend(MISS_STATUSES);
    }
    if by_status {
        gone.extend(&site.error_code.0);
    }
    let mut answered: Vec<Value> = match gone.iter().any(|code| (200..300).contains(code)) {
        true => (200..=206).filter(|code| !gone.contains(code)).map(Value::from).collect(),
        false => vec!["2xx".into()],
    };
    let [presence, absence, barriers] = [&presence, &absence, &barriers].map(|texts| literals(texts));
    let forbidden = (by_message && site.ignore403).then(|| Value::from(403));
    answered.extend(forbidden.clone());
    let hit = json!({"status": answered, "any_word": presence, "no_word": absence});
    let mut misses = Vec::new();
    if !absence.is_empty() {
        // The text counts only with a success status or a status of a missing page, since a block may quote it.
        let said = std::iter::once("2xx".into()).chain(MISS_STATUSES.map(Value::from)).chain(forbidden);
        misses.push(json!({"status": said.collect::<Vec<_>>(), "any_word": absence}));
    }
    if by_message && !presence.is_empty() {
        // The page of an account may have any status, so the page of a missing account must not contain a presence text.
        misses.push(json!({"status": [404, 410], "no_word": presence}));
    }
    let redirect = by_redirect.then(|| Value::from("3xx"));
    let status: Vec<Value> = redirect.into_iter().chain(gone.into_iter().map(Value::from)).collect();
    if !status.is_empty() {
        misses.push(json!({ "status": status }));
    }
    let barriers = (!barriers.is_empty()).then(|| json!({ "any_word": barriers }));
    Ok([Vec::from_iter(barriers), vec![hit], misses])
}
