//! Reads XML for selectors. Unlike in HTML, no element is closed implicitly, and CDATA is text.
//!
//! This is not a validating reader: a document that is not well-formed is read as far as possible. Only
//! character references and the five entities of XML are decoded. Entities of a document type are never
//! expanded.

use std::borrow::Cow;

use memchr::{memchr, memmem};

use super::builder::Builder;
use super::page::Page;
use super::selectors::Selectors;

/// Returns whether the text at the beginning of a body shows that the body is XML and not an HTML page.
pub(super) fn has_prolog(text: &str) -> bool {
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let Some(rest) = text.strip_prefix("<?xml") else { return false };
    // XHTML has a prolog too.
    let mut head = rest.as_bytes();
    head = &head[..head.len().min(1024)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    !head.contains("<!doctype html") && !head.contains("<html")
}

pub(super) fn read(xml: &str, selectors: &Selectors) -> Page {
    let mut builder = Builder::new(selectors, true);
    let mut rest = xml;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        builder.text(&decoded(&rest[..at]));
        rest = match markup(&mut builder, &rest[at..]) {
            Some(behind) => behind,
            None => return builder.finish(),
        };
    }
    builder.text(&decoded(rest));
    builder.finish()
}

/// Reads the markup at the start of `text` and returns the rest. Returns `None` if the markup has no end.
fn markup<'t>(builder: &mut Builder<'_>, text: &'t str) -> Option<&'t str> {
    if let Some(comment) = text.strip_prefix("<!--") {
        return split_around(comment, "-->").map(|(_, rest)| rest);
    }
    if let Some(data) = text.strip_prefix("<![CDATA[") {
        let (data, rest) = split_around(data, "]]>").unwrap_or((data, ""));
        builder.text(data);
        return Some(rest);
    }
    if let Some(instruction) = text.strip_prefix("<?") {
        return split_around(instruction, "?>").map(|(_, rest)| rest);
    }
    if let Some(declaration) = text.strip_prefix("<!") {
        let end = declaration.find(['>', '['])?;
        let subset = declaration[end..].strip_prefix('[');
        let from = match subset {
            Some(subset) => split_around(subset, "]")?.1,
            None => &declaration[end..],
        };
        return split_around(from, ">").map(|(_, rest)| rest);
    }
    if let Some(name) = text.strip_prefix("</") {
        let (name, rest) = split_around(name, ">")?;
        builder.end(&name.trim().to_lowercase());
        return Some(rest);
    }
    let inside = &text[1..];
    if !inside.starts_with(|c: char| c.is_alphabetic() || matches!(c, '_' | ':')) {
        builder.text("<");
        return Some(inside);
    }
    start_tag(builder, inside)
}

/// Reads a start tag, such as `name a="b">` or `name/>`.
fn start_tag<'t>(builder: &mut Builder<'_>, text: &'t str) -> Option<&'t str> {
    let is_end = |c: char| c.is_whitespace() || matches!(c, '/' | '>' | '=');
    let (name, mut rest) = text.split_at(text.find(is_end)?);
    builder.open(&name.to_lowercase());
    loop {
        rest = rest.trim_start();
        if let Some(rest) = rest.strip_prefix("/>") {
            builder.start(true);
            return Some(rest);
        }
        if let Some(rest) = rest.strip_prefix('>') {
            builder.start(false);
            return Some(rest);
        }
        let (name, behind_name) = rest.split_at(rest.find(is_end)?);
        if name.is_empty() {
            // An unexpected character between attributes is skipped.
            rest = &rest[1..];
            continue;
        }
        builder.attribute_name(&name.to_lowercase());
        rest = behind_name.trim_start();
        let Some(value) = rest.strip_prefix('=').map(str::trim_start) else { continue };
        let quote = value.chars().next()?;
        if matches!(quote, '"' | '\'') {
            let (value, behind_value) = value[1..].split_once(quote)?;
            builder.attribute_value(&decoded(value));
            rest = behind_value;
        } else {
            let (value, behind_value) = value.split_at(value.find(is_end)?);
            builder.attribute_value(&decoded(value));
            rest = behind_value;
        }
    }
}

/// Splits a text at `end` and returns the parts before and after it.
fn split_around<'t>(text: &'t str, end: &str) -> Option<(&'t str, &'t str)> {
    let at = memmem::find(text.as_bytes(), end.as_bytes())?;
    Some((&text[..at], &text[at + end.len()..]))
}

/// The maximum length of a reference such as `&#x10FFFF;`, including leading zeros.
const MAX_REFERENCE: usize = 16;

/// Returns the text with its references decoded.
fn decoded(text: &str) -> Cow<'_, str> {
    if memchr(b'&', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'&', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let near = &rest.as_bytes()[..rest.len().min(MAX_REFERENCE)];
        let found = memchr(b';', near).and_then(|end| Some((reference(&rest[..end])?, end + 1)));
        match found {
            Some((c, length)) => {
                out.push(c);
                rest = &rest[length..];
            }
            None => out.push('&'),
        }
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}
