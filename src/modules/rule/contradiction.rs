//! Rules that no answer can fulfil: always a slip of the author.

use crate::modules::definition::{CssRule, JsonRule, MatcherEntry};
use crate::modules::mistake::Mistakes;

/// Notes every contradiction inside one matcher.
pub(super) fn note(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    words(entry, mistakes);
    headers(entry, mistakes);
    css(entry, mistakes);
    for (index, rule) in entry.json.iter().enumerate() {
        mistakes.field("json", |mistakes| mistakes.element(index, |mistakes| json(rule, mistakes)));
    }
    json_together(entry, mistakes);
    if entry.body_is.as_deref() == Some("") {
        let wants_body = !entry.words.is_empty()
            || !entry.any_word.is_empty()
            || !entry.json.is_empty()
            || entry.css.iter().any(wants_element);
        if wants_body {
            mistakes.add_in("body_is", "an empty body fulfils none of the other conditions on the body");
        }
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

fn json(rule: &JsonRule, mistakes: &mut Mistakes) {
    let is_value_wanted = rule.equals.is_some()
        || !rule.any_of.is_empty()
        || rule.equals_query == Some(true)
        || rule.equals_template.is_some()
        || rule.min_length.is_some()
        || rule.max_length.is_some()
        || rule.above.is_some()
        || rule.below.is_some()
        || rule.contains.is_some()
        || rule.matches.is_some();
    if rule.exists == Some(false) && (is_value_wanted || rule.null == Some(false)) {
        mistakes.add_in("exists", "nothing is there that could fulfil the other conditions");
    }
    if rule.exists == Some(true) && rule.null == Some(true) && !rule.at.contains('*') {
        mistakes.add_in("null", "null counts as absent, and `exists` wants a value");
    }
    if rule.null == Some(true) && is_value_wanted {
        mistakes.add_in("null", "null fulfils none of the other conditions");
    }
    if rule.equals.is_some() && rule.equals == rule.not_equals {
        mistakes.add_in("not_equals", "it is the value that `equals` wants");
    }
    if let (Some(wanted), false) = (&rule.equals, rule.any_of.is_empty())
        && !rule.any_of.contains(wanted)
    {
        mistakes.add_in("any_of", "the value that `equals` wants is not among them");
    }
    if rule.contains.is_some() && rule.contains == rule.not_contains {
        mistakes.add_in("not_contains", "it is the text that `contains` wants");
    }
    if matches!((rule.min_length, rule.max_length), (Some(least), Some(most)) if least > most) {
        mistakes.add_in("max_length", "it is less than `min_length`");
    }
    if matches!((rule.above, rule.below), (Some(above), Some(below)) if above >= below) {
        mistakes.add_in("below", "no number is above the one and below the other");
    }
}

/// Two rules on one and the same place.
fn json_together(entry: &MatcherEntry, mistakes: &mut Mistakes) {
    for (index, rule) in entry.json.iter().enumerate() {
        for (other_index, other) in entry.json.iter().enumerate() {
            if rule.at != other.at {
                continue;
            }
            let is_plural = rule.at.contains('*');
            let message = if rule.exists == Some(false) && other.exists == Some(true) {
                format!("`{}` must be there and not be there", rule.at)
            } else if index < other_index
                && !is_plural
                && matches!((&rule.equals, &other.equals), (Some(a), Some(b)) if a != b)
            {
                format!("`{}` cannot equal two values; use `any_of`", rule.at)
            } else {
                continue;
            };
            mistakes.field("json", |mistakes| mistakes.element(index, |mistakes| mistakes.add(message)));
        }
    }
}
