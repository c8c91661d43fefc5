//! The requests of a module's probes.

use percent_encoding::{CONTROLS, utf8_percent_encode};
use url::Url;
use url::form_urlencoded::Serializer;

use super::answer::Answer;
use super::barrier::BARRIER_REACH;
use super::checker::MAX_FEED_BYTES;
use super::definition::{CssRule, Matcher, Method, Probe, Via, kept};
use super::extract::Reading;
use super::module::Module;
use super::probe::{MAX_BODY_BYTES, Mark, OF_THE_CONNECTION, Request, Trace};
use super::template::{FillError, Saved, Template, Values, Variable};

/// The maximum number of redirects that are followed if `follow` is set.
const MAX_REDIRECTS: u8 = 5;

/// Returns whether an entry cannot set a header, because the program does. `name` is in lower case.
pub(super) fn is_reserved(name: &str) -> bool {
    OF_THE_CONNECTION.contains(&name) || name == "accept-encoding"
}

impl Probe {
    /// Returns all templates of the request, which determine the keys and saved values that it needs.
    pub(crate) fn templates(&self) -> impl Iterator<Item = &Template> {
        let json = self.json.iter().flat_map(|body| &body.templates);
        std::iter::once(&self.url).chain(self.headers.values()).chain(self.form.values()).chain(json)
    }

    /// Returns whether redirects are followed. A browser always follows them.
    pub fn follows(&self) -> bool {
        self.follow || self.via == Via::Browser
    }

    /// Returns whether the request has a body.
    pub(crate) fn has_body(&self) -> bool {
        !self.form.is_empty() || self.json.is_some()
    }

    /// Returns whether the address of the request contains a key.
    pub(crate) fn has_key_in_address(&self) -> bool {
        self.url.variables().any(|variable| matches!(variable, Variable::Config { .. }))
    }

    /// Returns the address to which the request is sent. Returns `None` if a value is missing.
    pub(crate) fn address(&self, values: &Values<'_>) -> Option<Url> {
        Url::parse(&self.url.fill(values).ok()?).ok()
    }

    /// Saves values from the response of this probe. `values` have those that earlier probes saved.
    pub(crate) fn save(&self, answer: &Answer<'_>, values: Values<'_>, saved: &mut Saved) {
        let reading = Reading { answer: Some(answer), values, item: None };
        for (name, extractor) in &self.save {
            saved.extend(extractor.saved(&reading).map(|value| (name.clone(), value)));
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
        let (mut body, mut headers) = (probe.body(values)?, Vec::with_capacity(probe.headers.len() + 2));
        for (name, template) in &probe.headers {
            let Some(value) = kept(template.fill(values))? else { continue };
            if value.contains(char::is_control) {
                return Err(FillError::Unfit);
            }
            // Letters outside ASCII are percent-encoded.
            let value = utf8_percent_encode(&value, CONTROLS).to_string();
            match &mut body {
                Some((content_type, _)) if name.eq_ignore_ascii_case("content-type") => *content_type = value,
                _ => headers.push((name.clone(), value)),
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
            marks: self.marks(index, values),
            trace,
        })
    }

    /// Returns the number of bytes that the module needs from the answer to a probe.
    pub(crate) fn body_limit(&self, index: usize) -> usize {
        match &self.entry().probes[index] {
            Probe { method: Method::Head, .. } => 0,
            Probe { feed: Some(_), .. } => MAX_FEED_BYTES,
            _ if self.reads_body(index, true) => MAX_BODY_BYTES,
            _ => BARRIER_REACH,
        }
    }

    /// Returns whether a rule or an extractor reads the body of the answer to a probe. `may_be_last` says whether those for
    /// the last answer count.
    pub(super) fn reads_body(&self, index: usize, may_be_last: bool) -> bool {
        let entry = self.entry();
        let is_here = |at: Option<usize>| at.map_or(may_be_last, |at| at == index);
        entry.rules().any(|(.., rule)| rule.reads_body() && is_here(rule.probe))
            || entry.probes[index].save.values().any(|extractor| extractor.reads_body(false))
            || entry.results.iter().any(|list| list.each.reads_body() && is_here(list.probe))
            || entry.extractors().any(|(at, is_in_list, it)| it.reads_body(is_in_list) && is_here(at))
    }

    /// Returns the marks of which a browser waits for one: those of the rules about the answer to a probe.
    fn marks(&self, index: usize, values: &Values<'_>) -> Vec<Mark> {
        let rules = self.rules_on(index).filter(|_| self.entry().probes[index].via == Via::Browser);
        rules.filter_map(|rule| mark(rule, |text| text.fill(values).ok())).collect()
    }

    /// Returns whether rules read the answer to a probe as JSON.
    fn wants_json(&self, index: usize) -> bool {
        let saves = self.entry().probes[index].save.values();
        saves.flat_map(|extractor| extractor.sources()).any(|source| source.starts_with("json:"))
            || self.rules_on(index).any(|rule| !rule.json.is_empty())
    }
}

/// Makes a mark of its text.
type Kind = fn(String) -> Mark;

/// Returns the mark of a page on which this rule holds. `filled` fills a template.
pub(super) fn mark(rule: &Matcher, filled: impl Fn(&Template) -> Option<String>) -> Option<Mark> {
    // An element that all pages have says nothing, but the text of a title may.
    let is_telling = |css: &&CssRule| match css.select.trim() {
        "title" => css.exists && css.matches.is_some(),
        select => css.exists && !["head", "body", "html", "*"].contains(&select),
    };
    if let Some(css) = rule.css.iter().find(is_telling) {
        return match css.matches.as_ref().filter(|_| css.select.trim() == "title") {
            Some(title) => filled(&title.template).map(Mark::Title),
            None => Some(Mark::Css(css.select.to_string())),
        };
    }
    let longest = |texts: &[Template]| texts.iter().max_by_key(|text| text.len()).cloned();
    let texts: [(Kind, Option<Template>); 2] =
        [(Mark::Text, longest(&rule.text)), (Mark::Source, longest(&rule.words))];
    // Marks are compared with case.
    let mut texts = texts.into_iter().filter(|_| !rule.ignore_case);
    match texts.find_map(|(kind, text)| Some((kind, text?))) {
        Some((kind, text)) => filled(&text).map(kind),
        None => filled(&rule.final_url.as_ref()?.template).map(Mark::Url),
    }
}
