//! Reads HTML in one streaming pass: the text, and the elements in document order, in which selectors search.
//!
//! No tree is built. The open elements are on a stack of limited depth, and each element knows the one around it. The time
//! to read a page, and to search it for a selector, is therefore proportional to its length, whatever its structure is.

pub(crate) mod selector;
#[cfg(test)]
mod tests;

use std::ops::Range;

use html5gum::{DefaultEmitter, Emitter, ForwardingEmitter, StartTag, Token, Tokenizer};

use super::text::squeeze;
use selector::Compound;
pub(crate) use selector::Selector;

/// The maximum depth of open elements that are distinguished. Elements that are nested deeper are beside each other.
const MAX_DEPTH: usize = 512;
/// The maximum numbers of elements and of attributes of a page that are kept, which bound its memory: more than a page of
/// 1 MiB can have.
const MAX_ELEMENTS: usize = 400_000;
const MAX_ATTRIBUTES: usize = 600_000;
/// The number of open elements that are searched for one that a start tag closes implicitly.
const IMPLIED_REACH: usize = 16;
/// The maximum size of an element's text, in bytes. Scripts are not cut, since they cannot be nested.
const MAX_ELEMENT_TEXT: usize = 20_000;
/// The maximum number of elements that a selector finds.
const MAX_FOUND: usize = 1_000;
/// The maximum number of scripts that are read.
const MAX_SCRIPTS: usize = 300;

/// A page, read in one pass.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The first title, unless it is that of a drawing.
    pub(crate) title: Option<String>,
    /// The text of the page in order, without scripts and styles.
    text: String,
    /// The text of scripts and styles, in order.
    raw: String,
    /// The elements in document order.
    elements: Vec<Element>,
    /// Whether the page has more elements or attributes than are kept. No element can then be proved to be missing.
    pub(crate) is_full: bool,
}

/// An element of a page.
#[derive(Debug)]
pub(crate) struct Element {
    name: Box<str>,
    attributes: Box<[(Box<str>, Box<str>)]>,
    /// The index of the element around it.
    parent: Option<usize>,
    /// The range of its text in the text of the page, or in the raw text.
    text: Range<usize>,
    is_raw: bool,
    /// Whether it is a drawing or a formula, or in one.
    is_foreign: bool,
}

/// The kind of a `<script>` element, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ScriptKind {
    LinkedData,
    Json,
    Code,
}

impl ScriptKind {
    /// Returns the kind for a `type` attribute, which is empty if it is missing. Returns `None` for
    /// templates and other types.
    fn of(media_type: &str) -> Option<Self> {
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is = |word| media_type.ends_with(word);
        match media_type.as_str() {
            "application/ld+json" => Some(Self::LinkedData),
            _ if is("json") => Some(Self::Json),
            "" | "module" => Some(Self::Code),
            _ if is("javascript") || is("ecmascript") => Some(Self::Code),
            _ => None,
        }
    }
}

impl Element {
    /// Returns the value of an attribute. `name` is in lower case. If an attribute is repeated, the first one counts.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| **known == *name).map(|(_, value)| &**value)
    }

    /// Returns whether the element and its text are never shown.
    fn is_hidden(&self) -> bool {
        matches!(&*self.name, "template" | "title" | "datalist")
            || self.attribute("hidden").is_some()
            || self.attribute("style").is_some_and(hides)
    }
}

impl Page {
    /// Reads an HTML page.
    pub(crate) fn read(html: &str) -> Self {
        let mut emitter = DefaultEmitter::default();
        emitter.naively_switch_states(true);
        let (mut reader, mut attributes) = (Reader::default(), 0);
        // Reading from memory cannot fail.
        for Ok(token) in Tokenizer::new_with_emitter(html, WithoutErrors(emitter)) {
            match token {
                Token::StartTag(tag) => {
                    attributes += tag.attributes.len();
                    reader.page.is_full =
                        reader.page.elements.len() == MAX_ELEMENTS || attributes > MAX_ATTRIBUTES;
                    if reader.page.is_full {
                        break;
                    }
                    reader.start(&tag);
                }
                Token::EndTag(tag) => reader.end(&word(&tag.name)),
                Token::String(text) => reader.text(&String::from_utf8_lossy(&text)),
                _ => {}
            }
        }
        reader.finish()
    }

    /// Returns the elements that a selector finds, in document order, at most 1,000.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<&Element> {
        let found = selector.alternatives().iter().flat_map(|compounds| self.matching(compounds));
        let mut found: Vec<usize> = found.collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().take(MAX_FOUND).map(|index| &self.elements[index]).collect()
    }

    /// Returns the indices of the elements that match the last compound inside elements that match the others. Since
    /// compounds are joined by spaces only, the outermost element that matches a compound is as good as any other.
    fn matching(&self, compounds: &[Compound]) -> Vec<usize> {
        let mut found = Vec::new();
        // How many of the first compounds each element and those around it match.
        let mut inside: Vec<usize> = Vec::with_capacity(self.elements.len());
        for (index, element) in self.elements.iter().enumerate() {
            let mut at = element.parent.map_or(0, |parent| inside[parent]);
            if compounds[at].matches(&element.name, |name| element.attribute(name)) {
                match at + 1 == compounds.len() {
                    true => found.push(index),
                    false => at += 1,
                }
            }
            inside.push(at);
        }
        found
    }

    /// Returns the text of an element. White space is normalized, except in scripts.
    pub(crate) fn text_of(&self, element: &Element) -> String {
        let Range { start, end } = element.text;
        if element.is_raw {
            return self.raw[start..end].trim().to_owned();
        }
        let mut end = end.min(start + MAX_ELEMENT_TEXT);
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        squeeze(&self.text[start..end])
    }

    /// Returns the visible text of the page, with white space normalized.
    pub(crate) fn visible_text(&self) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        for Element { text: hidden, .. } in self.elements.iter().filter(|it| !it.is_raw && it.is_hidden()) {
            if hidden.start >= at {
                shown.push_str(&self.text[at..hidden.start]);
                at = hidden.end;
            }
        }
        shown.push_str(&self.text[at..]);
        squeeze(&shown)
    }

    /// Returns whether the element's text extends to the end of the text that was read.
    pub(crate) fn is_last(&self, element: &Element) -> bool {
        element.text.end >= if element.is_raw { self.raw.len() } else { self.text.len() }
    }

    /// Returns the elements of this name, in document order.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(move |element| *element.name == *name)
    }

    /// Returns the scripts of the page that are not empty, in order, at most 300.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (ScriptKind, &str)> {
        let script = |element: &Element| {
            let kind = ScriptKind::of(element.attribute("type").unwrap_or_default());
            Some((kind?, &self.raw[element.text.clone()])).filter(|(_, text)| !text.is_empty())
        };
        self.named("script").filter(|element| element.is_raw).filter_map(script).take(MAX_SCRIPTS)
    }

    /// Returns the contents of the `<meta>` elements with the given name or property in lower case, in order.
    pub(crate) fn metas(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_of = move |element: &&Element| {
            // Unlike `name`, the other attributes are lists.
            let lists = ["property", "itemprop"].into_iter().filter_map(|list| element.attribute(list));
            let mut names =
                lists.flat_map(str::split_ascii_whitespace).chain(element.attribute("name").map(str::trim));
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        self.named("meta").filter(is_of).filter_map(|element| element.attribute("content"))
    }

    /// Returns the canonical address that the page states.
    pub(crate) fn canonical(&self) -> Option<&str> {
        let is_canonical = |link: &&Element| {
            let mut relations = link.attribute("rel").unwrap_or_default().split_ascii_whitespace();
            relations.any(|relation| relation.eq_ignore_ascii_case("canonical"))
        };
        self.named("link").find(is_canonical)?.attribute("href")
    }
}

/// Returns the text of an HTML fragment, without tags and with entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html).text)
}

/// An emitter that ignores errors in the page. The search for them would look at each character.
struct WithoutErrors<E>(E);

impl<E: Emitter> ForwardingEmitter for WithoutErrors<E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = Self::Token> {
        &mut self.0
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

/// Returns a name or a value. Its bytes are valid UTF-8 unless the tokenizer cut a character.
fn word(bytes: &[u8]) -> Box<str> {
    String::from_utf8_lossy(bytes).into()
}

#[derive(Default)]
struct Reader {
    page: Page,
    /// The indices of the open elements.
    stack: Vec<usize>,
    /// Whether the last element is a raw one, such as a script, and is being read.
    is_raw: bool,
}

impl Reader {
    fn start(&mut self, tag: &StartTag<()>) {
        let name = word(&tag.name);
        self.imply_ends(&name);
        if !is_inline(&name) {
            self.separate();
        }
        let parent = self.stack.last().copied();
        let is_in_foreign = parent.is_some_and(|parent| self.page.elements[parent].is_foreign);
        let is_foreign = is_in_foreign || matches!(&*name, "svg" | "math");
        self.is_raw = is_raw(&name) && !is_foreign;
        let start = if self.is_raw { self.page.raw.len() } else { self.page.text.len() };
        let is_closed = is_void(&name) || self.is_raw || (tag.self_closing && is_foreign);
        if !is_closed && self.stack.len() < MAX_DEPTH {
            self.stack.push(self.page.elements.len());
        }
        let attributes = tag.attributes.iter().map(|(name, value)| (word(name), word(value)));
        self.page.elements.push(Element {
            name,
            attributes: attributes.collect(),
            parent,
            text: start..start,
            is_raw: self.is_raw,
            is_foreign,
        });
    }

    fn text(&mut self, text: &str) {
        match self.page.elements.last_mut().filter(|_| self.is_raw) {
            None => self.page.text.push_str(text),
            Some(element) => {
                self.page.raw.push_str(text);
                element.text.end = self.page.raw.len();
            }
        }
    }

    fn imply_ends(&mut self, name: &str) {
        let (ended, stops) = implied_ends(name);
        let open = self.stack.iter().enumerate().rev().take(IMPLIED_REACH).take_while(|_| !ended.is_empty());
        let mut outermost = None;
        for (index, element) in open {
            let open = &*self.page.elements[*element].name;
            if ended.contains(&open) {
                outermost = Some(index);
            } else if stops.contains(&open) {
                break;
            }
        }
        if let Some(index) = outermost {
            self.close_to(index);
        }
    }

    /// Handles an end tag. `name` is in lower case.
    fn end(&mut self, name: &str) {
        let is_open = |index: &usize| *self.page.elements[*index].name == *name;
        if std::mem::take(&mut self.is_raw) {
            return;
        }
        if let Some(index) = self.stack.iter().rposition(is_open) {
            self.close_to(index);
        }
    }

    /// Closes the open element at `index` of the stack and all those above it.
    fn close_to(&mut self, index: usize) {
        let (mut separates, end) = (false, self.page.text.len());
        for index in self.stack.drain(index..) {
            let element = &mut self.page.elements[index];
            separates |= !is_inline(&element.name);
            element.text.end = end;
        }
        if separates {
            self.separate();
        }
    }

    /// Appends a space if necessary, so that the words of two blocks stay separate.
    fn separate(&mut self) {
        if !self.page.text.is_empty() && !self.page.text.ends_with(char::is_whitespace) {
            self.page.text.push(' ');
        }
    }

    fn finish(mut self) -> Page {
        let end = self.page.text.len();
        self.close_to(0);
        // Nothing follows the last element, so that its text counts as incomplete on a cut page.
        self.page.text.truncate(end);
        let title = self.page.named("title").find(|title| !title.is_foreign);
        self.page.title = title.map(|title| self.page.text_of(title));
        self.page
    }
}

/// Returns whether an element has no end tag.
fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.contains(&name)
}

/// Returns whether the content of an element is not part of the page's text.
fn is_raw(name: &str) -> bool {
    matches!(name, "script" | "style" | "noscript" | "iframe" | "xmp" | "noembed" | "noframe")
}

/// Returns whether an inline style hides its element.
fn hides(style: &str) -> bool {
    style.split(';').filter_map(|rule| rule.split_once(':')).any(|(name, value)| {
        let value = value.trim().trim_end_matches("!important").trim_end();
        let is = |known: &str, hidden: &[&str]| {
            name.trim().eq_ignore_ascii_case(known) && hidden.iter().any(|it| value.eq_ignore_ascii_case(it))
        };
        is("display", &["none"]) || is("visibility", &["hidden", "collapse"])
    })
}

/// Returns whether an element does not separate words.
fn is_inline(name: &str) -> bool {
    const INLINE: [&str; 28] = [
        "a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "del", "dfn", "em", "font", "i", "ins",
        "kbd", "mark", "q", "s", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr",
    ];
    INLINE.contains(&name)
}

/// Returns the open elements that a start tag closes implicitly, and the elements at which the search for
/// them stops.
fn implied_ends(name: &str) -> (&'static [&'static str], &'static [&'static str]) {
    match name {
        "li" => (&["li"], &["ul", "ol", "menu", "table"]),
        "dt" | "dd" => (&["dt", "dd"], &["dl", "table"]),
        "tr" => (&["tr", "td", "th"], &["table", "tbody", "thead", "tfoot"]),
        "td" | "th" => (&["td", "th"], &["tr", "table"]),
        "option" => (&["option"], &["select", "datalist"]),
        "p" | "div" | "ul" | "ol" | "dl" | "table" | "section" | "article" | "header" | "footer" | "nav"
        | "main" | "aside" | "form" | "pre" | "blockquote" | "h1" | "h2" | "h3" | "h4" | "h5" | "h6"
        | "hr" | "figure" | "address" | "fieldset" => {
            (&["p"], &["div", "button", "section", "article", "li", "td", "th", "table"])
        }
        _ => (&[], &[]),
    }
}
