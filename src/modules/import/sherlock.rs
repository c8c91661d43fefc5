//! Sherlock's `data.json`: an object of entries by name.
//!
//! `errorType` says how a missing account is detected: `status_code` (not 2xx, or a code of `errorCode`),
//! `message` (a text of `errorMsg` is in the body), `response_url` (not 2xx, without following redirects),
//! or several of these, of which one is enough. The account exists if none of them applies. Redirects are
//! followed except for `response_url`. `{}` stands for the name.
//!
//! Sherlock decides for every response whether the account exists. Here, a hit needs a 2xx status, and a
//! status that may be a block or a defect (403, 429, 5xx) is not a miss. For `status_code`, Sherlock sends
//! HEAD. This program sends GET, so that it can recognize the page of a barrier.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::draft::{Draft, MISS_STATUSES, codes, on_status, success, words};
use super::fields::{Fields, Reason};
use super::slots::{address, template};
use super::{ListKind, categories};
use crate::modules::definition::{MatcherEntry, StatusClass, StatusRule};

const NAME: &str = "{}";

/// The members that an entry can have.
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

/// Makes a catalogue entry.
pub(super) fn draft(name: &str, fields: Fields<'_>) -> Result<Draft, Reason> {
    let page = fields.need("url")?;
    let probe_text = fields.text("urlProbe")?.filter(|text| !text.trim().is_empty()).unwrap_or(page);
    let probe = address(probe_text, NAME)?;
    let payload = fields.map("request_payload")?;
    if !probe.names && !payload.is_some_and(|payload| payload.values().any(holds_name)) {
        return Err(format!("neither its address nor its `request_payload` contains `{NAME}`"));
    }
    let mut draft = Draft::new(ListKind::Sherlock, name, &probe)?;
    draft.headers(fields.map("headers")?, NAME)?;
    draft.method(fields.text("request_method")?)?;
    if let Some(payload) = payload {
        if !draft.has_body() {
            return Err("it sends a body with GET or HEAD; bodies are sent only with POST and PUT".into());
        }
        draft.probe().json = Some(filled(&Value::Object(payload.clone())));
    }
    rules(&mut draft, fields)?;
    draft.profile(page, NAME);
    draft.set_home_page(fields.text("urlMain")?);
    draft.accepts(fields.text("regexCheck")?);
    let tags = fields.texts("tags")?;
    draft.entry.category = categories::of_tags(&tags);
    draft.entry.nsfw = fields.flag("isNSFW")? || categories::is_adult(&tags);
    if draft.entry.nsfw {
        draft.entry.category = categories::ADULT.to_owned();
    }
    draft.entry.tags.extend(categories::words(&tags));
    draft.add_remark(fields.text("__comment__")?.unwrap_or_default());
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
                gone.extend(MISS_STATUSES);
                gone.extend(fields.statuses("errorCode")?);
            }
            "message" => {
                messages = words(&fields.texts("errorMsg")?);
                if messages.is_empty() {
                    return Err("its type is `message`, but `errorMsg` contains none".into());
                }
            }
            "response_url" => gone.extend(MISS_STATUSES),
            other => {
                return Err(format!(
                    "unknown type `{}`; status_code, message and response_url are supported",
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
        // The text counts only with a success status or a status of a missing page, since a block may quote
        // it.
        let mut status = vec![success()];
        status.extend(codes(&MISS_STATUSES));
        draft.entry.miss.push(MatcherEntry { any_word: messages, ..on_status(status) });
    }
    let mut status = codes(&gone.into_iter().collect::<Vec<u16>>());
    let judges_redirects = types.contains("response_url");
    if judges_redirects {
        status.insert(0, StatusRule::Class(StatusClass::Redirection));
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

/// Returns the payload with its strings converted into templates.
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
