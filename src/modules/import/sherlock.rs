//! The entries of Sherlock's `data.json`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::draft::{
    Draft, MISS_STATUSES, Reason, Statuses, Texts, address, rule, site, template, with_texts,
};
use super::report::{ListKind, shown};

/// The text that stands for the name.
const NAME: &str = "{}";

site! {
    struct Site {
        url: Option<String> = "url",
        url_main: Option<String> = "urlMain",
        url_probe: Option<String> = "urlProbe",
        error_type: Texts = "errorType",
        error_msg: Texts = "errorMsg",
        error_code: Statuses = "errorCode",
        regex_check: Option<String> = "regexCheck",
        is_nsfw: bool = "isNSFW",
        tags: Texts = "tags",
        headers: Map<String, Value> = "headers",
        request_method: Option<String> = "request_method",
        request_payload: Option<Map<String, Value>> = "request_payload",
        username_claimed: Texts = "username_claimed",
        comment: Option<String> = "__comment__",
    }
    ignored: "errorUrl", "response_url", "username_unclaimed", "noPeriod", "rank";
}

/// Makes a catalogue entry.
pub(super) fn draft(name: &str, site: &Map<String, Value>) -> Result<Draft, Reason> {
    let site = Site::read(site)?;
    let page =
        site.url.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or("`url` is missing")?;
    let probe = site.url_probe.as_deref().filter(|text| !text.trim().is_empty()).unwrap_or(page);
    let probe = address(probe, NAME)?;
    let payload = site.request_payload.clone().map(Value::Object);
    if !probe.names && !payload.as_ref().is_some_and(has_name) {
        return Err(format!("neither its address nor its `request_payload` contains `{NAME}`"));
    }
    let mut draft = Draft::new(ListKind::Sherlock, name, &probe);
    draft.headers(&site.headers, NAME)?;
    let has_body = draft.method(site.request_method.as_deref())?;
    if let Some(payload) = payload {
        if !has_body {
            return Err("it sends a body with GET or HEAD; bodies are sent only with POST and PUT".into());
        }
        draft.probe["json"] = with_texts(&payload, &|text| template(text, NAME));
    }
    rules(&mut draft, &site)?;
    draft.profile(page, NAME);
    draft.home_page(site.url_main.as_deref());
    draft.accepts(site.regex_check.as_deref());
    draft.tags(&site.tags.0, site.is_nsfw);
    draft.remark(site.comment.as_deref().unwrap_or_default());
    draft.known(&site.username_claimed);
    Ok(draft)
}

/// Returns whether a text of a JSON value has the name.
fn has_name(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains(NAME),
        Value::Array(elements) => elements.iter().any(has_name),
        Value::Object(members) => members.values().any(has_name),
        _ => false,
    }
}

fn rules(draft: &mut Draft, site: &Site) -> Result<(), Reason> {
    let types: BTreeSet<&str> = site.error_type.0.iter().map(String::as_str).collect();
    if types.is_empty() {
        return Err("`errorType` is missing".into());
    }
    let mut gone: BTreeSet<u16> = BTreeSet::new();
    let mut messages: &[String] = &[];
    for name in &types {
        match *name {
            "status_code" => gone.extend(MISS_STATUSES.iter().chain(&site.error_code.0)),
            "response_url" => gone.extend(MISS_STATUSES),
            "message" if site.error_msg.0.is_empty() => {
                return Err("its type is `message`, but `errorMsg` contains none".into());
            }
            "message" => messages = &site.error_msg.0,
            other => {
                let other = shown(other);
                return Err(format!(
                    "unknown type `{other}`; status_code, message and response_url are supported"
                ));
            }
        }
    }
    let answered: Vec<Value> = match gone.iter().any(|code| (200..300).contains(code)) {
        true => (200..=206).filter(|code| !gone.contains(code)).map(Value::from).collect(),
        false => vec!["2xx".into()],
    };
    draft.add("hit", rule(answered, &[("no_word", messages)]));
    if !messages.is_empty() {
        // The text counts only with a success status or a status of a missing page, since a block may quote
        // it.
        let mut status = vec![json!("2xx")];
        status.extend(MISS_STATUSES.map(Value::from));
        draft.add("miss", rule(status, &[("any_word", messages)]));
    }
    let judges_redirects = types.contains("response_url");
    let redirect = judges_redirects.then(|| json!("3xx"));
    let status: Vec<Value> = redirect.into_iter().chain(gone.into_iter().map(Value::from)).collect();
    if !status.is_empty() {
        draft.add("miss", rule(status, &[]));
    }
    draft.probe["follow"] = (!judges_redirects).into();
    Ok(())
}
