//! Maigret's `data.json`: an object with `sites` by name, and with `engines`, whose member `site` is merged
//! into the sites that name the engine.
//!
//! `checkType` says how an account is detected: `message` (any of `presenseStrs` or `presenceStrs` is in the
//! body, and none of `absenceStrs`), `status_code` (2xx), or `response_url` (2xx without following
//! redirects, with any of `presenseStrs`). Redirects are followed except for `response_url`. Texts of
//! `errors`, and status 403 unless `ignore403` is set, say nothing about the account. Addresses are Python
//! templates with `{username}`, `{urlMain}` and `{urlSubpath}`.
//!
//! Maigret treats every other response as a missing account. Here, a missing account needs a proof: an
//! absence text, or a status that means it.

use serde_json::{Map, Value};

use super::draft::{Draft, MISS_STATUSES, codes, on_status, success, words};
use super::fields::{Fields, Reason};
use super::report::shown;
use super::slots::{Address, address, python_format, template};
use super::{ListKind, categories};
use crate::modules::definition::{MatcherEntry, Method, StatusClass, StatusRule};

/// The text that stands for the name while Python's templates are converted. It is a private-use character,
/// which no address contains.
const NAME: &str = "\u{e000}";

/// The members that an entry can have.
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

/// Returns whether the list's authors have left the entry enabled.
pub(super) fn is_enabled(fields: Fields<'_>) -> bool {
    fields.get("disabled") != Some(&Value::Bool(true))
}

/// Returns the site merged with its engines. The lists of an engine are appended to those of the site, and
/// the other members of an engine replace those of the site.
///
/// # Errors
/// Returns an error if the list does not define an engine that the site names.
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

/// Makes a catalogue entry from a merged site.
pub(super) fn draft(name: &str, fields: Fields<'_>) -> Result<Draft, Reason> {
    check_convertible(fields)?;
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
        return Err("neither its address nor its `requestPayload` contains `{username}`".into());
    }
    rules(&mut draft, fields, &probe)?;
    draft.profile(&page, NAME);
    draft.set_home_page(Some(main));
    draft.accepts(fields.text("regexCheck")?);
    describe(&mut draft, fields)?;
    draft.known(&fields.texts("usernameClaimed")?);
    Ok(draft)
}

/// Refuses entries that cannot be reproduced with one request.
fn check_convertible(fields: Fields<'_>) -> Result<(), Reason> {
    if let Some(kind) = fields.text("type")?.filter(|kind| !matches!(*kind, "" | "username")) {
        return Err(format!("it accepts a `{}`, not a username", shown(kind)));
    }
    match fields.text("protocol")?.unwrap_or_default() {
        "" | "http" | "https" => {}
        "dns" => return Err("it looks up a domain of that name, and a domain is not an account".into()),
        other => {
            return Err(format!(
                "it is reached over `{}`, and only public websites are supported",
                shown(other)
            ));
        }
    }
    if fields.map("activation")?.is_some_and(|activation| !activation.is_empty()) {
        return Err("it needs a token that Maigret's own code fetches first (`activation`)".into());
    }
    if fields.flag("similarSearch")? {
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

fn parameters(fields: Fields<'_>) -> Result<String, Reason> {
    let Some(parameters) = fields.map("getParams")? else { return Ok(String::new()) };
    let pairs = super::fields::pairs("getParams", parameters)?;
    Ok(pairs.iter().map(|(name, value)| format!("&{name}={value}")).collect())
}

/// Sets the method and its body. Returns whether the body contains the name.
fn body(draft: &mut Draft, fields: Fields<'_>) -> Result<bool, Reason> {
    draft.method(fields.text("requestMethod")?)?;
    let payload = fields.map("requestPayload")?.filter(|payload| !payload.is_empty());
    let Some(payload) = payload.filter(|_| draft.entry.probes[0].method == Method::Post) else {
        return Ok(false);
    };
    let mut names = false;
    let mut filled = Map::new();
    for (member, value) in payload {
        // Maigret fills in only texts at the top level.
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
    // A barrier takes precedence over a presence text that contains it.
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
    // A page with status 403 may be a hit or a miss.
    let forbidden = if fields.flag("ignore403")? { codes(&[403]) } else { Vec::new() };
    let check = fields.text("checkType")?.unwrap_or_default();
    verdicts(draft, check, presence, absence, &forbidden)?;
    draft.probe().follow = check != "response_url";
    // A response to HEAD has no body in which barriers could be found.
    let wants_head = check == "status_code" && fields.flag("requestHeadOnly")?;
    if wants_head && !has_barriers && draft.entry.probes[0].method == Method::Get && probe.names {
        draft.probe().method = Method::Head;
    }
    Ok(())
}

/// Adds the rules for a hit and a miss. `forbidden` contains the error statuses that may mean a hit or a miss.
fn verdicts(
    draft: &mut Draft,
    check: &str,
    presence: Vec<String>,
    absence: Vec<String>,
    forbidden: &[StatusRule],
) -> Result<(), Reason> {
    let answered = |more: Vec<StatusRule>| [vec![success()], more, forbidden.to_vec()].concat();
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
                let status = answered(codes(&MISS_STATUSES));
                draft.entry.miss.push(MatcherEntry { any_word: absence, ..on_status(status) });
            }
            if !presence.is_empty() {
                // The page of an account may have any status, so the page of a missing account must not
                // contain a presence text.
                let status = codes(&[404, 410]);
                draft.entry.miss.push(MatcherEntry { no_word: presence, ..on_status(status) });
            }
        }
        "status_code" => {
            draft.entry.hit.push(on_status(vec![success()]));
            draft.entry.miss.push(on_status(codes(&MISS_STATUSES)));
        }
        "response_url" => {
            draft.entry.hit.push(MatcherEntry { any_word: presence, ..on_status(vec![success()]) });
            let redirect = StatusRule::Class(StatusClass::Redirection);
            draft.entry.miss.push(on_status([vec![redirect], codes(&MISS_STATUSES)].concat()));
        }
        "" => return Err("`checkType` is missing".into()),
        other => {
            return Err(format!(
                "unknown type `{}`; message, status_code and response_url are supported",
                shown(other)
            ));
        }
    }
    Ok(())
}

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
        let reason =
            format!("it forces the encoding `{}`; the encoding of the answer is used", shown(encoding));
        draft.changes.push(reason);
    }
    if !fields.texts("mirrors")?.is_empty() {
        draft.changes.push("its `mirrors` are ignored".into());
    }
    Ok(())
}
