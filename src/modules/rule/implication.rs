//! Decides whether one rule holds on every response on which another rule holds.

use super::matcher::is_empty;
use crate::modules::definition::{MatcherEntry, StatusRule};

/// Returns whether `loose` holds on every response on which `tight` holds, for two rules about the response
/// of one probe. That is so if each condition of `loose` is a condition of `tight`. Returns `false` if this
/// cannot be decided easily.
pub(crate) fn implies(tight: &MatcherEntry, loose: &MatcherEntry) -> bool {
    // A rule without conditions is refused by the validation of matchers.
    !is_empty(loose)
        && tight.ignore_case == loose.ignore_case
        && is_any_of(&tight.status, &loose.status, |tight, loose| covers(*loose, *tight))
        && is_same(tight.final_url.as_ref(), loose.final_url.as_ref())
        && is_same(tight.body_is.as_ref(), loose.body_is.as_ref())
        && is_same(tight.regex.as_ref(), loose.regex.as_ref())
        && is_same(tight.title.as_ref(), loose.title.as_ref())
        && is_same(tight.title_is.as_ref(), loose.title_is.as_ref())
        && loose.header.iter().all(|(name, pattern)| tight.header.get(name) == Some(pattern))
        && all_in(&loose.no_header, &tight.no_header)
        && all_in(&loose.words, &tight.words)
        && is_any_of(&tight.any_word, &loose.any_word, |tight, loose| tight == loose)
        && all_in(&loose.no_word, &tight.no_word)
        && all_in(&loose.text, &tight.text)
        && all_in(&loose.json, &tight.json)
        && all_in(&loose.css, &tight.css)
        && (tight.shows_query || !loose.shows_query)
}

fn is_same(tight: Option<&String>, loose: Option<&String>) -> bool {
    loose.is_none() || tight == loose
}

fn all_in<T: PartialEq>(these: &[T], those: &[T]) -> bool {
    these.iter().all(|this| those.contains(this))
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
