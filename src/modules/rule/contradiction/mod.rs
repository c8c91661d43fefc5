//! Rules that no answer can fulfil: always a slip of the author.

use crate::modules::definition::{CssRule, MatcherEntry, StatusRule};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::Pattern;
use crate::modules::rule::matcher::status_range;

mod json;

/// Notes every contradiction inside one matcher.
pub(super) fn note(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    statuses(entry, mistakes);
    words(entry, mistakes);
    whole_body(entry, mistakes);
    headers(entry, mistakes);
    css(entry, mistakes);
    title(entry, mistakes);
    for (field, rules) in [("json", &entry.json), ("script", &entry.script)] {
        for (index, rule) in rules.iter().enumerate() {
            mistakes.field(field, |mistakes| mistakes.element(index, |mistakes| json::alone(rule, mistakes)));
        }
        mistakes.field(field, |mistakes| json::together(rules, mistakes));
    }
    if !entry.json.is_empty() && !entry.script.is_empty() {
        mistakes.add_in("script", "a body that is JSON has no scripts: use `json` or `script`, not both");
    }
}

/// Conditions that only a body can fulfil.
fn wants_body(entry: &MatcherEntry) -> bool {
    !entry.words.is_empty()
        || !entry.any_word.is_empty()
        || !entry.json.is_empty()
        || !entry.script.is_empty()
        || entry.shows_query
        || !entry.text.is_empty()
        || entry.title.is_some()
        || entry.title_is.is_some()
        || entry.regex.is_some()
        || entry.css.iter().any(wants_element)
}

fn statuses(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    let all_in = |list: &[u16]| {
        let is_in = |rule: &StatusRule| matches!(rule, StatusRule::Code(code) if list.contains(code));
        !entry.status.is_empty() && entry.status.iter().all(is_in)
    };
    if all_in(&[429]) {
        mistakes.add_in("status", "429 is always a limit (`rate_limited`): no rule gets to see it");
    }
    let is_interim = |rule: &StatusRule| status_range(rule).is_ok_and(|(_, to)| to < 200);
    if !entry.status.is_empty() && entry.status.iter().all(is_interim) {
        mistakes
            .add_in("status", "no final answer has a status of 100 to 199: what follows it is the answer");
    }
    let has_body = wants_body(entry) || entry.body_is.as_deref().is_some_and(|text| !text.is_empty());
    if has_body && all_in(&[204, 205, 304]) {
        mistakes.add_in("status", "such an answer has no body, and the other conditions want one");
    }
}

/// `body_is` against the other conditions on the body.
fn whole_body(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    let Some(body) = &entry.body_is else { return };
    if body.is_empty() {
        if wants_body(entry) {
            mistakes.add_in("body_is", "an empty body fulfils none of the other conditions on the body");
        }
        return;
    }
    let fold = |text: &str| if entry.ignore_case { text.to_lowercase() } else { text.to_owned() };
    if !is_fixed(body) {
        return;
    }
    if entry.shows_query {
        mistakes.add_in("body_is", "such a body shows no name, and `shows_query` wants one");
    }
    if let Some(regex) = entry.regex.as_deref().filter(|regex| !may_be_found(regex, body, entry.ignore_case))
    {
        mistakes.add_in("body_is", format!("the `regex` `{regex}` is not found in it"));
    }
    let body = fold(body);
    let stands = |word: &&String| body.contains(&fold(word));
    if let Some(word) = entry.words.iter().filter(|word| is_fixed(word)).find(|word| !stands(word)) {
        mistakes.add_in("body_is", format!("`{word}` of `words` does not stand in it"));
    }
    let has_any = entry.any_word.is_empty() || entry.any_word.iter().any(|word| stands(&word));
    if !has_any && entry.any_word.iter().all(|word| is_fixed(word)) {
        mistakes.add_in("body_is", "no text of `any_word` stands in it");
    }
    if let Some(word) = entry.no_word.iter().filter(|word| is_fixed(word)).find(stands) {
        mistakes.add_in("body_is", format!("`{word}` of `no_word` stands in it"));
    }
}

/// A part of the title that does not stand in the whole of it; a page in a body that is JSON.
fn title(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    if let (Some(part), Some(whole)) = (&entry.title, &entry.title_is)
        && is_fixed(part)
        && is_fixed(whole)
        && !whole.to_lowercase().contains(&part.to_lowercase())
    {
        mistakes.add_in("title", format!("`{part}` does not stand in `{whole}` of `title_is`"));
    }
    let is_of_page = !entry.text.is_empty() || entry.title.is_some() || entry.title_is.is_some();
    if is_of_page && !entry.json.is_empty() {
        mistakes.add_in("json", "a body that is JSON shows no text and has no title");
    }
}

/// A text without variables; what is filled in may hold anything.
fn is_fixed(text: &str) -> bool {
    !text.contains(['{', '}'])
}

/// Whether a regex may be found in a body that is `text`, perhaps with white space around it.
fn may_be_found(regex: &str, text: &str, in_any_case: bool) -> bool {
    match Pattern::parse(regex) {
        Ok(Pattern::Fixed(regex)) => {
            let padded = format!("\n {text} \n");
            in_any_case || regex.is_match(text) || regex.is_match(&padded)
        }
        _ => true,
    }
}

fn words(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    let fold = |word: &str| if entry.ignore_case { word.to_lowercase() } else { word.to_owned() };
    let forbidden: Vec<String> = entry.no_word.iter().map(|word| fold(word)).collect();
    let is_forbidden = |word: &String| {
        let word = fold(word);
        forbidden.iter().find(|no| word.contains(no.as_str())).cloned()
    };
    for word in &entry.words {
        if let Some(no) = is_forbidden(word) {
            mistakes.add_in(
                "no_word",
                format!("`{no}` stands in `{word}` of `words`: no body has the one without the other"),
            );
        }
    }
    if entry.shows_query && entry.no_word.iter().any(|word| word == "{query}") {
        mistakes.add_in("no_word", "`shows_query` wants the page to show the `{query}`");
    }
    let hits: Vec<_> = entry.any_word.iter().map(is_forbidden).collect();
    if !hits.is_empty() && hits.iter().all(Option::is_some) {
        mistakes.add_in("no_word", "it forbids every text of `any_word`");
    }
}

fn headers(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    let mut seen: Vec<String> = Vec::new();
    for name in entry.header.keys() {
        let lower = name.to_ascii_lowercase();
        if entry.no_header.iter().any(|no| no.eq_ignore_ascii_case(name)) {
            mistakes.add_in("no_header", format!("`{name}` is wanted by `header`"));
        }
        if seen.contains(&lower) {
            mistakes.add_in("header", format!("`{name}` stands twice; upper and lower case are the same"));
        }
        seen.push(lower);
    }
}

fn wants_element(rule: &CssRule) -> bool {
    match rule {
        CssRule::Found(_) => true,
        CssRule::Detailed(condition) => condition.exists,
    }
}

fn css(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    for (index, rule) in entry.css.iter().enumerate() {
        let CssRule::Detailed(no) = rule else { continue };
        let is_bare = no.matches.is_none() && no.equals_query.is_none();
        if no.exists || !is_bare {
            continue;
        }
        let is_wanted = entry.css.iter().any(|other| match other {
            CssRule::Found(select) => *select == no.select,
            CssRule::Detailed(yes) => yes.exists && yes.select == no.select,
        });
        if is_wanted {
            let message = format!("`{}` must be there and not be there", no.select);
            mistakes.field("css", |mistakes| mistakes.element(index, |mistakes| mistakes.add(message)));
        }
    }
}
