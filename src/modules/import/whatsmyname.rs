//! WhatsMyName's `wmn-data.json`: an object with a list `sites`.
//!
//! An account exists if the status is `e_code` and the body contains `e_string`. It is missing if the status
//! is `m_code` and the body contains `m_string`. Redirects are not followed. `{account}` stands for the
//! name. With `post_body`, the request is a POST.

use super::draft::{Draft, codes, on_status, words};
use super::fields::{Fields, Reason};
use super::slots::{address, template};
use super::{ListKind, categories};
use crate::modules::definition::{MatcherEntry, Method};

const NAME: &str = "{account}";

/// The members that an entry can have.
pub(super) const MEMBERS: [&str; 14] = [
    "name",
    "uri_check",
    "uri_pretty",
    "post_body",
    "headers",
    "strip_bad_char",
    "e_code",
    "e_string",
    "m_string",
    "m_code",
    "known",
    "cat",
    "valid",
    "protection",
];

/// Returns whether the list's authors have left the entry enabled.
pub(super) fn is_enabled(fields: Fields<'_>) -> bool {
    fields.get("valid") != Some(&serde_json::Value::Bool(false))
}

/// Makes a catalogue entry.
pub(super) fn draft(fields: Fields<'_>) -> Result<Draft, Reason> {
    let check = fields.need("uri_check")?;
    let probe = address(check, NAME)?;
    let body = fields.text("post_body")?.filter(|body| !body.is_empty());
    if !probe.names && !body.is_some_and(|body| body.contains(NAME)) {
        return Err(format!("neither `uri_check` nor `post_body` contains `{NAME}`"));
    }
    let mut draft = Draft::new(ListKind::WhatsMyName, fields.need("name")?, &probe)?;
    draft.headers(fields.map("headers")?, NAME)?;
    if let Some(body) = body {
        post(&mut draft, body);
    }
    draft.profile(fields.text("uri_pretty")?.unwrap_or(check), NAME);
    rules(&mut draft, fields)?;
    let category = categories::whatsmyname(fields.text("cat")?.unwrap_or("misc"));
    draft.entry.nsfw = category == categories::ADULT;
    draft.entry.category = category;
    draft.entry.strip = fields.text("strip_bad_char")?.filter(|text| !text.is_empty()).map(str::to_owned);
    draft.protection(fields)?;
    draft.known(&fields.texts("known")?);
    Ok(draft)
}

fn post(draft: &mut Draft, body: &str) {
    if draft.header("content-type").is_none() {
        // A browser would send such a body with this type.
        let is_json = body.trim_start().starts_with(['{', '[']);
        let content_type = if is_json { "application/json" } else { "application/x-www-form-urlencoded" };
        draft.changes.push(format!("it names no Content-Type for its body: {content_type} is sent"));
        draft.probe().headers.insert("Content-Type".to_owned(), content_type.to_owned());
    }
    draft.probe().method = Method::Post;
    draft.probe().text = Some(template(body, NAME));
}

fn rules(draft: &mut Draft, fields: Fields<'_>) -> Result<(), Reason> {
    let code = |name: &str| match fields.statuses(name)?[..] {
        [code] => Ok(code),
        [] => Err(format!("`{name}` is missing")),
        _ => Err(format!("`{name}` contains several codes; expected one")),
    };
    let (there, missing) = (code("e_code")?, code("m_code")?);
    let (there_text, missing_text) =
        (text_with(draft, there, fields, "e_string")?, text_with(draft, missing, fields, "m_string")?);
    let mut hit = MatcherEntry { words: words(&there_text), ..on_status(codes(&[there])) };
    let miss = MatcherEntry { words: words(&missing_text), ..on_status(codes(&[missing])) };
    if there != missing {
        draft.entry.miss.push(miss);
    } else {
        match (there_text.is_empty(), missing_text.is_empty()) {
            (true, true) => return Err("nothing distinguishes an existing account from a missing one".into()),
            (true, false) => {
                hit.no_word = words(&missing_text);
                draft.entry.miss.push(miss);
            }
            (false, false) => draft.entry.miss.push(miss),
            // Otherwise every page without the mark would be a miss, even challenge pages and empty pages.
            (false, true) => draft.changes.push(
                "nothing marks a missing account: a page without `e_string` is unrecognized, not a miss"
                    .into(),
            ),
        }
    }
    draft.entry.hit.push(hit);
    Ok(())
}

/// Returns the texts that belong to a status code.
fn text_with<'v>(
    draft: &mut Draft,
    code: u16,
    fields: Fields<'v>,
    name: &str,
) -> Result<Vec<&'v str>, Reason> {
    let texts = fields.texts(name)?;
    if matches!(code, 100..200 | 204 | 304) && !texts.is_empty() {
        draft.changes.push(format!("`{name}` is ignored: an answer with {code} has no body"));
        return Ok(Vec::new());
    }
    Ok(texts)
}
