//! The streaming pass over an HTML page.

use std::borrow::Cow;
use std::convert::Infallible;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Emitter, ForwardingEmitter, Span, Tokenizer};

use super::page::{Element, Page, Script, ScriptKind};
use super::selectors::{Progress, Selectors};
use super::tags::{self, Tag};
use crate::modules::text::squeeze;

/// The maximum depth of open elements that are distinguished. Elements that are nested deeper count as this
/// deep.
const MAX_DEPTH: usize = 512;
/// The maximum number of elements that are kept for one selector.
const MAX_ELEMENTS: usize = 1_000;
/// The maximum number of `<meta>` elements that are kept, and likewise of scripts.
const MAX_METAS: usize = 300;
/// The maximum number of attributes that are read in one tag.
const MAX_ATTRIBUTES: usize = 64;
/// The number of open elements that are searched for one that a start tag closes implicitly.
const IMPLIED_REACH: usize = 16;
/// The maximum total size of the attribute values that are kept for a page, in bytes.
const MAX_ATTRIBUTE_BYTES: usize = 4 * 1024 * 1024;

impl Page {
    /// Reads an HTML page.
    pub(crate) fn read(html: &str, selectors: &Selectors) -> Self {
        read(html, selectors)
    }
}

/// Returns the text of an HTML fragment, without tags and with entities decoded.
pub(crate) fn fragment_text(html: &str) -> String {
    squeeze(&Page::read(html, &Selectors::default()).text)
}

fn read(html: &str, selectors: &Selectors) -> Page {
    let mut builder = Builder::new(selectors);
    let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| -> Option<Infallible> {
        builder.event(&event);
        None
    });
    emitter.naively_switch_states(true);
    // Reading from memory cannot fail.
    let Ok(()) = Tokenizer::new_with_emitter(html, WithoutErrors(emitter)).finish();
    builder.finish()
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
    progress: Progress,
    /// The number of captures that were open before this element was opened.
    captures: usize,
}

/// An element that is still open, as the index of its selector and its index among that selector's elements.
type Capture = (usize, usize);

struct Builder<'s> {
    selectors: &'s Selectors,
    /// The progress of the selectors outside of all elements.
    outside: Progress,
    page: Page,
    stack: Vec<Frame>,
    /// The number of open elements below the deepest frame.
    overflow: usize,
    foreign: usize,
    /// The number of open elements that hide their content, and the offset at which the text of the
    /// outermost one starts.
    hidden: usize,
    hidden_start: usize,
    captures: Vec<Capture>,
    attribute_bytes: usize,
    /// Whether a tag is being read. The fields below describe that tag.
    in_tag: bool,
    name: String,
    attributes: Vec<(String, String)>,
    expects_value: bool,
    /// The raw element, such as a script, that is being read: its tag, the start of its text, and its kind
    /// if it is a script.
    raw: Option<(Tag, usize, Option<ScriptKind>)>,
    title_start: Option<usize>,
}

impl<'s> Builder<'s> {
    fn new(selectors: &'s Selectors) -> Self {
        let page = Page { found: vec![Vec::new(); selectors.count()], ..Page::default() };
        Self {
            selectors,
            outside: selectors.start(),
            page,
            stack: Vec::new(),
            overflow: 0,
            foreign: 0,
            hidden: 0,
            hidden_start: 0,
            captures: Vec::new(),
            attribute_bytes: 0,
            in_tag: false,
            name: String::new(),
            attributes: Vec::new(),
            expects_value: false,
            raw: None,
            title_start: None,
        }
    }

    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                self.in_tag = true;
                self.open(&text_of(name));
            }
            CallbackEvent::AttributeName { name } if self.in_tag => {
                self.attribute_name(&text_of(name));
            }
            CallbackEvent::AttributeValue { value } if self.in_tag => {
                self.attribute_value(&text_of(value));
            }
            CallbackEvent::CloseStartTag { self_closing } => self.start(*self_closing),
            CallbackEvent::EndTag { name } => {
                self.in_tag = false;
                self.end(&text_of(name));
            }
            CallbackEvent::String { value } => self.text(&text_of(value)),
            _ => {}
        }
    }

    /// Begins a start tag. `name` is in lower case.
    fn open(&mut self, name: &str) {
        self.attributes.clear();
        self.expects_value = false;
        self.name.clear();
        self.name.push_str(name);
    }

    /// Adds an attribute to the tag that is being read. `name` is in lower case.
    fn attribute_name(&mut self, name: &str) {
        let is_special = match self.name.as_str() {
            "meta" => matches!(name, "name" | "property" | "itemprop" | "content"),
            "script" => name == "type",
            "link" => matches!(name, "rel" | "href"),
            _ => self.selectors.sees_visibility() && matches!(name, "hidden" | "style"),
        };
        self.expects_value = self.attributes.len() < MAX_ATTRIBUTES
            && (is_special || self.selectors.is_seen(name))
            // If an attribute is repeated, the first one counts.
            && !self.attributes.iter().any(|(known, _)| known == name);
        if self.expects_value {
            self.attributes.push((name.to_owned(), String::new()));
        }
    }

    /// Appends to the value of the attribute that was added last.
    fn attribute_value(&mut self, value: &str) {
        if let Some((_, known)) = self.attributes.last_mut().filter(|_| self.expects_value) {
            known.push_str(value);
        }
    }

    fn attribute(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Ends the start tag that is being read, which opens the element.
    fn start(&mut self, self_closing: bool) {
        self.in_tag = false;
        let name = std::mem::take(&mut self.name);
        self.imply_ends(&name);
        let is_inline = tags::is_inline(&name);
        if !is_inline {
            self.separate();
        }
        match name.as_str() {
            "meta" => self.meta(),
            "link" => self.link(),
            _ => {}
        }
        let is_raw = tags::is_raw(&name) && self.foreign == 0;
        let above = self.stack.last().map_or(&self.outside, |frame| &frame.progress);
        let (matched, progress) = self.selectors.test(above, &name, |wanted| self.attribute(wanted));
        let captures = self.captures.len();
        self.capture(&matched, is_raw);
        let tag = Tag::of(&name);
        if is_raw {
            let kind = (name == "script").then(|| ScriptKind::of(self.attribute("type").unwrap_or_default()));
            self.raw = Some((tag, self.page.raw.len(), kind.flatten()));
        }
        if name == "title" && self.page.title.is_none() && self.foreign == 0 {
            self.title_start = Some(self.page.text.len());
        }
        let is_closed = match self_closing {
            true => self.foreign > 0 || tags::is_foreign(&name) || tags::is_void(&name),
            false => tags::is_void(&name),
        };
        if is_closed {
            self.close_captures(captures);
        } else if self.stack.len() >= MAX_DEPTH {
            self.overflow += 1;
            self.close_captures(captures);
        } else {
            let is_foreign = tags::is_foreign(&name);
            let is_hidden = self.is_hidden(&name);
            if is_hidden {
                self.hide();
            }
            self.foreign += usize::from(is_foreign);
            self.stack.push(Frame { tag, is_inline, is_foreign, is_hidden, progress, captures });
        }
        self.name = name;
    }

    fn is_hidden(&self, name: &str) -> bool {
        self.selectors.sees_visibility()
            && (tags::is_unseen(name)
                || self.attribute("hidden").is_some()
                || self.attribute("style").is_some_and(tags::hides))
    }

    fn hide(&mut self) {
        if self.hidden == 0 {
            self.hidden_start = self.page.text.len();
        }
        self.hidden += 1;
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
        if let Some((_, start, Some(kind))) = self.raw.take_if(|(open, _, _)| *open == tag)
            && self.page.scripts.len() < MAX_METAS
            && start < self.page.raw.len()
        {
            self.page.scripts.push(Script { kind, start, end: self.page.raw.len() });
        }
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
        let captures = self.stack[index].captures;
        for frame in self.stack.drain(index..) {
            separates |= !frame.is_inline;
            self.foreign -= usize::from(frame.is_foreign);
            self.hidden -= usize::from(frame.is_hidden);
            if frame.is_hidden && self.hidden == 0 {
                self.page.hidden.push(self.hidden_start..self.page.text.len());
            }
        }
        self.close_captures(captures);
        if separates {
            self.separate();
        }
    }

    fn close_captures(&mut self, down_to: usize) {
        while self.captures.len() > down_to {
            let Some((selector, index)) = self.captures.pop() else { return };
            let element = &mut self.page.found[selector][index];
            element.end = if element.is_raw { self.page.raw.len() } else { self.page.text.len() };
        }
    }

    fn capture(&mut self, matched: &[usize], is_raw: bool) {
        let start = if is_raw { self.page.raw.len() } else { self.page.text.len() };
        let open = self.captures.len();
        for &selector in matched {
            let found = &mut self.page.found[selector];
            if found.len() >= MAX_ELEMENTS
                || self.captures[open..].iter().any(|(known, _)| *known == selector)
            {
                continue;
            }
            let mut attributes = Vec::new();
            for (name, value) in &self.attributes {
                if self.attribute_bytes < MAX_ATTRIBUTE_BYTES && self.selectors.wanted().contains(name) {
                    self.attribute_bytes += value.len();
                    attributes.push((name.clone(), value.clone()));
                }
            }
            found.push(Element { start, end: start, is_raw, attributes });
            self.captures.push((selector, found.len() - 1));
        }
    }

    fn meta(&mut self) {
        let Some(content) = self.attribute("content") else { return };
        // Unlike `name`, the other attributes are lists.
        let lists = ["property", "itemprop"].into_iter().filter_map(|key| self.attribute(key));
        let names = lists.flat_map(str::split_ascii_whitespace).chain(self.attribute("name").map(str::trim));
        let mut names: Vec<String> = names.map(str::to_ascii_lowercase).collect();
        names.dedup();
        let metas: Vec<_> = names.into_iter().map(|name| (name, content.to_owned())).collect();
        let free = MAX_METAS.saturating_sub(self.page.metas.len());
        self.page.metas.extend(metas.into_iter().take(free));
    }

    fn link(&mut self) {
        let is_canonical =
            |rel: &str| rel.split_ascii_whitespace().any(|it| it.eq_ignore_ascii_case("canonical"));
        if self.page.canonical.is_none() && self.attribute("rel").is_some_and(is_canonical) {
            self.page.canonical = self.attribute("href").map(str::to_owned);
        }
    }

    fn text(&mut self, text: &str) {
        if self.raw.is_some() {
            self.page.raw.push_str(text);
        } else {
            self.page.text.push_str(text);
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
        self.close_captures(0);
        if self.hidden > 0 {
            self.page.hidden.push(self.hidden_start..self.page.text.len());
        }
        self.page
    }
}
