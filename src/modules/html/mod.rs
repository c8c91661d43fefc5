//! Reads HTML in one streaming pass: the text, and the elements in document order, in which selectors search.
//!
//! No tree is built. The open elements are on a stack of limited depth, and each element knows the one around it. The time
//! to read a page, and to search it for a selector, is therefore proportional to its length, whatever its structure is.

pub(crate) mod selector;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, State, Tokenizer};

use super::text::squeeze;
use selector::Compound;
pub(crate) use selector::Selector;

/// The maximum depth of open elements that are distinguished. Elements that are nested deeper are beside each other.
const MAX_DEPTH: usize = 512;
/// The number of open elements that are searched for one that a start tag closes implicitly.
const IMPLIED_REACH: usize = 16;
/// The maximum size of an element's text, in bytes. Scripts are not cut, since they cannot be nested.
const MAX_ELEMENT_TEXT: usize = 20_000;
/// The maximum number of elements of a selector whose values are read.
pub(crate) const MAX_FOUND: usize = 1_000;
/// The maximum number of scripts that are read.
const MAX_SCRIPTS: usize = 300;

/// A page, read in one pass.
#[derive(Debug, Default)]
pub(crate) struct Page {
    /// The text of the page in order, without scripts and styles.
    text: String,
    /// The text of scripts and styles, in order.
    raw: String,
    /// The names and values in tags, in order.
    words: String,
    /// The elements in document order.
    elements: Vec<Element>,
    /// The names and values of their attributes, as parts of the words.
    attributes: Vec<[Part; 2]>,
}

/// A part of a text of a page, in bytes. A page of 1 MiB can have 350,000 elements, so that their size matters.
type Part = Range<u32>;

/// An element of a page, which has its words and texts.
#[derive(Debug)]
pub(crate) struct Element {
    name: Part,
    /// The indices of its attributes.
    attributes: Part,
    /// The index of the element around it.
    parent: Option<u32>,
    /// The range of its text in the text of the page, or in the raw text.
    text: Part,
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

impl Page {
    /// Reads an HTML page.
    pub(crate) fn read(html: &str) -> Self {
        let (mut reader, is_closed) = (Reader::default(), Cell::new(false));
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
            reader.read(&event);
            let is_empty = matches!(event, CallbackEvent::CloseStartTag { self_closing: true });
            is_closed.set(is_empty && reader.page.elements.last().is_some_and(|last| last.is_foreign));
            None
        });
        emitter.naively_switch_states(true);
        // The reader gets all events, and there are no tokens.
        let _: Option<Result<Infallible, _>> =
            Tokenizer::new_with_emitter(html, PageEmitter { emitter, is_closed: &is_closed }).next();
        reader.finish()
    }

    fn name(&self, element: &Element) -> &str {
        part(&self.words, &element.name)
    }

    /// Returns the value of an attribute. `name` is in lower case. If an attribute is repeated, the first one counts.
    pub(crate) fn attribute(&self, element: &Element, name: &str) -> Option<&str> {
        let Range { start, end } = element.attributes;
        let mut own = self.attributes[start as usize..end as usize].iter();
        own.find(|[known, _]| part(&self.words, known) == name).map(|[_, value]| part(&self.words, value))
    }

    /// Returns the value of the attribute, or the text without one. White space in texts is normalized, except in scripts.
    pub(crate) fn value(&self, element: &Element, attribute: Option<&str>) -> Option<String> {
        match attribute {
            Some(name) => self.attribute(element, name).map(str::to_owned),
            None if element.is_raw => Some(part(&self.raw, &element.text).trim().to_owned()),
            None => {
                let text = part(&self.text, &element.text);
                let mut ends = (0..=text.len().min(MAX_ELEMENT_TEXT)).rev();
                Some(squeeze(&text[..ends.find(|end| text.is_char_boundary(*end))?]))
            }
        }
    }

    /// Returns whether the element's text is longer than what is read of it, or may continue where the page was cut off.
    pub(crate) fn is_text_cut(&self, element: &Element, is_page_cut: bool) -> bool {
        (!element.is_raw && element.text.len() > MAX_ELEMENT_TEXT)
            || (is_page_cut
                && element.text.end >= length(if element.is_raw { &self.raw } else { &self.text }))
    }

    /// Returns the elements that a selector finds, in document order.
    pub(crate) fn select(&self, selector: &Selector) -> Vec<&Element> {
        let found = selector.alternatives.iter().flat_map(|compounds| self.matching(compounds));
        let mut found: Vec<usize> = found.collect();
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|index| &self.elements[index]).collect()
    }

    /// Returns the indices of the elements that match the last compound inside elements that match the others. Since
    /// compounds are joined by spaces only, the outermost element that matches a compound is as good as any other.
    fn matching(&self, compounds: &[Compound]) -> Vec<usize> {
        let mut found = Vec::new();
        // How many of the first compounds each element and those around it match.
        let mut inside: Vec<usize> = Vec::with_capacity(self.elements.len());
        for (index, element) in self.elements.iter().enumerate() {
            let mut at = element.parent.map_or(0, |parent| inside[parent as usize]);
            if compounds[at].matches(self.name(element), |name| self.attribute(element, name)) {
                match at + 1 == compounds.len() {
                    true => found.push(index),
                    false => at += 1,
                }
            }
            inside.push(at);
        }
        found
    }

    /// Returns the text of the first title, unless it is that of a drawing.
    pub(crate) fn title(&self) -> Option<String> {
        self.value(self.named("title").find(|title| !title.is_foreign)?, None)
    }

    /// Returns the visible text of the page, with white space normalized.
    pub(crate) fn visible_text(&self) -> String {
        let (mut shown, mut at) = (String::with_capacity(self.text.len()), 0);
        let is_hidden = |element: &&Element| {
            matches!(self.name(element), "template" | "title" | "datalist")
                || self.attribute(element, "hidden").is_some()
                || self.attribute(element, "style").is_some_and(hides)
        };
        for Element { text: hidden, .. } in self.elements.iter().filter(|it| !it.is_raw).filter(is_hidden) {
            if hidden.start >= at {
                shown.push_str(part(&self.text, &(at..hidden.start)));
                at = hidden.end;
            }
        }
        shown.push_str(&self.text[at as usize..]);
        squeeze(&shown)
    }

    /// Returns the elements of this name, in document order.
    pub(crate) fn named(&self, name: &str) -> impl Iterator<Item = &Element> {
        self.elements.iter().filter(move |element| self.name(element) == name)
    }

    /// Returns the scripts of the page that are not empty, in order, at most 300.
    pub(crate) fn scripts(&self) -> impl Iterator<Item = (ScriptKind, &str)> {
        let script = |element: &Element| {
            let kind = ScriptKind::of(self.attribute(element, "type").unwrap_or_default());
            Some((kind?, part(&self.raw, &element.text))).filter(|(_, text)| !text.is_empty())
        };
        self.named("script").filter(|element| element.is_raw).filter_map(script).take(MAX_SCRIPTS)
    }

    /// Returns the contents of the `<meta>` elements with the given name or property in lower case, in order.
    pub(crate) fn metas(&self, name: &str) -> impl Iterator<Item = &str> {
        let is_of = move |meta: &&Element| {
            // Unlike `name`, the other attributes are lists.
            let lists = ["property", "itemprop"].into_iter().filter_map(|list| self.attribute(meta, list));
            let own = self.attribute(meta, "name").map(str::trim);
            let mut names = lists.flat_map(str::split_ascii_whitespace).chain(own);
            names.any(|known| known.eq_ignore_ascii_case(name))
        };
        self.named("meta").filter(is_of).filter_map(|meta| self.attribute(meta, "content"))
    }

    /// Returns the canonical address that the page states.
    pub(crate) fn canonical(&self) -> Option<&str> {
        let is_canonical = |link: &&Element| {
            let mut relations = self.attribute(link, "rel").unwrap_or_default().split_ascii_whitespace();
            relations.any(|relation| relation.eq_ignore_ascii_case("canonical"))
        };
        self.attribute(self.named("link").find(is_canonical)?, "href")
    }
}

/// Returns the text of an HTML fragment, without tags and with entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html).text)
}

fn part<'t>(text: &'t str, part: &Part) -> &'t str {
    &text[part.start as usize..part.end as usize]
}

/// Returns the length of a text of a page. Bodies have at most some MiB.
fn length(text: &str) -> u32 {
    u32::try_from(text.len()).unwrap_or(u32::MAX)
}

/// Appends to a text. The bytes are valid UTF-8 unless the tokenizer cut a character.
fn append(text: &mut String, bytes: &[u8]) -> Part {
    let start = length(text);
    text.push_str(&String::from_utf8_lossy(bytes));
    start..length(text)
}

/// An emitter that ignores errors in the page. The search for them would look at each character.
struct PageEmitter<'c, E> {
    emitter: E,
    /// Whether the last tag is that of an element of a drawing without content.
    is_closed: &'c Cell<bool>,
}

impl<E: Emitter> ForwardingEmitter for PageEmitter<'_, E> {
    type Token = E::Token;

    fn inner(&mut self) -> &mut impl Emitter<Token = Self::Token> {
        &mut self.emitter
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        // The page goes on after `<title/>` in a drawing.
        self.emitter.emit_current_tag().filter(|_| !self.is_closed.get())
    }

    fn should_emit_errors(&mut self) -> bool {
        false
    }
}

#[derive(Default)]
struct Reader {
    page: Page,
    /// The indices of the open elements.
    stack: Vec<usize>,
    /// The name of the start tag that is being read.
    tag: Option<Part>,
    /// Whether the last element is a raw one, such as a script, and is being read.
    is_raw: bool,
}

impl Reader {
    /// Reads the next part of the page.
    fn read(&mut self, event: &CallbackEvent<'_>) {
        let Page { text, raw, words, elements, attributes, .. } = &mut self.page;
        match event {
            CallbackEvent::OpenStartTag { name } => self.tag = Some(append(words, name)),
            // An end tag has none.
            CallbackEvent::AttributeName { name } if self.tag.is_some() => {
                attributes.push([append(words, name), 0..0]);
            }
            CallbackEvent::AttributeValue { value } if self.tag.is_some() => {
                if let Some([_, last]) = attributes.last_mut() {
                    *last = append(words, value);
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => self.start(*self_closing),
            CallbackEvent::EndTag { name } => self.end(&String::from_utf8_lossy(name)),
            CallbackEvent::String { value } => match elements.last_mut().filter(|_| self.is_raw) {
                None => drop(append(text, value)),
                Some(element) => element.text.end = append(raw, value).end,
            },
            _ => {}
        }
    }

    fn start(&mut self, is_self_closing: bool) {
        let Some(name_part) = self.tag.take() else { return };
        let name = part(&self.page.words, &name_part).to_owned();
        self.imply_ends(&name);
        if !is_inline(&name) {
            self.separate();
        }
        let page = &mut self.page;
        let parent = self.stack.last().copied();
        let is_foreign =
            parent.is_some_and(|parent| page.elements[parent].is_foreign) || matches!(&*name, "svg" | "math");
        self.is_raw = is_raw(&name) && !is_foreign;
        let start = length(if self.is_raw { &page.raw } else { &page.text });
        let is_closed = is_void(&name) || self.is_raw || (is_self_closing && is_foreign);
        if !is_closed && self.stack.len() < MAX_DEPTH {
            self.stack.push(page.elements.len());
        }
        let first = page.elements.last().map_or(0, |last| last.attributes.end);
        let all = u32::try_from(page.attributes.len()).unwrap_or(u32::MAX);
        page.elements.push(Element {
            name: name_part,
            attributes: first..all,
            parent: parent.and_then(|parent| parent.try_into().ok()),
            text: start..start,
            is_raw: self.is_raw,
            is_foreign,
        });
    }

    fn imply_ends(&mut self, name: &str) {
        let (ended, stops) = implied_ends(name);
        let Page { words, elements, .. } = &self.page;
        let open = self.stack.iter().map(|index| part(words, &elements[*index].name)).enumerate().rev();
        let near = open.take(if ended.is_empty() { 0 } else { IMPLIED_REACH });
        let near = near.take_while(|(_, open)| ended.contains(open) || !stops.contains(open));
        if let Some((outermost, _)) = near.filter(|(_, open)| ended.contains(open)).last() {
            self.close_to(outermost);
        }
    }

    /// Handles an end tag. `name` is in lower case.
    fn end(&mut self, name: &str) {
        let Page { words, elements, .. } = &self.page;
        let is_open = |index: &usize| part(words, &elements[*index].name) == name;
        let last = self.stack.iter().rposition(is_open).filter(|_| !self.is_raw);
        self.is_raw = false;
        if let Some(index) = last {
            self.close_to(index);
        }
    }

    /// Closes the open element at `index` of the stack and all those above it.
    fn close_to(&mut self, index: usize) {
        let Page { text, words, elements, .. } = &mut self.page;
        let mut separates = false;
        for index in self.stack.drain(index..) {
            separates |= !is_inline(part(words, &elements[index].name));
            elements[index].text.end = length(text);
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
        self.page
    }
}

/// Returns whether an element has no end tag.
pub(crate) fn is_void(name: &str) -> bool {
    const VOID: [&str; 14] = [
        "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source",
        "track", "wbr",
    ];
    VOID.contains(&name)
}

/// Returns whether the content of an element is not part of the page's text.
pub(crate) fn is_raw(name: &str) -> bool {
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
