//! A conjunction of conditions on the answer of one probe.

use std::borrow::Cow;

use regex::Regex;
use sha2::{Digest, Sha256};

use super::contradiction;
use super::css::CssMatcher;
use super::json::JsonMatcher;
use crate::modules::answer::Answer;
use crate::modules::definition::{MatcherEntry, StatusRule};
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::{self, Pattern};
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values, hex};

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
    ignore_case: bool,
    body_is: Option<Template>,
    regex: Option<Pattern>,
    json: Vec<JsonMatcher>,
    css: Vec<CssMatcher>,
    sha256: Vec<String>,
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
            ignore_case: entry.ignore_case,
            body_is: entry.body_is.as_deref().and_then(|text| {
                mistakes.field("body_is", |mistakes| scope.template(text, Kind::Plain, mistakes))
            }),
            regex: optional_pattern("regex", entry.regex.as_deref(), scope, mistakes),
            json: mistakes
                .list("json", &entry.json, |mistakes, rule| JsonMatcher::compile(rule, scope, mistakes)),
            css: mistakes.list("css", &entry.css, |mistakes, rule| {
                CssMatcher::compile(rule, selectors, scope, mistakes)
            }),
            sha256: mistakes.list("sha256", &entry.sha256, |mistakes, text| mistakes.take(digest(text))),
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
            && (self.json.is_empty()
                || answer.json().is_some_and(|root| self.json.iter().all(|rule| rule.holds(root, values))))
            && self.css.iter().all(|rule| rule.holds(answer, values))
            && (self.sha256.is_empty()
                || !answer.is_cut() && {
                    let digest = hex(&Sha256::digest(&answer.response.body));
                    self.sha256.contains(&digest)
                })
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

    /// Whether it says itself what an address after redirects, or the target of one, means.
    pub(crate) fn judges_redirects(&self) -> bool {
        self.final_url.is_some() || self.header.iter().any(|(name, _)| name == "location")
    }

    pub(crate) fn clues(&self) -> Clues {
        let shows = |template: &Template| template.shows_query();
        let regex_shows = |it: &Option<Pattern>| it.as_ref().and_then(Pattern::template).is_some_and(shows);
        let echo_in_text = self.words.iter().any(shows)
            || (!self.any_word.is_empty() && self.any_word.iter().all(shows))
            || regex_shows(&self.regex)
            || regex_shows(&self.final_url)
            || self.body_is.as_ref().is_some_and(shows)
            || self.css.iter().any(CssMatcher::echoes_query);
        let reads_text = !self.words.is_empty()
            || !self.any_word.is_empty()
            || self.body_is.is_some()
            || self.regex.is_some()
            || !self.sha256.is_empty();
        Clues {
            echo_in_json: self.json.iter().any(JsonMatcher::echoes_query),
            echo_in_text,
            json: self.json.iter().any(JsonMatcher::is_positive),
            marker: reads_text || self.css.iter().any(CssMatcher::is_positive) || !self.header.is_empty(),
            absence: !self.no_word.is_empty()
                || self.css.iter().any(|rule| !rule.is_positive())
                || self.json.iter().any(|rule| !rule.is_positive()),
            reads_body: reads_text
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
                StatusRule::Class(class) => class.clone(),
            });
            words.push(format!("status {}", codes.collect::<Vec<_>>().join("/")));
        }
        let flags = [
            (entry.final_url.is_some(), "final_url"),
            (!entry.words.is_empty(), "words"),
            (!entry.any_word.is_empty(), "any_word"),
            (!entry.no_word.is_empty(), "no_word"),
            (entry.body_is.is_some(), "body_is"),
            (entry.regex.is_some(), "regex"),
            (!entry.sha256.is_empty(), "sha256"),
        ];
        words.extend(self.header.iter().map(|(name, _)| format!("header {name}")));
        words.extend(self.no_header.iter().map(|name| format!("no header {name}")));
        words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| (*word).to_owned()));
        words.extend(self.json.iter().map(|rule| format!("json {}", rule.label())));
        words.extend(self.css.iter().map(|rule| format!("css {}", rule.label())));
        words.join(", ")
    }
}

fn is_empty(entry: &MatcherEntry) -> bool {
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

fn digest(text: &str) -> Result<String, String> {
    let is_hex = text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
    if is_hex { Ok(text.to_ascii_lowercase()) } else { Err("a SHA-256 is 64 hex digits".into()) }
}
