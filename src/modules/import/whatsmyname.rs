//! The entries of WhatsMyName's `wmn-data.json`.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::parts::{
    Made, Many, Reason, address, category_of, content_type, headers, json_body, literals, profile, read,
    tags, template,
};
use super::report::ListKind;

/// The text for the name.
const NAME: &str = "{account}";

#[derive(Default, Deserialize)]
#[serde(default)]
struct Site {
    name: String,
    uri_check: String,
    uri_pretty: Option<String>,
    post_body: String,
    headers: Map<String, Value>,
    strip_bad_char: String,
    e_code: Option<u16>,
    e_string: Many,
    m_code: Option<u16>,
    m_string: Many,
    known: Many,
    cat: String,
    #[serde(flatten)]
    unused: Map<String, Value>,
}

/// Makes a catalogue entry.
pub(super) fn entry(members: &Map<String, Value>, changes: &mut Vec<Reason>) -> Result<Made, Reason> {
    let site: Site = read(members)?;
    for (name, text) in [("uri_check", &site.uri_check), ("name", &site.name)] {
        if text.trim().is_empty() {
            return Err(format!("`{name}` is missing"));
        }
    }
    let url = address(&site.uri_check, NAME)?;
    let headers = headers(&site.headers, NAME, changes)?;
    let mut probe = json!({"url": url, "headers": headers, "follow": false});
    if !site.post_body.is_empty() {
        let (field, body) = body(&site.post_body, &content_type(&headers))?;
        probe["method"] = "POST".into();
        probe[field] = body;
    }
    let profile = profile(site.uri_pretty.as_deref().unwrap_or(&site.uri_check), NAME, changes);
    let (hit, miss) = rules(&site, changes)?;
    let strip = Some(site.strip_bad_char).filter(|chars| !chars.is_empty());
    let entry = json!({
        "category": category_of(&site.cat), "tags": tags(ListKind::WhatsMyName, &[]), "strip": strip,
        "probes": [probe], "hit": [hit], "miss": Vec::from_iter(miss), "profile": profile,
    });
    Ok(Made { entry, known: site.known.0, unused: site.unused })
}

/// Returns a body of JSON or of form fields, with its field of the probe.
fn body(text: &str, content_type: &str) -> Result<(&'static str, Value), Reason> {
    if text.trim_start().starts_with(['{', '[']) || content_type.contains("json") {
        let json: Value =
            serde_json::from_str(text).map_err(|error| format!("`post_body` is not valid JSON: {error}"))?;
        return Ok(("json", json_body(&json, NAME)?));
    }
    if !content_type.is_empty() && !content_type.contains("form-urlencoded") {
        return Err(format!("its body is `{content_type}`; JSON and form fields are supported"));
    }
    let fields = form_urlencoded::parse(text.as_bytes());
    let fields = fields.map(|(name, value)| (name.into_owned(), template(&value, NAME).into()));
    Ok(("form", Value::Object(fields.collect())))
}

/// Returns the rule for a hit, and the one for a miss if there is one.
fn rules(site: &Site, changes: &mut Vec<Reason>) -> Result<(Value, Option<Value>), Reason> {
    let there = site.e_code.ok_or("`e_code` is missing")?;
    let missing = site.m_code.ok_or("`m_code` is missing")?;
    let literals = |code: u16, texts: &Many| {
        let has_body = !matches!(code, 100..200 | 204 | 304);
        if has_body { literals(&texts.0) } else { Vec::new() }
    };
    let (there_text, missing_text) = (literals(there, &site.e_string), literals(missing, &site.m_string));
    let hit = json!({"status": [there], "words": there_text});
    let miss = json!({"status": [missing], "words": missing_text});
    match (there == missing, there_text.is_empty(), missing_text.is_empty()) {
        (true, true, true) => Err("nothing distinguishes an existing account from a missing one".into()),
        (true, true, false) => Ok((json!({"status": [there], "no_word": missing_text}), Some(miss))),
        // Otherwise every page without the mark would be a miss, even challenge pages and empty pages.
        (true, false, true) => {
            changes.push(
                "nothing marks a missing account: a page without `e_string` is unrecognized, not a miss"
                    .into(),
            );
            Ok((hit, None))
        }
        _ => Ok((hit, Some(miss))),
    }
}
