//! The parts of entries that the lists have in common.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;
use url::Url;

use super::python;
use super::report::{ListKind, shown};
use crate::modules::definition::with_texts;
use crate::modules::plan::is_reserved;
use crate::modules::tables;
use crate::modules::text::truncate;

/// The reason why an entry, or a part of it, is not imported.
pub(super) type Reason = String;

/// What becomes of an entry of a list.
pub(super) struct Made {
    /// The catalogue entry, without what all lists have in common. A missing field is null.
    pub(super) entry: Value,
    /// Names that exist, some of which may not be valid here.
    pub(super) known: Vec<String>,
    /// The members of the list's entry that are not used.
    pub(super) unused: Map<String, Value>,
}

/// Statuses that mean that there is no such account, or that the site refuses the name although it is a valid
/// username. Any other error status may be a block or a defect.
pub(super) const MISS_STATUSES: [u16; 4] = [400, 404, 410, 422];
/// Headers that contain a user's session or a token against bots.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];
/// Domain suffixes of anonymous networks, which need special software.
const HIDDEN: [&str; 3] = [".onion", ".i2p", ".loki"];
/// The category of adult sites.
pub(super) const ADULT: &str = "adult";
/// The maximum length of a name's part of an id, in bytes.
const MAX_SLUG_BYTES: usize = 48;

/// Returns the part of an id for a name, such as `last-fm-fr` for `Last.fm [FR]`. ASCII letters (without
/// accents) and digits are kept in lower case, and everything between them becomes one `-`. The result is
/// empty if nothing is left.
pub(crate) fn slug(name: &str) -> String {
    let mut slug = String::new();
    for c in name.nfkd().filter(|c| !unicode_normalization::char::is_combining_mark(*c)) {
        if slug.len() >= MAX_SLUG_BYTES {
            break;
        }
        if c.is_ascii_alphanumeric() {
            slug.push(c.to_ascii_lowercase());
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.truncate(slug.trim_end_matches('-').len());
    slug
}

/// Reads an entry of a list. A `null` counts as a missing member.
///
/// # Errors
/// Returns the first mistake, with the name of its member.
pub(super) fn read<S: DeserializeOwned>(members: &Map<String, Value>) -> Result<S, Reason> {
    let given = members.iter().filter(|(_, value)| !value.is_null());
    let given: Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    serde_path_to_error::deserialize(Value::Object(given))
        .map_err(|error| format!("`{}`: {}", error.path(), shown(&error.inner().to_string())))
}

/// One value or a list of them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a value or a list of values")]
enum OneOrMany<T> {
    One(T),
    Many(Vec<T>),
}

/// A value or a list of values, without empty ones.
#[derive(Clone, Default, Deserialize)]
#[serde(from = "OneOrMany<T>", bound(deserialize = "T: Deserialize<'de> + Default + PartialEq"))]
pub(super) struct Many<T = String>(pub(super) Vec<T>);

impl<T: Default + PartialEq> From<OneOrMany<T>> for Many<T> {
    fn from(read: OneOrMany<T>) -> Self {
        let mut values = match read {
            OneOrMany::One(value) => vec![value],
            OneOrMany::Many(values) => values,
        };
        values.retain(|value| *value != T::default());
        Self(values)
    }
}

/// The tags of lists, in lower case.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound(deserialize = "'de: 'static"))]
struct Tags {
    /// The tags of adult sites.
    adult_tags: Vec<&'static str>,
    /// The category of each tag. The first tag of an entry that is found here determines the category.
    of_tag: BTreeMap<&'static str, &'static str>,
}

static TAGS: LazyLock<Tags> =
    LazyLock::new(|| tables::read(include_str!("../catalog/tables/import_categories.json")));

/// Returns the category of a site with these tags.
pub(super) fn category(tags: &[String]) -> &'static str {
    let lower: Vec<String> = tags.iter().map(|tag| tag.to_lowercase()).collect();
    if lower.iter().any(|tag| TAGS.adult_tags.contains(&tag.as_str())) {
        return ADULT;
    }
    lower.iter().find_map(|tag| TAGS.of_tag.get(tag.as_str()).copied()).unwrap_or("misc")
}

/// Returns the category for a word of WhatsMyName. The word is kept, except for adult sites.
pub(super) fn category_of(word: &str) -> String {
    let word = slug(word);
    match word.as_str() {
        _ if word.split('-').any(|part| TAGS.adult_tags.contains(&part)) => ADULT.to_owned(),
        "" => "misc".to_owned(),
        _ => word,
    }
}

/// Returns the tags of an entry: that of the list, and those of its site.
pub(super) fn tags(kind: ListKind, of_site: &[String]) -> Vec<String> {
    let mut tags = vec![kind.tag()];
    for word in of_site.iter().map(|tag| slug(tag)) {
        if !word.is_empty() && !tags.contains(&word) {
            tags.push(word);
        }
    }
    tags
}

/// Returns a text as a template. `placeholder` is the text for the name, and every other brace is literal.
pub(super) fn template(text: &str, placeholder: &str) -> String {
    text.split(placeholder).map(literal).collect::<Vec<_>>().join("{query}")
}

/// Returns a text without variables as a template, with every brace literal.
pub(crate) fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Returns literal texts as templates.
pub(super) fn literals(texts: &[String]) -> Vec<String> {
    texts.iter().map(|text| literal(text)).collect()
}

/// Converts an address into a URL template without a fragment. `placeholder` is the text for the name. Characters that are not
/// allowed in addresses, and braces, are percent-encoded, as the HTTP clients of the other tools do.
///
/// # Errors
/// Returns an error if the text is not a web address.
pub(super) fn address(text: &str, placeholder: &str) -> Result<String, Reason> {
    let text = text.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        .ok_or_else(|| format!("`{}` is not a web address", truncate(text, 80)))?;
    let rest = &text[scheme.len()..];
    let rest = rest.split('#').next().unwrap_or_default();
    let host = rest.split(['/', '?', ':']).next().unwrap_or_default().to_ascii_lowercase();
    if HIDDEN.iter().any(|ending| host.ends_with(ending)) {
        return Err(format!("`{}` is not on the public web, which is required", truncate(&host, 80)));
    }
    let parts: Vec<String> = rest.split(placeholder).map(encoded).collect();
    Ok(format!("{scheme}{}", parts.join("{query}")))
}

fn encoded(text: &str) -> String {
    [(' ', "%20"), ('{', "%7B"), ('}', "%7D"), ('\\', "%5C")]
        .iter()
        .fold(text.to_owned(), |text, (plain, encoded)| text.replace(*plain, encoded))
}

/// Returns the headers of a probe.
///
/// # Errors
/// Returns an error for a header with credentials, and for a value that is no text.
pub(super) fn headers(
    given: &Map<String, Value>,
    placeholder: &str,
    changes: &mut Vec<Reason>,
) -> Result<Map<String, Value>, Reason> {
    let mut headers = Map::new();
    for (name, value) in given {
        let lower = name.trim().to_ascii_lowercase();
        if CREDENTIALS.contains(&lower.as_str()) {
            return Err(format!(
                "it sends a `{name}` header, which may contain another person's session or credentials"
            ));
        }
        if is_reserved(&lower) {
            changes.push(format!("the header `{name}` is set by the program"));
            continue;
        }
        let value = match value {
            Value::String(text) => text.trim().to_owned(),
            Value::Number(number) => number.to_string(),
            _ => return Err(format!("`headers.{name}`: expected a text")),
        };
        headers.insert(name.trim().to_owned(), template(&value, placeholder).into());
    }
    Ok(headers)
}

/// Returns the content type in these headers in lower case, or an empty text without one.
pub(super) fn content_type(headers: &Map<String, Value>) -> String {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"));
    found.and_then(|(_, value)| value.as_str()).unwrap_or_default().to_ascii_lowercase()
}

/// Returns a JSON body, whose texts are templates.
pub(super) fn json_body(body: &Value, placeholder: &str) -> Result<Value, Reason> {
    let filled = with_texts(body, &mut |text| Ok::<_, Reason>(Some(template(text, placeholder))))?;
    Ok(filled.unwrap_or_default())
}

/// Returns the page that a person would open for the name, or null with a note. A page without the name is none.
pub(super) fn profile(text: &str, placeholder: &str, changes: &mut Vec<Reason>) -> Value {
    match address(text, placeholder) {
        Ok(page) if page.contains("{query}") => return page.into(),
        Ok(_) if text.contains(placeholder) => changes.push(format!(
            "its page has the name after a `#`, which links of results cannot contain: `{}`",
            shown(&text.replace(placeholder, "NAME"))
        )),
        Ok(_) => {}
        Err(reason) => changes.push(format!("its page: {reason}")),
    }
    Value::Null
}

/// Returns the home page of a site, or null if it is not a valid one.
pub(super) fn home(text: &str) -> Value {
    let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
    Url::parse(text.trim()).ok().filter(is_web).map(String::from).into()
}

/// Returns the `accepts` for the regex that the list's tool searches in a name before it sends a request, or null.
pub(super) fn accepts(regex: &str, changes: &mut Vec<Reason>) -> Value {
    let accepts = python::accepts(regex).map_err(|reason| format!("`regexCheck` is ignored: {reason}"));
    match accepts {
        _ if regex.is_empty() => Value::Null,
        Ok(accepts) => (*accepts).into(),
        Err(reason) => {
            changes.push(reason);
            Value::Null
        }
    }
}
