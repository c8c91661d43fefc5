//! Maigret: `data.json`, an object with `sites` by name, and `engines` whose part `site` is merged into the
//! sites that name them.
//!
//! `checkType` says how an account shows: `message` (any of `presenseStrs`, or `presenceStrs`, in the body and none of
//! `absenceStrs`), `status_code` (2xx), `response_url` (2xx, redirects being answers, with any of
//! `presenseStrs`). Redirects are followed but for `response_url`. Texts of `errors`, and 403 unless `ignore403`,
//! say nothing about the account. Addresses are templates of Python: `{username}`, `{urlMain}`,
//! `{urlSubpath}`.
//!
//! The tool takes whatever is no account for a missing one. Here a missing one has to show: by
//! an absence text, or by a status that means it.

use serde_json::{Map, Value};

use super::draft::{Draft, GONE, codes, on_status, success, words};
use super::fields::{Fields, Reason};
use super::report::shown;
use super::slots::{Address, address, python_format, template};
use super::{ListKind, categories};
use crate::modules::definition::{MatcherEntry, Method, StatusRule};

/// Stands for the name between Python's templates and ours; of the private-use area, so in no address.
const NAME: &str = "\u{e000}";

/// The members that an entry may have.
pub(super) const MEMBERS: [&str; 37] = [
    "absenceStrs",
    "activation",
    "alexaRank",
    "caseSentitive",
    "checkType",
    "disabled",
    "encoding",
    "engine",
    "engineData",
    "errorUrl",
    "errors",
    "getParams",
    "headers",
    "ignore403",
    "mirrors",
    "name",
    "presenceStrs",
    "presenseStrs",
    "protection",
    "protocol",
    "regexCheck",
    "requestHeadOnly",
    "requestMethod",
    "requestPayload",
    "similarSearch",
    "source",
    "stats",
    "tags",
    "type",
    "url",
    "urlMain",
    "urlProbe",
    "urlSubpath",
    "usernameClaimed",
    "usernameUnclaimed",
    "urlRegexp",
    "caseSensitive",
];

/// Whether the list's authors have left the entry switched on.
pub(super) fn is_enabled(fields: Fields<'_>) -> bool {
    fields.get("disabled") != Some(&Value::Bool(true))
}

/// The site with what its engines say: their lists behind its own, their other members before its own.
///
/// # Errors
/// An engine that the list does not have.
pub(super) fn merged(
    site: &Map<String, Value>,
    engines: Option<&Map<String, Value>>,
) -> Result<Map<String, Value>, Reason> {
    let mut whole = site.clone();
    for name in Fields(site).texts("engine")? {
        let engine = engines.and_then(|engines| engines.get(name));
        let Some(engine) = engine else {
            return Err(format!("its engine `{}` is not among the list's `engines`", shown(name)));
        };
        let part = engine.get("site").and_then(Value::as_object);
        let part = part.ok_or_else(|| format!("its engine `{}` has no object `site`", shown(name)))?;
        for (member, value) in part {
            merge(whole.entry(member.clone()).or_insert(Value::Null), value);
        }
    }
    Ok(whole)
}

fn merge(own: &mut Value, engine: &Value) {
    match (own, engine) {
        (Value::Array(own), Value::Array(more)) => own.extend(more.iter().cloned()),
        (Value::Object(own), Value::Object(more)) => {
            own.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
        }
        (own, other) => *own = other.clone(),
    }
}

/// Makes an entry of a merged site.
pub(super) fn draft(name: &str, fields: Fields<'_>) -> Result<Draft, Reason> {
    whys_not(fields)?;
    let main = fields.text("urlMain")?.unwrap_or_default();
    let subpath = fields.text("urlSubpath")?.unwrap_or_default();
    let format = |text: &str| {
        python_format(text, |field| match field {
            "username" => Some(NAME.to_owned()),
            "urlMain" => Some(main.to_owned()),
            "urlSubpath" => Some(subpath.to_owned()),
            _ => None,
        })
    };
    let page = single_slashes(&format(fields.need("url")?)?);
    let probe = match fields.text("urlProbe")?.filter(|text| !text.is_empty()) {
        Some(text) => format(text)?,
        None => page.clone(),
    };
    let probe = address(&(probe + &parameters(fields)?), NAME)?;
    let mut draft = Draft::new(ListKind::Maigret, name, &probe)?;
    draft.headers(fields.map("headers")?, NAME)?;
    let names_in_body = body(&mut draft, fields)?;
    if !probe.names && !names_in_body {
        return Err("neither its address nor its `requestPayload` holds `{username}`".into());
    }
    rules(&mut draft, fields, &probe)?;
    draft.profile(&page, NAME);
    draft.home(Some(main));
    draft.accepts(fields.text("regexCheck")?);
    describe(&mut draft, fields)?;
    draft.known(&fields.texts("usernameClaimed")?);
    Ok(draft)
}

/// Entries that ask for more than a request says.
fn whys_not(fields: Fields<'_>) -> Result<(), Reason> {
    if let Some(kind) = fields.text("type")?.filter(|kind| !matches!(*kind, "" | "username")) {
        return Err(format!("it takes a `{}`, no username", shown(kind)));
    }
    match fields.text("protocol")?.unwrap_or_default() {
        "" | "http" | "https" => {}
        "dns" => return Err("it asks the DNS for a domain of that name: a domain is no account".into()),
        other => {
            return Err(format!("it is reached over `{}`, and only the open web is asked", shown(other)));
        }
    }
    if fields.map("activation")?.is_some_and(|activation| !activation.is_empty()) {
        return Err("it needs a token that Maigret's own code fetches first (`activation`)".into());
    }
    if fields.flag("similarSearch")? {
        return Err("what it finds are accounts of similar names (`similarSearch`)".into());
    }
    Ok(())
}

/// As the tool tidies addresses: `//` is `/`, but for the one behind a colon.
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

fn parameters(fields: Fields<'_>) -> Result<String, Reason> {
    let Some(parameters) = fields.map("getParams")? else { return Ok(String::new()) };
    let pairs = super::fields::pairs("getParams", parameters)?;
    Ok(pairs.iter().map(|(name, value)| format!("&{name}={value}")).collect())
}

/// The method and its body; whether the name stands in it.
fn body(draft: &mut Draft, fields: Fields<'_>) -> Result<bool, Reason> {
    draft.method(fields.text("requestMethod")?)?;
    let payload = fields.map("requestPayload")?.filter(|payload| !payload.is_empty());
    let Some(payload) = payload.filter(|_| draft.entry.probes[0].method == Method::Post) else {
        return Ok(false);
    };
    let mut names = false;
    let mut filled = Map::new();
    for (member, value) in payload {
        // The tool fills in texts at the top alone.
        let value = match value {
            Value::String(text) => {
                let text = python_format(text, |field| (field == "username").then(|| NAME.to_owned()))?;
                names |= text.contains(NAME);
                Value::String(template(&text, NAME))
            }
            other => literals(other),
        };
        filled.insert(member.clone(), value);
    }
    let is_form = draft.header("content-type") == Some("application/x-www-form-urlencoded");
    if is_form {
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        draft.probe().form =
            Some(filled.iter().map(|(name, value)| (super::slots::literal(name), text(value))).collect());
    } else {
        draft.probe().json = Some(Value::Object(filled));
    }
    Ok(names)
}

fn literals(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(super::slots::literal(text)),
        Value::Array(elements) => elements.iter().map(literals).collect(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), literals(value))).collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

fn rules(draft: &mut Draft, fields: Fields<'_>, probe: &Address) -> Result<(), Reason> {
    let mut presence = fields.texts("presenseStrs")?;
    presence.extend(fields.texts("presenceStrs")?);
    let barriers: Vec<&str> =
        fields.map("errors")?.into_iter().flat_map(Map::keys).map(String::as_str).collect();
    let barriers: Vec<&str> = barriers.into_iter().filter(|text| !text.is_empty()).collect();
    let had_presence = !presence.is_empty();
    // A barrier wins over what it stands in.
    presence.retain(|text| !barriers.iter().any(|barrier| text.contains(barrier)));
    if had_presence && presence.is_empty() {
        return Err("each of its presence texts is among its own `errors`".into());
    }
    let (presence, absence, barriers) =
        (words(&presence), words(&fields.texts("absenceStrs")?), words(&barriers));
    let has_barriers = !barriers.is_empty();
    if has_barriers {
        draft.entry.barrier.push(MatcherEntry { any_word: barriers, ..MatcherEntry::default() });
    }
    // The page may say either with 403.
    let forbidden = if fields.flag("ignore403")? { codes(&[403]) } else { Vec::new() };
    let answered = |more: Vec<StatusRule>| [vec![success()], more, forbidden.clone()].concat();
    let check = fields.text("checkType")?.unwrap_or_default();
    match check {
        "message" => {
            if presence.is_empty() && absence.is_empty() {
                return Err("its type is `message`, but it has neither presence nor absence texts".into());
            }
            draft.entry.hit.push(MatcherEntry {
                any_word: presence.clone(),
                no_word: absence.clone(),
                ..on_status(answered(Vec::new()))
            });
            if !absence.is_empty() {
                let status = answered(codes(&GONE));
                draft.entry.miss.push(MatcherEntry { any_word: absence, ..on_status(status) });
            }
            if !presence.is_empty() {
                // Without a presence text that a page of an account may hold whatever its status is.
                let status = codes(&[404, 410]);
                draft.entry.miss.push(MatcherEntry { no_word: presence, ..on_status(status) });
            }
        }
        "status_code" => {
            draft.entry.hit.push(on_status(vec![success()]));
            draft.entry.miss.push(on_status(codes(&GONE)));
        }
        "response_url" => {
            draft.entry.hit.push(MatcherEntry { any_word: presence, ..on_status(vec![success()]) });
            let redirect = StatusRule::Class("3xx".to_owned());
            draft.entry.miss.push(on_status([vec![redirect], codes(&GONE)].concat()));
        }
        "" => return Err("`checkType` is missing".into()),
        other => {
            return Err(format!(
                "the type `{}`; message, status_code and response_url are known",
                shown(other)
            ));
        }
    }
    draft.probe().follow = check != "response_url";
    // HEAD brings no body to look for barriers in.
    let wants_head = check == "status_code" && fields.flag("requestHeadOnly")?;
    if wants_head && !has_barriers && draft.entry.probes[0].method == Method::Get && probe.names {
        draft.probe().method = Method::Head;
    }
    Ok(())
}

/// Engines of forums.
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

fn describe(draft: &mut Draft, fields: Fields<'_>) -> Result<(), Reason> {
    let tags = fields.texts("tags")?;
    let engines = fields.texts("engine")?;
    let category = categories::of_tags(&tags);
    let is_forum = category == "misc" && engines.iter().any(|engine| FORUMS.contains(engine));
    draft.entry.category = if is_forum { "forum".to_owned() } else { category };
    draft.entry.nsfw = categories::is_adult(&tags);
    draft.entry.tags.extend(categories::words(&[tags, engines].concat()));
    let rank = fields.get("alexaRank").and_then(Value::as_u64).and_then(|rank| u32::try_from(rank).ok());
    draft.entry.rank = rank.filter(|rank| *rank > 0);
    draft.protection(fields)?;
    if let Some(encoding) = fields.text("encoding")? {
        let reason = format!("it forces the encoding `{}`; the answer's own is read", shown(encoding));
        draft.changes.push(reason);
    }
    if !fields.texts("mirrors")?.is_empty() {
        draft.changes.push("its `mirrors` are not asked".into());
    }
    Ok(())
}
