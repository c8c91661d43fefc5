//! Parses the text of a template.

use super::filter::Filter;
use super::place::{Kind, Place};
use super::slot::{Part, Slot, Variable};

const VARIABLES: &str = "query, local, domain, saved.NAME, config.NAME, config.NAME?";

pub(super) fn parse(text: &str, kind: Kind) -> Result<Vec<Part>, String> {
    let mut reader = Reader { rest: text, kind, literal: String::new(), parts: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    reader.end_literal();
    let mut parts = reader.parts;
    match kind {
        Kind::Url => place_in_url(&mut parts)?,
        _ => {
            let place = place_of(kind);
            for part in &mut parts {
                if let Part::Slot(slot) = part {
                    slot.place = place;
                }
            }
        }
    }
    Ok(parts)
}

fn place_of(kind: Kind) -> Place {
    match kind {
        Kind::Url | Kind::Plain => Place::Plain,
        Kind::Header => Place::Header,
        Kind::Json => Place::Json,
        Kind::Form => Place::Form,
        Kind::Xml => Place::Xml,
        Kind::Regex => Place::Regex,
    }
}

struct Reader<'t> {
    rest: &'t str,
    kind: Kind,
    literal: String,
    parts: Vec<Part>,
}

impl Reader<'_> {
    fn step(&mut self) -> Result<(), String> {
        if let Some(length) = self.regex_braces() {
            return self.take_literal(length);
        }
        let Some(next) = self.rest.find(['{', '}', '\\']) else {
            return self.take_literal(self.rest.len());
        };
        if next > 0 {
            return self.take_literal(next);
        }
        if self.rest.starts_with("{{") || self.rest.starts_with("}}") {
            self.literal.push_str(&self.rest[..1]);
            self.rest = &self.rest[2..];
            return Ok(());
        }
        if self.rest.starts_with('\\') {
            return self.take_literal(1);
        }
        if self.rest.starts_with('}') {
            return Err("a `}` without its `{`; write a literal brace twice: `}}`".into());
        }
        let Some(end) = self.rest.find('}') else {
            return Err("a `{` without its `}`; write a literal brace twice: `{{`".into());
        };
        let slot = slot(&self.rest[1..end])?;
        self.end_literal();
        self.parts.push(Part::Slot(slot));
        self.rest = &self.rest[end + 1..];
        Ok(())
    }

    /// Returns the length of a regex escape or quantifier at this position, whose braces are not those of a
    /// slot.
    fn regex_braces(&self) -> Option<usize> {
        if self.kind != Kind::Regex {
            return None;
        }
        let bytes = self.rest.as_bytes();
        match bytes.first()? {
            b'\\' => {
                let escaped = self.rest[1..].chars().next()?;
                let head = 1 + escaped.len_utf8();
                let inside = self.rest[head..].strip_prefix('{').and_then(|rest| rest.split('}').next());
                let is_own = match (escaped, inside) {
                    ('p' | 'P' | 'x' | 'u' | 'U', Some(_)) => true,
                    // `\b{query}` is a word boundary followed by a variable.
                    ('b', Some(inside)) => matches!(inside, "start" | "end" | "start-half" | "end-half"),
                    _ => false,
                };
                if is_own {
                    return self.rest.find('}').map(|end| end + 1);
                }
                Some(head)
            }
            b'{' => {
                let end = self.rest.find('}')?;
                let inside = &self.rest[1..end];
                let is_quantifier = inside.starts_with(|c: char| c.is_ascii_digit())
                    && inside.bytes().all(|b| b.is_ascii_digit() || b == b',');
                is_quantifier.then_some(end + 1)
            }
            _ => None,
        }
    }

    fn take_literal(&mut self, length: usize) -> Result<(), String> {
        self.literal.push_str(&self.rest[..length]);
        self.rest = &self.rest[length..];
        Ok(())
    }

    fn end_literal(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.literal)));
        }
    }
}

/// Parses the inside of a slot, such as `query|lower|md5`.
fn slot(text: &str) -> Result<Slot, String> {
    let mut words = text.split('|');
    let variable = variable(words.next().unwrap_or_default())?;
    let filters = words.map(Filter::read).collect::<Result<_, _>>()?;
    Ok(Slot { variable, filters, place: Place::Plain })
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
                check_place(slot)?;
            }
            Part::Text(text) => {
                let start = if index == 0 { scheme_length(text).unwrap_or(0) } else { 0 };
                place = walk(&text[start..], place)?;
            }
        }
    }
    Ok(())
}

/// Checks that optional keys are only in the query of a URL.
fn check_place(slot: &Slot) -> Result<(), String> {
    match &slot.variable {
        Variable::Config { name, is_optional: true } if slot.place != Place::UrlQuery => Err(format!(
            "`{{config.{name}?}}` may be missing: in a URL it is allowed only in a query parameter"
        )),
        _ => Ok(()),
    }
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
