//! Whether one rule holds wherever another one does.

use super::matcher::{is_empty, status_range};
use crate::modules::definition::{BodyHash, MatcherEntry, StatusRule};

/// Whether `loose` holds on every answer on which `tight` does, by what they spell out: each condition of
/// `loose` is one of `tight` too. `false` where that is not plain.
pub(crate) fn implies(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    tight.probe == loose.probe && on_any_answer(tight, loose)
}

/// The same for two rules that are asked of one answer, whichever probe they name.
pub(crate) fn on_any_answer(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    let has_texts = !loose.words.is_empty()
        || !loose.any_word.is_empty()
        || !loose.no_word.is_empty()
        || loose.body_is.is_some()
        || !loose.text.is_empty()
        || loose.title.is_some()
        || loose.title_is.is_some();
    // A rule without conditions is told elsewhere.
    !is_empty(loose)
        && (tight.ignore_case == loose.ignore_case || !has_texts)
        && statuses(tight, loose)
        && same_if_given(tight.final_url.as_ref(), loose.final_url.as_ref())
        && same_if_given(tight.body_is.as_ref(), loose.body_is.as_ref())
        && same_if_given(tight.regex.as_ref(), loose.regex.as_ref())
        && headers(tight, loose)
        && loose.words.iter().all(|word| tight.words.iter().any(|it| holds(it, word)))
        && loose.no_word.iter().all(|word| tight.no_word.iter().any(|it| holds(word, it)))
        && any_word(tight, loose)
        && loose.text.iter().all(|text| tight.text.iter().any(|it| holds(it, text)))
        && title(tight, loose)
        && same_if_given(tight.title_is.as_ref(), loose.title_is.as_ref())
        && all_in(&loose.json, &tight.json)
        && all_in(&loose.css, &tight.css)
        && all_in(&loose.script, &tight.script)
        && (tight.shows_query || !loose.shows_query)
        && body_hash(&tight.body_hash, &loose.body_hash)
}

/// One digest of all that are listed is enough for either rule.
fn body_hash(tight: &BodyHash, loose: &BodyHash) -> bool {
    loose.is_empty()
        || (!tight.is_empty()
            && all_in(&tight.sha256, &loose.sha256)
            && all_in(&tight.sha1, &loose.sha1)
            && all_in(&tight.md5, &loose.md5)
            && all_in(&tight.mmh3, &loose.mmh3))
}

fn same_if_given(tight: Option<&String>, loose: Option<&String>) -> bool {
    loose.is_none() || tight == loose
}

fn all_in<T: PartialEq>(these: &[T], those: &[T]) -> bool {
    these.iter().all(|this| those.contains(this))
}

fn statuses(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    let is_within =
        |tight: (u16, u16)| (tight.0..=tight.1).all(|code| loose.status.iter().any(|it| has(it, code)));
    // What is no status is told elsewhere.
    let is_covered = |rule: &StatusRule| status_range(rule).is_ok_and(is_within);
    loose.status.is_empty() || (!tight.status.is_empty() && tight.status.iter().all(is_covered))
}

fn has(rule: &StatusRule, code: u16) -> bool {
    status_range(rule).is_ok_and(|(from, to)| (from..=to).contains(&code))
}

fn headers(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    let has = |(name, pattern): (&String, &String)| {
        let mut given = tight.header.iter();
        given.any(|(known, known_pattern)| {
            known.eq_ignore_ascii_case(name) && (pattern.is_empty() || pattern == known_pattern)
        })
    };
    let lacks = |name: &String| tight.no_header.iter().any(|known| known.eq_ignore_ascii_case(name));
    loose.header.iter().all(has) && loose.no_header.iter().all(lacks)
}

fn any_word(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    loose.any_word.is_empty()
        || tight.words.iter().any(|word| has_one(&loose.any_word, word))
        || (!tight.any_word.is_empty() && tight.any_word.iter().all(|word| has_one(&loose.any_word, word)))
}

/// A part of a title stands in the whole of it, too.
fn title(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    let has = |known: &Option<String>, part: &str| known.as_deref().is_some_and(|it| holds(it, part));
    loose.title.as_deref().is_none_or(|part| has(&tight.title, part) || has(&tight.title_is, part))
}

fn has_one(words: &[String], text: &str) -> bool {
    words.iter().any(|word| holds(text, word))
}

/// Whether `word` stands in `text`, whatever its variables are filled with.
fn holds(text: &str, word: &str) -> bool {
    let is_plain = !word.contains(['{', '}']);
    // Between variables; what is doubled there stands for itself.
    let mut pieces = text.split(['{', '}']).step_by(if text.contains(['{', '}']) { 2 } else { 1 });
    text == word
        || (is_plain && !text.contains("{{") && !text.contains("}}") && pieces.any(|it| it.contains(word)))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn rule(value: &Value) -> MatcherEntry {
        serde_json::from_value(value.clone()).unwrap()
    }

    #[test]
    fn more_conditions_imply_fewer_and_never_the_other_way_round() {
        for (tight, loose) in [
            (json!({"status": [200], "words": ["a"]}), json!({"status": [200]})),
            (json!({"status": [200]}), json!({"status": ["2xx", 404]})),
            (json!({"words": ["a", "b"]}), json!({"words": ["b"]})),
            (json!({"words": ["a"]}), json!({"any_word": ["a", "b"]})),
            (json!({"any_word": ["a"]}), json!({"any_word": ["a", "b"]})),
            (json!({"header": {"X-A": "b", "Y": ""}}), json!({"header": {"x-a": ""}})),
            (json!({"status": [200], "no_word": ["a", "b"]}), json!({"no_word": ["a"]})),
            (
                json!({"json": [{"at": "/a", "exists": true}, {"at": "/b", "null": true}]}),
                json!({"json": [{"at": "/a", "exists": true}]}),
            ),
            (json!({"css": ["a", "b"]}), json!({"css": ["a"]})),
            (json!({"text": ["not found", "b"]}), json!({"text": ["found"]})),
            (json!({"title_is": "a b"}), json!({"title": "a"})),
            (json!({"title": "a b"}), json!({"title": "a"})),
            (json!({"status": [200], "shows_query": true}), json!({"status": [200]})),
            (
                json!({"script": [{"at": "/a", "exists": true}, {"at": "/b", "exists": true}]}),
                json!({"script": [{"at": "/a", "exists": true}]}),
            ),
            (json!({"body_hash": {"mmh3": [1]}}), json!({"body_hash": {"mmh3": [1, 2]}})),
            (json!({"body_hash": {"mmh3": [1]}}), json!({"body_hash": {"mmh3": [1], "md5": ["a"]}})),
            (json!({"regex": "a", "status": [200]}), json!({"regex": "a"})),
            (json!({"words": ["hello {query}"]}), json!({"words": ["hell"]})),
            (json!({"words": ["{query} is there"]}), json!({"any_word": ["x", "there"]})),
            (json!({"any_word": ["abc", "cbd"]}), json!({"any_word": ["b"]})),
            (json!({"no_word": ["b"]}), json!({"no_word": ["abc"]})),
            (json!({"ignore_case": true, "words": ["a"], "status": [200]}), json!({"status": [200]})),
        ] {
            assert!(implies(&rule(&tight), &rule(&loose)), "{tight} → {loose}");
            assert!(!implies(&rule(&loose), &rule(&tight)), "{loose} → {tight}");
        }
    }

    #[test]
    fn what_is_not_plain_implies_nothing() {
        for (one, other) in [
            (json!({"status": [200]}), json!({"status": [404]})),
            (json!({"status": [200], "probe": 0}), json!({"status": [200]})),
            (json!({"words": ["a"]}), json!({"words": ["a"], "ignore_case": true})),
            (json!({"any_word": ["a", "c"]}), json!({"any_word": ["a", "b"]})),
            (json!({"regex": "ab"}), json!({"regex": "a"})),
            (json!({"words": ["a {query}"]}), json!({"words": ["query"]})),
            (json!({"words": ["a{{b"]}), json!({"words": ["b{"]})),
            (json!({"words": ["ab {query}"]}), json!({"words": ["b {domain}"]})),
            (json!({"no_word": ["abc"]}), json!({"no_word": ["b"], "words": ["x"]})),
            (json!({"no_header": ["a"]}), json!({"no_header": ["b"]})),
        ] {
            assert!(!implies(&rule(&one), &rule(&other)), "{one} → {other}");
        }
    }
}
