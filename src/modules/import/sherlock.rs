//! The entries of Sherlock's `data.json`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::{Draft, Many, Reason, read};
use super::report::ListKind;

/// The text that stands for the name.
const NAME: &str = "{}";

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Site {
    url: String,
    url_main: String,
    url_probe: String,
    error_type: Many,
    error_msg: Many,
    error_code: Many<u16>,
    regex_check: String,
    #[serde(rename = "isNSFW")]
    is_nsfw: bool,
    tags: Many,
    headers: Map<String, Value>,
    #[serde(rename = "request_method")]
    request_method: String,
    #[serde(rename = "request_payload")]
    request_payload: Option<Map<String, Value>>,
    #[serde(rename = "username_claimed")]
    username_claimed: Many,
    #[serde(flatten)]
    unused: Map<String, Value>,
}

/// Makes a catalogue entry.
pub(super) fn draft(name: &str, members: &Map<String, Value>) -> Result<Draft, Reason> {
    let site: Site = read(members)?;
    if site.url.trim().is_empty() {
        return Err("`url` is missing".into());
    }
    let probe = if site.url_probe.trim().is_empty() { &site.url } else { &site.url_probe };
    let mut draft = Draft::new(ListKind::Sherlock, name, probe, NAME, &site.unused)?;
    draft.headers(&site.headers)?;
    draft.method(&site.request_method);
    if let Some(payload) = site.request_payload {
        draft.body(&payload.into(), false)?;
    }
    draft.judge(&site.error_type.0, &[], &site.error_msg.0, &site.error_code.0, false)?;
    draft.profile(&site.url);
    draft.home_page(&site.url_main);
    draft.accepts(&site.regex_check);
    draft.tags(&site.tags.0, site.is_nsfw);
    draft.known(&site.username_claimed);
    Ok(draft)
}
