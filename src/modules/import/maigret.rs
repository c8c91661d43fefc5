//! The entries of Maigret's `data.json`.

use serde_json::{Map, Value, json};

use super::draft::{
    Address, Draft, MISS_STATUSES, Reason, Texts, address, literal, member, rule, site, template, with_texts,
};
use super::python::python_format;
use super::report::{ListKind, shown};

/// The text that stands for the name while Python's templates are converted. It is a private-use character,
/// which no address contains.
const NAME: &str = "\u{e000}";
/// The engines of forums.
const FORUMS: [&str; 8] = [
    "Discourse",
    "DiscourseJson",
    "Flarum",
    "XenForo",
    "phpBB",
    "phpBB/Search",
    "phpBB2/Search",
    "vBulletin",
];

site! {
    struct Site {
        kind: Option<String> = "type",
        protocol: Option<String> = "protocol",
        activation: Map<String, Value> = "activation",
        similar_search: bool = "similarSearch",
        url: Option<String> = "url",
        url_main: Option<String> = "urlMain",
        url_probe: Option<String> = "urlProbe",
        url_subpath: Option<String> = "urlSubpath",
        get_params: Map<String, Value> = "getParams",
        headers: Map<String, Value> = "headers",
        request_method: Option<String> = "requestMethod",
        request_payload: Map<String, Value> = "requestPayload",
        request_head_only: bool = "requestHeadOnly",
        check_type: Option<String> = "checkType",
        presence: Texts = "presenceStrs",
        // The list spells it in both ways.
        presense: Texts = "presenseStrs",
        absence: Texts = "absenceStrs",
        errors: Map<String, Value> = "errors",
        ignore_403: bool = "ignore403",
        regex_check: Option<String> = "regexCheck",
        tags: Texts = "tags",
        engine: Texts = "engine",
        rank: Value = "alexaRank",
        protection: Texts = "protection",
        encoding: Option<String> = "encoding",
        mirrors: Texts = "mirrors",
        username_claimed: Texts = "usernameClaimed",
    }
    ignored: "caseSentitive", "caseSensitive", "disabled", "engineData", "errorUrl", "name", "source", "stats",
        "usernameUnclaimed", "urlRegexp";
}

/// Makes a catalogue entry of a site, merged with its engines.
pub(super) fn draft(
    name: &str,
    site: &Map<String, Value>,
    engines: Option<&Map<String, Value>>,
) -> Result<Draft, Reason> {
    let site = Site::read(&merged(site, engines)?)?;
    check_convertible(&site)?;
    let main = site.url_main.as_deref().unwrap_or_default();
    let fill = |text: &str| {
        python_format(text, |field| match field {
            "username" => Some(NAME.to_owned()),
            "urlMain" => Some(main.to_owned()),
            "urlSubpath" => Some(site.url_subpath.clone().unwrap_or_default()),
            _ => None,
        })
    };
    let url = site.url.as_deref().map(str::trim).filter(|text| !text.is_empty()).ok_or("`url` is missing")?;
    let page = single_slashes(&fill(url)?);
    let mut probe = match site.url_probe.as_deref().filter(|text| !text.is_empty()) {
        Some(text) => fill(text)?,
        None => page.clone(),
    };
    for (name, value) in &site.get_params {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        probe.push_str(&format!("&{name}={value}"));
    }
    let probe = address(&probe, NAME)?;
    let mut draft = Draft::new(ListKind::Maigret, name, &probe);
    draft.headers(&site.headers, NAME)?;
    let names_in_body = body(&mut draft, &site)?;
    if !probe.names && !names_in_body {
        return Err("neither its address nor its `requestPayload` contains `{username}`".into());
    }
    rules(&mut draft, &site, &probe)?;
    draft.profile(&page, NAME);
    draft.home_page(Some(main));
    draft.accepts(site.regex_check.as_deref());
    describe(&mut draft, &site);
    draft.known(&site.username_claimed);
    Ok(draft)
}

/// Returns the site merged with its engines. The lists of an engine are appended to those of the site, and
/// the other members of an engine replace those of the site.
fn merged(
    site: &Map<String, Value>,
    engines: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>, Reason> {
    let mut whole = site.clone();
    for name in member::<Texts>(site, "engine")?.0 {
        let engine = engines.and_then(|engines| engines.get(&name));
        let engine = engine
            .ok_or_else(|| format!("its engine `{}` is not among the list's `engines`", shown(&name)))?;
        let part = engine.get("site").and_then(Value::as_object);
        let part = part.ok_or_else(|| format!("its engine `{}` has no object `site`", shown(&name)))?;
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
    match site.kind.as_deref().unwrap_or_default() {
        "" | "username" => {}
        other => return Err(format!("it accepts a `{}`, not a username", shown(other))),
    }
    match site.protocol.as_deref().unwrap_or_default() {
        "" | "http" | "https" => {}
        "dns" => return Err("it looks up a domain of that name, and a domain is not an account".into()),
        other => {
            let other = shown(other);
            return Err(format!("it is reached over `{other}`, and only public websites are supported"));
        }
    }
    if !site.activation.is_empty() {
        return Err("it needs a token that Maigret's own code fetches first (`activation`)".into());
    }
    if site.similar_search {
        return Err("it finds accounts with similar names (`similarSearch`)".into());
    }
    Ok(())
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

/// Sets the method and its body. Returns whether the body contains the name.
fn body(draft: &mut Draft, site: &Site) -> Result<bool, Reason> {
    draft.method(site.request_method.as_deref())?;
    if site.request_payload.is_empty() || draft.probe["method"] != "POST" {
        return Ok(false);
    }
    let is_form = draft.header("content-type") == Some("application/x-www-form-urlencoded");
    let (mut names, mut filled) = (false, Map::new());
    for (member, value) in &site.request_payload {
        // Maigret fills in only texts at the top level.
        let value = match value {
            Value::String(text) => {
                let text = python_format(text, |field| (field == "username").then(|| NAME.to_owned()))?;
                names |= text.contains(NAME);
                template(&text, NAME).into()
            }
            other => with_texts(other, &literal),
        };
        match value {
            Value::String(_) if is_form => filled.insert(member.clone(), value),
            other if is_form => filled.insert(member.clone(), other.to_string().into()),
            other => filled.insert(member.clone(), other),
        };
    }
    draft.probe[if is_form { "form" } else { "json" }] = filled.into();
    Ok(names)
}

fn rules(draft: &mut Draft, site: &Site, probe: &Address) -> Result<(), Reason> {
    let barriers: Vec<String> = site.errors.keys().filter(|text| !text.is_empty()).cloned().collect();
    let mut presence = [site.presense.0.as_slice(), &site.presence.0].concat();
    let had_presence = !presence.is_empty();
    // A barrier takes precedence over a presence text that contains it.
    presence.retain(|text| !barriers.iter().any(|barrier| text.contains(barrier)));
    if had_presence && presence.is_empty() {
        return Err("each of its presence texts is among its own `errors`".into());
    }
    if !barriers.is_empty() {
        draft.add("barrier", rule(Vec::<Value>::new(), &[("any_word", &barriers)]));
    }
    let check = site.check_type.as_deref().unwrap_or_default();
    verdicts(draft, site, check, &presence)?;
    draft.probe["follow"] = (check != "response_url").into();
    // A response to HEAD has no body in which barriers could be found.
    let wants_head = check == "status_code" && site.request_head_only && barriers.is_empty();
    if wants_head && draft.probe["method"] == "GET" && probe.names {
        draft.probe["method"] = "HEAD".into();
    }
    Ok(())
}

/// Adds the rules for a hit and a miss.
fn verdicts(draft: &mut Draft, site: &Site, check: &str, presence: &[String]) -> Result<(), Reason> {
    let absence = site.absence.0.as_slice();
    // A page with status 403 may be a hit or a miss.
    let forbidden: &[u16] = if site.ignore_403 { &[403] } else { &[] };
    let answered = |first: &[&str], more: &[u16]| -> Vec<Value> {
        let codes = more.iter().map(|code| Value::from(*code));
        first.iter().map(|class| Value::from(*class)).chain(codes).collect()
    };
    let gone = || answered(&[], &MISS_STATUSES);
    match check {
        "message" => {
            if presence.is_empty() && absence.is_empty() {
                return Err("its type is `message`, but it has neither presence nor absence texts".into());
            }
            if presence.iter().any(|text| absence.contains(text)) {
                return Err("one text marks both an existing account and a missing one".into());
            }
            let texts = [("any_word", presence), ("no_word", absence)];
            draft.add("hit", rule(answered(&["2xx"], forbidden), &texts));
            if !absence.is_empty() {
                let status = answered(&["2xx"], &[MISS_STATUSES.as_slice(), forbidden].concat());
                draft.add("miss", rule(status, &[("any_word", absence)]));
            }
            if !presence.is_empty() {
                // The page of an account may have any status, so the page of a missing account must not
                // contain a presence text.
                draft.add("miss", rule(vec![404, 410], &[("no_word", presence)]));
            }
        }
        "status_code" => {
            draft.add("hit", rule(vec!["2xx"], &[]));
            draft.add("miss", rule(gone(), &[]));
        }
        "response_url" => {
            draft.add("hit", rule(vec!["2xx"], &[("any_word", presence)]));
            draft.add("miss", rule(answered(&["3xx"], &MISS_STATUSES), &[]));
        }
        "" => return Err("`checkType` is missing".into()),
        other => {
            let other = shown(other);
            return Err(format!(
                "unknown type `{other}`; message, status_code and response_url are supported"
            ));
        }
    }
    Ok(())
}

fn describe(draft: &mut Draft, site: &Site) {
    draft.tags(&[site.tags.0.as_slice(), &site.engine.0].concat(), false);
    let is_forum = site.engine.0.iter().any(|engine| FORUMS.contains(&engine.as_str()));
    if is_forum && draft.entry["category"] == "misc" {
        draft.entry["category"] = "forum".into();
    }
    let rank = site.rank.as_u64().and_then(|rank| u32::try_from(rank).ok());
    if let Some(rank) = rank.filter(|rank| *rank > 0) {
        draft.entry["rank"] = json!(rank);
    }
    draft.protection(&site.protection);
    if let Some(encoding) = &site.encoding {
        let encoding = shown(encoding);
        draft
            .changes
            .push(format!("it forces the encoding `{encoding}`; the encoding of the answer is used"));
    }
    if !site.mirrors.0.is_empty() {
        draft.changes.push("its `mirrors` are ignored".into());
    }
}
