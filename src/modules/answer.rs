//! What rules look at: a response, decoded only as far as they ask.

use std::borrow::Cow;
use std::cell::OnceCell;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use serde_json::Value;

use super::html::{Page, Selectors};
use super::probe::Response;

/// How far into a page its own charset declaration is looked for (as HTML prescribes).
const CHARSET_REACH: usize = 1024;

/// A response with its body as text, JSON and HTML, each made when first asked for.
pub(crate) struct Answer<'r> {
    pub(crate) response: &'r Response,
    selectors: &'r Selectors,
    text: OnceCell<Cow<'r, str>>,
    lower: OnceCell<String>,
    json: OnceCell<Option<Value>>,
    page: OnceCell<Page>,
    json_ld: OnceCell<Vec<Value>>,
}

impl<'r> Answer<'r> {
    /// Wraps a response; `selectors` are all that rules may ask for.
    pub(crate) fn new(response: &'r Response, selectors: &'r Selectors) -> Self {
        Self {
            response,
            selectors,
            text: OnceCell::new(),
            lower: OnceCell::new(),
            json: OnceCell::new(),
            page: OnceCell::new(),
            json_ld: OnceCell::new(),
        }
    }

    /// The body as text; bytes that are no text become U+FFFD.
    pub(crate) fn text(&self) -> &str {
        self.text.get_or_init(|| decode(self.response))
    }

    /// The text in lower case.
    pub(crate) fn lower(&self) -> &str {
        self.lower.get_or_init(|| self.text().to_lowercase())
    }

    /// Whether the body had more than was read: then nothing can be said of what it does not hold.
    pub(crate) fn is_cut(&self) -> bool {
        self.response.truncated
    }

    /// The body as JSON. Nesting beyond 128 levels counts as no JSON, and so does a body that was cut
    /// off, even where what was read of it could pass for a document.
    pub(crate) fn json(&self) -> Option<&Value> {
        self.json
            .get_or_init(|| {
                (!self.is_cut()).then(|| serde_json::from_str(strip_guard(self.text())).ok()).flatten()
            })
            .as_ref()
    }

    /// The body as HTML.
    pub(crate) fn page(&self) -> &Page {
        self.page.get_or_init(|| Page::read(self.text(), self.selectors))
    }

    /// The JSON-LD objects of the page: arrays and `@graph`s taken apart.
    pub(crate) fn json_ld(&self) -> &[Value] {
        self.json_ld.get_or_init(|| {
            let mut objects = Vec::new();
            for block in &self.page().json_ld {
                if let Ok(value) = serde_json::from_str(block.trim()) {
                    collect_objects(value, &mut objects);
                }
            }
            objects
        })
    }

    /// The value of a cookie that this answer sets.
    pub(crate) fn cookie(&self, name: &str) -> Option<&str> {
        self.response.headers.iter().filter(|(header, _)| header == "set-cookie").find_map(|(_, value)| {
            let (known, value) = value.split(';').next()?.split_once('=')?;
            (known.trim() == name).then(|| value.trim())
        })
    }
}

fn collect_objects(value: Value, out: &mut Vec<Value>) {
    match value {
        Value::Array(elements) => out.extend(elements),
        Value::Object(mut members) => {
            if let Some(Value::Array(graph)) = members.remove("@graph") {
                out.extend(graph);
            }
            out.push(Value::Object(members));
        }
        _ => {}
    }
}

/// Drops what some APIs put before their JSON so that it cannot be run as a script.
fn strip_guard(text: &str) -> &str {
    let text = text.trim_start();
    [")]}',", ")]}'", "for(;;);", "for (;;);", "while(1);"]
        .iter()
        .find_map(|guard| text.strip_prefix(guard))
        .unwrap_or(text)
}

/// Charset: byte order mark, then header, then the page's own word, then UTF-8 if it is, else
/// Windows-1252 (which every byte sequence is).
fn decode(response: &Response) -> Cow<'_, str> {
    let body = response.body.as_slice();
    if let Some((encoding, length)) = Encoding::for_bom(body) {
        return encoding.decode_without_bom_handling(&body[length..]).0;
    }
    if let Some(encoding) = response.header("content-type").and_then(charset_of_header) {
        return encoding.decode_without_bom_handling(body).0;
    }
    if let Some(encoding) = charset_of_page(body) {
        return encoding.decode_without_bom_handling(body).0;
    }
    let is_utf8 = match std::str::from_utf8(body) {
        Ok(_) => true,
        // Cut off inside a character, or a stray byte in what is clearly UTF-8.
        Err(error) => error.error_len().is_none() || looks_like_utf8(body),
    };
    (if is_utf8 { UTF_8 } else { WINDOWS_1252 }).decode_without_bom_handling(body).0
}

/// Whether most bytes beyond ASCII stand in valid UTF-8 sequences.
fn looks_like_utf8(body: &[u8]) -> bool {
    let (mut good, mut bad) = (0usize, 0usize);
    for chunk in body.utf8_chunks() {
        good += chunk.valid().bytes().filter(|byte| !byte.is_ascii()).count();
        bad += chunk.invalid().len();
    }
    good > bad * 10
}

fn charset_of_header(content_type: &str) -> Option<&'static Encoding> {
    content_type.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim().trim_matches(['"', '\'']);
        name.trim().eq_ignore_ascii_case("charset").then(|| Encoding::for_label(value.as_bytes()))?
    })
}

/// `<meta charset=…>`, `<meta … content="text/html; charset=…">` or `<?xml … encoding="…"?>`.
fn charset_of_page(body: &[u8]) -> Option<&'static Encoding> {
    let head = &body[..body.len().min(CHARSET_REACH)];
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    if !head.contains("<meta") && !head.contains("<?xml") {
        return None;
    }
    ["charset=", "encoding="].iter().find_map(|key| {
        let value = head.split_once(key)?.1.trim_start_matches(['"', '\'', ' ']);
        let end = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_:.".contains(c)))?;
        // As HTML prescribes: a page that could be read so far is not UTF-16.
        let encoding = Encoding::for_label(&value.as_bytes()[..end])?;
        Some(encoding.output_encoding())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::probe::Timing;

    fn response(content_type: Option<&str>, body: &[u8]) -> Response {
        Response {
            status: 200,
            final_url: url::Url::parse("https://x.org/").unwrap(),
            headers: content_type
                .map(|value| ("content-type".to_owned(), value.to_owned()))
                .into_iter()
                .collect(),
            body: body.to_vec(),
            truncated: false,
            timing: Timing::default(),
        }
    }

    #[test]
    fn the_charset_is_taken_from_mark_header_page_and_bytes_in_that_order() {
        for (content_type, body, want) in [
            (Some("text/html; charset=ISO-8859-1"), &b"\xef\xbb\xbf\xc3\xa9"[..], "é"),
            (Some("text/html; Charset=\"iso-8859-1\""), b"\xe9", "é"),
            (Some("text/html; charset=nonsense"), "é".as_bytes(), "é"),
            (Some("text/html"), b"<meta charset='windows-1251'>\xcf", "<meta charset='windows-1251'>П"),
            (
                None,
                b"<?xml version='1.0' encoding='koi8-r'?>\xf0",
                "<?xml version='1.0' encoding='koi8-r'?>П",
            ),
            (None, "é".as_bytes(), "é"),
            (None, b"\xe9 \x80", "é €"),
            (None, b"\xff\xfea\0", "a"),
            (None, b"abc\xe2\x82", "abc\u{fffd}"),
        ] {
            let response = response(content_type, body);
            let selectors = Selectors::default();
            assert_eq!(Answer::new(&response, &selectors).text(), want);
        }
    }

    #[test]
    fn json_is_json_or_nothing() {
        let selectors = Selectors::default();
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        for (body, is_json) in [
            ("{\"a\":1}", true),
            (")]}'\n[1]", true),
            ("\u{feff}{}", true),
            ("<html>", false),
            ("", false),
            (&deep, false),
        ] {
            let response = response(None, body.as_bytes());
            assert_eq!(Answer::new(&response, &selectors).json().is_some(), is_json);
        }
    }

    #[test]
    fn json_ld_objects_are_taken_out_of_arrays_and_graphs() {
        let body = r#"<script type="application/ld+json">[{"a":1},{"b":2}]</script>
            <script type="application/ld+json">{"@graph":[{"c":3}],"d":4}</script><script type="application/ld+json">{</script>"#;
        let response = response(None, body.as_bytes());
        let selectors = Selectors::default();
        let answer = Answer::new(&response, &selectors);
        let keys: Vec<_> =
            answer.json_ld().iter().flat_map(|object| object.as_object().unwrap().keys()).collect();
        assert_eq!(keys, ["a", "b", "c", "d"]);
    }
}
