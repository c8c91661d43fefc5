//! Python's regexes and format strings.

use regex::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::Look;

use crate::modules::pattern;
use crate::modules::text::truncate;

/// Returns the `accepts` for a regex that the list's tool *searches* in a name, and its compiled form.
/// Unlike that regex, `accepts` must match the whole name.
///
/// # Errors
/// Returns an error if the regex has no linear-time form (look-around, back references), is invalid, or is
/// too large.
pub(super) fn accepts(python: &str) -> Result<(String, Regex), String> {
    let whole = anchored(translated(python, false))?;
    match pattern::whole(&whole) {
        Ok(regex) => Ok((whole, regex)),
        // Classes with the letters of all scripts make large regexes. Most modules are used for ASCII names
        // only.
        Err(reason) => {
            let ascii = anchored(translated(python, true))?;
            pattern::whole(&ascii).map(|regex| (ascii, regex)).map_err(|_| reason)
        }
    }
}

/// Extends a regex that is not anchored at the start or the end, so that it may match anywhere.
fn anchored(text: String) -> Result<String, String> {
    let parsed = ParserBuilder::new().nest_limit(50).build().parse(&text);
    let hir = parsed.map_err(|error| match error {
        regex_syntax::Error::Parse(error) => match error.kind() {
            ErrorKind::UnsupportedLookAround => {
                "it uses look-around, which takes more than linear time".to_owned()
            }
            ErrorKind::UnsupportedBackreference => {
                "it uses a back-reference, which takes more than linear time".to_owned()
            }
            other => format!("it is not valid here: {other}"),
        },
        other => format!("it is not valid here: {}", other.to_string().lines().last().unwrap_or_default()),
    })?;
    let properties = hir.properties();
    let before = if properties.look_set_prefix().contains(Look::Start) { "" } else { "(?s:.*)" };
    let after = if properties.look_set_suffix().contains(Look::End) { "" } else { "(?s:.*)" };
    Ok(if before.is_empty() && after.is_empty() { text } else { format!("{before}(?:{text}){after}") })
}

/// Rewrites Python's syntax, such as `\Z` and `{,N}`. With `is_ascii`, `\w` and `\d` match ASCII only.
fn translated(python: &str, is_ascii: bool) -> String {
    let mut text = String::with_capacity(python.len());
    let mut in_class = false;
    let mut rest = python;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '\\' => {
                let Some(escaped) = rest.chars().next() else {
                    text.push(c);
                    break;
                };
                rest = &rest[escaped.len_utf8()..];
                match escaped {
                    'Z' => text.push_str("\\z"),
                    'w' if is_ascii && in_class => text.push_str("0-9A-Za-z_"),
                    'w' if is_ascii => text.push_str("[0-9A-Za-z_]"),
                    'd' if is_ascii && in_class => text.push_str("0-9"),
                    'd' if is_ascii => text.push_str("[0-9]"),
                    other => text.extend(['\\', other]),
                }
                continue;
            }
            '[' => in_class = true,
            ']' => in_class = false,
            '{' if !in_class && rest.starts_with(',') => {
                text.push_str("{0");
                continue;
            }
            _ => {}
        }
        text.push(c);
    }
    text
}

/// Returns a text with its fields replaced, as Python's `format` does. Doubled braces stand for single ones.
///
/// # Errors
/// Returns an error if a brace has no partner, or if `value` does not know a field.
pub(super) fn python_format(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::with_capacity(text.len() + 16);
    let mut rest = text;
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let brace = &rest[at..=at];
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        let field = if brace == "{" { rest.split_once('}') } else { None };
        let Some((name, after)) = field else {
            return Err(format!("an unmatched `{brace}` in `{}`", truncate(text, 80)));
        };
        out.push_str(
            &value(name)
                .ok_or_else(|| format!("`{{{}}}` is not a variable of this list", truncate(name, 40)))?,
        );
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn takes(python: &str, name: &str) -> bool {
        accepts(python).unwrap().1.is_match(name)
    }

    #[test]
    fn a_python_search_becomes_a_full_match() {
        for (python, ours) in
            [("^[a-z]{3,5}$", "^[a-z]{3,5}$"), (r"\A\w+\Z", r"\A\w+\z"), (r"^a\\Z$", r"^a\\Z$")]
        {
            assert_eq!(accepts(python).unwrap().0, ours);
        }
        for (python, name, is_taken) in [
            ("[a-z]{4}", "..abcd..", true),
            ("[a-z]{4}", "ABCD", false),
            ("^[a-z]", "a99", true),
            ("^[a-z]", "9a", false),
            ("[0-9]$", "a9", true),
            ("[0-9]$", "9a", false),
            ("^a$|b", "xbx", true),
            ("^a$|b", "xax", false),
            ("^[a-z][a-z-_.]{3,15}", "ab-c_d", true),
            // With the letters of all scripts, these would be too large.
            (r"^[\w.]{2,30}$", "a.b_9", true),
            (r"^[\w.]{2,30}$", "a-b", false),
            (r"\w{4,300}", "abcd", true),
            (r"^[\w-]{,3}$", "a-b", true),
            (r"^[\w-]{,3}$", "a-bc", false),
        ] {
            assert_eq!(takes(python, name), is_taken, "{python} {name}");
        }
    }

    #[test]
    fn a_regex_that_is_not_supported_is_refused_with_a_reason() {
        for (python, why) in [
            ("^(?!-)[a-z]+$", "it uses look-around"),
            (r"^[a-z]+(?<!\.)$", "it uses look-around"),
            (r"(a)\1", "it uses a back-reference"),
            ("(", "it is not valid here"),
            ("(?:a{1000}){1000}", "too costly"),
        ] {
            let reason = accepts(python).unwrap_err();
            assert!(reason.contains(why), "{python}: {reason}");
        }
    }

    #[test]
    fn python_fields_are_converted_and_doubled_braces_unescaped() {
        let value = |name: &str| (name == "x").then(|| "VALUE".to_owned());
        assert_eq!(python_format("{{ a({x}) }}", value).unwrap(), "{ a(VALUE) }");
        assert!(python_format("{y}", value).unwrap_err().contains("`{y}` is not a variable"));
        for bad in ["{", "a}", "{x", "{{}"] {
            assert!(python_format(bad, value).unwrap_err().contains("unmatched"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_converted_regex_matches_the_same_texts(
            python in r"\^?(\[a-c\]|b|\.|\\d|\(a\|c\)){1,4}[+*?]?\$?",
            name in "[a-d1]{1,6}",
        ) {
            let found = regex::Regex::new(&python).unwrap().is_match(&name);
            prop_assert_eq!(takes(&python, &name), found);
        }
    }
}
