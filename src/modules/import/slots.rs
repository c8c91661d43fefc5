//! Foreign templates made into ours.

use super::fields::Reason;
use crate::modules::text::cut;

/// Names below these lead into networks of their own.
const HIDDEN: [&str; 3] = [".onion", ".i2p", ".loki"];

/// A foreign text without variables: every brace stands for itself.
pub(super) fn literal(text: &str) -> String {
    if text.contains(['{', '}']) { text.replace('{', "{{").replace('}', "}}") } else { text.to_owned() }
}

/// A foreign text in which `placeholder` is the name; every other brace stands for itself.
pub(super) fn template(text: &str, placeholder: &str) -> String {
    text.split(placeholder).map(literal).collect::<Vec<_>>().join("{query}")
}

/// A foreign address in which `placeholder` is the name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// Our template.
    pub(super) template: String,
    /// The name stands in it.
    pub(super) names: bool,
    /// The name stood in the fragment, which is gone: it is never sent.
    pub(super) named_in_fragment: bool,
}

/// Makes a URL template of a foreign address.
///
/// # Errors
/// It is no web address.
pub(super) fn address(text: &str, placeholder: &str) -> Result<Address, Reason> {
    let text = text.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)));
    let Some(scheme) = scheme else {
        return Err(format!("`{}` is no web address", cut(text, 80)));
    };
    let rest = &text[scheme.len()..];
    let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
    let host = rest.split(['/', '?', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if HIDDEN.iter().any(|ending| host.ends_with(ending)) {
        return Err(format!("`{}` is not on the open web, and only that is asked", cut(&host, 80)));
    }
    let parts: Vec<String> = rest.split(placeholder).map(encoded).collect();
    Ok(Address {
        names: parts.len() > 1,
        named_in_fragment: fragment.contains(placeholder),
        template: format!("{scheme}{}", parts.join("{query}")),
    })
}

/// What no address may hold, percent-encoded; braces too, as the tools' HTTP clients do.
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

/// A text as Python's `format` reads it: fields by name, braces doubled.
///
/// # Errors
/// A brace without its partner, or a field that `value` does not know.
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
            return Err(format!("a `{brace}` without its partner in `{}`", cut(text, 80)));
        };
        out.push_str(
            &value(name).ok_or_else(|| format!("`{{{}}}` is no variable of this list", cut(name, 40)))?,
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
    use crate::modules::query::{Query, SearchType};
    use crate::modules::template::{Kind, Saved, Template, Values};
    use proptest::prelude::*;

    fn filled(template: &str, kind: Kind) -> String {
        let query = Query::parse(SearchType::Username, "a.b").unwrap();
        let (keys, saved) = (OperatorKeys::default(), Saved::new());
        let values =
            Values { query: &query, name: query.normal(), keys: Some(&keys), saved: &saved, value: None };
        Template::parse(template, kind).unwrap().fill(&values).unwrap()
    }

    #[test]
    fn an_address_keeps_what_is_sent() {
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
            assert!(address(bad, "{}").unwrap_err().contains("is no web address"), "{bad}");
        }
    }

    #[test]
    fn python_fields_are_filled_and_braces_undoubled() {
        let value = |name: &str| (name == "x").then(|| "VALUE".to_owned());
        assert_eq!(python_format("{{ a({x}) }}", value).unwrap(), "{ a(VALUE) }");
        assert!(python_format("{y}", value).unwrap_err().contains("`{y}` is no variable"));
        for bad in ["{", "a}", "{x", "{{}"] {
            assert!(python_format(bad, value).unwrap_err().contains("without its partner"), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_text_means_what_it_meant(text in r"[{}a\\$]{0,12}") {
            prop_assert_eq!(filled(&literal(&text), Kind::Plain), text.clone());
            prop_assert_eq!(filled(&template(&text, "{a}"), Kind::Plain), text.replace("{a}", "a.b"));
        }
    }
}
