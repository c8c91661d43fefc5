//! Converts Python's regexes into regexes for `accepts`.

use regex::Regex;
use regex_syntax::ParserBuilder;
use regex_syntax::ast::ErrorKind;
use regex_syntax::hir::Look;

use super::fields::Reason;
use crate::modules::pattern;

/// Returns the `accepts` for a regex that the list's tool *searches* in a name, and its compiled form.
/// Unlike that regex, `accepts` must match the whole name.
///
/// # Errors
/// Returns an error if the regex has no linear-time form (look-around, back references), is invalid, or is
/// too large.
pub(super) fn accepts(python: &str) -> Result<(String, Regex), Reason> {
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
fn anchored(text: String) -> Result<String, Reason> {
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
