//! Reads JSON from sites, whose cost in memory is estimated first, and finds it inside the scripts of a page:
//! `window.X = {…}`, `JSON.parse("…")`.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::text::constant;

/// The highest [`cost`] of one answer, which is about 30 MB. A value takes far more memory than its text: an object with
/// one member takes about 500 bytes, however short its text is.
pub(crate) const MAX_COST: usize = 200_000;
/// The cost of an object; other values cost 1.
const OBJECT: usize = 4;

/// The most documents that are taken from one page.
const MAX_DOCUMENTS: usize = 100;
/// The most bytes of one page that are tried as JSON. It bounds the cost of a page with many invalid beginnings.
const MAX_TRIED: usize = 4 * 1024 * 1024;

/// The JSON documents of a page's scripts, in order.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    /// The documents that were found, none of which is empty.
    pub(crate) list: Vec<Value>,
    /// The bytes that were tried as JSON.
    tried: usize,
    /// The cost of the documents so far.
    cost: usize,
}

impl Documents {
    /// Returns whether a limit was reached. No further document is added then, although there may be more.
    fn is_full(&self) -> bool {
        self.list.len() >= MAX_DOCUMENTS || self.tried > MAX_TRIED || self.cost > MAX_COST
    }

    /// Adds the document of a script whose type says that it is JSON. Returns `None` if it is not, or a limit was reached.
    pub(crate) fn add_json(&mut self, script: &str) -> Option<()> {
        let text = without_comment(script);
        let cost = self.cost + measure(text)?.1;
        if self.is_full() || cost > MAX_COST {
            self.cost = cost;
            return None;
        }
        let value = read(text)?;
        self.cost = cost;
        let has_members = value.as_object().is_some_and(|members| !members.is_empty());
        let has_elements = value.as_array().is_some_and(|elements| !elements.is_empty());
        self.list.extend(Some(value).filter(|_| has_members || has_elements));
        Some(())
    }

    /// Adds the JSON values that the code of a script assigns.
    pub(crate) fn add_code(&mut self, code: &str) {
        // Some sites put JSON into a script without the type for it.
        if code.trim_start().starts_with(['{', '[']) && self.add_json(code).is_some() {
            return;
        }
        let mut rest = code;
        while let Some((_, value)) = rest.split_once('=').filter(|_| !self.is_full()) {
            let value = value.trim_start();
            rest = &value[self.assigned(value).unwrap_or(0)..];
        }
    }

    /// Adds the value at the beginning of `code` and returns its length in bytes, if it is JSON.
    fn assigned(&mut self, code: &str) -> Option<usize> {
        let argument = code.strip_prefix("JSON.parse(").filter(|text| text.starts_with(['"', '\'', '`']));
        let value = argument.unwrap_or(code);
        let length = match argument {
            None => may_be_json(code).then(|| measure(value))?.map(|(length, _)| length),
            Some(_) => string_length(value.as_bytes()),
        };
        self.tried += length.unwrap_or(value.len());
        let text = &value[..length?];
        match argument {
            None => self.add_json(text)?,
            Some(_) => self.add_json(&decoded(&text[1..text.len() - 1])?)?,
        }
        Some(code.len() - value.len() + text.len())
    }
}

/// Returns the length of the object or array at the beginning of a text, if it ends, and an upper bound of its cost: 1 for
/// each value, more for an object. Commas and brackets inside strings do not count.
pub(crate) fn measure(text: &str) -> Option<(usize, usize)> {
    let (bytes, mut depth, mut cost, mut at) = (text.as_bytes(), 0usize, 0, 0);
    loop {
        let byte = *bytes.get(at)?;
        (depth, cost) = match byte {
            b'{' => (depth + 1, cost + OBJECT),
            b'[' => (depth + 1, cost + 1),
            b'}' | b']' => (depth.checked_sub(1)?, cost),
            b',' => (depth, cost + 1),
            _ => (depth, cost),
        };
        at += if byte == b'"' { string_length(&bytes[at..])? } else { 1 };
        if depth == 0 {
            return Some((at, cost));
        }
    }
}

/// Parses a text as JSON. It may contain what JavaScript allows beside it: `undefined`, which becomes null, and in strings
/// single surrogates, which become U+FFFD, other escapes, and control characters.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok().or_else(|| serde_json::from_str(&as_json(text)).ok())
}

/// Returns the content of a script without the comment signs around it, which hid it from old browsers.
fn without_comment(script: &str) -> &str {
    let script = script.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let script = ["<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA["]
        .iter()
        .find_map(|open| script.strip_prefix(open))
        .unwrap_or(script);
    ["-->", "//]]>", "/*]]>*/", "]]>"].iter().find_map(|close| script.strip_suffix(close)).unwrap_or(script)
}

/// The strings of a text, and what JSON has no word for.
static FOREIGN: LazyLock<Regex> = LazyLock::new(|| constant(r#"(?s)"(?:[^"\\]|\\.)*"|undefined"#));

fn as_json(text: &str) -> Cow<'_, str> {
    FOREIGN.replace_all(text, |found: &Captures<'_>| match &found[0] {
        "undefined" => "null".to_owned(),
        literal => {
            let decoded = decoded(&literal[1..literal.len() - 1]);
            decoded.map_or_else(|| literal.to_owned(), |text| Value::from(text).to_string())
        }
    })
}

/// The characters that JavaScript writes as a backslash and a letter.
const ESCAPES: [(char, char); 7] =
    [('b', '\u{8}'), ('t', '\t'), ('n', '\n'), ('v', '\u{b}'), ('f', '\u{c}'), ('r', '\r'), ('0', '\0')];

/// Returns the text of a string literal of JavaScript, whose quotes are left out. Returns `None` if an escape is invalid.
fn decoded(literal: &str) -> Option<String> {
    let mut units: Vec<u16> = Vec::with_capacity(literal.len());
    let mut chars = literal.chars();
    while let Some(c) = chars.next() {
        let escaped = if c == '\\' { Some(chars.next()?) } else { None };
        match escaped {
            Some('u') => units.push(digits(&mut chars, 4)?),
            Some('x') => units.push(digits(&mut chars, 2)?),
            Some('1'..='9') => return None,
            // JavaScript ignores the end of a line after a backslash.
            Some('\n') => {}
            _ => {
                let known = ESCAPES.iter().find(|(letter, _)| Some(*letter) == escaped);
                let c = known.map_or(escaped.unwrap_or(c), |(_, c)| *c);
                units.extend_from_slice(c.encode_utf16(&mut [0; 2]));
            }
        }
    }
    Some(String::from_utf16_lossy(&units))
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize) -> Option<u16> {
    (0..count).try_fold(0, |number, _| Some(number * 16 + u16::try_from(chars.next()?.to_digit(16)?).ok()?))
}

/// Returns whether JSON may begin at the start of `code`. JavaScript seldom quotes the names of members.
fn may_be_json(code: &str) -> bool {
    let second = code.get(1..).and_then(|rest| rest.trim_start().bytes().next()).unwrap_or_default();
    match code.bytes().next() {
        Some(b'{') => second == b'"',
        Some(b'[') => b"{[\"-tfn".contains(&second) || second.is_ascii_digit(),
        _ => false,
    }
}

/// Returns the length in bytes of the quoted string at the beginning, quotes included.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        at += bytes.get(at..)?.iter().position(|byte| [quote, b'\\'].contains(byte))?;
        if bytes[at] == quote {
            return Some(at + 1);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn found(code: &str) -> Value {
        let mut documents = Documents::default();
        documents.add_code(code);
        Value::from(documents.list.clone())
    }

    #[test]
    fn assigned_json_is_found() {
        for (code, want) in [
            (r#"window.X = {"a": 1};"#, json!([{"a": 1}])),
            (r#"window["X"]={"a":"};{"}; var b = [1, {"c": 2}] ;"#, json!([{"a": "};{"}, [1, {"c": 2}]])),
            (
                r#"self.x={"a":undefined,"b":"undefined \" u","c":[undefined]}"#,
                json!([{"a": null, "b": "undefined \" u", "c": [null]}]),
            ),
            (r#"X = JSON.parse("{\"a\":\"\\u00e9\u0041 \\\"q\\\"\"}")"#, json!([{"a": "éA \"q\""}])),
            (r#"X=JSON.parse('{"a":"it\'s \ud83d\ude00 \x41"}')"#, json!([{"a": "it's 😀 A"}])),
            (r#"{"props": {"a": 1}}"#, json!([{"props": {"a": 1}}])),
            ("if (a == {} || b => {c}) x = {a: 1}; y = {}; z = [];", json!([])),
            (r#"x = {"a": 1"#, json!([])),
            (r#"x = {"a": 1]; y = {"b": 2}"#, json!([{"b": 2}])),
            (r#"x = {"a": "= {"#, json!([])),
            ("x = JSON.parse(\"", json!([])),
        ] {
            assert_eq!(found(code), want, "{code}");
        }
        let mut documents = Documents::default();
        documents.add_json("<!-- {\"a\": 1} -->");
        documents.add_json("\u{feff}/*<![CDATA[*/ {\"a\": 1} /*]]>*/");
        documents.add_json("{}");
        documents.add_json("{");
        assert_eq!(documents.list, [json!({"a": 1}), json!({"a": 1})]);
    }

    #[test]
    fn code_of_any_shape_is_read_in_linear_time() {
        for code in [
            "={\"".repeat(300_000),
            "={\"a\":".repeat(150_000),
            "=[[".repeat(300_000),
            "=JSON.parse(\"".repeat(70_000),
            "={\"a\":\"\\\"".repeat(100_000),
            "={\"\":undefined,".repeat(60_000),
            "={\"a\":1}".repeat(100_000),
        ] {
            // Quadratic work on a megabyte would not end.
            assert!(found(&code).as_array().unwrap().len() <= MAX_DOCUMENTS);
        }
    }

    #[test]
    fn what_is_taken_is_limited() {
        for (code, taken) in [
            ("={\"a\":1};".repeat(MAX_DOCUMENTS) + "=[1]", MAX_DOCUMENTS),
            (format!("={{\"a\":1}};=[{}1];=[2]", "1,".repeat(MAX_COST)), 1),
            (format!("=JSON.parse('[{}1]');=[2]", "1,".repeat(MAX_COST)), 0),
            // Each beginning is tried again.
            ("=[[".repeat(30_000) + "=[1]", 0),
        ] {
            assert_eq!(found(&code).as_array().unwrap().len(), taken, "{code:.30}");
        }
    }

    proptest! {
        #[test]
        fn no_code_panics(code in r#"([={}\[\]"'\\a1:,u é]{0,4}|= ?|JSON\.parse\(|undefined|"|\\u12|\{|\}){0,20}"#) {
            let _ = found(&code);
        }
    }
}
