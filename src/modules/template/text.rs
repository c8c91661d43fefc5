//! Parses templates and fills them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::LazyLock;

use percent_encoding::{CONTROLS, utf8_percent_encode};
use regex::Regex;
use url::Url;

use super::filter::Filter;
use crate::base::encoding::percent_encode;
use crate::modules::definition::text::{entry_text, entry_text_serde};
use crate::modules::keys::OperatorKeys;
use crate::modules::pattern::Searches;
use crate::modules::query::{Query, SearchType};

/// The variables, for error messages.
const VARIABLES: &str = "query, local, domain, saved.NAME, config.NAME, config.NAME?";

/// The syntax of a template's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Url,
    Header,
    Regex,
    /// Text that is not escaped. The user of the text escapes it as a whole.
    Plain,
}

/// The place of a value in a template, which determines how it is escaped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A complete address at the start of a URL.
    Address,
    Host,
    Path,
    UrlQuery,
    Header,
    Regex,
    Plain,
}

/// The error for a template that cannot be filled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FillError {
    /// The query has no such part. For example, a username has no domain.
    NoPart,
    /// The operator has not set a key of this name.
    NoKey(String),
    /// The operator has not set a key of this name, but it is optional. The part that contains it is
    /// omitted.
    LeftOut,
    /// No earlier response gave a value of this name.
    NotSaved(String),
    /// The value is not valid in its place, such as a path segment `..` or a line break in a header.
    Unfit,
}

/// The value that a slot is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    Query,
    Local,
    Domain,
    /// A value that was saved from an earlier probe.
    Saved(String),
    /// A key of the operator.
    Config {
        name: String,
        is_optional: bool,
    },
    /// The value that an extractor read.
    Value,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Slot {
    pub(super) variable: Variable,
    pub(super) filters: Vec<Filter>,
    pub(super) place: Place,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Text(String),
    Slot(Slot),
}

/// The values that slots are filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) query: &'a Query,
    /// The query's normal form without the characters that the module strips.
    pub(crate) name: &'a str,
    /// The operator's keys, or `None` in rules and results, which must not contain keys.
    pub(crate) keys: Option<&'a OperatorKeys>,
    pub(crate) saved: &'a Saved,
    /// The value that an extractor read.
    pub(crate) value: Option<&'a str>,
    /// The regex searches of the check.
    pub(crate) searches: &'a Searches,
}

impl<'a> Values<'a> {
    /// Returns the values for rules and results, without keys and without a value that an extractor read.
    pub(crate) fn new(query: &'a Query, name: &'a str, saved: &'a Saved, searches: &'a Searches) -> Self {
        Self { query, name, keys: None, saved, value: None, searches }
    }
}

/// Values that were saved from responses, by name.
pub(crate) type Saved = BTreeMap<String, String>;

/// A text with slots for values.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
    kind: Kind,
    pub(super) parts: Vec<Part>,
}

entry_text!(Template, |text| Template::parse(text, Kind::Plain));

impl Eq for Template {}

impl PartialOrd for Template {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Template {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.text.cmp(&other.text)
    }
}

/// Declares a template of another kind.
macro_rules! template_of_kind {
    ($(#[$doc:meta])* $name:ident, $kind:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq)]
        pub struct $name(Template);

        impl $name {
            /// Parses a template. The error describes the mistake and the allowed values.
            pub(crate) fn parse(text: &str) -> Result<Self, String> {
                Template::parse(text, $kind).map(Self)
            }
        }

        impl Deref for $name {
            type Target = Template;

            fn deref(&self) -> &Template {
                &self.0
            }
        }

        entry_text_serde!($name, $name::parse);
    };
}

template_of_kind!(
    /// The template of a URL.
    UrlTemplate,
    Kind::Url
);
template_of_kind!(
    /// The template of a header's value.
    HeaderTemplate,
    Kind::Header
);

impl Template {
    /// Parses a template. The error describes the mistake and the allowed values.
    pub(crate) fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        let mut parts = match text.contains(['{', '}']) {
            true => read(text, kind)?,
            false => vec![Part::Text(text.to_owned())],
        };
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        if kind == Kind::Url {
            place_in_url(&mut parts)?;
        }
        Ok(Self { text: text.to_owned(), kind, parts })
    }

    /// Returns a part of a template as a template.
    pub(super) fn of_parts(parts: Vec<Part>) -> Self {
        Self { text: String::new(), kind: Kind::Plain, parts }
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the text if the template has no slots.
    pub(crate) fn literal(&self) -> Option<String> {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => Some(text.as_str()),
                Part::Slot(_) => None,
            })
            .collect()
    }

    /// Returns the texts before and after the query, if that is the only slot and is filled with the name as it is (in
    /// lower case at most).
    pub(crate) fn around_query(&self) -> Option<(&str, &str)> {
        let is_name = |slot: &Slot| {
            slot.variable == Variable::Query && slot.filters.iter().all(|filter| *filter == Filter::Lower)
        };
        match self.parts.as_slice() {
            [Part::Text(before), Part::Slot(slot)] if is_name(slot) => Some((before, "")),
            [Part::Text(before), Part::Slot(slot), Part::Text(after)] if is_name(slot) => {
                Some((before, after))
            }
            _ => None,
        }
    }

    /// Returns the texts between the slots, for validation.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(text) => Some(text.as_str()),
            Part::Slot(_) => None,
        })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.slots().map(|slot| &slot.variable)
    }

    pub(super) fn slots(&self) -> impl Iterator<Item = &Slot> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Slot(slot) => Some(slot),
        })
    }

    /// Returns whether the template contains the query or a part of it.
    pub(crate) fn has_query(&self) -> bool {
        self.variables().any(|it| matches!(it, Variable::Query | Variable::Local | Variable::Domain))
    }

    /// Returns whether the filled template contains the query, or a part of it, in clear text (not as a
    /// hash).
    pub(crate) fn shows_query(&self) -> bool {
        self.slots().any(|slot| {
            matches!(slot.variable, Variable::Query | Variable::Local | Variable::Domain)
                && !slot.filters.iter().any(|filter| filter.is_hash())
        })
    }

    /// Returns the template with every slot filled with a harmless word, to validate the text around the
    /// slots.
    pub(crate) fn example(&self) -> String {
        self.parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.as_str(),
                Part::Slot(Slot { place: Place::Address, .. }) => "https://example.com/",
                Part::Slot(_) => "example",
            })
            .collect()
    }

    /// Fills every slot with its value.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, FillError> {
        let mut out = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Slot(slot) => slot.write(values, self.parts.get(index + 1), &mut out)?,
            }
        }
        if self.kind == Kind::Url && has_dot_segment(&out) {
            return Err(FillError::Unfit);
        }
        Ok(out)
    }
}

/// Returns whether a path segment is `.` or `..`. A URL parser would resolve it to another path, even if it
/// is escaped.
fn has_dot_segment(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).skip(1).any(|segment| matches!(segment, "." | ".."))
}

impl Part {
    /// Returns the text of the part. It is empty for a slot.
    fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Slot(_) => "",
        }
    }
}

impl Slot {
    /// Returns the filtered value, which is not yet escaped.
    fn value(&self, values: &Values<'_>) -> Result<String, FillError> {
        let raw = match &self.variable {
            Variable::Query => Some(values.name),
            Variable::Local => values.query.local(),
            Variable::Domain => values.query.domain(),
            Variable::Saved(name) => match values.saved.get(name) {
                Some(value) => Some(value.as_str()),
                None => return Err(FillError::NotSaved(name.clone())),
            },
            Variable::Config { name, is_optional } => match values.keys.and_then(|keys| keys.get(name)) {
                Some(value) => Some(value),
                None if *is_optional => return Err(FillError::LeftOut),
                None => return Err(FillError::NoKey(name.clone())),
            },
            Variable::Value => values.value,
        };
        let mut value = raw.ok_or(FillError::NoPart)?.to_owned();
        for filter in &self.filters {
            value = filter
                .apply(&value, matches!(self.place, Place::Path | Place::UrlQuery))
                .ok_or(FillError::NoPart)?;
        }
        Ok(value)
    }

    fn write(&self, values: &Values<'_>, next: Option<&Part>, out: &mut String) -> Result<(), FillError> {
        let value = self.value(values)?;
        match self.place {
            Place::Address => escape_address(&value, next.map(Part::text), out),
            Place::Host => escape_host(&value, self.may_hold_dots(values), out),
            place => escape(&value, place, out),
        }
    }

    /// Returns whether the value may contain dots. A username with a dot would lead to another zone than the
    /// site's names.
    fn may_hold_dots(&self, values: &Values<'_>) -> bool {
        match self.variable {
            Variable::Query => values.query.search_type() == SearchType::Domain,
            Variable::Local => false,
            _ => true,
        }
    }
}

/// Writes `value` so that it remains one value in its place.
fn escape(value: &str, place: Place, out: &mut String) -> Result<(), FillError> {
    match place {
        Place::Path | Place::UrlQuery => out.push_str(&percent_encode(value)),
        Place::Regex => out.push_str(&regex::escape(value)),
        Place::Header => escape_header(value, out)?,
        Place::Plain => out.push_str(value),
        // These two places have functions of their own below.
        Place::Address | Place::Host => return Err(FillError::Unfit),
    }
    Ok(())
}

/// Writes a header value in ASCII. Other letters are percent-encoded, and control characters are refused.
fn escape_header(value: &str, out: &mut String) -> Result<(), FillError> {
    if value.chars().any(char::is_control) {
        return Err(FillError::Unfit);
    }
    out.extend(utf8_percent_encode(value, CONTROLS));
    Ok(())
}

/// Writes one or more labels of a host name.
fn escape_host(value: &str, may_hold_dots: bool, out: &mut String) -> Result<(), FillError> {
    let value = value.to_ascii_lowercase();
    let is_fit = value.len() <= 253
        && (may_hold_dots || !value.contains('.'))
        && value.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && !label.starts_with('-')
                && !label.ends_with('-')
                && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
        });
    if !is_fit {
        return Err(FillError::Unfit);
    }
    out.push_str(&value);
    Ok(())
}

/// Writes a complete web address at the start of a URL. `next` is the text after it, or `None` if a slot
/// follows. That text must still be part of the path.
fn escape_address(value: &str, next: Option<&str>, out: &mut String) -> Result<(), FillError> {
    let url = Url::parse(value.trim()).map_err(|_| FillError::Unfit)?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    if !is_web || !url.username().is_empty() || url.password().is_some() {
        return Err(FillError::Unfit);
    }
    if next.is_some() && (url.query().is_some() || url.fragment().is_some()) {
        return Err(FillError::Unfit);
    }
    let follows_slash = next.is_some_and(|text| text.starts_with('/'));
    let text = url.as_str();
    out.push_str(if follows_slash { text.trim_end_matches('/') } else { text });
    Ok(())
}

/// A literal brace, written twice; a slot; a brace without its partner.
const BRACES: &str = r"(?<double>\{\{|\}\})|\{(?<slot>[^}]*)\}|(?<lone>[{}])";
/// Escapes and quantifiers of a regex, whose braces are not those of a slot. `\b{query}` is a word boundary followed by a
/// variable.
const OF_REGEX: &str = r"\\[pPxuU]\{[^}]*\}|\\b\{(?:start|end)(?:-half)?\}|\\.|\{[0-9][0-9,]*\}";

fn pattern(text: &str) -> Regex {
    // The patterns are constant, and the tests compile each of them.
    Regex::new(text).expect("a valid pattern")
}

fn read(text: &str, kind: Kind) -> Result<Vec<Part>, String> {
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| pattern(BRACES));
    static IN_REGEX: LazyLock<Regex> = LazyLock::new(|| pattern(&format!("(?s){OF_REGEX}|{BRACES}")));
    let tokens = if kind == Kind::Regex { &IN_REGEX } else { &PLAIN };
    let (mut parts, mut literal, mut end) = (Vec::new(), String::new(), 0);
    for found in tokens.captures_iter(text) {
        let token = found.get_match();
        literal.push_str(&text[end..token.start()]);
        end = token.end();
        if let Some(inside) = found.name("slot") {
            parts.push(Part::Text(std::mem::take(&mut literal)));
            parts.push(Part::Slot(slot(inside.as_str(), kind)?));
        } else if found.name("double").is_some() {
            literal.push_str(&token.as_str()[..1]);
        } else if let Some(lone) = found.name("lone").map(|lone| lone.as_str()) {
            let other = if lone == "{" { "}" } else { "{" };
            return Err(format!(
                "a `{lone}` without its `{other}`; write a literal brace twice: `{lone}{lone}`"
            ));
        } else {
            literal.push_str(token.as_str());
        }
    }
    literal.push_str(&text[end..]);
    parts.push(Part::Text(literal));
    Ok(parts)
}

/// Parses the inside of a slot, such as `query|lower|md5`.
fn slot(text: &str, kind: Kind) -> Result<Slot, String> {
    let mut words = text.split('|');
    let variable = variable(words.next().unwrap_or_default())?;
    let filters = words.map(Filter::read).collect::<Result<_, _>>()?;
    let place = match kind {
        Kind::Header => Place::Header,
        Kind::Regex => Place::Regex,
        Kind::Url | Kind::Plain => Place::Plain,
    };
    Ok(Slot { variable, filters, place })
}

fn variable(name: &str) -> Result<Variable, String> {
    Ok(match name {
        "query" => Variable::Query,
        "local" => Variable::Local,
        "domain" => Variable::Domain,
        "value" => Variable::Value,
        _ => match name.split_once('.') {
            Some(("saved", rest)) if is_name(rest) => Variable::Saved(rest.to_owned()),
            Some(("config", rest)) if is_name(rest.strip_suffix('?').unwrap_or(rest)) => {
                let name = rest.strip_suffix('?');
                Variable::Config { name: name.unwrap_or(rest).to_owned(), is_optional: name.is_some() }
            }
            Some((kind @ ("saved" | "config"), rest)) => {
                return Err(format!(
                    "`{rest}` of `{{{kind}.{rest}}}` is not a valid name; allowed are a-z, 0-9 and `_`, at most 40 characters"
                ));
            }
            _ => {
                return Err(format!(
                    "`{{{name}}}` is not a variable; allowed are {VARIABLES}; write a literal brace twice: `{{{{`"
                ));
            }
        },
    })
}

/// Returns whether `name` is valid as the name of a saved value or of a key.
fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 40
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
}

/// Determines the part of the URL in which each slot is.
fn place_in_url(parts: &mut [Part]) -> Result<(), String> {
    let mut place = Place::Host;
    let mut rest: &mut [Part] = parts;
    match rest.first_mut() {
        Some(Part::Slot(slot)) if matches!(slot.variable, Variable::Saved(_)) => {
            slot.place = Place::Address;
            place = Place::Path;
            rest = &mut rest[1..];
        }
        Some(Part::Text(text)) if scheme_length(text).is_some() => {}
        _ => return Err("a URL must begin with `https://`, `http://` or `{saved.NAME}`".into()),
    }
    for (index, part) in rest.iter_mut().enumerate() {
        match part {
            Part::Slot(slot) => {
                slot.place = place;
                if let Variable::Config { name, is_optional: true } = &slot.variable {
                    return Err(format!(
                        "`{{config.{name}?}}` may be missing, which is not allowed in a URL"
                    ));
                }
            }
            Part::Text(text) => {
                let start = if index == 0 { scheme_length(text).unwrap_or(0) } else { 0 };
                place = walk(&text[start..], place)?;
            }
        }
    }
    Ok(())
}

pub(super) fn scheme_length(text: &str) -> Option<usize> {
    ["https://", "http://"].iter().find(|scheme| text.starts_with(**scheme)).map(|scheme| scheme.len())
}

fn walk(text: &str, mut place: Place) -> Result<Place, String> {
    for c in text.chars() {
        if c.is_control() || c == ' ' || c == '\\' {
            return Err(format!("a URL must not contain {c:?}; percent-encode it"));
        }
        place = match (place, c) {
            (Place::Host, '@') => return Err("a URL must not have a user name or password here".into()),
            (Place::Host, '/') => Place::Path,
            (Place::Host | Place::Path, '?') => Place::UrlQuery,
            (_, '#') => {
                return Err("a URL must not have a fragment here (`#`): it would never be sent".into());
            }
            (place, _) => place,
        };
    }
    Ok(place)
}
