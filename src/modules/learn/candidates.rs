//! New conditions that may separate the answers, each with its cost: the higher it is, the more the condition depends
//! on wording or on a single account.

use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::{Value, json};

use super::evidence::Side;
use crate::modules::answer::Answer;
use crate::modules::definition::as_text;
use crate::modules::html::{MAX_FOUND, Selector};
use crate::modules::import::literal;
use crate::modules::probe::Response;
use crate::modules::tables;
use crate::modules::text::{same_name, squeeze};

/// The most values of a document, and the most classes and identifiers of a page, that are looked at.
const MAX_VALUES: usize = 400;
/// The deepest values of a document that are looked at.
const MAX_DEPTH: usize = 6;
/// The lengths of a text that a condition may repeat, in characters.
const TEXT_CHARS: std::ops::RangeInclusive<usize> = 8..=120;
/// The attributes that name elements, with the signs of such names in selectors.
const NAMES: [(&str, char); 2] = [("class", '.'), ("id", '#')];
/// The most texts of a page that are looked at.
const MAX_TEXTS: usize = 60;
/// The words, in lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Words {
    /// Parts of sentences that say that something does not exist.
    missing: Vec<String>,
    /// Parts of identifiers, without signs, that say the same.
    missing_identifiers: Vec<String>,
    /// Parts of texts that sites show for blocks, limits, sign-in pages and faults.
    failures: Vec<String>,
    /// Whole values that say only that something failed.
    vague: Vec<String>,
    /// Members that name the owner of an account.
    names: Vec<String>,
    /// Members that every account has.
    identifiers: Vec<String>,
    /// Parts of members that say how a request ended, and those that change with every request.
    about_request: Vec<String>,
    /// Members that all accounts of a site probably have, judged from one account.
    common: Vec<String>,
    /// Words in classes that every profile may have.
    profile_classes: Vec<String>,
    /// Words in classes that only some profiles have, or that say how a page is shown.
    optional_classes: Vec<String>,
    /// Answers that sites give for every name when they fail: status, content type and body.
    pub(super) failing_answers: Vec<(u16, String, String)>,
}

pub(super) static WORDS: LazyLock<Words> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/learning.json")));

/// Returns whether a text contains one of these parts.
fn has_part(text: &str, parts: &[String]) -> bool {
    parts.iter().any(|part| text.contains(part.as_str()))
}

/// Returns whether a text says that something does not exist.
fn says_missing(text: &str) -> bool {
    has_part(&text.to_lowercase(), &WORDS.missing) && !is_of_failure(text)
}

/// Returns whether an identifier, such as a class, says that something does not exist.
fn names_missing(identifier: &str) -> bool {
    let plain: String = identifier.chars().filter(|c| c.is_alphanumeric()).collect();
    has_part(&plain.to_lowercase(), &WORDS.missing_identifiers)
}

/// Returns whether a block, a limit, a sign-in page or a fault may show this text as well.
fn is_of_failure(text: &str) -> bool {
    let lower = text.trim().to_lowercase();
    WORDS.vague.contains(&lower) || has_part(&lower, &WORDS.failures)
}

/// Conditions as rules without a status, each with its cost.
type Candidates = Vec<(usize, Value)>;

/// Returns the conditions that may hold for the answers of a side.
pub(super) fn candidates(side: &Side<'_>) -> Candidates {
    let Some((query, answer)) = side.wanted.first() else { return Vec::new() };
    let name = side.module.name_of(query);
    let mut found = if side.is_hit { Vec::new() } else { of_missing_head(side, answer.response) };
    match (answer.json(), side.is_hit) {
        (Some(root), is_hit) => {
            for (at, value) in members(root, &name) {
                let conditions = match is_hit {
                    true => of_account(&at, value, &name),
                    false => of_missing(&at, value, &name).into_iter().collect(),
                };
                // A deep value, or one of many, proves less.
                let depth = at.matches('/').count() + 4 * at.matches("/*").count();
                found.extend(conditions.into_iter().map(|(cost, mut condition)| {
                    condition["at"] = json!(at);
                    (cost + depth, json!({ "json": [condition] }))
                }));
            }
        }
        (None, true) => found.extend(of_profile(answer, &name)),
        (None, false) => found.extend(of_missing_page(answer, &name)),
    }
    found
}

/// Returns the conditions that the status or the target of a redirect says that there is nothing.
fn of_missing_head(side: &Side<'_>, response: &Response) -> Candidates {
    let mut found = Vec::new();
    if side.statuses().iter().all(|status| matches!(status, 404 | 410)) {
        // The status is added to every rule.
        found.push((10, json!({})));
    }
    if let Some(location) = response.header("location").filter(|_| (300..400).contains(&response.status)) {
        found.push((15, json!({"header": {"Location": format!("^{}$", regex::escape(location))}})));
    }
    found
}

/// Returns the values of a document with their pointers, in document order. Elements of an array have the index
/// `*`, and only the first one is looked at. A member whose name is `name` has the segment `*`.
fn members<'v>(root: &'v Value, name: &str) -> Vec<(String, &'v Value)> {
    let mut found = vec![(String::new(), root)];
    let mut at = 0;
    while let Some((pointer, value)) = found.get(at).cloned().filter(|_| found.len() < MAX_VALUES) {
        at += 1;
        if pointer.matches('/').count() >= MAX_DEPTH {
            continue;
        }
        match value {
            Value::Object(members) => found.extend(members.iter().map(|(key, member)| {
                let escaped = key.replace('~', "~0").replace('/', "~1");
                let segment = if same_name(key, name) { "*" } else { &escaped };
                (format!("{pointer}/{segment}"), member)
            })),
            Value::Array(elements) => {
                found.extend(elements.first().map(|element| (format!("{pointer}/*"), element)));
            }
            _ => {}
        }
    }
    found
}

/// Returns the last named segment of a pointer, in lower case and without signs.
fn last_member(at: &str) -> String {
    let last = at.rsplit('/').find(|segment| *segment != "*").unwrap_or_default();
    last.chars().filter(|c| c.is_alphanumeric()).collect::<String>().to_lowercase()
}

/// Returns whether a member contains one of these words. A short word is part of many others.
fn is_part(member: &str, parts: &[String]) -> bool {
    parts.iter().any(|part| member == part || (part.len() > 3 && member.contains(part.as_str())))
}

/// Returns conditions on one value of a known account, which does not show which other members only some accounts have.
fn of_account(at: &str, value: &Value, name: &str) -> Candidates {
    let last = last_member(at);
    let mut found = Vec::new();
    if !at.is_empty() && is_part(&last, &WORDS.about_request) {
        return found;
    }
    if as_text(value).is_some_and(|text| same_name(&text, name)) {
        let cost = if is_part(&last, &WORDS.names) { 10 } else { 13 };
        found.push((cost, json!({"equals_query": true})));
    }
    let kind = match () {
        () if WORDS.identifiers.contains(&last) => 0,
        () if is_part(&last, &WORDS.common) => 4,
        () => return found,
    };
    let has_content = match value {
        // An empty list would say that there is nothing.
        Value::Array(elements) if !elements.is_empty() => json!({"type": "array", "min_length": 1}),
        Value::Object(members) if !members.is_empty() && !at.is_empty() => {
            json!({"type": "object", "min_length": 1})
        }
        Value::String(text) if !text.is_empty() => json!({"exists": true}),
        Value::Number(_) => json!({"exists": true}),
        _ => return found,
    };
    found.push((24 + kind, has_content));
    found
}

/// Returns the condition that a value says that there is nothing, if it does.
fn of_missing(at: &str, value: &Value, name: &str) -> Option<(usize, Value)> {
    let last = last_member(at);
    let is_about_request = is_part(&last, &WORDS.about_request);
    match value {
        Value::Null => Some((24, json!({"type": "null"}))),
        Value::Array(elements) if elements.is_empty() => {
            Some((22, json!({"type": "array", "max_length": 0})))
        }
        Value::Object(members) if members.is_empty() => {
            Some((22, json!({"type": "object", "max_length": 0})))
        }
        // `"ok": false` says only that something failed.
        Value::Bool(_) => (!is_about_request).then(|| (30, json!({ "equals": value }))),
        Value::Number(number) => match number.as_u64()? {
            0 => Some((22, json!({ "equals": value }))),
            400 | 401 | 403 | 429 | 500..=599 => None,
            _ => is_about_request.then(|| (20, json!({ "equals": value }))),
        },
        Value::String(text) => {
            let is_code = !text.contains(char::is_whitespace);
            let says = if is_code { is_about_request || names_missing(text) } else { says_missing(text) };
            if !says || text.chars().count() > *TEXT_CHARS.end() || is_of_failure(text) {
                return None;
            }
            let cost = if is_code { 20 } else { 40 };
            Some(match templated(text, name, literal) {
                (_, 0) => (cost, json!({ "equals": text })),
                (template, _) => (cost + 2, json!({ "equals_template": template })),
            })
        }
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// Returns the classes and identifiers of a page as selectors, each with the text of its element.
fn names(answer: &Answer<'_>) -> Vec<(String, String)> {
    let (page, mut found) = (answer.page(), Vec::<(String, String)>::new());
    for (attribute, sign) in NAMES {
        let Ok(selector) = Selector::parse(&format!("[{attribute}]")) else { continue };
        for element in page.select(&selector).into_iter().take(MAX_FOUND) {
            let names = page.attribute(element, attribute).unwrap_or_default().split_whitespace();
            for name in names.filter(|name| is_plain(name) && !name.contains(':')) {
                let select = format!("{sign}{name}");
                if found.len() < MAX_VALUES && found.iter().all(|(known, _)| *known != select) {
                    found.push((select, page.value(element, None).unwrap_or_default()));
                }
            }
        }
    }
    found
}

/// Returns whether a word can be written in a selector, and is not generated for a build of the site.
fn is_plain(word: &str) -> bool {
    let is_generated = ["css-", "sc-", "jsx-"].iter().any(|front| word.starts_with(front));
    (3..=40).contains(&word.len())
        && word.starts_with(|c: char| c.is_ascii_alphabetic())
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b))
        && word.bytes().filter(u8::is_ascii_digit).count() <= 3
        && !is_generated
}

/// Returns conditions on the page of a known account, which does not show which elements only some pages have.
fn of_profile(answer: &Answer<'_>, name: &str) -> Candidates {
    let mut found = vec![(14, json!({"shows_query": true}))];
    for (select, text) in names(answer) {
        let lower = select.to_lowercase();
        if same_name(text.trim().trim_start_matches('@'), name) {
            found.push((18, json!({"css": [{"select": select, "equals_query": true}]})));
        }
        let is_common = has_part(&lower, &WORDS.profile_classes)
            && !has_part(&lower, &WORDS.optional_classes)
            && !lower.contains(&name.to_lowercase());
        if is_common && !is_of_failure(&select) && !names_missing(&select) {
            found.push((30, json!({ "css": [select] })));
        }
    }
    found
}

/// Returns conditions on the page of a made-up name: what says that something does not exist.
fn of_missing_page(answer: &Answer<'_>, name: &str) -> Candidates {
    let mut found = Vec::new();
    let title = squeeze(answer.title().unwrap_or_default());
    if says_missing(&title) && title.chars().count() <= *TEXT_CHARS.end() {
        let pattern = format!("^{}$", templated(&title, name, regex::escape).0);
        found.push((30, json!({"css": [{"select": "title", "matches": pattern}]})));
    }
    // The message is between tags.
    let pieces = answer.text().split(['<', '>', '\n']).map(str::trim);
    let pieces = pieces.filter(|piece| TEXT_CHARS.contains(&piece.chars().count()) && says_missing(piece));
    found.extend(
        pieces.take(MAX_TEXTS).map(|piece| (44, json!({"words": [templated(piece, name, literal).0]}))),
    );
    found
}

/// Replaces the name in a text by `{query}`, and escapes the rest. Returns the template, and how often the name was
/// replaced. The name counts only as a whole word.
fn templated(text: &str, name: &str, escaped: fn(&str) -> String) -> (String, usize) {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let (mut out, mut end, mut count) = (String::new(), 0, 0);
    for (start, found) in text.match_indices(name).filter(|_| !name.is_empty()) {
        let behind = start + found.len();
        if !is_word(text[..start].chars().next_back()) && !is_word(text[behind..].chars().next()) {
            out.push_str(&escaped(&text[end..start]));
            out.push_str("{query}");
            (end, count) = (behind, count + 1);
        }
    }
    out.push_str(&escaped(&text[end..]));
    (out, count)
}
