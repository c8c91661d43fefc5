//! An answer under construction, and the parts that it is made of.

use serde_json::Value;
use url::Url;

use super::json::{place, with_pieces};
use crate::modules::html::selector::{Compound, Operator, Selector};
use crate::modules::html::{is_raw, is_void};
use crate::modules::probe::Response;
use crate::sandbox::answer::is_sendable;

/// The kind of an answer's body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Form {
    Json,
    Html,
    Text,
    #[default]
    Empty,
}

impl Form {
    pub(super) fn content_type(self) -> Option<&'static str> {
        match self {
            Self::Json => Some("application/json"),
            Self::Html => Some("text/html; charset=utf-8"),
            Self::Text => Some("text/plain; charset=utf-8"),
            Self::Empty => None,
        }
    }

    /// Returns the form of body that an extractor of this kind reads, or `None` if it reads any form.
    pub(super) fn of(kind: &str) -> Option<Self> {
        match kind {
            "json" | "count" => Some(Self::Json),
            "css" | "meta" | "title" | "jsonld" | "script" => Some(Self::Html),
            "lines" | "json_lines" => Some(Self::Text),
            _ => None,
        }
    }
}

/// An answer under construction, with the content that it must have so far. What adds a part returns whether the answer
/// has a place for it.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) form: Form,
    pub(super) status: u16,
    headers: Vec<(String, String)>,
    /// The exact text of the whole body.
    pub(super) exact: Option<String>,
    /// The JSON document of the body, or null if there is none.
    pub(super) json: Value,
    /// The JSON-LD block of a page, and the data that its scripts use.
    blocks: [Value; 2],
    pub(super) elements: Vec<Element>,
    /// The texts that the body must contain.
    lines: Vec<String>,
}

impl Draft {
    pub(super) fn new(form: Form, status: u16) -> Self {
        Self { form, status, ..Self::default() }
    }

    /// Adds a value to the JSON document that an extractor of this kind reads.
    pub(super) fn add_json(&mut self, kind: &str, pointer: &[String], value: &Value) -> bool {
        let (document, form) = match kind {
            "jsonld" => (&mut self.blocks[0], Form::Html),
            "script" => (&mut self.blocks[1], Form::Html),
            _ => (&mut self.json, Form::Json),
        };
        self.exact.is_none() && self.form == form && place(document, pointer, value)
    }

    /// Adds an element of a page.
    pub(super) fn add_element(&mut self, element: Element) -> bool {
        let fits = self.exact.is_none() && self.form == Form::Html;
        self.elements.extend(fits.then_some(element));
        fits
    }

    /// Adds a text on its own line.
    pub(super) fn add_line(&mut self, line: String) -> bool {
        self.lines.push(line);
        let fits = match self.form {
            _ if self.exact.is_some() => false,
            Form::Html | Form::Text => true,
            Form::Json => with_pieces(&self.json, &self.lines).is_some(),
            Form::Empty => false,
        };
        self.lines.truncate(self.lines.len() - usize::from(!fits));
        fits
    }

    pub(super) fn add_header(&mut self, name: &str, value: &str) -> bool {
        let name = name.to_ascii_lowercase();
        let is_free = name == "set-cookie" || self.headers.iter().all(|(known, _)| *known != name);
        self.headers.extend(is_free.then(|| (name, value.to_owned())));
        is_free
    }

    fn page(&self) -> Option<String> {
        let blocks = self.blocks.iter().zip(["application/ld+json", "application/json"]);
        let blocks = blocks
            .filter(|(data, _)| !data.is_null())
            .map(|(data, kind)| Element::new(&format!("script[type=\"{kind}\"]"), None, data.to_string()));
        let elements: Vec<Element> = blocks.chain(self.elements.iter().cloned()).collect();
        page(&elements, &self.lines)
    }

    /// Returns the finished answer from `url`, or `None` if its parts contradict each other.
    pub(super) fn finish(mut self, url: &Url) -> Option<Response> {
        let body = match (self.exact.take(), self.form) {
            (Some(exact), _) => exact,
            (None, Form::Json) => with_pieces(&self.json, &self.lines)?,
            (None, Form::Html) => self.page()?,
            (None, Form::Text) => self.lines.join("\n"),
            (None, Form::Empty) => String::new(),
        };
        if let Some(content_type) = self.form.content_type() {
            self.add_header("content-type", content_type);
        }
        let (status, final_url, body) = (self.status, url.clone(), body.into_bytes());
        let answer = Response { status, final_url, headers: self.headers, body, truncated: false };
        is_sendable(&answer).then_some(answer)
    }
}

/// An element that a selector finds, with its attributes and content.
#[derive(Debug, Clone, Default)]
pub(super) struct Element {
    pub(super) selector: String,
    pub(super) attributes: Vec<(String, String)>,
    pub(super) text: String,
    pub(super) inside: Vec<Element>,
}

impl Element {
    /// Returns an element with the content in its text, or in one of its attributes.
    pub(super) fn new(selector: &str, attribute: Option<&str>, content: String) -> Self {
        let selector = selector.to_owned();
        match attribute {
            Some(name) => Self { selector, attributes: vec![(name.to_owned(), content)], ..Self::default() },
            None => Self { selector, text: content, ..Self::default() },
        }
    }
}

/// Returns the page with the elements, and with the unchanged lines at its end. Returns `None` if an element cannot be
/// built for a selector.
pub(super) fn page(elements: &[Element], lines: &[String]) -> Option<String> {
    let begin = ["<!DOCTYPE html>", "<html lang=\"en\">"].map(|line| Some(line.to_owned()));
    let all = begin.into_iter().chain(elements.iter().map(written)).chain(lines.iter().cloned().map(Some));
    // There are no end tags, because a line may have opened an element that contains them. Pages without them are
    // common.
    Some(all.collect::<Option<Vec<_>>>()?.join("\n") + "\n")
}

/// Returns the element inside the elements that its selector names. Of a list of selectors, the first one is used.
/// Each compound is written directly inside the previous one.
fn written(element: &Element) -> Option<String> {
    let selector = Selector::parse(&element.selector).ok()?;
    let (last, outer) = selector.alternatives.first()?.split_last()?;
    let inside = element.inside.iter().map(written);
    let inner = inside.collect::<Option<String>>()?;
    // `</script>` inside a script would end it.
    let is_raw = is_raw(last.tag.as_deref().unwrap_or_default());
    let text = if is_raw { element.text.replace("</", "<\\/") } else { escape(&element.text) };
    let innermost = wrap(last, &element.attributes, &format!("{text}{inner}"));
    Some(outer.iter().rev().fold(innermost, |inner, compound| wrap(compound, &[], &inner)))
}

fn wrap(compound: &Compound, attributes: &[(String, String)], inner: &str) -> String {
    let tag = compound.tag.as_deref().unwrap_or("div");
    let mut names: Vec<&str> = compound.tests.iter().map(|test| test.name.as_str()).collect();
    names.extend(attributes.iter().map(|(name, _)| name.as_str()));
    names.sort_unstable();
    names.dedup();
    let mut out = format!("<{tag}");
    for name in names {
        let content = attributes.iter().find(|(key, _)| key == name).map(|(_, content)| content.as_str());
        out.push_str(&format!(" {name}=\"{}\"", escape(&attribute(compound, name, content))));
    }
    out.push('>');
    if !is_void(tag) {
        out.push_str(&format!("{inner}</{tag}>"));
    }
    out
}

/// Returns an attribute value that passes the compound's tests and contains `content` where they allow it.
fn attribute(compound: &Compound, name: &str, content: Option<&str>) -> String {
    let mut value = content.unwrap_or_default().to_owned();
    for test in compound.tests.iter().filter(|test| test.name == name) {
        let wanted = &test.value;
        value = match test.operator {
            _ if test.holds(&value) => value,
            Operator::Equals => return wanted.clone(),
            // The prefix of one address followed by the last part of another is still an address.
            Operator::Prefix => format!("{wanted}{}", value.rsplit('/').next().unwrap_or_default()),
            Operator::Word if !value.is_empty() => format!("{value} {wanted}"),
            Operator::Substring | Operator::Word => format!("{value}{wanted}"),
            Operator::Present => value,
        };
    }
    if value.is_empty() && content.is_none() { "sample".to_owned() } else { value }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
