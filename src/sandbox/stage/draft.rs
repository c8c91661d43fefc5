//! An answer under construction.

use serde_json::Value;

use super::document::place;
use super::fragment::splice;
use super::html::{self, Page};
use super::list::union;
use super::plant::Plant;
use crate::sandbox::wire::Answer;

/// What kind of body an answer has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Form {
    Json,
    Html,
    Xml,
    Text,
    Empty,
}

impl Form {
    pub(super) fn content_type(self) -> Option<&'static str> {
        match self {
            Self::Json => Some("application/json"),
            Self::Html => Some("text/html; charset=utf-8"),
            Self::Xml => Some("application/xml; charset=utf-8"),
            Self::Text => Some("text/plain; charset=utf-8"),
            Self::Empty => None,
        }
    }
}

/// An answer under construction: what was demanded of it so far.
#[derive(Debug, Clone)]
pub(super) struct Draft {
    pub(super) form: Form,
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    /// Headers that must not be there.
    pub(super) without: Vec<String>,
    /// The whole body, word for word.
    pub(super) exact: Option<String>,
    /// A body that is JSON.
    pub(super) document: Value,
    /// A body that is a page.
    pub(super) page: Page,
    /// Texts that must stand in the body.
    pub(super) lines: Vec<String>,
    /// Lines of a body that is a list of lines.
    pub(super) rows: Vec<String>,
}

impl Draft {
    pub(super) fn new(form: Form, status: u16) -> Self {
        Self {
            form,
            status,
            headers: Vec::new(),
            without: Vec::new(),
            exact: None,
            document: Value::Null,
            page: Page::default(),
            lines: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Puts something more into the answer where its form has a place for it.
    pub(super) fn add(&mut self, plant: &Plant) -> bool {
        match (plant, self.form) {
            (Plant::Header { name, value }, _) => self.add_header(name, value),
            _ if self.exact.is_some() => false,
            (Plant::Json { pointer, value }, Form::Json) => place(&mut self.document, pointer, value),
            (Plant::Line(line), Form::Json) => self.add_line_to_json(line),
            (Plant::Line(line), Form::Html | Form::Xml | Form::Text) => {
                self.lines.push(line.clone());
                true
            }
            (Plant::Row(row), Form::Text) => {
                self.rows.push(row.clone());
                true
            }
            (Plant::JsonLd { pointer, value }, Form::Html) => {
                place(&mut self.page.linked_data, pointer, value)
            }
            (Plant::Script { pointer, value }, Form::Html) => place(&mut self.page.state, pointer, value),
            (Plant::Meta { name, content }, Form::Html) => {
                self.page.metas.push((name.clone(), content.clone()));
                true
            }
            (Plant::Title(title), Form::Html | Form::Xml) => {
                let is_free = self.page.title.is_none();
                self.page.title.get_or_insert_with(|| title.clone());
                is_free
            }
            (Plant::Element(planting), Form::Html | Form::Xml) => {
                self.page.elements.push(planting.clone());
                true
            }
            _ => false,
        }
    }

    /// Takes in what another draft of the same answer has beside it: of a list that names them both.
    pub(super) fn join(&mut self, other: Self) {
        union(&mut self.document, other.document);
        union(&mut self.page.linked_data, other.page.linked_data);
        self.page.elements.extend(other.page.elements);
        for (all, more) in [(&mut self.rows, other.rows), (&mut self.lines, other.lines)] {
            for line in more {
                if !all.contains(&line) {
                    all.push(line);
                }
            }
        }
    }

    fn add_header(&mut self, name: &str, value: &str) -> bool {
        let known = self.headers.iter().any(|(key, _)| key.eq_ignore_ascii_case(name));
        let free = !known || name.eq_ignore_ascii_case("set-cookie");
        if free {
            self.headers.push((name.to_owned(), value.to_owned()));
        }
        free
    }

    fn add_line_to_json(&mut self, line: &str) -> bool {
        self.lines.push(line.to_owned());
        let fits = splice(&self.document, &self.lines).is_some();
        if !fits {
            self.lines.pop();
        }
        fits
    }

    /// The answer; `None` where its parts do not go together.
    pub(super) fn finish(mut self) -> Option<Answer> {
        let body = match (&self.exact, self.form) {
            (Some(exact), _) => exact.clone(),
            (None, Form::Json) => splice(&self.document, &self.lines)?,
            (None, Form::Html) => html::render(&self.page, &self.lines)?,
            (None, Form::Xml) => html::render_xml(&self.page, &self.lines)?,
            (None, Form::Text) => {
                let all: Vec<&str> = self.rows.iter().chain(&self.lines).map(String::as_str).collect();
                all.join("\n")
            }
            (None, Form::Empty) => {
                if !self.lines.is_empty() {
                    return None;
                }
                String::new()
            }
        };
        if let Some(content_type) = self.form.content_type() {
            self.add_header("Content-Type", content_type);
        }
        let Self { headers, without, status, .. } = self;
        let absent = |name: &str| without.iter().any(|other| other.eq_ignore_ascii_case(name));
        let headers = headers.into_iter().filter(|(name, _)| !absent(name)).collect();
        let answer = Answer { status, headers, body: body.into_bytes() };
        answer.is_sendable().then_some(answer)
    }
}
