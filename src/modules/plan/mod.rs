//! A compiled probe: makes its request and saves values from its response.

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
use super::template::{FillError, Host, Kind, Saved, Template, Values, Variable};

mod address;
mod body;
mod headers;

use address::{check_url, check_whois};
use body::Body;
pub(super) use headers::is_reserved;

/// The maximum number of redirects that are followed if `follow` is set.
const MAX_REDIRECTS: u8 = 5;

/// The error message for `final_url:` or `absolute_url` if the address contains a key.
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
    /// The time for which the response is shared by all checks.
    pub(crate) keep: Option<Duration>,
    /// The marks that a browser waits for, or `None` for a probe without a browser.
    pub(crate) waiting: Option<Waiting>,
    /// The number of bytes of the response's body that the rules need.
    pub(crate) body_limit: usize,
    /// Whether rules read this response as JSON.
    pub(crate) wants_json: bool,
}

impl Plan {
    /// Compiles a probe. `waiting`, `body_limit` and `wants_json` are set once the rules are known.
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
        check_whois(entry, &url, mistakes);
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
            waiting: None,
            body_limit: 0,
            wants_json: false,
        };
        plan.guard_keys(mistakes);
        (mistakes.count() == before).then_some(plan)
    }

    /// Refuses entries that would send a key to a host that the entry does not name.
    fn guard_keys(&self, mistakes: &mut Mistakes) {
        let key = self.templates().into_iter().flat_map(Template::variables).find_map(|variable| {
            if let Variable::Config { name, .. } = variable { Some(name.as_str()) } else { None }
        });
        if let (Some(key), Some(who)) = (key, self.url.host_is_of()) {
            let message = format!(
                "{who} decides which host is contacted and would receive `{{config.{key}}}`; write the host literally or remove the key"
            );
            mistakes.add_in("url", message);
        }
        let told = |(_, extractor): &&(String, Extractor)| extractor.tells_address();
        if let Some((name, _)) = self.save.iter().find(told).filter(|_| self.has_key_in_address()) {
            mistakes.add_in("save", format!("`{name}`: {KEY_IS_TOLD}"));
        }
    }

    /// Returns whether the address of the request contains a key.
    pub(crate) fn has_key_in_address(&self) -> bool {
        self.url.variables().any(|variable| matches!(variable, Variable::Config { .. }))
    }

    /// Returns the address to which the request is sent. Returns `None` if a value is missing.
    pub(crate) fn address(&self, values: &Values<'_>) -> Option<Url> {
        Url::parse(&self.url.fill(values).ok()?).ok()
    }

    /// Returns the request with all values filled in. Returns an error if any value is missing.
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

    /// Saves values from the response of this probe.
    pub(crate) fn save(&self, reading: &Reading<'_, '_>, saved: &mut Saved) {
        let found: Vec<(String, String)> = self
            .save
            .iter()
            .filter_map(|(name, extractor)| Some((name.clone(), extractor.saved(reading)?)))
            .collect();
        saved.extend(found);
    }

    /// Returns all templates of the request, which determine the keys and saved values that it needs.
    pub(crate) fn templates(&self) -> Vec<&Template> {
        let mut templates = vec![&self.url];
        templates.extend(self.headers.iter().map(|(_, template)| template));
        if let Some(body) = &self.body {
            body.templates(&mut templates);
        }
        templates
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
        Some(Duration::from_secs(feed.keep_s.into()))
    })
}
