//! Sherlock: `data.json`, an object of entries by name.
//!
//! `errorType` says how a missing account shows: `status_code` (no 2xx, or a code of `errorCode`),
//! `message` (a text of `errorMsg` in the body), `response_url` (no 2xx, redirects being answers), or several of
//! these, any of which is enough. An account is there where none of them shows. Redirects are followed but for
//! `response_url`. `{}` is the name.
//!
//! What the tool takes for an account or a missing one whatever the answer is, has to show here: a hit needs a
//! 2xx; a status that may be a block or a defect (403, 429, 5xx) is no miss. For `status_code` the
//! tool sends HEAD; here GET, so that a barrier's page can be told.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::{Draft, GONE, codes, on_status, success, words};
use super::fields::{Fields, Reason};
use super::slots::{address, template};
use super::{ListKind, categories};
use crate::modules::definition::{MatcherEntry, StatusRule};

const NAME: &str = "{}";

/// The members that an entry may have.
pub(super) const MEMBERS: [&str; 19] = [
    "url",
    "urlMain",
    "urlProbe",
    "errorType",
    "errorMsg",
    "errorCode",
    "errorUrl",
    "response_url",
    "regexCheck",
    "isNSFW",
    "tags",
    "headers",
    "request_method",
    "request_payload",
    "username_claimed",
    "username_unclaimed",
    "noPeriod",
    "__comment__",
    "rank",
];

/// Makes an entry.
pub(super) fn draft(name: &str, fields: Fields<'_>) -> Result<Draft, Reason> {
    let page = fields.need("url")?;
    let probe_text = fields.text("urlProbe")?.filter(|text| !text.trim().is_empty()).unwrap_or(page);
    let probe = address(probe_text, NAME)?;
    let payload = fields.map("request_payload")?;
    if !probe.names && !payload.is_some_and(|payload| payload.values().any(holds_name)) {
        return Err(format!("neither its address nor its `request_payload` holds `{NAME}`"));
    }
    let mut draft = Draft::new(ListKind::Sherlock, name, &probe)?;
    draft.headers(fields.map("headers")?, NAME)?;
    draft.method(fields.text("request_method")?)?;
    if let Some(payload) = payload {
        if !draft.has_body() {
            return Err("it sends a body with GET or HEAD; bodies go with POST and PUT".into());
        }
        draft.probe().json = Some(filled(&Value::Object(payload.clone())));
    }
    rules(&mut draft, fields)?;
    draft.profile(page, NAME);
    draft.home(fields.text("urlMain")?);
    draft.accepts(fields.text("regexCheck")?);
    let tags = fields.texts("tags")?;
    draft.entry.category = categories::of_tags(&tags);
    draft.entry.nsfw = fields.flag("isNSFW")? || categories::is_adult(&tags);
    if draft.entry.nsfw {
        draft.entry.category = categories::ADULT.to_owned();
    }
    draft.entry.tags.extend(categories::words(&tags));
    draft.remark(fields.text("__comment__")?.unwrap_or_default());
    draft.known(&fields.texts("username_claimed")?);
    Ok(draft)
}

fn rules(draft: &mut Draft, fields: Fields<'_>) -> Result<(), Reason> {
    let types: BTreeSet<&str> = fields.texts("errorType")?.into_iter().collect();
    if types.is_empty() {
        return Err("`errorType` is missing".into());
    }
    let mut hit = on_status(vec![success()]);
    let mut gone: BTreeSet<u16> = BTreeSet::new();
    let mut messages = Vec::new();
    for name in &types {
        match *name {
            "status_code" => {
                gone.extend(GONE);
                gone.extend(fields.statuses("errorCode")?);
            }
            "message" => {
                messages = words(&fields.texts("errorMsg")?);
                if messages.is_empty() {
                    return Err("its type is `message`, but `errorMsg` holds none".into());
                }
            }
            "response_url" => gone.extend(GONE),
            other => {
                return Err(format!(
                    "the type `{}`; status_code, message and response_url are known",
                    super::report::shown(other)
                ));
            }
        }
    }
    if gone.iter().any(|code| (200..300).contains(code)) {
        let others: Vec<u16> = (200..=206).filter(|code| !gone.contains(code)).collect();
        hit.status = codes(&others);
    }
    if !messages.is_empty() {
        hit.no_word.clone_from(&messages);
        // Where a plain "no" is read; a block that quotes the text is none.
        let mut status = vec![success()];
        status.extend(codes(&GONE));
        draft.entry.miss.push(MatcherEntry { any_word: messages, ..on_status(status) });
    }
    let mut status = codes(&gone.into_iter().collect::<Vec<u16>>());
    let judges_redirects = types.contains("response_url");
    if judges_redirects {
        status.insert(0, StatusRule::Class("3xx".to_owned()));
    }
    if !status.is_empty() {
        draft.entry.miss.push(on_status(status));
    }
    draft.entry.hit.push(hit);
    draft.probe().follow = !judges_redirects;
    Ok(())
}

fn holds_name(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(NAME),
        Value::Array(elements) => elements.iter().any(holds_name),
        Value::Object(members) => members.values().any(holds_name),
        _ => false,
    }
}

/// The payload with its strings as our templates.
fn filled(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(template(text, NAME)),
        Value::Array(elements) => elements.iter().map(filled).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), filled(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}
