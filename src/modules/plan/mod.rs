//! A compiled probe: how its request is made and what is saved from its answer.

use std::time::Duration;

use url::Url;

use super::definition::{FeedEntry, Method, ProbeEntry, Via};
use super::extract::Reading;
use super::extract::extractor::Extractor;
use super::html::Selectors;
use super::mistake::Mistakes;
use super::probe::{Request, Trace};
use super::render::Waiting;
use super::scope::Scope;
use super::template::{FillError, Host, Kind, Saved, Template, Values, Variable, is_name};

mod body;
mod headers;
mod multipart;
mod pages;

use body::Body;
pub(crate) use headers::RESERVED;
pub(crate) use pages::Pages;

/// Redirects that `follow` allows.
const MAX_REDIRECTS: u8 = 5;
/// The most bytes of a saved value.
const MAX_SAVED: usize = 8 * 1024;
/// How long a feed may be kept, in seconds: a minute to a week.
const KEEP_SECS: std::ops::RangeInclusive<u32> = 60..=604_800;

/// Why neither `final_url:` nor `absolute_url` go with a key in an address.
pub(crate) const KEY_IS_TOLD: &str = "`final_url:` and `absolute_url` tell the address that was asked, in which a key stands; \
    send the key in a header, or make the address with `format`";

/// A compiled [`ProbeEntry`].
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    url: Template,
    pub(crate) host: Host,
    pub(crate) method: Method,
    pub(crate) via: Via,
    headers: Vec<(String, Template)>,
    body: Option<Body>,
    pub(crate) follow: bool,
    pub(crate) save: Vec<(String, Extractor)>,
    pub(crate) fallback: bool,
    /// How long the answer is shared by all checks.
    pub(crate) keep: Option<Duration>,
    pub(crate) pages: Option<Pages>,
    /// What a browser waits for; `None`: no browser.
    pub(crate) waiting: Option<Waiting>,
    /// How much of the answer's body the rules need.
    pub(crate) body_limit: usize,
    /// Rules read this answer as JSON.
    pub(crate) wants_json: bool,
}

impl Plan {
    /// Compiles a probe; `waiting`, `body_limit` and `wants_json` are set once the rules are known.
    pub(crate) fn compile(
        entry: &ProbeEntry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let before = mistakes.count();
        let reading = Scope { allows_config: false, ..scope.clone() };
        let scope = &Scope { feed: entry.feed.is_some(), ..scope.clone() };
        let url = mistakes.field("url", |mistakes| {
            let url = scope.template(&entry.url, Kind::Url, mistakes)?;
            check_url(&url, mistakes);
            Some(url)
        });
        let headers = headers::compile(entry, scope, mistakes);
        let body = body::compile(entry, scope, mistakes);
        let keep = entry.feed.as_ref().and_then(|feed| compile_feed(feed, entry, body.is_some(), mistakes));
        let save = mistakes.field("save", |mistakes| {
            let saves = entry.save.iter().filter_map(|(name, extractor)| {
                if !is_name(name) {
                    mistakes.add(format!("`{name}` is no name; allowed are a-z, 0-9 and `_`, at most 40"));
                }
                let compiled = mistakes.field(name, |mistakes| {
                    Extractor::compile(extractor, false, selectors, &reading, mistakes)
                })?;
                if compiled.probe.is_some() {
                    mistakes.add(format!("`{name}` reads the answer of its own probe: leave `probe` out"));
                }
                Some((name.clone(), compiled))
            });
            saves.collect()
        });
        let url = url?;
        let pages = Pages::compile(entry, &url, selectors, (scope, &reading), mistakes);
        let plan = Self {
            host: url.host(),
            url,
            method: entry.method,
            via: entry.via,
            headers,
            body,
            follow: entry.follows(),
            save,
            fallback: entry.fallback,
            keep,
            pages,
            waiting: None,
            body_limit: 0,
            wants_json: false,
        };
        plan.guard_keys(mistakes);
        (mistakes.count() == before).then_some(plan)
    }

    /// Keys go to whom the entry names, and to nobody else.
    fn guard_keys(&self, mistakes: &mut Mistakes) {
        let key = self.templates().into_iter().flat_map(Template::variables).find_map(|variable| {
            if let Variable::Config { name, .. } = variable { Some(name.as_str()) } else { None }
        });
        if let (Some(key), Some(who)) = (key, self.url.host_is_of()) {
            let message = format!(
                "{who} says which host is asked, and it would get `{{config.{key}}}`; spell the host out, or leave the key away"
            );
            mistakes.add_in("url", message);
        }
        let told = |(_, extractor): &&(String, Extractor)| extractor.tells_address();
        if let Some((name, _)) = self.save.iter().find(told).filter(|_| self.has_key_in_address()) {
            mistakes.add_in("save", format!("`{name}`: {KEY_IS_TOLD}"));
        }
    }

    /// Whether a key stands in where it is sent.
    pub(crate) fn has_key_in_address(&self) -> bool {
        let urls = [Some(&self.url), self.pages.as_ref().and_then(Pages::template)];
        let mut variables = urls.into_iter().flatten().flat_map(Template::variables);
        variables.any(|variable| matches!(variable, Variable::Config { .. }))
    }

    /// Where it is sent; `None` where a value is missing.
    pub(crate) fn address(&self, values: &Values<'_>) -> Option<Url> {
        Url::parse(&self.url.fill(values).ok()?).ok()
    }

    /// Fills everything in. Nothing half-filled ever leaves here.
    pub(crate) fn request(
        &self,
        values: &Values<'_>,
        user_agent: &str,
        trace: Trace,
    ) -> Result<Request, FillError> {
        let url = Url::parse(&self.url.fill(values)?).map_err(|_| FillError::Unfit)?;
        let mut headers = headers::fill(&self.headers, values)?;
        let mut body = self.body.as_ref().map(|body| body.bytes(values)).transpose()?;
        if let Some((content_type, _)) = &mut body
            && let Some(at) = headers.iter().position(|(name, _)| name.eq_ignore_ascii_case("content-type"))
        {
            *content_type = headers.remove(at).1;
        }
        let accept = if self.wants_json {
            "application/json, */*;q=0.8"
        } else {
            "text/html, application/xhtml+xml;q=0.9, */*;q=0.8"
        };
        for (name, value) in [("User-Agent", user_agent), ("Accept", accept)] {
            if !headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name)) {
                headers.push((name.to_owned(), value.to_owned()));
            }
        }
        Ok(Request {
            method: self.method,
            via: self.via,
            url,
            headers,
            body,
            max_redirects: if self.follow { MAX_REDIRECTS } else { 0 },
            body_limit: self.body_limit,
            render: self.waiting.as_ref().map(|waiting| waiting.render(values)),
            trace,
        })
    }

    /// Adds what is to be saved from this probe's answer.
    pub(crate) fn save(&self, reading: &Reading<'_, '_>, saved: &mut Saved) {
        let found: Vec<(String, String)> = self
            .save
            .iter()
            .filter_map(|(name, extractor)| {
                let text = extractor.text(reading)?;
                let text = text.trim();
                (!text.is_empty() && text.len() <= MAX_SAVED).then(|| (name.clone(), text.to_owned()))
            })
            .collect();
        saved.extend(found);
    }

    /// Keys and saved values that its request asks for.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut templates = vec![&self.url];
        templates.extend(self.headers.iter().map(|(_, template)| template));
        if let Some(body) = &self.body {
            body.templates(&mut templates);
        }
        templates.extend(self.pages.as_ref().and_then(Pages::template));
        templates
    }
}

/// Tries the address with examples in its slots.
fn check_url(url: &Template, mistakes: &mut Mistakes) {
    let example = url.example();
    match Url::parse(&example) {
        Err(error) => mistakes.add(format!("`{example}` (filled with an example) is no URL: {error}")),
        Ok(parsed) => {
            let host = parsed.host_str().unwrap_or_default();
            if parsed.host().is_none() || (!host.contains('.') && !host.contains("example")) {
                mistakes.add(format!("`{host}` is no public host name"));
            }
        }
    }
}

fn compile_feed(
    feed: &FeedEntry,
    entry: &ProbeEntry,
    has_body: bool,
    mistakes: &mut Mistakes,
) -> Option<Duration> {
    mistakes.field("feed", |mistakes| {
        if entry.method != Method::Get || has_body || entry.via != Via::Http {
            mistakes.add("a feed is fetched with GET over HTTP, without a body");
        }
        if !KEEP_SECS.contains(&feed.keep_s) {
            mistakes.add_in("keep_s", "allowed are 60 to 604800 (a week)");
        }
        Some(Duration::from_secs(feed.keep_s.into()))
    })
}
