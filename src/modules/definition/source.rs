//! The sources of extractors and lists, `KIND:ARGUMENT`.

use super::text::entry_text;
use crate::modules::digest::Algorithm;
use crate::modules::html::Selector;
use crate::modules::pointer::Pointer;
use crate::modules::template::{Kind, Pattern, Template};

/// The kinds of extractors, as messages list them.
pub(crate) const EXTRACTOR_KINDS: &str = "json, css, meta, jsonld, script, regex, header, cookie, final_url, title, template, const, count, body_hash, lines, json_lines; in `results` also value, key, group";

/// A source of values, written as `KIND:ARGUMENT`. A JSON pointer alone leads to JSON.
#[derive(Debug, Clone)]
pub struct Source {
    text: String,
    pub(crate) reads: Reads,
}

/// What a source reads.
#[derive(Debug, Clone)]
pub(crate) enum Reads {
    Json(Pointer),
    /// The text or an attribute of elements.
    Css(Selector, Option<String>),
    Meta(String),
    JsonLd(Pointer),
    Script(Pointer),
    Regex(Pattern),
    Header(String),
    Cookie(String),
    FinalUrl,
    Title,
    Template(Template),
    Const(String),
    Count(Pointer),
    BodyHash(Algorithm),
    Lines,
    JsonLines,
    /// The current element of a list. The variants below are its key and a capture group.
    Item,
    Key,
    Group(usize),
}

entry_text!(Source, text, Source::parse);

impl Source {
    /// Parses the text of a source.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (kind, argument) = match text.split_once(':') {
            _ if text.is_empty() || text.starts_with('/') => ("json", text),
            Some(parts) => parts,
            None => {
                return Err(format!(
                    "`{text}` is not a valid extractor; write KIND:ARGUMENT, where KIND is one of {EXTRACTOR_KINDS}"
                ));
            }
        };
        let needs_argument = ["css", "meta", "regex", "header", "cookie", "template", "body_hash", "group"];
        if argument.is_empty() && needs_argument.contains(&kind) {
            return Err(format!("`{kind}:` lacks its argument"));
        }
        let reads = match kind {
            "json" => Reads::Json(Pointer::parse(argument)?),
            "jsonld" => Reads::JsonLd(Pointer::parse(argument)?),
            "script" => Reads::Script(Pointer::parse(argument)?),
            "count" => Reads::Count(Pointer::parse(argument)?),
            "css" => {
                let (selector, attribute) = split_attribute(argument);
                Reads::Css(Selector::parse(selector)?, attribute)
            }
            "meta" => Reads::Meta(argument.to_ascii_lowercase()),
            "regex" => Reads::Regex(Pattern::parse(argument)?),
            "header" => Reads::Header(argument.to_ascii_lowercase()),
            "cookie" => Reads::Cookie(argument.to_owned()),
            "body_hash" => Reads::BodyHash(Algorithm::from_name(argument).ok_or_else(|| {
                let known = Algorithm::ALL.map(Algorithm::as_str).join(", ");
                format!("`{argument}` is not a known algorithm; expected {known}")
            })?),
            "final_url" => Reads::FinalUrl,
            "title" => Reads::Title,
            "template" => Reads::Template(Template::parse(argument, Kind::Plain)?),
            "const" => Reads::Const(argument.to_owned()),
            "lines" => Reads::Lines,
            "json_lines" => Reads::JsonLines,
            "value" => Reads::Item,
            "key" => Reads::Key,
            "group" => Reads::Group(
                argument.parse().map_err(|_| format!("`{argument}` is not the number of a capture group"))?,
            ),
            _ => return Err(not_here(kind)),
        };
        Ok(Self { text: text.to_owned(), reads })
    }

    /// Returns the message about a source that only lists may have.
    pub(crate) fn not_here(&self) -> String {
        not_here(self.text.split(':').next().unwrap_or_default())
    }

    /// Returns whether the source reads the current element of a list.
    pub(crate) fn is_of_element(&self) -> bool {
        matches!(self.reads, Reads::Item | Reads::Key | Reads::Group(_))
    }

    /// Returns whether the source reads the body.
    pub(crate) fn reads_body(&self) -> bool {
        use Reads::{Const, Cookie, FinalUrl, Header, Template};
        !matches!(self.reads, Header(_) | Cookie(_) | FinalUrl | Template(_) | Const(_))
            && !self.is_of_element()
    }

    /// Returns the pointer by which the source selects from JSON.
    pub(crate) fn pointer(&self) -> Option<&Pointer> {
        match &self.reads {
            Reads::Json(pointer) | Reads::JsonLd(pointer) | Reads::Script(pointer) => Some(pointer),
            _ => None,
        }
    }
}

fn not_here(kind: &str) -> String {
    format!("`{kind}:` is not an extractor for this place; expected {EXTRACTOR_KINDS}")
}

/// Splits `SELECTOR@ATTRIBUTE`. An `@` inside brackets or quotes belongs to the selector.
fn split_attribute(text: &str) -> (&str, Option<String>) {
    match text.rsplit_once('@') {
        Some((selector, attribute))
            if !attribute.is_empty()
                && attribute.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b)) =>
        {
            (selector.trim_end(), Some(attribute.to_ascii_lowercase()))
        }
        _ => (text, None),
    }
}
