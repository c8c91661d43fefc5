//! [`Draft`]: the catalogue entry that is made of a list's entry, and what the lists have in common.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use url::Url;

use super::python;
use super::report::{ListKind, shown};
use crate::modules::plan::is_reserved;
use crate::modules::query::{Query, SearchType};
use crate::modules::tables;
use crate::modules::text::truncate;

/// The reason why an entry, or a part of it, is not imported.
pub(super) type Reason = String;

/// Statuses that mean that there is no such account, or that the site refuses the name although it is a valid
/// username. Any other error status may be a block or a defect.
pub(super) const MISS_STATUSES: [u16; 4] = [400, 404, 410, 422];
/// Headers that contain a user's session or a token against bots.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];
/// Domain suffixes of anonymous networks, which need special software.
const HIDDEN: [&str; 3] = [".onion", ".i2p", ".loki"];
/// The category of adult sites.
pub(super) const ADULT: &str = "adult";

/// Declares the members of a list's entries that are read, with their types. A `null` counts as a missing member.
macro_rules! site {
    (
        $(#[$doc:meta])*
        struct Site { $($field:ident: $type:ty = $member:literal,)* }
        ignored: $($ignored:literal),*;
    ) => {
        $(#[$doc])*
        pub(super) struct Site {
            $($field: $type,)*
        }

        impl Site {
            /// The members that an entry can have.
            pub(super) const MEMBERS: &'static [&'static str] = &[$($member,)* $($ignored,)*];

            fn read(
                members: &serde_json::Map<String, serde_json::Value>,
            ) -> Result<Self, $crate::modules::import::draft::Reason> {
                Ok(Self { $($field: $crate::modules::import::draft::member(members, $member)?,)* })
            }
        }
    };
}
pub(super) use site;

/// Reads a member. The error names it.
pub(super) fn member<T: DeserializeOwned + Default>(
    members: &Map<String, Value>,
    name: &str,
) -> Result<T, Reason> {
    match members.get(name) {
        None | Some(Value::Null) => Ok(T::default()),
        Some(value) => {
            T::deserialize(value).map_err(|error| format!("`{name}`: {}", shown(&error.to_string())))
        }
    }
}

/// One value or a list of them.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged, expecting = "expected a text or a list of texts")]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

/// A text or a list of texts, without empty ones.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(from = "OneOrMany")]
pub(super) struct Texts(pub(super) Vec<String>);

impl From<OneOrMany> for Texts {
    fn from(read: OneOrMany) -> Self {
        let mut texts = match read {
            OneOrMany::One(text) => vec![text],
            OneOrMany::Many(texts) => texts,
        };
        texts.retain(|text| !text.is_empty());
        Self(texts)
    }
}

/// A status code or a list of them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Value")]
pub(super) struct Statuses(pub(super) Vec<u16>);

impl TryFrom<Value> for Statuses {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let list = if let Value::Array(list) = value { list } else { vec![value] };
        let code = |value: &Value| value.as_u64().and_then(|code| u16::try_from(code).ok());
        let codes = list.iter().map(|value| code(value).filter(|code| (100..=599).contains(code)));
        let codes = codes.collect::<Option<_>>();
        codes.map(Self).ok_or_else(|| "expected status codes (100 to 599)".to_owned())
    }
}

/// Returns the name of a value's type.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
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

/// Returns a tag as lower-case ASCII letters and digits, `_`, `-` and spaces. Any other character becomes a
/// `-`. Returns `None` if nothing is left.
fn word(text: &str) -> Option<String> {
    let fit = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ' ') { c } else { '-' }
    };
    let word: String = text.trim().chars().take(64).map(fit).collect();
    let word = word.trim_matches(['-', ' ']);
    (!word.is_empty()).then(|| word.to_owned())
}

/// Returns a text without variables as a template, with every brace literal.
pub(super) fn literal(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// Returns a text as a template. `placeholder` stands for the name, and every other brace is literal.
pub(super) fn template(text: &str, placeholder: &str) -> String {
    text.split(placeholder).map(literal).collect::<Vec<_>>().join("{query}")
}

/// Returns a JSON value with its texts changed. The names of members stay.
pub(super) fn with_texts(value: &Value, change: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(text)),
        Value::Array(elements) => elements.iter().map(|element| with_texts(element, change)).collect(),
        Value::Object(members) => {
            let changed = members.iter().map(|(name, value)| (name.clone(), with_texts(value, change)));
            Value::Object(changed.collect())
        }
        other => other.clone(),
    }
}

/// Returns a rule with these statuses and lists of literal texts. Empty lists are left out.
pub(super) fn rule(status: impl Into<Value>, lists: &[(&str, &[String])]) -> Value {
    let mut rule = json!({"status": status.into()});
    for (name, texts) in lists.iter().filter(|(_, texts)| !texts.is_empty()) {
        let mut words: Vec<String> = Vec::with_capacity(texts.len());
        for word in texts.iter().map(|text| literal(text)) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        rule[*name] = words.into();
    }
    if rule["status"].as_array().is_some_and(Vec::is_empty) {
        rule.as_object_mut().map(|rule| rule.remove("status"));
    }
    rule
}

/// An address of a list, converted into a template.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Address {
    /// The URL template.
    pub(super) template: String,
    /// Whether the template contains the name.
    pub(super) names: bool,
    /// Whether the name was in the fragment, which is removed since it is never sent.
    named_in_fragment: bool,
}

/// Converts an address into a URL template. `placeholder` stands for the name.
///
/// # Errors
/// Returns an error if the text is not a web address.
pub(super) fn address(text: &str, placeholder: &str) -> Result<Address, Reason> {
    let text = text.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
        .ok_or_else(|| format!("`{}` is not a web address", truncate(text, 80)))?;
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

/// A catalogue entry that is being made, with the parts of the list's entry that it leaves out.
pub(super) struct Draft {
    pub(super) entry: Value,
    pub(super) probe: Value,
    pub(super) changes: Vec<Reason>,
    /// The compiled regex of `accepts`.
    accepted: Option<Regex>,
}

impl Draft {
    /// Creates an entry with one probe.
    pub(super) fn new(kind: ListKind, name: &str, probe: &Address) -> Self {
        let platform = shown(name.trim()).chars().take(80).collect::<String>();
        let entry = json!({
            "platform": platform.trim(), "type": "username", "category": "misc", "tags": [kind.as_str()],
            "barrier": [], "hit": [], "miss": [],
        });
        let probe = json!({"url": probe.template, "headers": {}});
        Self { entry, probe, changes: Vec::new(), accepted: None }
    }

    /// Returns the finished entry, without an id.
    pub(super) fn finish(self) -> (Value, Vec<Reason>) {
        let mut entry = self.entry;
        entry["probes"] = json!([self.probe]);
        (entry, self.changes)
    }

    /// Returns the host of the probe, without the name.
    pub(super) fn host(&self) -> String {
        let url = self.probe["url"].as_str().unwrap_or_default().replace("{query}", "");
        let host = Url::parse(&url).ok().and_then(|url| Some(url.host_str()?.trim_matches('.').to_owned()));
        host.unwrap_or_default()
    }

    /// Adds a rule to `hit`, `miss` or `barrier`.
    pub(super) fn add(&mut self, list: &str, rule: Value) {
        if let Some(rules) = self.entry[list].as_array_mut() {
            rules.push(rule);
        }
    }

    /// Sets the headers. `placeholder` is the text that stands for the name.
    pub(super) fn headers(&mut self, headers: &Map<String, Value>, placeholder: &str) -> Result<(), Reason> {
        for (name, value) in headers {
            let lower = name.trim().to_ascii_lowercase();
            if CREDENTIALS.contains(&lower.as_str()) {
                return Err(format!(
                    "it sends a `{name}` header, which may contain another person's session or credentials"
                ));
            }
            if is_reserved(&lower) {
                self.changes.push(format!("the header `{name}` is set by the program"));
                continue;
            }
            let value = match value {
                Value::String(text) => text.clone(),
                Value::Number(number) => number.to_string(),
                other => return Err(format!("`headers.{name}` is {}; expected a text", type_name(other))),
            };
            if let Some(known) = self.header_name(&lower) {
                self.changes.push(format!("the header `{name}` is repeated: the last one is used"));
                self.probe["headers"].as_object_mut().map(|headers| headers.remove(&known));
            }
            self.probe["headers"][name.trim()] = template(value.trim(), placeholder).into();
        }
        Ok(())
    }

    fn header_name(&self, name: &str) -> Option<String> {
        let mut names = self.probe["headers"].as_object().into_iter().flat_map(Map::keys);
        names.find(|known| known.eq_ignore_ascii_case(name)).cloned()
    }

    /// Returns the value of a header, if it is set.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.probe["headers"][self.header_name(name)?].as_str()
    }

    /// Sets the method that a list names, and returns whether it sends a body.
    pub(super) fn method(&mut self, name: Option<&str>) -> Result<bool, Reason> {
        let method = name.map(str::to_ascii_uppercase).filter(|name| !name.is_empty());
        let method = method.as_deref().unwrap_or("GET");
        if !["GET", "HEAD", "POST", "PUT"].contains(&method) {
            let method = shown(method);
            return Err(format!("unsupported method {method}; GET, HEAD, POST and PUT are supported"));
        }
        self.probe["method"] = method.into();
        Ok(matches!(method, "POST" | "PUT"))
    }

    /// Sets the profile page that a person would open.
    pub(super) fn profile(&mut self, text: &str, placeholder: &str) {
        match address(text, placeholder) {
            Ok(page) if page.names => self.entry["profile"] = page.template.into(),
            // A home page is not a profile.
            Ok(page) if !page.named_in_fragment => {}
            Ok(_) => self.changes.push(format!(
                "its page has the name after a `#`, which links of results cannot contain: `{}`",
                shown(&text.replace(placeholder, "NAME"))
            )),
            Err(reason) => self.changes.push(format!("its page: {reason}")),
        }
    }

    /// Sets the home page of the site, if the list gives a valid one.
    pub(super) fn home_page(&mut self, text: Option<&str>) {
        let home = text.and_then(|text| Url::parse(text.trim()).ok());
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if let Some(home) = home.filter(is_web) {
            self.entry["home"] = String::from(home).into();
        }
    }

    /// Sets `accepts` from the regex that the list's tool searches in a name before it sends a request.
    pub(super) fn accepts(&mut self, regex: Option<&str>) {
        let Some(regex) = regex.filter(|text| !text.is_empty()) else { return };
        match python::accepts(regex) {
            Ok((accepts, compiled)) => {
                self.entry["accepts"] = accepts.into();
                self.accepted = Some(compiled);
            }
            Err(reason) => self.changes.push(format!("`regexCheck` is ignored: {reason}")),
        }
    }

    /// Adds names that exist, if they are valid queries here. A name with non-ASCII characters shows that
    /// the site accepts such names.
    pub(super) fn known(&mut self, names: &Texts) {
        let strip = self.entry["strip"].as_str().unwrap_or_default().to_owned();
        let mut known: Vec<&str> = Vec::new();
        for name in &names.0 {
            let query = Query::parse(SearchType::Username, name).ok();
            let is_fit = query.as_ref().is_some_and(|query| {
                let asked: String = query.normal().chars().filter(|c| !strip.contains(*c)).collect();
                !asked.is_empty() && self.accepted.as_ref().is_none_or(|regex| regex.is_match(&asked))
            });
            if is_fit {
                if query.is_some_and(|query| !query.has_only_ascii()) {
                    self.entry["scripts"] = "any".into();
                }
                known.push(name);
            } else {
                self.changes.push(format!("its known name `{}` is not valid here", shown(name)));
            }
        }
        self.entry["known"] = json!(known);
    }

    /// Sets the category by the tags of the list, and adds the tags.
    pub(super) fn tags(&mut self, tags: &[String], is_adult: bool) {
        let lower: Vec<String> = tags.iter().map(|tag| tag.to_lowercase()).collect();
        let is_adult = is_adult || lower.iter().any(|tag| TAGS.adult_tags.contains(&tag.as_str()));
        let category = lower.iter().find_map(|tag| TAGS.of_tag.get(tag.as_str()).copied());
        self.category(if is_adult { ADULT } else { category.unwrap_or("misc") });
        let Some(known) = self.entry["tags"].as_array_mut() else { return };
        for word in tags.iter().filter_map(|tag| word(tag)) {
            if !known.iter().skip(1).any(|tag| *tag == word) {
                known.push(word.into());
            }
        }
    }

    /// Sets the category that WhatsMyName names. The word is kept, except for adult sites.
    pub(super) fn category_of(&mut self, text: &str) {
        let word = word(text).unwrap_or_else(|| "misc".to_owned());
        let is_adult = word.split_whitespace().any(|part| TAGS.adult_tags.contains(&part));
        self.category(if is_adult { ADULT } else { &word });
    }

    fn category(&mut self, category: &str) {
        self.entry["category"] = category.into();
        self.entry["nsfw"] = (category == ADULT).into();
    }

    /// Adds a remark for people who edit the entry.
    pub(super) fn remark(&mut self, text: &str) {
        let text = shown(text.trim());
        if !text.is_empty() {
            let note = self.entry["note"].as_str().map(|note| format!("{note}; {text}"));
            self.entry["note"] = note.unwrap_or(text).into();
        }
    }

    /// Adds a remark about the protection against bots that the list mentions.
    pub(super) fn protection(&mut self, protection: &Texts) {
        if !protection.0.is_empty() {
            self.remark(&format!("protection: {}", protection.0.join(", ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_categories_are_converted() {
        let of = |set: &dyn Fn(&mut Draft)| {
            let probe = address("https://a.example/{}", "{}").unwrap();
            let mut draft = Draft::new(ListKind::Sherlock, "a", &probe);
            set(&mut draft);
            draft.entry
        };
        let of_tags = |tags: &[&str]| {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            of(&|draft| draft.tags(&tags, false))
        };
        for (word, want) in [("xx NSFW xx", ADULT), ("political", "political"), ("!", "misc")] {
            assert_eq!(of(&|draft| draft.category_of(word))["category"], want, "{word}");
        }
        assert_eq!(of_tags(&["us", "photo", "coding"])["category"], "images");
        assert_eq!(of_tags(&["social", "Porn"])["nsfw"], true);
        assert_eq!(of_tags(&["ru"])["category"], "misc");
        assert_eq!(of_tags(&["Q&A", "us", "us", "музыка"])["tags"], json!(["sherlock", "q-a", "us"]));
    }
}
