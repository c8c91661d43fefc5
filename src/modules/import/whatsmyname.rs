//! The entries of WhatsMyName's `wmn-data.json`.

use serde::Deserialize;
use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::draft::{Draft, Many, Reason, literals, read};
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
pub(super) fn draft(members: &Map<String, Value>) -> Result<Draft, Reason> {
    let site: Site = read(members)?;
    if site.uri_check.trim().is_empty() {
        return Err("`uri_check` is missing".into());
    }
    if site.name.trim().is_empty() {
        return Err("`name` is missing".into());
    }
    let kind = ListKind::WhatsMyName;
    let mut draft = Draft::new(kind, &site.name, &site.uri_check, NAME, &site.unused)?;
    draft.headers(&site.headers)?;
    if !site.post_body.is_empty() {
        post(&mut draft, &site.post_body)?;
    }
    draft.profile(site.uri_pretty.as_deref().unwrap_or(&site.uri_check));
    rules(&mut draft, &site)?;
    draft.category_of(&site.cat);
    if !site.strip_bad_char.is_empty() {
        draft.entry["strip"] = site.strip_bad_char.into();
    }
    draft.known(site.known);
    Ok(draft)
}

/// Sets a body of JSON or of form fields. Its content type is sent even if the list does not name it.
fn post(draft: &mut Draft, body: &str) -> Result<(), Reason> {
    let content_type = draft.content_type().unwrap_or_default();
    let is_json = body.trim_start().starts_with(['{', '[']);
    draft.method("POST");
    if is_json || content_type.contains("json") {
        let json: Value =
            serde_json::from_str(body).map_err(|error| format!("`post_body` is not valid JSON: {error}"))?;
        return draft.body(&json, false);
    }
    if !content_type.is_empty() && !content_type.contains("form-urlencoded") {
        return Err(format!("its body is `{content_type}`; JSON and form fields are supported"));
    }
    let fields = form_urlencoded::parse(body.as_bytes());
    let fields: Map<String, Value> =
        fields.map(|(name, value)| (name.into_owned(), value.into_owned().into())).collect();
    draft.body(&fields.into(), true)
}

fn rules(draft: &mut Draft, site: &Site) -> Result<(), Reason> {
    let there = site.e_code.ok_or("`e_code` is missing")?;
    let missing = site.m_code.ok_or("`m_code` is missing")?;
    let has_body = |code: u16| !matches!(code, 100..200 | 204 | 304);
    let there_text = if has_body(there) { site.e_string.0.as_slice() } else { &[] };
    let missing_text = if has_body(missing) { site.m_string.0.as_slice() } else { &[] };
    let mut hit = json!({"status": [there], "words": literals(there_text)});
    let miss = json!({"status": [missing], "words": literals(missing_text)});
    match (there == missing, there_text.is_empty(), missing_text.is_empty()) {
        (true, true, true) => {
            return Err("nothing distinguishes an existing account from a missing one".into());
        }
        (true, true, false) => {
            hit = json!({"status": [there], "no_word": literals(missing_text)});
            draft.add("miss", miss);
        }
        // Otherwise every page without the mark would be a miss, even challenge pages and empty pages.
        (true, false, true) => draft.changes.push(
            "nothing marks a missing account: a page without `e_string` is unrecognized, not a miss".into(),
        ),
        _ => draft.add("miss", miss),
    }
    draft.add("hit", hit);
    draft.probe()["follow"] = json!(false);
    Ok(())
}
