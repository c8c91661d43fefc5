//! The marks that show a browser that a page is ready, and checks of browser modules.
//!
//! The marks are taken from the module's own rules, so that an entry need not repeat them. See the section
//! on browser modules in [`super::definition`].

use regex_syntax::hir::{Hir, HirKind};

use super::definition::{CssRule, Entry, Matcher, Method, Via};
use super::pattern::Pattern;
use super::probe::Mark;
use super::query::SearchType;
use super::template::{Template, Values};

/// The least length of a mark from a regex. Shorter parts are on too many pages.
const LEAST_LITERAL: usize = 3;

/// Returns the marks that a browser waits for in one probe. A mark that lacks a value is left out. There are none if the
/// probe needs no browser.
pub(crate) fn marks(entry: &Entry, probe: usize, values: &Values<'_>) -> Vec<Mark> {
    let mut marks: Vec<Mark> = Vec::new();
    let drawn = rules(entry, probe).filter(|_| entry.probes[probe].via == Via::Browser);
    for mark in drawn.filter_map(|(_, rule)| mark_of(rule, |text| text.fill(values).ok())) {
        if !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}

/// Returns the rules that are about the answer to a probe, with their places.
fn rules(entry: &Entry, probe: usize) -> impl Iterator<Item = (String, &Matcher)> {
    // The marks of hits come first.
    let lists = [("hit", &entry.hit), ("miss", &entry.miss), ("barrier", &entry.barrier)];
    let placed = lists.into_iter().flat_map(|(field, rules)| {
        rules.iter().enumerate().map(move |(index, rule)| (format!("{field}[{index}]"), rule))
    });
    placed.filter(move |(_, rule)| rule.probe.is_none_or(|at| at == probe))
}

/// Makes a mark of its text.
type Kind = fn(String) -> Mark;

/// Returns the mark of a page on which this rule holds.
fn mark_of(rule: &Matcher, filled: impl Fn(&Template) -> Option<String>) -> Option<Mark> {
    fn longest(texts: &[Template]) -> Option<&Template> {
        texts.iter().max_by_key(|text| text.len())
    }
    if let Some(selector) = rule.css.iter().find_map(telling) {
        return Some(Mark::Css(selector.to_owned()));
    }
    let texts: [(Kind, Option<&Template>); 4] = [
        (Mark::Text, longest(&rule.text)),
        (Mark::TitleIs, rule.title_is.as_ref()),
        (Mark::Title, rule.title.as_ref()),
        (Mark::Source, longest(&rule.words)),
    ];
    // Marks are compared with case.
    let mut texts = texts.into_iter().filter(|_| !rule.ignore_case);
    match texts.find_map(|(kind, text)| Some((kind, text?))) {
        Some((kind, text)) => filled(text).map(kind),
        None => literal(rule.final_url.as_ref()?).map(Mark::Url),
    }
}

/// Returns the selector of a condition that requires an element which only some pages have.
fn telling(rule: &CssRule) -> Option<&str> {
    let selector = Some(&*rule.select).filter(|_| rule.exists);
    selector.filter(|it| !matches!(it.trim(), "title" | "head" | "body" | "html" | "*"))
}

/// Returns the longest text that is present wherever the regex matches, or `None` if there is none. The text
/// has no variables, because their values are not known.
fn literal(pattern: &Pattern) -> Option<String> {
    let hir = regex_syntax::parse(pattern.template().literal()?).ok()?;
    let mut found = Vec::new();
    required(&hir, &mut found);
    let is_telling = |text: &String| text.len() >= LEAST_LITERAL && !"https://".contains(text.as_str());
    found.into_iter().filter(is_telling).max_by_key(String::len)
}

fn required(hir: &Hir, out: &mut Vec<String>) {
    match hir.kind() {
        HirKind::Literal(literal) => out.extend(String::from_utf8(literal.0.to_vec())),
        HirKind::Concat(parts) => parts.iter().for_each(|part| required(part, out)),
        HirKind::Capture(capture) => required(&capture.sub, out),
        HirKind::Repetition(repetition) if repetition.min > 0 => required(&repetition.sub, out),
        _ => {}
    }
}

/// Returns the fields that are not allowed with a browser, and those that a browser needs, each with a message.
pub(super) fn contradictions(entry: &Entry) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    let drawn = entry.probes.iter().enumerate().filter(|(_, probe)| probe.via == Via::Browser);
    for (index, probe) in drawn {
        if probe.method != Method::Get || probe.has_body() {
            found.push((format!("probes[{index}].via"), "a browser opens pages: method GET, no body"));
        }
        if !probe.headers.is_empty() {
            let message = "a browser sends headers of its own; leave them out";
            found.push((format!("probes[{index}].headers"), message));
        }
        found.extend(rules(entry, index).flat_map(|(at, rule)| contradictions_of(&at, rule)));
    }
    let whole = [
        (
            entry.search_type != SearchType::Username,
            "probes",
            "`\"via\": \"browser\"` is for username modules only",
        ),
        (entry.miss.is_empty(), "miss", "it is empty; a browser needs a rule for missing accounts"),
        (entry.control == Some(false), "control", "a browser's hit is always confirmed; leave it out"),
    ];
    let is_premium = entry.probes.iter().any(|probe| probe.via == Via::Browser);
    let whole = whole.into_iter().filter(|(is_wrong, ..)| is_premium && *is_wrong);
    found.extend(whole.map(|(_, at, message)| (at.to_owned(), message)));
    found
}

fn contradictions_of(at: &str, rule: &Matcher) -> Vec<(String, &'static str)> {
    // A browser reports only a document and its address.
    let absent = [
        ("status", !rule.status.is_empty()),
        ("header", !rule.header.is_empty()),
        ("no_header", !rule.no_header.is_empty()),
        ("json", !rule.json.is_empty()),
        ("body_is", rule.body_is.is_some()),
    ];
    let absent: Vec<_> = absent.into_iter().filter(|(_, is_asked)| *is_asked).collect();
    if !absent.is_empty() {
        let message = "a browser does not provide it; use `css`, `text`, `title` or `final_url`";
        return absent.into_iter().map(|(field, _)| (format!("{at}.{field}"), message)).collect();
    }
    // Something that is absent may only be not drawn yet, and a page is judged even if none of its marks appeared.
    let is_unmarked = !at.starts_with("barrier") && mark_of(rule, |text| Some(text.to_string())).is_none();
    let message = "nothing in it shows a browser that the page is drawn; ask for `css`, `text`, `title`, `words` or \
                   `final_url`";
    is_unmarked.then(|| (at.to_owned(), message)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::modules::keys::OperatorKeys;
    use crate::modules::module::Module;
    use crate::modules::pattern::Searches;
    use crate::modules::probe::Trace;
    use crate::modules::query::Query;
    use crate::modules::template::Saved;

    fn entry(changes: &Value) -> Entry {
        let mut entry = json!({"id": "m", "platform": "M", "type": "username", "category": "social",
            "probes": [{"url": "https://m.example/{query}", "via": "browser"}],
            "hit": [{"css": ["h1.name"]}], "miss": [{"text": ["Nobody"]}]});
        for (name, value) in changes.as_object().unwrap() {
            entry[name] = value.clone();
        }
        serde_json::from_value(entry).unwrap()
    }

    fn marks(changes: &Value) -> Vec<Mark> {
        let module =
            Module::compile(entry(changes)).unwrap_or_else(|mistakes| panic!("{changes}: {mistakes:?}"));
        let query = Query::parse(SearchType::Username, "bob").unwrap();
        let (keys, saved) = (OperatorKeys::default(), Saved::new());
        let values = Values {
            query: &query,
            name: "bob",
            keys: Some(&keys),
            saved: &saved,
            value: None,
            searches: &Searches::default(),
        };
        let trace = Trace { module: "m".into(), probe: 0, query: "bob".into(), control: false };
        let request = module.request(&values, "test", trace).unwrap();
        assert!(request.max_redirects > 0, "a browser follows redirects");
        request.marks
    }

    #[test]
    fn each_rule_gives_its_most_specific_mark() {
        let mark = |kind: fn(String) -> Mark, text: &str| kind(text.to_owned());
        let standard = vec![mark(Mark::Css, "h1.name"), mark(Mark::Text, "Nobody")];
        assert_eq!(marks(&json!({})), standard);
        for (rule, wanted) in [
            (
                json!({"css": [{"select": "meta[name=a]", "attribute": "content", "matches": "x"}], "text": ["y"]}),
                mark(Mark::Css, "meta[name=a]"),
            ),
            (
                json!({"css": [{"select": "h2", "exists": false}], "text": ["Hi {query}", "a"]}),
                mark(Mark::Text, "Hi bob"),
            ),
            (
                json!({"css": [{"select": "title", "matches": "x"}], "title_is": "{query} | M"}),
                mark(Mark::TitleIs, "bob | M"),
            ),
            (json!({"title": "{query} |"}), mark(Mark::Title, "bob |")),
            (json!({"words": ["a", "\"id\":"], "final_url": "bob"}), mark(Mark::Source, "\"id\":")),
            (json!({"final_url": "^https?://[^/]+/login(?:[/?#.]|$)"}), mark(Mark::Url, "/login")),
        ] {
            assert_eq!(marks(&json!({"hit": [rule]}))[0], wanted, "{rule}");
        }
        let walled =
            marks(&json!({"barrier": [{"text": ["Sign in"]}, {"css": ["h1.name"], "text": ["Sign"]}]}));
        assert_eq!(walled, [&standard[..], &[mark(Mark::Text, "Sign in")]].concat(), "no mark twice");
    }
}
