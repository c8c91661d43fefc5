//! An answer under construction, and the parts that it is made of.

use serde_json::Value;
use url::Url;

use super::html::{Element, page};
use super::json::{place, with_pieces};
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
