//! The conditions of a rule one by one, and whether one rule holds on every response on which another rule holds.

use super::matcher::is_empty;
use crate::modules::definition::{MatcherEntry, StatusRule};

/// Returns whether `loose` holds on every response on which `tight` holds, for two rules about the response
/// of one probe. That is so if each condition of `loose` is a condition of `tight`. Returns `false` if this
/// cannot be decided easily.
pub(crate) fn implies(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    let parts = |rule: &MatcherEntry| parts(&MatcherEntry { probe: None, ..rule.clone() });
    let given = parts(tight);
    // A rule without conditions is refused by the validation of matchers.
    !is_empty(loose)
        && tight.ignore_case == loose.ignore_case
        && is_any_of(&tight.status, &loose.status, |tight, loose| covers(*loose, *tight))
        && is_any_of(&tight.any_word, &loose.any_word, |tight, loose| tight == loose)
        && parts(loose).iter().all(|part| !part.any_word.is_empty() || given.contains(part))
}

/// Returns the conditions of a rule one by one. The status is left out.
pub(crate) fn parts(rule: &MatcherEntry) -> Vec<MatcherEntry> {
    let base =
        || MatcherEntry { ignore_case: rule.ignore_case, probe: rule.probe, ..MatcherEntry::default() };
    let mut parts = Vec::new();
    parts.extend(rule.final_url.clone().map(|it| MatcherEntry { final_url: Some(it), ..base() }));
    parts.extend(
        rule.header
            .iter()
            .map(|(name, value)| MatcherEntry { header: [(name.clone(), value.clone())].into(), ..base() }),
    );
    parts.extend(rule.no_header.iter().map(|it| MatcherEntry { no_header: vec![it.clone()], ..base() }));
    parts.extend(rule.words.iter().map(|it| MatcherEntry { words: vec![it.clone()], ..base() }));
    if !rule.any_word.is_empty() {
        parts.push(MatcherEntry { any_word: rule.any_word.clone(), ..base() });
    }
    parts.extend(rule.no_word.iter().map(|it| MatcherEntry { no_word: vec![it.clone()], ..base() }));
    parts.extend(rule.text.iter().map(|it| MatcherEntry { text: vec![it.clone()], ..base() }));
    parts.extend(rule.title.clone().map(|it| MatcherEntry { title: Some(it), ..base() }));
    parts.extend(rule.title_is.clone().map(|it| MatcherEntry { title_is: Some(it), ..base() }));
    parts.extend(rule.body_is.clone().map(|it| MatcherEntry { body_is: Some(it), ..base() }));
    parts.extend(rule.regex.clone().map(|it| MatcherEntry { regex: Some(it), ..base() }));
    parts.extend(rule.shows_query.then(|| MatcherEntry { shows_query: true, ..base() }));
    parts.extend(rule.json.iter().map(|it| MatcherEntry { json: vec![it.clone()], ..base() }));
    parts.extend(rule.css.iter().map(|it| MatcherEntry { css: vec![it.clone()], ..base() }));
    parts
}

/// Returns whether the alternatives of the condition `tight` are among those of `loose`.
fn is_any_of<T>(tight: &[T], loose: &[T], is_one: impl Fn(&T, &T) -> bool) -> bool {
    let is_listed = |this: &T| loose.iter().any(|that| is_one(this, that));
    loose.is_empty() || (!tight.is_empty() && tight.iter().all(is_listed))
}

fn covers(loose: StatusRule, tight: StatusRule) -> bool {
    let ((from, to), (first, last)) = (loose.range(), tight.range());
    from <= first && last <= to
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(value: &Value) -> MatcherEntry {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn more_conditions_imply_fewer_but_not_the_reverse() {
        for (tight, loose) in [
            (json!({"status": [200], "words": ["a"]}), json!({"status": [200]})),
            (json!({"status": [200]}), json!({"status": ["2xx", 404]})),
            (json!({"words": ["a", "b"]}), json!({"words": ["b"]})),
            (json!({"any_word": ["a"]}), json!({"any_word": ["a", "b"]})),
            (json!({"header": {"x-a": "b", "y": ""}}), json!({"header": {"x-a": "b"}})),
            (json!({"status": [200], "no_word": ["a", "b"]}), json!({"no_word": ["a"]})),
            (
                json!({"json": [{"at": "/a", "exists": true}, {"at": "/b", "null": true}]}),
                json!({"json": [{"at": "/a", "exists": true}]}),
            ),
            (json!({"css": ["a", "b"]}), json!({"css": ["a"]})),
            (json!({"text": ["a", "b"]}), json!({"text": ["a"]})),
            (json!({"status": [200], "shows_query": true}), json!({"status": [200]})),
            (json!({"regex": "a", "status": [200]}), json!({"regex": "a"})),
        ] {
            assert!(implies(&rule(&tight), &rule(&loose)), "{tight} → {loose}");
            assert!(!implies(&rule(&loose), &rule(&tight)), "{loose} → {tight}");
        }
    }

    #[test]
    fn a_complex_condition_implies_nothing() {
        for (one, other) in [
            (json!({"status": [200]}), json!({"status": [404]})),
            (json!({"words": ["a"]}), json!({"words": ["a"], "ignore_case": true})),
            (json!({"any_word": ["a", "c"]}), json!({"any_word": ["a", "b"]})),
            (json!({"regex": "ab"}), json!({"regex": "a"})),
            (json!({"no_header": ["a"]}), json!({"no_header": ["b"]})),
            (json!({"title": "a"}), json!({"title_is": "a"})),
        ] {
            assert!(!implies(&rule(&one), &rule(&other)), "{one} → {other}");
        }
    }
}
