//! Renders HTML pages.

use crate::modules::html::selector::{Compound, Operator, Selector};
use crate::modules::html::{is_raw, is_void};

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
    let (last, outer) = selector.alternatives().first()?.split_last()?;
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

/// Returns an attribute value that passes the compound's tests and contains `content` as far as they allow it.
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
