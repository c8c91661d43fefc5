//! A matcher: conditions on the response of one probe, all of which must hold.

use std::borrow::Cow;

use super::css::CssMatcher;
use super::head::HeadMatcher;
use super::json::JsonMatcher;
use super::shown::ShownMatcher;
use crate::modules::answer::Answer;
use crate::modules::definition::{MatcherEntry, StatusRule};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::{self, Pattern, SearchRegex};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values};

/// A compiled [`MatcherEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    /// The index of the probe whose response is tested, or `None` for the last response that was obtained.
    pub(crate) probe: Option<usize>,
    status: Vec<(u16, u16)>,
    final_url: Option<Pattern>,
    header: Vec<(String, Option<SearchRegex>)>,
    no_header: Vec<String>,
    words: Vec<Template>,
    any_word: Vec<Template>,
    no_word: Vec<Template>,
    shown: ShownMatcher,
    ignore_case: bool,
    body_is: Option<Template>,
    /// Whether `body_is` is an empty text or empty JSON.
    is_body_empty: bool,
    regex: Option<Pattern>,
    shows_query: Option<HeadMatcher>,
    json: Vec<JsonMatcher>,
    css: Vec<CssMatcher>,
    label: String,
}

/// The texts of `body_is` for a body without content. A template has braces twice.
const EMPTY_BODIES: [&str; 4] = ["", "null", "[]", "{{}}"];

/// The kinds of conditions that a matcher has. They determine the confidence, and the part of the body that
/// is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ConditionKinds {
    /// Whether the matcher holds only if JSON repeats the query.
    pub(crate) echo_in_json: bool,
    /// Whether the matcher holds only if the text, the page or the final address repeats the query.
    pub(crate) echo_in_text: bool,
    /// Whether the matcher requires something in JSON.
    pub(crate) json: bool,
    /// Whether the matcher requires something in the body or a header.
    pub(crate) marker: bool,
    /// Whether the matcher requires that something is absent from the body.
    pub(crate) absence: bool,
    /// Whether the matcher reads the body.
    pub(crate) reads_body: bool,
}

impl Matcher {
    /// Compiles a matcher. If it is invalid, adds the errors to `mistakes` and returns `None`.
    pub(crate) fn compile(
        entry: &MatcherEntry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        scope.check_probe(entry.probe, mistakes);
        let templates = |field: &str, texts: &[String], mistakes: &mut Mistakes| {
            mistakes.list(field, texts, |mistakes, text| scope.template(text, Kind::Plain, mistakes))
        };
        let words = templates("words", &entry.words, mistakes);
        let any_word = templates("any_word", &entry.any_word, mistakes);
        let no_word = templates("no_word", &entry.no_word, mistakes);
        let matcher = Self {
            probe: entry.probe,
            status: entry.status.iter().map(|rule| rule.range()).collect(),
            final_url: optional_pattern("final_url", entry.final_url.as_deref(), scope, mistakes),
            header: compile_headers(entry, mistakes),
            no_header: entry.no_header.iter().map(|name| name.to_ascii_lowercase()).collect(),
            words,
            any_word,
            no_word,
            shown: ShownMatcher::compile(entry, selectors, scope, mistakes),
            ignore_case: entry.ignore_case,
            body_is: entry.body_is.as_deref().and_then(|text| {
                mistakes.field("body_is", |mistakes| scope.template(text, Kind::Plain, mistakes))
            }),
            is_body_empty: entry.body_is.as_deref().is_some_and(|text| EMPTY_BODIES.contains(&text.trim())),
            regex: optional_pattern("regex", entry.regex.as_deref(), scope, mistakes),
            shows_query: if entry.shows_query {
                mistakes.field("shows_query", |mistakes| mistakes.take(HeadMatcher::compile(selectors)))
            } else {
                None
            },
            json: mistakes
                .list("json", &entry.json, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes)),
            css: mistakes.list("css", &entry.css, |mistakes, rule| {
                CssMatcher::compile(rule, selectors, scope, mistakes)
            }),
            label: String::new(),
        };
        if is_empty(entry) {
            mistakes.add("no condition: it would match every answer; add at least a `status`");
        }
        (mistakes.count() == before).then(|| Self { label: matcher.describe(entry), ..matcher })
    }

    /// Returns whether every condition holds. On a body that was cut off, conditions on the whole body (that
    /// something is absent, or that the body equals a text) do not hold, since the rest of it is unknown.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        self.head_holds(answer, values)
            && self.text_holds(answer, values)
            && self.shown.holds(answer, values)
            && (self.json.is_empty()
                || answer.json().is_some_and(|root| self.json.iter().all(|rule| rule.holds(root, values))))
            && self.shows_query.as_ref().is_none_or(|rule| rule.holds(answer, values.name))
            && self.css.iter().all(|rule| rule.holds(answer, values))
    }

    fn head_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let response = answer.response;
        let has = |name: &str| response.headers.iter().any(|(known, _)| known == name);
        (self.status.is_empty()
            || self.status.iter().any(|(from, to)| (*from..=*to).contains(&response.status)))
            && self.final_url.as_ref().is_none_or(|it| it.is_found(response.final_url.as_str(), values))
            && self.header.iter().all(|(name, regex)| match regex {
                None => has(name),
                Some(regex) => {
                    let is_it = |value: &str| regex.is_found(value, values.searches);
                    response.headers.iter().any(|(known, value)| known == name && is_it(value))
                }
            })
            && !self.no_header.iter().any(|name| has(name))
    }

    fn text_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let stands = |template: &Template| {
            template.fill(values).is_ok_and(|word| {
                if self.ignore_case {
                    answer.lower().contains(&word.to_lowercase())
                } else {
                    answer.text().contains(&word)
                }
            })
        };
        self.words.iter().all(stands)
            && (self.any_word.is_empty() || self.any_word.iter().any(stands))
            && (self.no_word.is_empty() || !answer.is_cut() && !self.no_word.iter().any(stands))
            && self.body_is.as_ref().is_none_or(|template| {
                !answer.is_cut()
                    && template.fill(values).is_ok_and(|wanted| {
                        let (body, wanted) = (self.cased(answer.text()), self.cased(&wanted));
                        body.trim() == wanted.trim()
                    })
            })
            && self
                .regex
                .as_ref()
                .is_none_or(|regex| regex.is_found_in(answer.text(), answer.is_cut(), values))
    }

    fn cased<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.ignore_case { Cow::Owned(text.to_lowercase()) } else { Cow::Borrowed(text) }
    }

    /// Returns the conditions without the compared values, for the evidence of a result.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns the condition on the address after redirects.
    pub(crate) fn final_url(&self) -> Option<&Pattern> {
        self.final_url.as_ref()
    }

    /// Returns whether the matcher tests the address after redirects or the target of a redirect.
    pub(crate) fn judges_redirects(&self) -> bool {
        self.final_url.is_some() || self.header.iter().any(|(name, _)| name == "location")
    }

    /// Returns whether the matcher requires that the page shows the query as a name.
    pub(crate) fn proves_name(&self) -> bool {
        self.json.iter().any(JsonMatcher::echoes_query) || self.css.iter().any(CssMatcher::proves_name)
    }

    /// Returns whether the matcher may hold on a response without a body, since it tests for an empty body
    /// or tests the head.
    pub(crate) fn allows_empty_body(&self) -> bool {
        self.body_is.is_some() || !self.header.is_empty() || self.final_url.is_some()
    }

    /// Returns whether the matcher requires no content: it tests only the status, the headers or the address, or
    /// requires that something is absent from the body or empty. An error that a site has for every name fulfils it,
    /// too.
    pub(crate) fn is_bare(&self) -> bool {
        let requires_text = !self.words.is_empty()
            || !self.any_word.is_empty()
            || (self.body_is.is_some() && !self.is_body_empty)
            || self.regex.is_some()
            || self.shown.is_asked()
            || self.shows_query.is_some();
        !requires_text
            && self.json.iter().all(JsonMatcher::is_bare)
            && !self.css.iter().any(CssMatcher::is_positive)
    }

    /// Returns whether the matcher holds only on JSON.
    pub(crate) fn reads_json(&self) -> bool {
        !self.json.is_empty()
    }

    pub(crate) fn condition_kinds(&self) -> ConditionKinds {
        let shows = |template: &Template| template.shows_query();
        let regex_shows = |it: &Option<Pattern>| it.as_ref().and_then(Pattern::template).is_some_and(shows);
        let echo_in_text = self.words.iter().any(shows)
            || (!self.any_word.is_empty() && self.any_word.iter().all(shows))
            || regex_shows(&self.regex)
            || regex_shows(&self.final_url)
            || self.shown.echoes_query()
            || self.body_is.as_ref().is_some_and(shows)
            || self.shows_query.is_some()
            || self.css.iter().any(CssMatcher::echoes_query);
        let reads_text = !self.words.is_empty()
            || !self.any_word.is_empty()
            || self.body_is.is_some()
            || self.regex.is_some()
            || self.shown.is_asked();
        ConditionKinds {
            echo_in_json: self.json.iter().any(JsonMatcher::echoes_query),
            echo_in_text,
            json: self.json.iter().any(JsonMatcher::is_positive),
            marker: reads_text
                || self.shows_query.is_some()
                || self.css.iter().any(CssMatcher::is_positive)
                || !self.header.is_empty(),
            absence: !self.no_word.is_empty()
                || self.css.iter().any(|rule| !rule.is_positive())
                || self.json.iter().any(|rule| !rule.is_positive()),
            reads_body: reads_text
                || self.shows_query.is_some()
                || !self.no_word.is_empty()
                || !self.json.is_empty()
                || !self.css.is_empty(),
        }
    }

    fn describe(&self, entry: &MatcherEntry) -> String {
        let mut words: Vec<String> = Vec::new();
        if !entry.status.is_empty() {
            let codes = entry.status.iter().map(|rule| match rule {
                StatusRule::Code(code) => code.to_string(),
                StatusRule::Class(_) => format!("{}xx", rule.range().0 / 100),
            });
            words.push(format!("status {}", codes.collect::<Vec<_>>().join("/")));
        }
        let flags = [
            (entry.final_url.is_some(), "final_url"),
            (!entry.words.is_empty(), "words"),
            (!entry.any_word.is_empty(), "any_word"),
            (!entry.no_word.is_empty(), "no_word"),
            (!entry.text.is_empty(), "text"),
            (entry.title.is_some(), "title"),
            (entry.title_is.is_some(), "title_is"),
            (entry.body_is.is_some(), "body_is"),
            (entry.regex.is_some(), "regex"),
            (entry.shows_query, "shows_query"),
        ];
        words.extend(self.header.iter().map(|(name, _)| format!("header {name}")));
        words.extend(self.no_header.iter().map(|name| format!("no header {name}")));
        words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| (*word).to_owned()));
        words.extend(self.json.iter().map(|rule| format!("json {}", rule.label())));
        words.extend(self.css.iter().map(|rule| format!("css {}", rule.label())));
        words.join(", ")
    }
}

/// Returns whether the entry has no condition at all.
pub(super) fn is_empty(entry: &MatcherEntry) -> bool {
    let bare = MatcherEntry { probe: entry.probe, ignore_case: entry.ignore_case, ..MatcherEntry::default() };
    *entry == bare
}

fn optional_pattern(
    field: &str,
    text: Option<&str>,
    scope: &Scope,
    mistakes: &mut Mistakes,
) -> Option<Pattern> {
    let text = text?;
    mistakes.field(field, |mistakes| scope.pattern(text, mistakes))
}

fn compile_headers(entry: &MatcherEntry, mistakes: &mut Mistakes) -> Vec<(String, Option<SearchRegex>)> {
    mistakes.field("header", |mistakes| {
        let headers = entry.header.iter().filter_map(|(name, pattern)| {
            let regex = if pattern.is_empty() {
                None
            } else {
                Some(mistakes.field(name, |mistakes| pattern::read_search(pattern, mistakes))?)
            };
            Some((name.to_ascii_lowercase(), regex))
        });
        headers.collect()
    })
}
