//! The streaming pass over an HTML page.

use std::borrow::Cow;
use std::convert::Infallible;
use std::ops::Range;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

use super::page::{Element, Page};
use super::tags::{self, Tag};
use crate::modules::text::squeeze;

/// The maximum depth of open elements that are distinguished. Elements that are nested deeper count as this
/// deep.
const MAX_DEPTH: usize = 512;
/// The maximum number of elements that are kept: more than a page of 1 MiB has.
const MAX_ELEMENTS: usize = 400_000;
/// The maximum number of `<meta>` elements that are kept.
const MAX_METAS: usize = 300;
/// The maximum number of attributes that are read in one tag.
const MAX_ATTRIBUTES: usize = 64;
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
    tag: Tag,
    is_inline: bool,
    is_foreign: bool,
    is_hidden: bool,
    /// The index of the element, if it is kept.
    element: Option<usize>,
}

#[derive(Default)]
struct Reader {
    page: Page,
    stack: Vec<Frame>,
    /// The number of open elements below the deepest frame.
    overflow: usize,
    foreign: usize,
    /// The number of open elements that hide their content, and the offset at which the text of the
    /// outermost one starts.
    hidden: usize,
    hidden_start: usize,
    /// The element of the start tag that is being read.
    tag: Option<Element>,
    /// Whether the attribute that was added last gets a value.
    expects_value: bool,
    /// The raw element, such as a script, that is being read.
    raw: Option<Tag>,
    title_start: Option<usize>,
}

impl Reader {
    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => self.open(&text_of(name)),
            CallbackEvent::AttributeName { name } => self.attribute_name(&text_of(name)),
            CallbackEvent::AttributeValue { value } => self.attribute_value(&text_of(value)),
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
                Some(_) => self.page.raw.push_str(&text_of(value)),
                None => self.page.text.push_str(&text_of(value)),
            },
            _ => {}
        }
    }

    /// Begins a start tag. `name` is in lower case.
    fn open(&mut self, name: &str) {
        let attributes = self.page.attributes.len();
        self.tag = Some(Element {
            parent: None,
            name: self.word(name),
            attributes: attributes..attributes,
            text: 0..0,
            is_raw: false,
        });
    }

    /// Adds a word to those of the page, and returns its range.
    fn word(&mut self, word: &str) -> Range<usize> {
        let start = self.page.words.len();
        self.page.words.push_str(word);
        start..self.page.words.len()
    }

    /// Adds an attribute to the tag that is being read. `name` is in lower case.
    fn attribute_name(&mut self, name: &str) {
        self.expects_value = self.tag.as_ref().is_some_and(|tag| tag.attributes.len() < MAX_ATTRIBUTES);
        if self.expects_value {
            let name = self.word(name);
            let value = name.end..name.end;
            self.page.attributes.push([name, value]);
        }
        if let Some(tag) = &mut self.tag {
            tag.attributes.end = self.page.attributes.len();
        }
    }

    /// Appends to the value of the attribute that was added last.
    fn attribute_value(&mut self, value: &str) {
        if self.expects_value {
            let end = self.word(value).end;
            if let Some([_, known]) = self.page.attributes.last_mut() {
                known.end = end;
            }
        }
    }

    /// Opens the element of the start tag that was read.
    fn start(&mut self, mut element: Element, is_self_closing: bool) {
        let name = self.page.words[element.name.clone()].to_owned();
        self.imply_ends(&name);
        element.parent = self.stack.last().and_then(|frame| frame.element);
        element.is_raw = tags::is_raw(&name) && self.foreign == 0;
        let is_inline = tags::is_inline(&name);
        if !is_inline {
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
        let tag = Tag::of(&name);
        let start = if element.is_raw { self.page.raw.len() } else { self.page.text.len() };
        element.text = start..start;
        if element.is_raw {
            self.raw = Some(tag);
        }
        let is_foreign = tags::is_foreign(&name);
        let is_closed = tags::is_void(&name) || (is_self_closing && (self.foreign > 0 || is_foreign));
        let is_hidden = self.is_hidden(&name, &element);
        let element = self.keep(element);
        if is_closed {
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
        self.foreign += usize::from(is_foreign);
        self.stack.push(Frame { tag, is_inline, is_foreign, is_hidden, element });
    }

    /// Keeps an element and returns its index, unless there are too many.
    fn keep(&mut self, element: Element) -> Option<usize> {
        if self.page.elements.len() >= MAX_ELEMENTS {
            self.page.words.truncate(element.name.start);
            self.page.attributes.truncate(element.attributes.start);
            return None;
        }
        self.page.elements.push(element);
        Some(self.page.elements.len() - 1)
    }

    fn is_hidden(&self, name: &str, element: &Element) -> bool {
        let attribute = |name| self.page.attribute(element, name);
        tags::is_unseen(name) || attribute("hidden").is_some() || attribute("style").is_some_and(tags::hides)
    }

    fn imply_ends(&mut self, name: &str) {
        let Some((ended, stops)) = tags::implied_ends(name) else { return };
        if self.overflow > 0 {
            return;
        }
        let mut outermost = None;
        for (index, frame) in self.stack.iter().enumerate().rev().take(IMPLIED_REACH) {
            if ended.contains(&frame.tag) {
                outermost = Some(index);
            } else if stops.contains(&frame.tag) {
                break;
            }
        }
        if let Some(index) = outermost {
            self.close_to(index);
        }
    }

    /// Handles an end tag. `name` is in lower case.
    fn end(&mut self, name: &str) {
        let tag = Tag::of(name);
        self.raw.take_if(|open| *open == tag);
        if name == "title" {
            self.end_title();
        }
        if self.overflow > 0 {
            self.overflow -= 1;
            return;
        }
        if let Some(index) = self.stack.iter().rposition(|frame| frame.tag == tag) {
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
        for frame in self.stack.drain(index..).rev() {
            separates |= !frame.is_inline;
            self.foreign -= usize::from(frame.is_foreign);
            self.hidden -= usize::from(frame.is_hidden);
            let end = self.page.text.len();
            if frame.is_hidden && self.hidden == 0 {
                self.page.hidden.push(self.hidden_start..end);
            }
            if let Some(element) = frame.element.map(|index| &mut self.page.elements[index]) {
                element.text.end = if element.is_raw { self.page.raw.len() } else { end };
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
        let mut names: Vec<String> = names.map(str::to_ascii_lowercase).collect();
        names.dedup();
        let metas: Vec<_> = names.into_iter().map(|name| (name, content.to_owned())).collect();
        let free = MAX_METAS.saturating_sub(self.page.metas.len());
        self.page.metas.extend(metas.into_iter().take(free));
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
