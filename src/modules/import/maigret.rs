//! The entries of Maigret's `data.json`.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::draft::{Draft, Many, Reason, read, rule};
use super::python::python_format;
use super::report::{ListKind, shown};

/// The text that stands for the name while Python's templates are converted. It is a private-use character,
/// which no address contains.
const NAME: &str = "\u{e000}";

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
    request_method: String,
    request_payload: Map<String, Value>,
    check_type: Many,
    /// The list spells it in both ways.
    presence_strs: Many,
    presense_strs: Many,
    absence_strs: Many,
    errors: Map<String, Value>,
    ignore403: bool,
    regex_check: String,
    tags: Many,
    engine: Many,
    alexa_rank: Value,
    username_claimed: Many,
    #[serde(flatten)]
    unused: Map<String, Value>,
}

/// Makes a catalogue entry of a site, merged with its engines.
pub(super) fn draft(name: &str, members: &Map<String, Value>, engines: &Value) -> Result<Draft, Reason> {
    let site: Site = read(&merged(members, engines)?)?;
    check_convertible(&site)?;
    let fill = |text: &str| {
        python_format(text, |field| match field {
            "username" => Some(NAME.to_owned()),
            "urlMain" => Some(site.url_main.clone()),
            "urlSubpath" => Some(site.url_subpath.clone()),
            _ => None,
        })
    };
    if site.url.trim().is_empty() {
        return Err("`url` is missing".into());
    }
    let page = single_slashes(&fill(site.url.trim())?);
    let probe = if site.url_probe.is_empty() { page.clone() } else { fill(&site.url_probe)? };
    let mut probe = probe.split('#').next().unwrap_or_default().to_owned();
    for (name, value) in &site.get_params {
        let mark = if probe.contains('?') { '&' } else { '?' };
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        probe.push_str(&format!("{mark}{name}={value}"));
    }
    let mut draft = Draft::new(ListKind::Maigret, name, &probe, NAME, &site.unused)?;
    draft.headers(&site.headers)?;
    draft.method(&site.request_method);
    body(&mut draft, &site)?;
    rules(&mut draft, &site)?;
    draft.profile(&page);
    draft.home_page(&site.url_main);
    draft.accepts(&site.regex_check);
    draft.tags(&[site.tags.0.as_slice(), &site.engine.0].concat(), false);
    if let Some(rank) = site.alexa_rank.as_u64().filter(|rank| (1..=u32::MAX.into()).contains(rank)) {
        draft.entry["rank"] = rank.into();
    }
    draft.known(&site.username_claimed);
    Ok(draft)
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

/// Returns the address with `//` replaced by `/`, except after a colon, as Maigret does.
fn single_slashes(url: &str) -> String {
    let mut out = String::with_capacity(url.len());
    for c in url.chars() {
        if c == '/' && out.ends_with('/') && !out.ends_with(":/") {
            continue;
        }
        out.push(c);
    }
    out
}

/// Sets the body. Maigret fills in only texts at the top level.
fn body(draft: &mut Draft, site: &Site) -> Result<(), Reason> {
    if site.request_payload.is_empty() || draft.probe()["method"] != "POST" {
        return Ok(());
    }
    let mut filled = site.request_payload.clone();
    for value in filled.values_mut() {
        if let Value::String(text) = value {
            *text = python_format(text, |field| (field == "username").then(|| NAME.to_owned()))?;
        }
    }
    let is_form = draft.content_type().as_deref() == Some("application/x-www-form-urlencoded");
    draft.body(&filled.into(), is_form)
}

fn rules(draft: &mut Draft, site: &Site) -> Result<(), Reason> {
    let barriers: Vec<String> = site.errors.keys().filter(|text| !text.is_empty()).cloned().collect();
    let mut presence = [site.presence_strs.0.as_slice(), &site.presense_strs.0].concat();
    let has_presence = !presence.is_empty();
    // A barrier takes precedence over a presence text that contains it.
    presence.retain(|text| !barriers.iter().any(|barrier| text.contains(barrier)));
    if presence.is_empty() && has_presence {
        return Err("each of its presence texts is among its own `errors`".into());
    }
    draft.judge(&site.check_type.0, &presence, &site.absence_strs.0, &[], site.ignore403)?;
    if !barriers.is_empty() {
        draft.add("barrier", rule(&[], &[("any_word", &barriers)]));
    }
    Ok(())
}
