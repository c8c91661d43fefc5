//! An answer under construction, and the parts that it is made of.

use serde_json::Value;

use super::fragment::splice;
use super::html::{Element, page};
use super::json::place;
use crate::sandbox::answer::Answer;

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
}

/// The place of a JSON document in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Document {
    Body,
    /// The JSON-LD block of a page.
    LinkedData,
    /// The data that the scripts of a page use.
    Script,
}

impl Document {
    /// Returns the document that an extractor of this kind reads.
    pub(super) fn of(kind: &str) -> Self {
        match kind {
            "jsonld" => Self::LinkedData,
            "script" => Self::Script,
            _ => Self::Body,
        }
    }
}

/// A piece of content to put into an answer.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// A value in a JSON document.
    Json { document: Document, pointer: Vec<String>, value: Value },
    /// An element of a page.
    Element(Element),
    /// A text on a line of its own in the body.
    Line(String),
    /// A line of a body that is a list of lines.
    Row(String),
    /// A header of the answer.
    Header(String, String),
}

impl Part {
    /// Returns the form of body to which the part belongs, or `None` if it fits into any form.
    pub(super) fn form(&self) -> Option<Form> {
        match self {
            Self::Json { document: Document::Body, .. } => Some(Form::Json),
            Self::Json { .. } | Self::Element(_) => Some(Form::Html),
            Self::Row(_) => Some(Form::Text),
            Self::Line(_) | Self::Header(..) => None,
        }
    }
}

/// An answer under construction, with the content that it must have so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Draft {
    pub(super) form: Form,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// The exact text of the whole body.
    pub(super) exact: Option<String>,
    /// The JSON documents, by [`Document`]. Null means that there is none.
    pub(super) documents: [Value; 3],
    pub(super) elements: Vec<Element>,
    /// The texts that the body must contain.
    pub(super) lines: Vec<String>,
}

impl Draft {
    /// Adds the part to the answer. Returns whether the answer has a place for it.
    pub(super) fn add(&mut self, part: Part) -> bool {
        match (part, self.form) {
            (Part::Header(name, value), _) => return self.add_header(&name, &value),
            _ if self.exact.is_some() => return false,
            (Part::Json { document, pointer, value }, form) => {
                let own = if document == Document::Body { Form::Json } else { Form::Html };
                return form == own && place(&mut self.documents[document as usize], &pointer, &value);
            }
            (Part::Element(element), Form::Html) => self.elements.push(element),
            (Part::Line(line), Form::Html) | (Part::Line(line) | Part::Row(line), Form::Text) => {
                self.lines.push(line);
            }
            (Part::Line(line), Form::Json) => {
                self.lines.push(line);
                let fits = splice(&self.documents[0], &self.lines).is_some();
                self.lines.truncate(self.lines.len() - usize::from(!fits));
                return fits;
            }
            _ => return false,
        }
        true
    }

    fn add_header(&mut self, name: &str, value: &str) -> bool {
        let known = self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let free = !known || name.eq_ignore_ascii_case("set-cookie");
        if free {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        free
    }

    fn page(&self) -> Option<String> {
        let blocks = [(Document::LinkedData, "application/ld+json"), (Document::Script, "application/json")];
        let blocks = blocks.into_iter().filter_map(|(document, kind)| {
            let data = Some(&self.documents[document as usize]).filter(|data| !data.is_null())?;
            Some(Element::new(&format!("script[type=\"{kind}\"]"), None, data.to_string()))
        });
        let elements: Vec<Element> = blocks.chain(self.elements.iter().cloned()).collect();
        page(&elements, &self.lines)
    }

    /// Returns the finished answer, or `None` if its parts contradict each other.
    pub(super) fn finish(mut self) -> Option<Answer> {
        let body = match (self.exact.take(), self.form) {
            (Some(exact), _) => exact,
            (None, Form::Json) => splice(&self.documents[0], &self.lines)?,
            (None, Form::Html) => self.page()?,
            (None, Form::Text) => self.lines.join("\n"),
            (None, Form::Empty) => self.lines.is_empty().then(String::new)?,
        };
        if let Some(content_type) = self.form.content_type() {
            self.add_header("Content-Type", content_type);
        }
        let Self { headers, status, .. } = self;
        let answer = Answer { status, headers, body: body.into_bytes(), moved_to: None };
        answer.is_sendable().then_some(answer)
    }
}
