//! A conjunction of conditions on the answer of one probe.

use std::borrow::Cow;

use regex::Regex;
use serde_json::Value;

use super::contradiction;
use super::css::CssMatcher;
use super::head::HeadMatcher;
use super::json::JsonMatcher;
use super::shown::ShownMatcher;
use crate::modules::answer::Answer;
use crate::modules::definition::{BodyHash, MatcherEntry, StatusRule};
use crate::modules::digest::Algorithm;
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::{self, Pattern};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values};

/// A compiled [`MatcherEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Matcher {
    /// Which probe's answer; `None`: the last one that was obtained.
    pub(crate) probe: Option<usize>,
    status: Vec<(u16, u16)>,
    final_url: Option<Pattern>,
    header: Vec<(String, Option<Regex>)>,
    no_header: Vec<String>,
    words: Vec<Template>,
    any_word: Vec<Template>,
    no_word: Vec<Template>,
    shown: ShownMatcher,
    ignore_case: bool,
    body_is: Option<Template>,
    regex: Option<Pattern>,
    shows_query: Option<HeadMatcher>,
    json: Vec<JsonMatcher>,
    script: Vec<JsonMatcher>,
    css: Vec<CssMatcher>,
    /// One of these is enough.
    body_hash: Vec<(Algorithm, Value)>,
    label: String,
}

/// What kinds of conditions a matcher has, for confidence and for how much of a body is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Clues {
    /// It holds only where JSON repeats the query.
    pub(crate) echo_in_json: bool,
    /// It holds only where text, page or final address repeats the query.
    pub(crate) echo_in_text: bool,
    /// It wants something in JSON.
    pub(crate) json: bool,
    /// It wants something in the body or a header.
    pub(crate) marker: bool,
    /// It wants something not to be in the body.
    pub(crate) absence: bool,
    /// It looks at the body.
    pub(crate) reads_body: bool,
}

impl Matcher {
    /// Compiles a matcher; `None` after noting what is wrong.
    pub(crate) fn compile(
        entry: &MatcherEntry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        scope.check_probe(entry.probe, mistakes);
        let templates = |field: &str, texts: &[String], mistakes: &mut Mistakes| {
            mistakes.list(field, texts, |mistakes, text| {
                if text.is_empty() {
                    mistakes.add("an empty text stands in every body");
                }
                scope.template(text, Kind::Plain, mistakes)
            })
        };
        let words = templates("words", &entry.words, mistakes);
        let any_word = templates("any_word", &entry.any_word, mistakes);
        let no_word = templates("no_word", &entry.no_word, mistakes);
        let matcher = Self {
            probe: entry.probe,
            status: mistakes
                .list("status", &entry.status, |mistakes, rule| mistakes.take(status_range(rule))),
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
            regex: optional_pattern("regex", entry.regex.as_deref(), scope, mistakes),
            shows_query: if entry.shows_query {
                mistakes.field("shows_query", |mistakes| mistakes.take(HeadMatcher::compile(selectors)))
            } else {
                None
            },
            json: mistakes
                .list("json", &entry.json, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes)),
            script: mistakes
                .list("script", &entry.script, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes)),
            css: mistakes.list("css", &entry.css, |mistakes, rule| {
                CssMatcher::compile(rule, selectors, scope, mistakes)
            }),
            body_hash: mistakes.field("body_hash", |mistakes| digests(&entry.body_hash, mistakes)),
            label: String::new(),
        };
        if is_empty(entry) {
            mistakes.add("no condition: it would match every answer; say at least a `status`");
        } else if mistakes.count() == before {
            contradiction::note(entry, mistakes);
        }
        (mistakes.count() == before).then(|| Self { label: matcher.describe(entry), ..matcher })
    }

    /// Whether every condition holds. On a body that was cut off, conditions on the whole of it (that
    /// something is absent, that it equals a text, its digest) do not: the rest could speak against them.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        self.head_holds(answer, values)
            && self.text_holds(answer, values)
            && self.shown.holds(answer, values)
            && (self.json.is_empty()
                || answer.json().is_some_and(|root| self.json.iter().all(|rule| rule.holds(root, values))))
            && self.script.iter().all(|rule| rule.holds_in_scripts(answer, values))
            && self.shows_query.as_ref().is_none_or(|rule| rule.holds(answer, values.name))
            && self.css.iter().all(|rule| rule.holds(answer, values))
            && (self.body_hash.is_empty() || self.has_hash(answer))
    }

    fn has_hash(&self, answer: &Answer<'_>) -> bool {
        let is_it = |(algorithm, wanted): &(Algorithm, Value)| {
            answer.digest(*algorithm).is_some_and(|digest| digest == wanted)
        };
        self.body_hash.iter().any(is_it)
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
                    response.headers.iter().any(|(known, value)| known == name && regex.is_match(value))
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

    /// For evidence: the conditions, without what they compare with.
    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// What it wants of the address after redirects.
    pub(crate) fn final_url(&self) -> Option<&Pattern> {
        self.final_url.as_ref()
    }

    /// Whether it says itself what an address after redirects, or the target of one, means.
    pub(crate) fn judges_redirects(&self) -> bool {
        self.final_url.is_some() || self.header.iter().any(|(name, _)| name == "location")
    }

    /// Whether it says itself that the page repeats the query as a name.
    pub(crate) fn proves_name(&self) -> bool {
        self.json.iter().chain(&self.script).any(JsonMatcher::echoes_query)
            || self.css.iter().any(CssMatcher::proves_name)
    }

    /// Whether it may hold on an answer without a body: it speaks of one, or of the head.
    pub(crate) fn bears_emptiness(&self) -> bool {
        self.body_is.is_some()
            || !self.body_hash.is_empty()
            || !self.header.is_empty()
            || self.final_url.is_some()
    }

    /// Whether it holds on JSON only.
    pub(crate) fn reads_json(&self) -> bool {
        !self.json.is_empty()
    }

    pub(crate) fn clues(&self) -> Clues {
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
            || self.shown.is_asked()
            || !self.body_hash.is_empty();
        let mut documents = self.json.iter().chain(&self.script);
        Clues {
            echo_in_json: documents.clone().any(JsonMatcher::echoes_query),
            echo_in_text,
            json: documents.clone().any(JsonMatcher::is_positive),
            marker: reads_text
                || self.shows_query.is_some()
                || self.css.iter().any(CssMatcher::is_positive)
                || !self.header.is_empty(),
            absence: !self.no_word.is_empty()
                || self.css.iter().any(|rule| !rule.is_positive())
                || documents.any(|rule| !rule.is_positive()),
            reads_body: reads_text
                || self.shows_query.is_some()
                || !self.no_word.is_empty()
                || !self.json.is_empty()
                || !self.script.is_empty()
                || !self.css.is_empty(),
        }
    }

    fn describe(&self, entry: &MatcherEntry) -> String {
        let mut words: Vec<String> = Vec::new();
        if !entry.status.is_empty() {
            let codes = entry.status.iter().map(|rule| match rule {
                StatusRule::Code(code) => code.to_string(),
                StatusRule::Class(class) => class.clone(),
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
            (!entry.body_hash.is_empty(), "body_hash"),
        ];
        words.extend(self.header.iter().map(|(name, _)| format!("header {name}")));
        words.extend(self.no_header.iter().map(|name| format!("no header {name}")));
        words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| (*word).to_owned()));
        words.extend(self.json.iter().map(|rule| format!("json {}", rule.label())));
        words.extend(self.script.iter().map(|rule| format!("script {}", rule.label())));
        words.extend(self.css.iter().map(|rule| format!("css {}", rule.label())));
        words.join(", ")
    }
}

/// Whether it has no condition at all.
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
    mistakes.field(field, |mistakes| {
        if text.is_empty() {
            mistakes.add("an empty regex is found everywhere");
        }
        scope.pattern(text, mistakes)
    })
}

/// The codes that a status rule stands for, both ends included.
pub(super) fn status_range(rule: &StatusRule) -> Result<(u16, u16), String> {
    match rule {
        StatusRule::Code(code @ 100..=599) => Ok((*code, *code)),
        StatusRule::Code(code) => {
            Err(format!("{code} is no HTTP status; allowed are 100 to 599, \"1xx\" to \"5xx\""))
        }
        StatusRule::Class(class) => match class.as_bytes() {
            [digit @ b'1'..=b'5', b'x', b'x'] => {
                let from = u16::from(digit - b'0') * 100;
                Ok((from, from + 99))
            }
            _ => Err(format!("`{class}` is no class of HTTP statuses; allowed are \"1xx\" to \"5xx\"")),
        },
    }
}

fn compile_headers(entry: &MatcherEntry, mistakes: &mut Mistakes) -> Vec<(String, Option<Regex>)> {
    mistakes.field("header", |mistakes| {
        let headers = entry.header.iter().filter_map(|(name, pattern)| {
            let regex = if pattern.is_empty() {
                None
            } else {
                Some(mistakes.field(name, |mistakes| mistakes.take(pattern::search(pattern)))?)
            };
            Some((name.to_ascii_lowercase(), regex))
        });
        headers.collect()
    })
}

fn digests(entry: &BodyHash, mistakes: &mut Mistakes) -> Vec<(Algorithm, Value)> {
    let mut all = Vec::new();
    for (field, texts, algorithm, digits) in [
        ("sha256", &entry.sha256, Algorithm::Sha256, 64),
        ("sha1", &entry.sha1, Algorithm::Sha1, 40),
        ("md5", &entry.md5, Algorithm::Md5, 32),
    ] {
        all.extend(mistakes.list(field, texts, |mistakes, text| {
            if text.len() == digits && text.bytes().all(|b| b.is_ascii_hexdigit()) {
                return Some((algorithm, Value::from(text.to_ascii_lowercase())));
            }
            mistakes.add(format!("a {field} digest is {digits} hex digits"));
            None
        }));
    }
    all.extend(entry.mmh3.iter().map(|number| (Algorithm::Mmh3, Value::from(*number))));
    all
}
