//! A response as rules read it. Its text, JSON and HTML are decoded only when they are needed.

use std::borrow::Cow;
use std::cell::OnceCell;

use encoding_rs::{Encoding, REPLACEMENT, UTF_8, WINDOWS_1252};
use serde_json::Value;

use super::digest::Algorithm;
use super::html::{Element, Page, ScriptKind};
use super::pointer::Pointer;
use super::probe::{CookieJar, Response};
use super::script_json::{self, Documents, MAX_COST, measure};
use super::text::unquote_txt;

/// The bytes of a page in which its own charset declaration is searched, as the HTML standard prescribes.
const CHARSET_REACH: usize = 1024;
/// The bytes of a page's head in which it is searched, since browsers search on to the end of the head.
const CHARSET_REACH_IN_HEAD: usize = 8 * 1024;

/// A response with its body as text, JSON and HTML. Each form is created on first use.
pub(crate) struct Answer<'r> {
    pub(crate) response: &'r Response,
    forms: Forms<'r>,
}

#[derive(Default)]
struct Forms<'r> {
    text: OnceCell<Cow<'r, str>>,
    lower: OnceCell<String>,
    json: OnceCell<Option<Value>>,
    page: OnceCell<Page>,
    visible_text: OnceCell<String>,
    title: OnceCell<Option<String>>,
    json_ld: OnceCell<Vec<Value>>,
    scripts: OnceCell<Vec<Value>>,
}

impl<'r> Answer<'r> {
    pub(crate) fn new(response: &'r Response) -> Self {
        Self { response, forms: Forms::default() }
    }

    /// Returns the body as text. Invalid bytes become U+FFFD.
    pub(crate) fn text(&self) -> &str {
        self.forms.text.get_or_init(|| decode(self.response))
    }

    /// Returns the text in lower case.
    pub(crate) fn lower(&self) -> &str {
        self.forms.lower.get_or_init(|| self.text().to_lowercase())
    }

    /// Returns whether only a part of the body was read. Nothing can then be concluded from a missing text.
    pub(crate) fn is_cut(&self) -> bool {
        self.response.truncated
    }

    /// Returns the body as JSON. Returns `None` if it is not JSON, has more than 128 levels, has too many values
    /// ([`Answer::is_json_too_large`]), or was cut off. A part that was cut off is not read even if it is valid JSON.
    pub(crate) fn json(&self) -> Option<&Value> {
        let read = || {
            let text = strip_guard(self.text());
            let is_read = !self.is_cut() && measure(text).is_some_and(|(_, cost)| cost <= MAX_COST);
            is_read.then(|| script_json::read(text).map(with_joined_txt)).flatten()
        };
        self.forms.json.get_or_init(read).as_ref()
    }

    /// Returns whether the body is not read as JSON because that would take too much memory.
    pub(crate) fn is_json_too_large(&self) -> bool {
        let text = strip_guard(self.text());
        text.starts_with(['{', '['])
            && self.json().is_none()
            && measure(text).is_some_and(|(_, cost)| cost > MAX_COST)
    }

    /// Returns the body as HTML.
    pub(crate) fn page(&self) -> &Page {
        self.forms.page.get_or_init(|| Page::read(self.text()))
    }

    /// Returns the visible text of the page, with white space normalized.
    pub(crate) fn visible_text(&self) -> &str {
        self.forms.visible_text.get_or_init(|| self.page().visible_text())
    }

    /// Returns the title of the page.
    pub(crate) fn title(&self) -> Option<&str> {
        self.forms.title.get_or_init(|| self.page().title()).as_deref()
    }

    /// Returns whether the body is an HTML page, by its content type or, without one, by its beginning.
    pub(crate) fn is_page(&self) -> bool {
        match content_type(self.response).0.as_str() {
            "text/html" | "application/xhtml+xml" => true,
            "" => self.text().trim_start().starts_with('<') && !has_xml_prolog(self.text()),
            _ => false,
        }
    }

    /// Returns the JSON-LD objects of the page. Arrays and `@graph`s are split into their elements, at every depth.
    pub(crate) fn json_ld(&self) -> &[Value] {
        self.forms.json_ld.get_or_init(|| {
            let mut objects = Vec::new();
            for document in self.documents(&[ScriptKind::LinkedData]) {
                collect_objects(document, &mut objects);
            }
            objects
        })
    }

    /// Returns the JSON documents in the page's other scripts, in order.
    pub(crate) fn scripts(&self) -> &[Value] {
        self.forms.scripts.get_or_init(|| self.documents(&[ScriptKind::Json, ScriptKind::Code]))
    }

    fn documents(&self, kinds: &[ScriptKind]) -> Vec<Value> {
        let mut documents = Documents::default();
        for (kind, script) in self.page().scripts().filter(|(kind, _)| kinds.contains(kind)) {
            match kind {
                ScriptKind::Code => documents.add_code(script),
                ScriptKind::LinkedData | ScriptKind::Json => documents.add_json(script).unwrap_or_default(),
            }
        }
        documents.list
    }

    /// Returns the first of [`Answer::scripts`] in which the pointer selects a value other than null. If
    /// there is none, returns the first in which it selects null.
    pub(crate) fn script(&self, pointer: &Pointer) -> Option<&Value> {
        let leads_to = |wanted: fn(&Value) -> bool| {
            let found = |root: &&Value| pointer.select(root).iter().any(|found| wanted(found.value));
            self.scripts().iter().find(found)
        };
        leads_to(|value| !value.is_null()).or_else(|| leads_to(Value::is_null))
    }

    /// Returns a digest of the body as received, or `None` if the body was cut off.
    pub(crate) fn digest(&self, algorithm: Algorithm) -> Option<Value> {
        (!self.is_cut()).then(|| algorithm.digest(&self.response.body))
    }

    /// Returns the value of a cookie that this answer sets. If it sets the cookie several times, the last value counts.
    pub(crate) fn cookie(&self, name: &str) -> Option<String> {
        let mut jar = CookieJar::default();
        self.response.headers_of("set-cookie").for_each(|cookie| jar.store("", cookie));
        jar.value("", name).map(str::to_owned)
    }
}

fn collect_objects(value: Value, out: &mut Vec<Value>) {
    match value {
        Value::Array(elements) => elements.into_iter().for_each(|element| collect_objects(element, out)),
        Value::Object(mut members) => {
            if let Some(graph) = members.remove("@graph") {
                collect_objects(graph, out);
            }
            out.push(Value::Object(members));
        }
        _ => {}
    }
}

/// Returns whether the text at the beginning of a body shows that the body is XML and not an HTML page. XHTML has a
/// prolog, too.
fn has_xml_prolog(text: &str) -> bool {
    let head: String = text.trim_start_matches('\u{feff}').trim_start().chars().take(1024).collect();
    let head = head.to_ascii_lowercase();
    head.starts_with("<?xml") && !head.contains("<!doctype html") && !head.contains("<html")
}

/// Removes the prefix that some APIs put before their JSON so that it cannot be run as a script.
fn strip_guard(text: &str) -> &str {
    // Some sites join files, and each starts with a byte order mark.
    fn trim(text: &str) -> &str {
        text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
    }
    let text = trim(text);
    let guards = [")]}',", ")]}'", "for(;;);", "for (;;);", "while(1);"];
    trim(guards.iter().find_map(|guard| text.strip_prefix(guard)).unwrap_or(text))
}

/// Joins the strings of TXT records in the answer of a resolver (`dns.google/resolve` and the like), so that rules read
/// a record as it is meant, however it was split (RFC 7208, section 3.3).
fn with_joined_txt(mut root: Value) -> Value {
    const TXT: u64 = 16;
    for record in root.get_mut("Answer").and_then(Value::as_array_mut).into_iter().flatten() {
        let is_txt = record.get("type").and_then(Value::as_u64) == Some(TXT);
        if let Some(Value::String(data)) = record.get_mut("data")
            && is_txt
        {
            *data = unquote_txt(data);
        }
    }
    root
}

/// Decodes the body. The charset is taken from the byte order mark, then the header, then the page itself.
/// Without any of them it is UTF-8 if the body is valid or nearly valid UTF-8, and Windows-1252 otherwise.
fn decode(response: &Response) -> Cow<'_, str> {
    let body = response.body.as_slice();
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[length..]).0;
    }
    let (kind, charset) = content_type(response);
    let is_json = kind.ends_with("json");
    let is_markup = kind.is_empty() || kind.contains("html") || kind.contains("xml");
    let declared = charset.or_else(|| is_markup.then(|| charset_of_page(body)).flatten());
    // JSON is UTF-8, whatever its header says.
    if let Some(encoding) = declared.filter(|_| !is_json || std::str::from_utf8(body).is_err()) {
        return encoding.decode_without_bom_handling(body).0;
    }
    let is_utf8 = match std::str::from_utf8(body) {
        Ok(_) => true,
        // The body was cut off inside a character, or has a few invalid bytes but is clearly UTF-8.
        Err(error) => error.error_len().is_none() || looks_like_utf8(body),
    };
    (if is_utf8 { UTF_8 } else { WINDOWS_1252 }).decode_without_bom_handling(body).0
}

/// Returns whether most non-ASCII bytes are in valid UTF-8 sequences.
fn looks_like_utf8(body: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in body.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    good > bad * 10
}

/// Returns the media type in lower case and the charset. If the header is repeated, the last type and the first charset
/// count.
fn content_type(response: &Response) -> (String, Option<&'static Encoding>) {
    let values = || response.headers_of("content-type");
    let kinds = values().filter_map(|value| value.split([';', ',']).next());
    let kind = kinds.map(str::trim).rfind(|kind| kind.contains('/') && *kind != "*/*");
    let charset = values().flat_map(|value| value.split(';')).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| encoding(value))?
    });
    (kind.unwrap_or_default().to_ascii_lowercase(), charset)
}

/// Returns the encoding with that label. There is none for charsets that browsers do not decode.
fn encoding(label: &str) -> Option<&'static Encoding> {
    Encoding::for_label(label.as_bytes()).filter(|encoding| *encoding != REPLACEMENT)
}

/// Returns the first charset that exists of `<meta charset=…>`, `<meta http-equiv=… content="text/html; charset=…">` or
/// `<?xml … encoding="…"?>` at the beginning. As the HTML standard prescribes, a page whose declaration could be read as
/// ASCII is not UTF-16.
fn charset_of_page(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(CHARSET_REACH_IN_HEAD)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let body = head.get(CHARSET_REACH..).and_then(|rest| rest.find("<body"));
    let head = &head[..body.map_or(head.len(), |at| CHARSET_REACH + at)];
    let page = Page::read(head);
    let of_meta = |meta: &Element| {
        let value = |name| page.attribute(meta, name);
        let pragma = || declared(value("content").filter(|_| value("http-equiv").is_some())?, "charset");
        value("charset").map_or_else(pragma, encoding)
    };
    let xml = || head.trim_start().strip_prefix("<?xml")?.split("?>").next();
    let found = page.named("meta").find_map(of_meta).or_else(|| declared(xml()?, "encoding"));
    found.map(Encoding::output_encoding)
}

/// Returns the encoding that `key=LABEL` in a tag names.
fn declared(tag: &str, key: &str) -> Option<&'static Encoding> {
    tag.split(key).skip(1).find_map(|value| {
        let value = value.trim_start().strip_prefix('=')?.trim_start_matches(['"', '\'', ' ']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)));
        encoding(&value[..end.unwrap_or(value.len())])
    })
}
