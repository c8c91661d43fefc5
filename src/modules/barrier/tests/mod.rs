use std::time::Duration;

use super::*;
use crate::modules::catalog::Catalog;
use crate::modules::pattern::Searches;
use crate::modules::query::{Query, SearchType};
use crate::modules::template::Saved;

/// Pages that are barriers, and pages that only look like barriers. All of them were written for these tests. A line has
/// the name of the barrier or a description, the status, the headers or a short name for a content type, and the body.
const BARRIER_PAGES: &str = include_str!("barriers.jsonl");
const ORDINARY: &str = include_str!("ordinary.jsonl");

const HTML: &[(&str, &str)] = &[("content-type", "text/html; charset=UTF-8")];

fn pages(text: &str) -> Vec<(String, Response)> {
    let page = |line: &str| {
        let (name, status, headers, body): (String, u16, serde_json::Value, String) =
            serde_json::from_str(line).unwrap();
        let body = if body == "@much_to_read" { include_str!("much_to_read.html") } else { &body };
        let page = match headers.as_str() {
            Some("html") => response(status, HTML, body),
            Some("text") => response(status, &[("content-type", "text/plain")], body),
            Some("json") => response(status, &[("content-type", "application/json")], body),
            _ => {
                let headers = serde_json::from_value(headers).unwrap();
                Response { headers, ..response(status, &[], body) }
            }
        };
        (name, page)
    };
    text.lines().map(page).collect()
}

fn module(extra: &str) -> std::sync::Arc<Module> {
    let text = format!(
        r#"[{{"id": "x", "platform": "X", "type": "username", "category": "test",
        "probes": [{{"url": "https://x.org/u/{{query}}"}}],
        "hit": [{{"status": [200]}}], "miss": [{{"status": [404]}}]{extra}}}]"#
    );
    Catalog::from_text("test", &text).unwrap().get("x").unwrap().clone()
}

fn response(status: u16, headers: &[(&str, &str)], body: &str) -> Response {
    Response {
        status,
        final_url: url::Url::parse("https://x.org/u/bob").unwrap(),
        headers: headers.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        body: body.into(),
        truncated: false,
    }
}

fn name(status: u16, headers: &[(&str, &str)], body: &str) -> Option<&'static str> {
    found("", &response(status, headers, body)).map(|(_, reason)| reason.as_str())
}

/// Returns the barrier that a module with this part finds in a page.
fn found(extra: &str, page: &Response) -> Option<(Outcome, Reason)> {
    let query = Query::parse(SearchType::Username, "bob").unwrap();
    let (saved, searches) = (Saved::new(), Searches::default());
    find(&module(extra), &Answer::new(page), None, &Values::new("", &query, "bob", &saved, &searches))
}

#[test]
fn every_barrier_page_is_recognized() {
    let pages = pages(BARRIER_PAGES);
    for (want, page) in &pages {
        let found = found("", page).unwrap_or_else(|| panic!("{want}: {page:?}"));
        let outcome = if want.ends_with("rate_limit") { Outcome::RateLimited } else { Outcome::Blocked };
        assert_eq!((found.1.as_str(), found.0), (want.as_str(), outcome), "{page:?}");
    }
    for pattern in &LIST.patterns {
        let name = pattern.reason.as_str();
        assert!(pages.iter().any(|(page, _)| page == name), "no page for {name}");
    }
    assert!(
        LIST.words.iter().all(|word| *word == word.to_lowercase() && word.len() >= 5),
        "{:?}",
        LIST.words
    );
}

#[test]
fn every_pattern_of_the_list_matches_some_page() {
    let pages = pages(BARRIER_PAGES);
    let is_unneeded = |pattern: &&Pattern| {
        !pages
            .iter()
            .any(|(_, page)| holds(pattern, &Answer::new(page), Kind::of(page), &Seen::look(&page.body)))
    };
    let unneeded: Vec<_> = LIST.patterns.iter().filter(is_unneeded).collect();
    assert!(unneeded.is_empty(), "{unneeded:?}");
}

#[test]
fn an_ordinary_page_is_not_a_barrier() {
    let mut pages = pages(ORDINARY);
    // A large page that contains all of these texts is not a barrier either.
    let mut large = pages.iter().find(|(note, _)| note.contains("writes")).unwrap().clone();
    large.1.body = large.1.body.repeat(100);
    pages.push(large);
    for (note, page) in pages {
        assert_eq!(found("", &page), None, "{note}");
    }
}

#[test]
fn a_sign_in_page_is_not_a_barrier_for_a_module_that_reads_it() {
    let page = response(200, HTML, "<title>Log in | Site</title>");
    for (extra, want) in [
        ("", Some("login_wall")),
        (r#", "contact": "target_web""#, None),
        (r#", "discovery": true"#, None),
        // This rule is about the target of a redirect, not about this page.
        (r#", "barrier": [{"header": {"Location": "/never"}}]"#, Some("login_wall")),
    ] {
        assert_eq!(found(extra, &page).map(|(_, reason)| reason.as_str()), want, "{extra}");
    }
}

#[test]
fn retry_after_is_parsed_as_seconds_or_as_a_date() {
    let secs = |headers: &[(&str, &str)]| retry_after_secs(&response(429, headers, ""));
    assert_eq!(secs(&[("retry-after", " 7 ")]), Some(7));
    let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
    assert_eq!(secs(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT"), date]), Some(60));
    assert_eq!(secs(&[("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT"), date]), None);
    // Without a valid `Date` in the response, the local clock is used.
    let later = httpdate::fmt_http_date(SystemTime::now() + Duration::from_secs(3600));
    for headers in [vec![("retry-after", &*later)], vec![("retry-after", &*later), ("date", "today")]] {
        assert!(secs(&headers).is_some_and(|secs| (3000..=3600).contains(&secs)), "{headers:?}");
    }
    assert_eq!(secs(&[("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")]), None);
}

#[test]
fn only_the_first_part_of_a_body_is_searched() {
    let late = format!("{}<title>captcha</title>", " ".repeat(BARRIER_REACH));
    assert_eq!(name(200, HTML, &late), None);
    let huge = "<title>".repeat(200_000);
    assert_eq!(name(200, HTML, &huge), None);
}
