//! Converts the templates of lists into templates of the catalogue.

use super::fields::Reason;
use crate::modules::text::truncate;

/// Domain suffixes of anonymous networks, which need special software.
const HIDDEN: [&str; 3] = [".onion", ".i2p", ".loki"];

/// Returns a text without variables as a template, with every brace literal.
pub(super) fn literal(text: &str) -> String {
    if text.contains(['{', '}']) { text.replace('{', "{{").replace('}', "}}") } else { text.to_owned() }
}

/// Returns a text as a template. `placeholder` stands for the name, and every other brace is literal.
pub(super) fn template(text: &str, placeholder: &str) -> String {
    text.split(placeholder).map(literal).collect::<Vec<_>>().join("{query}")
}

/// An address of a list, converted into a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The URL template.
    pub(super) template: String,
    /// Whether the template contains the name.
    pub(super) names: bool,
    /// Whether the name was in the fragment, which is removed since it is never sent.
    pub(super) named_in_fragment: bool,
}

/// Converts an address into a URL template. `placeholder` stands for the name.
///
/// # Errors
/// Returns an error if the text is not a web address.
pub(super) fn address(text: &str, placeholder: &str) -> Result<Address, Reason> {
    let text = text.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else {
        return Err(format!("`{}` is not a web address", truncate(text, 80)));
    };
    let rest = &text[scheme.len()..];
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let host = rest.split(['/', '?', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if HIDDEN.iter().any(|ending| host.ends_with(ending)) {
        return Err(format!("`{}` is not on the public web, which is required", truncate(&host, 80)));
    }
    let parts: Vec<String> = rest.split(placeholder).map(encoded).collect();
    Ok(Address {
        names: parts.len() > 1,
        named_in_fragment: fragment.contains(placeholder),
        template: format!("{scheme}{}", parts.join("{query}")),
    })
}

/// Percent-encodes characters that are not allowed in addresses. Braces are encoded too, as the HTTP clients
/// of the other tools do.
fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            ' ' | '{' | '}' | '\\' => out.push_str(&format!("%{:02X}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

/// Returns a text with its fields replaced, as Python's `format` does. Doubled braces stand for single ones.
///
/// # Errors
/// Returns an error if a brace has no partner, or if `value` does not know a field.
pub(super) fn python_format(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, Reason> {
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
    use crate::modules::keys::OperatorKeys;
    use crate::modules::pattern::Searches;
    use crate::modules::query::{Query, SearchType};
    use crate::modules::template::{Kind, Saved, Template, Values};
    use proptest::prelude::*;

    fn filled(template: &str, kind: Kind) -> String {
        let query = Query::parse(SearchType::Username, "a.b").unwrap();
        let (keys, saved) = (OperatorKeys::default(), Saved::new());
        let values = Values {
            query: &query,
            name: query.normal(),
            keys: Some(&keys),
            saved: &saved,
            value: None,
            searches: &Searches::default(),
        };
        Template::parse(template, kind).unwrap().fill(&values).unwrap()
    }

    #[test]
    fn a_converted_address_keeps_its_sent_parts() {
        let made = |text| address(text, "{}").unwrap().template;
        assert_eq!(made("HTTPS://{}.site.example/u v?q={\"a\":\"{}\"}"), {
            "https://{query}.site.example/u%20v?q=%7B\"a\":\"{query}\"%7D"
        });
        let spa = address("https://site.example/#/@{}", "{}").unwrap();
        assert_eq!(
            (spa.template.as_str(), spa.names, spa.named_in_fragment),
            ("https://site.example/", false, true)
        );
        for bad in ["site.example/{}", "ftp://site.example/{}", "", "{}"] {
            assert!(address(bad, "{}").unwrap_err().contains("is not a web address"), "{bad}");
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
        fn a_converted_text_has_the_same_meaning(text in r"[{}a\\$]{0,12}") {
            prop_assert_eq!(filled(&literal(&text), Kind::Plain), text.clone());
            prop_assert_eq!(filled(&template(&text, "{a}"), Kind::Plain), text.replace("{a}", "a.b"));
        }
    }
}
