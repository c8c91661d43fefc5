//! A condition that may become part of a rule.

use crate::modules::definition::{JsonRule, Matcher, StatusRule};
use crate::modules::html::Selector;
use crate::modules::probe::Response;
use crate::modules::template::{Kind, Template};

/// A condition, with its rank.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Candidate {
    /// The condition.
    pub(super) rule: Matcher,
    /// The rank: the higher, the more the condition depends on wording or on a single account.
    pub(super) cost: usize,
}

impl Candidate {
    pub(super) fn new(cost: usize, rule: Matcher) -> Self {
        Self { rule, cost }
    }

    pub(super) fn json(cost: usize, rule: JsonRule) -> Self {
        Self::new(cost, Matcher { json: vec![rule], ..Matcher::default() })
    }

    pub(super) fn words(cost: usize, word: &str) -> Self {
        Self::new(cost, Matcher { words: vec![template(word)], ..Matcher::default() })
    }
}

/// Returns a text as a template.
pub(super) fn template(text: &str) -> Template {
    Template::parse(text, Kind::Plain).unwrap_or_else(|_| Template::literal_of(text))
}

/// Returns a selector. One that is not valid finds nothing.
pub(super) fn selector(text: &str) -> Selector {
    Selector::parse(text).unwrap_or_default()
}

/// Returns the statuses of the responses as a condition.
pub(super) fn statuses<'r>(responses: impl Iterator<Item = &'r Response>) -> Vec<StatusRule> {
    let mut codes: Vec<u16> = responses.map(|response| response.status).collect();
    codes.sort_unstable();
    codes.dedup();
    codes.into_iter().map(StatusRule::Code).collect()
}

/// Replaces the name in a text by `{query}`, and doubles literal braces. Returns the template, and how often the
/// name was replaced. The name counts only as a whole word.
pub(super) fn templated(text: &str, name: &str) -> (String, usize) {
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || matches!(c, '-' | '_'));
    let (mut out, mut end, mut count) = (String::new(), 0, 0);
    for (start, found) in text.match_indices(name).filter(|_| !name.is_empty()) {
        let behind = start + found.len();
        if is_word(text[..start].chars().next_back()) || is_word(text[behind..].chars().next()) {
            continue;
        }
        out.push_str(&escaped(&text[end..start]));
        out.push_str("{query}");
        (end, count) = (behind, count + 1);
    }
    out.push_str(&escaped(&text[end..]));
    (out, count)
}

/// Doubles the braces of a text, as templates need it.
fn escaped(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Returns a text as a regex that matches it literally, with the name replaced by `{query}`.
pub(super) fn pattern_of(text: &str, name: &str) -> String {
    let (template, _) = templated(text, name);
    // Addresses have no braces, so that the only ones are those of the variable.
    template.split("{query}").map(regex::escape).collect::<Vec<_>>().join("{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_words_are_replaced_by_the_variable() {
        for (text, name, wanted, count) in [
            ("Hello bob, bobby!", "bob", "Hello {query}, bobby!", 1),
            ("{bob}", "bob", "{{{query}}}", 1),
            ("nobody", "bob", "nobody", 0),
            ("/u/bob/bob.html", "bob", "/u/{query}/{query}.html", 2),
            ("x", "", "x", 0),
        ] {
            assert_eq!(templated(text, name), (wanted.to_owned(), count), "{text}");
        }
        assert_eq!(pattern_of("/u.x/bob?a", "bob"), r"/u\.x/{query}\?a");
    }
}
