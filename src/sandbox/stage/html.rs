//! Writes a page, or a document in XML.

use serde_json::Value;

use super::plant::Planting;
use super::selector::{self, Compound};

/// Elements without an end tag.
const VOID: [&str; 8] = ["meta", "link", "img", "input", "br", "hr", "source", "base"];
/// Elements whose text is not escaped.
const RAW: [&str; 2] = ["script", "style"];

/// What stands on a page.
#[derive(Debug, Clone, Default)]
pub(super) struct Page {
    pub(super) title: Option<String>,
    /// Name or property, and content.
    pub(super) metas: Vec<(String, String)>,
    /// A JSON-LD block; null: none.
    pub(super) linked_data: Value,
    /// What the page's own scripts start from; null: nothing.
    pub(super) state: Value,
    pub(super) elements: Vec<Planting>,
}

/// The page with `lines` at its end, word for word. `None`: a selector cannot be built.
pub(super) fn render(page: &Page, lines: &[String]) -> Option<String> {
    let mut out = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n");
    if let Some(title) = &page.title {
        out.push_str(&format!("<title>{}</title>\n", escape(title)));
    }
    for (name, content) in &page.metas {
        let key = if name.contains(':') { "property" } else { "name" };
        out.push_str(&format!("<meta {key}=\"{}\" content=\"{}\">\n", escape(name), escape(content)));
    }
    for (kind, data) in [("application/ld+json", &page.linked_data), ("application/json", &page.state)] {
        if !data.is_null() {
            // `</script>` inside a string would end the block.
            let text = data.to_string().replace("</", "<\\/");
            out.push_str(&format!("<script type=\"{kind}\">{text}</script>\n"));
        }
    }
    out.push_str("</head>\n<body>\n");
    for planting in &page.elements {
        out.push_str(&element(planting, Markup::Html)?);
        out.push('\n');
    }
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
    // No end tags: a line may have opened what swallows them, and pages without them are usual.
    Some(out)
}

/// The document with `lines` at its end, word for word. `None`: a selector cannot be built.
pub(super) fn render_xml(page: &Page, lines: &[String]) -> Option<String> {
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if let Some(title) = &page.title {
        out.push_str(&format!("<title>{}</title>\n", escape(title)));
    }
    for planting in &page.elements {
        out.push_str(&element(planting, Markup::Xml)?);
        out.push('\n');
    }
    for line in lines {
        out.push_str(line);
        out.push('\n');
    }
    Some(out)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Markup {
    Html,
    Xml,
}

/// The element that a planting asks for, inside those that its selector names.
fn element(planting: &Planting, markup: Markup) -> Option<String> {
    let compounds = selector::read(&planting.selector)?;
    let (last, outer) = compounds.split_last()?;
    let mut inner = String::new();
    for inside in &planting.inside {
        inner.push_str(&element(inside, markup)?);
    }
    let is_raw = markup == Markup::Html && is_one_of(last, &RAW);
    let text = if is_raw { planting.text.replace("</", "<\\/") } else { escape(&planting.text) };
    let mut html = wrap(last, &planting.attributes, &format!("{text}{inner}"), markup);
    for compound in outer.iter().rev() {
        html = wrap(compound, &[], &html, markup);
    }
    Some(html)
}

fn wrap(compound: &Compound, attributes: &[(String, String)], inner: &str, markup: Markup) -> String {
    let tag = compound.tag.as_deref().unwrap_or("div");
    let mut out = format!("<{tag}");
    for name in compound.attribute_names() {
        let content = attributes.iter().find(|(key, _)| key == name).map(|(_, content)| content.as_str());
        out.push_str(&format!(" {name}=\"{}\"", escape(&compound.attribute(name, content))));
    }
    for (name, content) in
        attributes.iter().filter(|(key, _)| !compound.attribute_names().contains(&key.as_str()))
    {
        out.push_str(&format!(" {name}=\"{}\"", escape(content)));
    }
    out.push('>');
    if markup == Markup::Xml || !is_one_of(compound, &VOID) {
        out.push_str(&format!("{inner}</{tag}>"));
    }
    out
}

fn is_one_of(compound: &Compound, tags: &[&str]) -> bool {
    compound.tag.as_deref().is_some_and(|tag| tags.contains(&tag))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_stand_in_what_their_selector_names() {
        let planting = Planting {
            selector: "main.m > a[rel=me]".to_owned(),
            attributes: vec![("href".to_owned(), "/a\"b".to_owned())],
            text: "x < y".to_owned(),
            inside: vec![Planting { selector: "img".to_owned(), ..Planting::default() }],
        };
        let expected = "<main class=\"m\"><a rel=\"me\" href=\"/a&quot;b\">x &lt; y<img></a></main>";
        assert_eq!(element(&planting, Markup::Html).as_deref(), Some(expected));
    }
}
