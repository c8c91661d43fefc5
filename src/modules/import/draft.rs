//! [`Draft`]: the catalogue entry that is made, and what the lists have in common.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use unicode_normalization::UnicodeNormalization as _;
use url::Url;

use super::python;
use super::report::{ListKind, shown};
use crate::modules::definition::{Entry, with_texts};
use crate::modules::module::Module;
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
const ADULT: &str = "adult";

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

/// Returns a text as a template. `placeholder` is the text for the name, and every other brace is literal.
fn template(text: &str, placeholder: &str) -> String {
    text.split(placeholder).map(literal).collect::<Vec<_>>().join("{query}")
}

/// Returns a text without variables as a template, with every brace literal.
fn literal(text: &str) -> String {
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
fn address(text: &str, placeholder: &str) -> Result<String, Reason> {
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

/// A catalogue entry that is being made, with the parts of the list's entry that it leaves out.
pub(super) struct Draft {
    pub(super) entry: Value,
    pub(super) changes: Vec<Reason>,
    /// The members of the list's entry that are not used.
    pub(super) unused: Vec<String>,
    /// The text for the name in the list.
    placeholder: &'static str,
    /// Names that exist, some of which may not be valid here.
    known: Vec<String>,
}

impl Draft {
    /// Creates an entry with one probe, which asks the address `probe`. `placeholder` is the text for the name in the list, and
    /// `unused` are the members of the list's entry that are not read.
    ///
    /// # Errors
    /// Returns an error if `probe` is not a web address.
    pub(super) fn new(
        kind: ListKind,
        name: &str,
        probe: &str,
        placeholder: &'static str,
        unused: &Map<String, Value>,
    ) -> Result<Self, Reason> {
        let platform = shown(name.trim()).chars().take(80).collect::<String>();
        let entry = json!({
            "platform": platform.trim(), "type": "username", "category": "misc", "tags": [kind.tag()],
            "probes": [{"url": address(probe, placeholder)?, "headers": {}}], "barrier": [], "hit": [], "miss": [],
        });
        let unused = unused.keys().cloned().collect();
        Ok(Self { entry, changes: Vec::new(), unused, placeholder, known: Vec::new() })
    }

    /// Returns the probe.
    pub(super) fn probe(&mut self) -> &mut Value {
        &mut self.entry["probes"][0]
    }

    /// Adds a rule to `hit`, `miss` or `barrier`.
    pub(super) fn add(&mut self, list: &str, rule: Value) {
        if let Some(rules) = self.entry[list].as_array_mut() {
            rules.push(rule);
        }
    }

    /// Sets the headers.
    pub(super) fn headers(&mut self, headers: &Map<String, Value>) -> Result<(), Reason> {
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
                Value::String(text) => text.trim().to_owned(),
                Value::Number(number) => number.to_string(),
                _ => return Err(format!("`headers.{name}`: expected a text")),
            };
            let value = template(&value, self.placeholder);
            self.probe()["headers"][name.trim()] = value.into();
        }
        Ok(())
    }

    /// Returns the content type of the body in lower case, if the headers have one.
    pub(super) fn content_type(&mut self) -> Option<String> {
        let headers = self.probe()["headers"].as_object()?;
        let (_, value) = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type"))?;
        value.as_str().map(str::to_ascii_lowercase)
    }

    /// Sets the method that a list names.
    pub(super) fn method(&mut self, name: &str) {
        if !name.is_empty() {
            self.probe()["method"] = name.to_ascii_uppercase().into();
        }
    }

    /// Sets the body, which is JSON or a form.
    ///
    /// # Errors
    /// Returns an error if the name of a form field contains the account.
    pub(super) fn body(&mut self, body: &Value, is_form: bool) -> Result<(), Reason> {
        if !is_form {
            let placeholder = self.placeholder;
            let filled = with_texts(body, &mut |text| Ok::<_, Reason>(Some(template(text, placeholder))))?;
            self.probe()["json"] = filled.unwrap_or_default();
            return Ok(());
        }
        let mut fields = Map::new();
        for (name, value) in body.as_object().into_iter().flatten() {
            if name.contains(self.placeholder) {
                return Err("the name of a form field contains the account".to_owned());
            }
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            fields.insert(name.clone(), template(&value, self.placeholder).into());
        }
        self.probe()["form"] = fields.into();
        Ok(())
    }

    /// Sets the profile page that a person would open. A page without the name is not a profile.
    pub(super) fn profile(&mut self, text: &str) {
        match address(text, self.placeholder) {
            Ok(page) if page.contains("{query}") => self.entry["profile"] = page.into(),
            Ok(_) if text.contains(self.placeholder) => self.changes.push(format!(
                "its page has the name after a `#`, which links of results cannot contain: `{}`",
                shown(&text.replace(self.placeholder, "NAME"))
            )),
            Ok(_) => {}
            Err(reason) => self.changes.push(format!("its page: {reason}")),
        }
    }

    /// Sets the home page of the site, if the list gives a valid one.
    pub(super) fn home_page(&mut self, text: &str) {
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        if let Some(home) = Url::parse(text.trim()).ok().filter(is_web) {
            self.entry["home"] = String::from(home).into();
        }
    }

    /// Sets `accepts` from the regex that the list's tool searches in a name before it sends a request.
    pub(super) fn accepts(&mut self, regex: &str) {
        if regex.is_empty() {
            return;
        }
        match python::accepts(regex) {
            Ok(accepts) => self.entry["accepts"] = accepts.as_str().into(),
            Err(reason) => self.changes.push(format!("`regexCheck` is ignored: {reason}")),
        }
    }

    /// Notes names that exist. A name with non-ASCII characters shows that the site accepts such names.
    pub(super) fn known(&mut self, names: Many) {
        let is_other = |name: &String| {
            Query::parse(SearchType::Username, name).is_ok_and(|query| !query.has_only_ascii())
        };
        if names.0.iter().any(is_other) {
            self.entry["scripts"] = "any".into();
        }
        self.known = names.0;
    }

    /// Makes the module, with the known names that it accepts.
    pub(super) fn module(&mut self) -> Result<Module, Reason> {
        let entry = Entry::read(&self.entry).and_then(Module::compile);
        let module = entry.map_err(|mistakes| mistakes.into_iter().next().unwrap_or_default())?;
        let (known, refused) = std::mem::take(&mut self.known).into_iter().partition(|name| {
            Query::parse(SearchType::Username, name).is_ok_and(|query| module.why_refused(&query).is_none())
        });
        let refused: Vec<String> = refused;
        let invalid = |name: &String| format!("its known name `{}` is not valid here", shown(name));
        self.changes.extend(refused.iter().map(invalid));
        Ok(Module::new(Entry { known, ..module.entry().clone() }))
    }

    /// Sets the category by the tags of the list, and adds the tags.
    pub(super) fn tags(&mut self, tags: &[String], is_adult: bool) {
        let lower: Vec<String> = tags.iter().map(|tag| tag.to_lowercase()).collect();
        let is_adult = is_adult || lower.iter().any(|tag| TAGS.adult_tags.contains(&tag.as_str()));
        let category = lower.iter().find_map(|tag| TAGS.of_tag.get(tag.as_str()).copied());
        self.category(if is_adult { ADULT } else { category.unwrap_or("misc") });
        let Some(known) = self.entry["tags"].as_array_mut() else { return };
        for word in tags.iter().map(|tag| slug(tag)) {
            if !word.is_empty() && !known.iter().skip(1).any(|tag| *tag == word) {
                known.push(word.into());
            }
        }
    }

    /// Sets the category that WhatsMyName names. The word is kept, except for adult sites.
    pub(super) fn category_of(&mut self, text: &str) {
        let word = slug(text);
        let is_adult = word.split('-').any(|part| TAGS.adult_tags.contains(&part));
        self.category(match word.as_str() {
            _ if is_adult => ADULT,
            "" => "misc",
            word => word,
        });
    }

    fn category(&mut self, category: &str) {
        self.entry["category"] = category.into();
        self.entry["nsfw"] = (category == ADULT).into();
    }
}
