//! The entries of WhatsMyName's `wmn-data.json`.

use serde_json::{Map, Value, json};
use url::form_urlencoded;

use super::draft::{Draft, Reason, Statuses, Texts, address, rule, site, template, with_texts};
use super::report::ListKind;

/// The text that stands for the name.
const NAME: &str = "{account}";

site! {
    struct Site {
        name: Option<String> = "name",
        uri_check: Option<String> = "uri_check",
        uri_pretty: Option<String> = "uri_pretty",
        post_body: Option<String> = "post_body",
        headers: Map<String, Value> = "headers",
        strip_bad_char: Option<String> = "strip_bad_char",
        e_code: Statuses = "e_code",
        e_string: Texts = "e_string",
        m_code: Statuses = "m_code",
        m_string: Texts = "m_string",
        known: Texts = "known",
        cat: Option<String> = "cat",
        protection: Texts = "protection",
    }
    ignored: "valid";
}

/// Makes a catalogue entry.
pub(super) fn draft(site: &Map<String, Value>) -> Result<Draft, Reason> {
    let site = Site::read(site)?;
    let check = site.uri_check.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let check = check.ok_or("`uri_check` is missing")?;
    let probe = address(check, NAME)?;
    let body = site.post_body.as_deref().filter(|body| !body.is_empty());
    if !probe.names && !body.is_some_and(|body| body.contains(NAME)) {
        return Err(format!("neither `uri_check` nor `post_body` contains `{NAME}`"));
    }
    let name = site.name.as_deref().map(str::trim).filter(|text| !text.is_empty());
    let mut draft = Draft::new(ListKind::WhatsMyName, name.ok_or("`name` is missing")?, &probe);
    draft.headers(&site.headers, NAME)?;
    if let Some(body) = body {
        post(&mut draft, body)?;
    }
    draft.profile(site.uri_pretty.as_deref().unwrap_or(check), NAME);
    rules(&mut draft, &site)?;
    draft.category_of(site.cat.as_deref().unwrap_or("misc"));
    if let Some(strip) = site.strip_bad_char.filter(|text| !text.is_empty()) {
        draft.entry["strip"] = strip.into();
    }
    draft.protection(&site.protection);
    draft.known(&site.known);
    Ok(draft)
}

/// Sets a body of JSON or of form fields. Its content type is sent even if the list does not name it.
fn post(draft: &mut Draft, body: &str) -> Result<(), Reason> {
    let content_type = draft.header("content-type").unwrap_or_default().to_ascii_lowercase();
    let is_json = body.trim_start().starts_with(['{', '[']);
    draft.probe["method"] = "POST".into();
    if is_json || content_type.contains("json") {
        // The name is put back after reading, because its braces are not JSON outside of a text.
        let json: Value =
            serde_json::from_str(body).map_err(|error| format!("`post_body` is no JSON: {error}"))?;
        draft.probe["json"] = with_texts(&json, &|text| template(text, NAME));
        return Ok(());
    }
    if !content_type.is_empty() && !content_type.contains("form-urlencoded") {
        return Err(format!("its body is `{content_type}`; JSON and form fields are supported"));
    }
    let fields = form_urlencoded::parse(body.as_bytes());
    let fields: Map<String, Value> =
        fields.map(|(name, value)| (name.into_owned(), template(&value, NAME).into())).collect();
    if fields.keys().any(|name| name.contains(NAME)) {
        return Err("the name of a form field contains the account".to_owned());
    }
    draft.probe["form"] = fields.into();
    Ok(())
}

fn rules(draft: &mut Draft, site: &Site) -> Result<(), Reason> {
    let code = |name: &str, codes: &Statuses| match codes.0[..] {
        [code] => Ok(code),
        [] => Err(format!("`{name}` is missing")),
        _ => Err(format!("`{name}` contains several codes; expected one")),
    };
    let (there, missing) = (code("e_code", &site.e_code)?, code("m_code", &site.m_code)?);
    let mut text_with = |code: u16, name: &str, texts: &Texts| {
        if matches!(code, 100..200 | 204 | 304) && !texts.0.is_empty() {
            draft.changes.push(format!("`{name}` is ignored: an answer with {code} has no body"));
            return Vec::new();
        }
        texts.0.clone()
    };
    let there_text = text_with(there, "e_string", &site.e_string);
    let missing_text = text_with(missing, "m_string", &site.m_string);
    let mut hit = rule(vec![there], &[("words", &there_text)]);
    let miss = rule(vec![missing], &[("words", &missing_text)]);
    match (there == missing, there_text.is_empty(), missing_text.is_empty()) {
        (true, true, true) => {
            return Err("nothing distinguishes an existing account from a missing one".into());
        }
        (true, true, false) => {
            hit = rule(vec![there], &[("no_word", &missing_text)]);
            draft.add("miss", miss);
        }
        // Otherwise every page without the mark would be a miss, even challenge pages and empty pages.
        (true, false, true) => draft.changes.push(
            "nothing marks a missing account: a page without `e_string` is unrecognized, not a miss".into(),
        ),
        _ => draft.add("miss", miss),
    }
    draft.add("hit", hit);
    draft.probe["follow"] = json!(false);
    Ok(())
}
