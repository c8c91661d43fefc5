//! The streaming pass over an HTML page.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::convert::Infallible;
use std::rc::Rc;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

use super::page::{Element, Page, Reach};
use crate::modules::text::squeeze;

/// The maximum depth of open elements that are distinguished. Elements that are nested deeper count as this
/// deep.
const MAX_DEPTH: usize = 512;
/// The maximum numbers of elements and of attributes of a page that are kept, which bound its memory: more than a page of
/// 1 MiB can have.
const MAX_ELEMENTS: usize = 400_000;
const MAX_ATTRIBUTES: usize = 600_000;
/// The maximum number of `<meta>` elements that are kept.
const MAX_METAS: usize = 300;
/// The number of open elements that are searched for one that a start tag closes implicitly.
const IMPLIED_REACH: usize = 16;

impl Page {
    /// Reads an HTML page.
    pub(crate) fn read(html: &str) -> Self {
        let mut reader = Reader::default();
        let event = |event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
            reader.event(&event);
            None
        };
        let mut emitter = CallbackEmitter::new(event);
        emitter.naively_switch_states(true);
        // Reading from memory cannot fail.
        let Ok(()) = Tokenizer::new_with_emitter(html, WithoutErrors(emitter)).finish();
        reader.finish()
    }
}

/// Returns the text of an HTML fragment, without tags and with entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html).text)
}

/// An emitter that is not told of errors in the page. The search for them would look at each character.
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

/// Returns the bytes as text. They are valid UTF-8 unless the tokenizer cut a character.
fn text_of(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// An open element.
struct Frame {
    name: String,
    is_hidden: bool,
    /// The index of the element, if it is kept.
    element: Option<u32>,
}

#[derive(Default)]
struct Reader {
    page: Page,
    stack: Vec<Frame>,
    /// The number of open elements below the deepest frame.
    overflow: usize,
    /// The number of open elements in which `/>` closes an element.
    foreign: usize,
    /// The number of open elements that hide their content, and the offset at which the text of the
    /// outermost one starts.
    hidden: usize,
    hidden_start: usize,
    /// The element of the start tag that is being read.
    tag: Option<Element>,
    /// Whether the attribute that was added last gets a value.
    expects_value: bool,
    /// The raw element, such as a script, that is being read: its index among the elements, if it is kept.
    raw: Option<usize>,
    title_start: Option<usize>,
}

impl Reader {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                let attributes = self.page.attributes.len();
                let (name, attributes) = (self.word(&text_of(name)), Reach::new(attributes, attributes));
                self.tag =
                    Some(Element { parent: None, name, attributes, text: Reach::default(), is_raw: false });
            }
            CallbackEvent::AttributeName { name } => self.attribute_name(&text_of(name)),
            CallbackEvent::AttributeValue { value } if self.expects_value => {
                self.page.words.push_str(&text_of(value));
                if let Some([_, known]) = self.page.attributes.last_mut() {
                    *known = known.to(self.page.words.len());
                }
            }
            CallbackEvent::CloseStartTag { self_closing } => {
                if let Some(element) = self.tag.take() {
                    self.start(element, *self_closing);
                }
            }
            CallbackEvent::EndTag { name } => {
                self.tag = None;
                self.expects_value = false;
                self.end(&text_of(name));
            }
            CallbackEvent::String { value } => match self.raw {
                None => self.page.text.push_str(&text_of(value)),
                Some(index) => {
                    self.page.raw.push_str(&text_of(value));
                    if let Some(element) = self.page.elements.get_mut(index) {
                        element.text = element.text.to(self.page.raw.len());
                    }
                }
            },
            _ => {}
        }
    }

    /// Adds a word to those of the page, and returns its range.
    fn word(&mut self, word: &str) -> Reach {
        let start = self.page.words.len();
        self.page.words.push_str(word);
        Reach::new(start, self.page.words.len())
    }

    /// Adds an attribute to the tag that is being read. `name` is in lower case.
    fn attribute_name(&mut self, name: &str) {
        let is_full = self.page.attributes.len() >= MAX_ATTRIBUTES;
        self.page.is_full |= is_full;
        self.expects_value = self.tag.is_some() && !is_full;
        if self.expects_value {
            let name = self.word(name);
            let value = Reach::new(self.page.words.len(), self.page.words.len());
            self.page.attributes.push([name, value]);
        }
        if let Some(tag) = &mut self.tag {
            tag.attributes = tag.attributes.to(self.page.attributes.len());
        }
    }

    /// Opens the element of the start tag that was read.
    fn start(&mut self, mut element: Element, is_self_closing: bool) {
        let name = self.page.words[element.name.range()].to_owned();
        self.imply_ends(&name);
        element.parent = self.stack.last().and_then(|frame| frame.element);
        element.is_raw = is_raw(&name) && self.foreign == 0;
        if !is_inline(&name) {
            self.separate();
        }
        match name.as_str() {
            "meta" => self.meta(&element),
            "link" => self.link(&element),
            "title" if self.page.title.is_none() && self.foreign == 0 => {
                self.title_start = Some(self.page.text.len());
            }
            _ => {}
        }
        let start = if element.is_raw { self.page.raw.len() } else { self.page.text.len() };
        element.text = Reach::new(start, start);
        let is_closed = is_void(&name) || (is_self_closing && (self.foreign > 0 || is_foreign(&name)));
        let attribute = |name| self.page.attribute(&element, name);
        let is_hidden =
            is_unseen(&name) || attribute("hidden").is_some() || attribute("style").is_some_and(hides);
        self.raw = element.is_raw.then_some(self.page.elements.len());
        let element = self.keep(element);
        // Nothing is nested in a raw element.
        if is_closed || self.raw.is_some() {
            return;
        }
        if self.stack.len() >= MAX_DEPTH {
            self.overflow += 1;
            return;
        }
        if is_hidden && self.hidden == 0 {
            self.hidden_start = self.page.text.len();
        }
        self.hidden += usize::from(is_hidden);
        self.foreign += usize::from(is_foreign(&name));
        self.stack.push(Frame { name, is_hidden, element });
    }

    /// Keeps an element and returns its index, unless there are too many.
    fn keep(&mut self, element: Element) -> Option<u32> {
        if self.page.elements.len() >= MAX_ELEMENTS {
            self.page.is_full = true;
            self.page.words.truncate(element.name.range().start);
            self.page.attributes.truncate(element.attributes.range().start);
            return None;
        }
        self.page.elements.push(element);
        u32::try_from(self.page.elements.len() - 1).ok()
    }

    fn imply_ends(&mut self, name: &str) {
        let (ended, stops) = implied_ends(name);
        if self.overflow > 0 || ended.is_empty() {
            return;
        }
        let mut outermost = None;
        for (index, frame) in self.stack.iter().enumerate().rev().take(IMPLIED_REACH) {
            if ended.contains(&frame.name.as_str()) {
                outermost = Some(index);
            } else if stops.contains(&frame.name.as_str()) {
                break;
            }
        }
        if let Some(index) = outermost {
            self.close_to(index);
        }
    }

    /// Handles an end tag. `name` is in lower case.
    fn end(&mut self, name: &str) {
        if name == "title" {
            self.end_title();
        }
        if self.raw.take().is_some() {
            return;
        }
        if self.overflow > 0 {
            self.overflow -= 1;
        } else if let Some(index) = self.stack.iter().rposition(|frame| frame.name == name) {
            self.close_to(index);
        }
    }

    fn end_title(&mut self) {
        if let Some(start) = self.title_start.take() {
            self.page.title = Some(squeeze(&self.page.text[start..]));
        }
    }

    /// Closes the frame at `index` and all frames above it.
    fn close_to(&mut self, index: usize) {
        let mut separates = false;
        let end = self.page.text.len();
        for frame in self.stack.drain(index..).rev() {
            separates |= !is_inline(&frame.name);
            self.foreign -= usize::from(is_foreign(&frame.name));
            self.hidden -= usize::from(frame.is_hidden);
            if frame.is_hidden && self.hidden == 0 {
                self.page.hidden.push(self.hidden_start..end);
            }
            if let Some(index) = frame.element {
                let text = &mut self.page.elements[index as usize].text;
                *text = text.to(end);
            }
        }
        if separates {
            self.separate();
        }
    }

    fn meta(&mut self, element: &Element) {
        let attribute = |name| self.page.attribute(element, name);
        let Some(content) = attribute("content") else { return };
        // Unlike `name`, the other attributes are lists.
        let lists = ["property", "itemprop"].into_iter().filter_map(attribute);
        let names = lists.flat_map(str::split_ascii_whitespace).chain(attribute("name").map(str::trim));
        let names: BTreeSet<String> = names.map(str::to_ascii_lowercase).collect();
        let content: Rc<str> = content.into();
        let free = MAX_METAS.saturating_sub(self.page.metas.len());
        self.page.metas.extend(names.into_iter().take(free).map(|name| (name, Rc::clone(&content))));
    }

    fn link(&mut self, element: &Element) {
        let attribute = |name| self.page.attribute(element, name);
        let is_canonical =
            |rel: &str| rel.split_ascii_whitespace().any(|it| it.eq_ignore_ascii_case("canonical"));
        if self.page.canonical.is_none() && attribute("rel").is_some_and(is_canonical) {
            self.page.canonical = attribute("href").map(str::to_owned);
        }
    }

    /// Appends a space if necessary, so that the words of two blocks stay separate.
    fn separate(&mut self) {
        if !self.page.text.is_empty() && !self.page.text.ends_with(char::is_whitespace) {
            self.page.text.push(' ');
        }
    }

    fn finish(mut self) -> Page {
        self.end_title();
        let end = self.page.text.len();
        self.close_to(0);
        // Nothing follows the last element, so that its text counts as incomplete on a cut page.
        self.page.text.truncate(end);
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

/// Returns whether the text of an element is never shown. Raw elements are not included.
fn is_unseen(name: &str) -> bool {
    matches!(name, "template" | "title" | "datalist")
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

/// Returns whether `/>` closes elements inside this element.
fn is_foreign(name: &str) -> bool {
    matches!(name, "svg" | "math")
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
