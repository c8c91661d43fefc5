//! Finds JSON inside the scripts of a page: `window.X = {…}`, `JSON.parse("…")`.

use serde_json::Value;

use super::json_size::{self, MAX_COST};

/// The most documents that are taken from one page.
const MAX_DOCUMENTS: usize = 100;
/// The most bytes of one page that are tried as JSON. It bounds the cost of a page with many invalid beginnings.
const MAX_TRIED: usize = 4 * 1024 * 1024;

/// The JSON documents of a page's scripts, in order.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    list: Vec<Value>,
    tried: usize,
    /// The cost of the documents so far.
    cost: usize,
    /// Whether a limit was reached. No further document is added then, although there may be more.
    is_full: bool,
}

impl Documents {
    /// Returns the documents that were found, none of which is empty.
    pub(crate) fn list(&self) -> &[Value] {
        &self.list
    }

    /// Adds the document of a script whose type says that it is JSON.
    pub(crate) fn add_json(&mut self, script: &str) {
        if let Some(value) = self.read(without_comment(script)) {
            self.push(value);
        }
    }

    /// Adds the JSON values that the code of a script assigns.
    pub(crate) fn add_code(&mut self, code: &str) {
        // Some sites put JSON into a script without the type for it.
        if code.trim_start().starts_with(['{', '[']) {
            let before = self.list.len();
            self.add_json(code);
            if self.list.len() > before {
                return;
            }
        }
        let mut at = 0;
        while let Some(found) = memchr::memchr(b'=', &code.as_bytes()[at..]) {
            at += found + 1;
            if self.is_full {
                return;
            }
            let value = code[at..].trim_start();
            let start = code.len() - value.len();
            if let Some(length) = self.assigned(value) {
                at = start + length;
            }
        }
    }

    /// Adds the value at the beginning of `code` and returns its length in bytes, if it is JSON.
    fn assigned(&mut self, code: &str) -> Option<usize> {
        if let Some(argument) = code.strip_prefix("JSON.parse(") {
            return self.parsed(argument).map(|length| code.len() - argument.len() + length);
        }
        if !may_be_json(code) {
            return None;
        }
        let length = self.balanced(code)?;
        let value = self.read(&code[..length])?;
        self.push(value);
        Some(length)
    }

    /// Adds the argument of `JSON.parse("…")`, in any quotes. `code` begins after the opening parenthesis.
    fn parsed(&mut self, code: &str) -> Option<usize> {
        code.chars().next().filter(|c| matches!(c, '"' | '\'' | '`'))?;
        let length = string_length(code.as_bytes());
        self.tried += length.unwrap_or(code.len());
        let length = length?;
        let text = unescaped(&code[1..length - 1])?;
        let value = self.read(&text)?;
        self.push(value);
        Some(length)
    }

    /// Parses a text as JSON. Returns `None` if it is not JSON or a limit was reached.
    fn read(&mut self, text: &str) -> Option<Value> {
        let left = MAX_COST - self.cost;
        let cost = json_size::cost(text, left);
        self.is_full |= cost > left || self.tried > MAX_TRIED;
        if self.is_full {
            return None;
        }
        let value = read(text)?;
        self.cost += cost;
        Some(value)
    }

    fn push(&mut self, value: Value) {
        let has_any = match &value {
            Value::Object(members) => !members.is_empty(),
            Value::Array(elements) => !elements.is_empty(),
            _ => false,
        };
        if has_any {
            self.is_full |= self.list.len() == MAX_DOCUMENTS;
            if !self.is_full {
                self.list.push(value);
            }
        }
    }

    /// Returns the length of the object or array at the beginning. Brackets inside strings do not count.
    fn balanced(&mut self, code: &str) -> Option<usize> {
        let bytes = code.as_bytes();
        let (mut depth, mut at) = (0usize, 0usize);
        let end = loop {
            let Some(byte) = bytes.get(at) else { break None };
            if self.tried + at > MAX_TRIED {
                self.is_full = true;
                break None;
            }
            match byte {
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                b'"' => match string_length(&bytes[at..]) {
                    Some(length) => {
                        at += length;
                        continue;
                    }
                    None => {
                        at = bytes.len();
                        break None;
                    }
                },
                _ => {}
            }
            at += 1;
            if depth == 0 {
                break Some(at);
            }
        };
        self.tried += at;
        end
    }
}

/// Parses a text as JSON. It may contain what JavaScript allows beside it: `undefined`, which becomes null, and in strings
/// single surrogates, which become U+FFFD, other escapes, and control characters.
pub(crate) fn read(text: &str) -> Option<Value> {
    serde_json::from_str(text).or_else(|_| serde_json::from_str(&as_json(text))).ok()
}

/// Returns the content of a script without the comment signs around it, which hid it from old browsers.
pub(crate) fn without_comment(script: &str) -> &str {
    let script = script.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let script = ["<!--", "//<![CDATA[", "/*<![CDATA[*/", "<![CDATA["]
        .iter()
        .find_map(|open| script.strip_prefix(open))
        .unwrap_or(script);
    ["-->", "//]]>", "/*]]>*/", "]]>"].iter().find_map(|close| script.strip_suffix(close)).unwrap_or(script)
}

fn as_json(text: &str) -> String {
    const UNDEFINED: &str = "undefined";
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            _ if is_inside && c != '"' => add_in_string(c, &mut chars, &mut out),
            'u' if chars.as_str().starts_with(&UNDEFINED[1..]) => {
                out.push_str("null");
                chars = chars.as_str()[UNDEFINED.len() - 1..].chars();
            }
            _ => {
                is_inside ^= c == '"';
                out.push(c);
            }
        }
    }
    out
}

/// Adds a character of a string to JSON. `chars` are those behind it, which belong to it after a backslash.
fn add_in_string(c: char, chars: &mut std::str::Chars<'_>, out: &mut String) {
    match c {
        '\\' => out.push_str(&valid_escape(chars)),
        '"' => out.push_str("\\\""),
        '\0'..='\u{1f}' => out.push_str(&unicode_escape(c.into())),
        _ => out.push(c),
    }
}

/// Reads an escape after its backslash, as JavaScript does, and returns one that JSON allows. What is no escape in
/// JavaScript either stays invalid.
fn valid_escape(chars: &mut std::str::Chars<'_>) -> String {
    match chars.next() {
        Some(c @ ('"' | '\\' | '/' | 'b' | 'f' | 'n' | 'r' | 't')) => format!("\\{c}"),
        Some('v') => unicode_escape(0xb),
        Some('x') => digits(chars, 2).map_or("\\x".to_owned(), unicode_escape),
        Some('u') => match digits(chars, 4) {
            Some(high @ 0xd800..=0xdbff) => {
                let mut ahead = chars.clone();
                let is_escape = (ahead.next(), ahead.next()) == (Some('\\'), Some('u'));
                match digits(&mut ahead, 4).filter(|_| is_escape) {
                    Some(low @ 0xdc00..=0xdfff) => {
                        *chars = ahead;
                        unicode_escape(high) + &unicode_escape(low)
                    }
                    _ => unicode_escape(0xfffd),
                }
            }
            Some(0xdc00..=0xdfff) => unicode_escape(0xfffd),
            Some(code) => unicode_escape(code),
            None => "\\u".to_owned(),
        },
        Some('0') => unicode_escape(0),
        // JavaScript ignores the end of a line after a backslash.
        Some('\n') => String::new(),
        Some(digit @ '1'..='9') => format!("\\{digit}"),
        Some(c) => c.to_string(),
        None => "\\".to_owned(),
    }
}

fn unicode_escape(code: u32) -> String {
    format!("\\u{code:04x}")
}

/// Returns whether JSON may begin at the start of `code`. JavaScript seldom quotes the names of members.
fn may_be_json(code: &str) -> bool {
    let Some(rest) = code.strip_prefix('{') else {
        let Some(rest) = code.strip_prefix('[') else { return false };
        let first = rest.trim_start().bytes().next();
        return first.is_some_and(|byte| b"{[\"-tfn".contains(&byte) || byte.is_ascii_digit());
    };
    rest.trim_start().starts_with('"')
}

/// Returns the length in bytes of the quoted string at the beginning, quotes included.
fn string_length(bytes: &[u8]) -> Option<usize> {
    let quote = *bytes.first()?;
    let mut at = 1;
    loop {
        at += memchr::memchr2(quote, b'\\', bytes.get(at..)?)?;
        if bytes[at] == quote {
            return Some(at + 1);
        }
        at += 2;
    }
}

/// Returns the text of a string literal, or `None` if an escape is invalid.
fn unescaped(literal: &str) -> Option<String> {
    let mut out = String::from('"');
    let mut chars = literal.chars();
    while let Some(c) = chars.next() {
        add_in_string(c, &mut chars, &mut out);
    }
    out.push('"');
    serde_json::from_str(&out).ok()
}

fn digits(chars: &mut std::str::Chars<'_>, count: usize) -> Option<u32> {
    (0..count).try_fold(0, |number, _| Some(number * 16 + chars.next()?.to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

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
        assert_eq!(documents.list(), [json!({"a": 1}), json!({"a": 1})]);
        assert!(!documents.is_full);
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
            let started = Instant::now();
            assert!(found(&code).as_array().unwrap().len() <= MAX_DOCUMENTS);
            // Quadratic work on a megabyte takes much longer.
            assert!(started.elapsed() < Duration::from_secs(120), "{}", &code[..12]);
        }
    }

    #[test]
    fn a_collection_that_reached_its_limit_is_incomplete() {
        let objects = |count: usize| "={\"a\":1};".repeat(count);
        for (code, taken, is_whole) in [
            (objects(MAX_DOCUMENTS), MAX_DOCUMENTS, true),
            (objects(MAX_DOCUMENTS) + "=[1]", MAX_DOCUMENTS, false),
            (objects(MAX_DOCUMENTS) + "=[]; = 1; =", MAX_DOCUMENTS, true),
            (format!("={{\"a\":1}};=[{}1];=[2]", "1,".repeat(MAX_COST)), 1, false),
            (format!("=JSON.parse('[{}1]');=[2]", "1,".repeat(MAX_COST)), 0, false),
            // Each beginning is tried again.
            ("=[[".repeat(30_000), 0, false),
        ] {
            let mut documents = Documents::default();
            documents.add_code(&code);
            assert_eq!((documents.list().len(), !documents.is_full), (taken, is_whole), "{code:.30}");
        }
    }

    fn documents() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<String>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            Just(Value::Null)
        ];
        let object = |members: Vec<(String, Value)>| Value::Object(members.into_iter().collect());
        let tree = leaf.prop_recursive(4, 20, 4, move |inner| {
            prop::collection::vec((any::<String>(), inner), 1..4).prop_map(object)
        });
        prop::collection::vec((any::<String>(), tree), 1..4).prop_map(object)
    }

    proptest! {
        #[test]
        fn every_document_is_found_in_either_form(document in documents()) {
            let text = document.to_string();
            prop_assert_eq!(found(&format!("var x = {text};")), json!([document]));
            let literal = Value::from(text).to_string();
            prop_assert_eq!(found(&format!("var x = JSON.parse({literal});")), json!([document]));
        }

        #[test]
        fn no_code_panics(code in r#"([={}\[\]"'\\a1:,u é]{0,4}|= ?|JSON\.parse\(|undefined|"|\\u12|\{|\}){0,20}"#) {
            let _ = found(&code);
        }
    }
}
