//! The requests of a module's probes.

use std::time::Duration;

use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::Url;
use url::form_urlencoded::Serializer;

use super::barrier::BARRIER_REACH;
use super::definition::{JsonBody, Method, Probe, kept};
use super::extract::Reading;
use super::feed::MAX_FEED_BYTES;
use super::module::Module;
use super::probe::{MAX_BODY_BYTES, OF_THE_CONNECTION, Request, Trace};
use super::render;
use super::template::{FillError, Saved, Template, Values, Variable};

/// The maximum number of redirects that are followed if `follow` is set.
const MAX_REDIRECTS: u8 = 5;
/// The bytes that are read if only the title and the `<meta>` elements are needed.
const HEAD_REACH: usize = 256 * 1024;

/// Returns whether an entry cannot set a header, because the program does. `name` is in lower case.
pub(super) fn is_reserved(name: &str) -> bool {
    OF_THE_CONNECTION.contains(&name) || name == "accept-encoding"
}

impl Probe {
    /// Returns all templates of the request, which determine the keys and saved values that it needs.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let json = self.json.iter().flat_map(JsonBody::templates);
        std::iter::once(&*self.url).chain(self.headers.values()).chain(self.form.values()).chain(json)
    }

    /// Returns whether the request has a body.
    pub(crate) fn has_body(&self) -> bool {
        !self.form.is_empty() || self.json.is_some()
    }

    /// Returns whether the address of the request contains a key.
    pub(crate) fn has_key_in_address(&self) -> bool {
        self.url.variables().any(|variable| matches!(variable, Variable::Config { .. }))
    }

    /// Returns the time for which the response is shared by all checks.
    pub(crate) fn keep(&self) -> Option<Duration> {
        self.feed.as_ref().map(|feed| Duration::from_secs(feed.keep_s.into()))
    }

    /// Returns the address to which the request is sent. Returns `None` if a value is missing.
    pub(crate) fn address(&self, values: &Values<'_>) -> Option<Url> {
        Url::parse(&self.url.fill(values).ok()?).ok()
    }

    /// Saves values from the response of this probe.
    pub(crate) fn save(&self, reading: &Reading<'_, '_>, saved: &mut Saved) {
        for (name, extractor) in &self.save {
            saved.extend(extractor.saved(reading).map(|value| (name.clone(), value)));
        }
    }

    /// Returns the `Content-Type` and the bytes of the body.
    fn body(&self, values: &Values<'_>) -> Result<Option<(String, Vec<u8>)>, FillError> {
        if let Some(json) = &self.json {
            return Ok(Some(("application/json".into(), json.fill(values)?.to_string().into_bytes())));
        }
        if self.form.is_empty() {
            return Ok(None);
        }
        let mut body = Serializer::new(String::new());
        for (name, value) in &self.form {
            if let Some(value) = kept(value.fill(values))? {
                body.append_pair(name, &value);
            }
        }
        Ok(Some(("application/x-www-form-urlencoded".into(), body.finish().into_bytes())))
    }

    /// Returns the headers. Letters outside ASCII are percent-encoded, and control characters are refused.
    fn headers(&self, values: &Values<'_>) -> Result<Vec<(&str, String)>, FillError> {
        let mut headers = Vec::new();
        for (name, template) in &self.headers {
            let Some(value) = kept(template.fill(values))? else { continue };
            if value.contains(char::is_control) {
                return Err(FillError::Unfit);
            }
            headers.push((name.as_str(), utf8_percent_encode(&value, CONTROLS).to_string()));
        }
        Ok(headers)
    }
}

impl Module {
    /// Returns the request of a probe with all values filled in. Returns an error if any value is missing.
    pub(crate) fn request(
        &self,
        values: &Values<'_>,
        user_agent: &str,
        trace: Trace,
    ) -> Result<Request, FillError> {
        let index = trace.probe;
        let probe = &self.entry().probes[index];
        let url = Url::parse(&probe.url.fill(values)?).map_err(|_| FillError::Unfit)?;
        let filled = probe.headers(values)?;
        let mut body = probe.body(values)?;
        let mut headers = Vec::with_capacity(filled.len() + 2);
        for (name, value) in filled {
            match &mut body {
                Some((content_type, _)) if name.eq_ignore_ascii_case("content-type") => *content_type = value,
                _ => headers.push((name.to_owned(), value)),
            }
        }
        let accept = if self.wants_json(index) {
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
            method: probe.method,
            via: probe.via,
            url,
            headers,
            body,
            max_redirects: if probe.follows() { MAX_REDIRECTS } else { 0 },
            body_limit: self.body_limit(index),
            marks: render::marks(self.entry(), index, values),
            trace,
        })
    }

    /// Returns the number of bytes that the module needs from the answer to a probe.
    pub(crate) fn body_limit(&self, index: usize) -> usize {
        let (entry, probe) = (self.entry(), &self.entry().probes[index]);
        if probe.method == Method::Head {
            return 0;
        }
        if probe.feed.is_some() {
            return MAX_FEED_BYTES;
        }
        let is_here = |at: Option<usize>| at.is_none_or(|at| at == index);
        if self.rules_on(index).any(|rule| rule.condition_kinds().reads_body)
            || entry.results.iter().any(|list| list.each.source.reads_body() && is_here(list.probe))
        {
            return MAX_BODY_BYTES;
        }
        let results = entry.extractors().filter(|(at, is_in_list, _)| !is_in_list && is_here(*at));
        let needs = results.map(|(.., extractor)| extractor).chain(probe.save.values());
        let needs = needs.filter_map(|extractor| extractor.body_need());
        needs
            .map(|head_only| if head_only { HEAD_REACH } else { MAX_BODY_BYTES })
            .max()
            .unwrap_or(BARRIER_REACH)
    }

    /// Returns whether rules read the answer to a probe as JSON.
    fn wants_json(&self, index: usize) -> bool {
        let saves = self.entry().probes[index].save.values();
        saves.flat_map(|extractor| extractor.sources()).any(|source| source.starts_with("json:"))
            || self.rules_on(index).any(|rule| rule.condition_kinds().json)
    }
}
