//! Templates: texts and regexes with variables, whose values are escaped for their place.

mod filter;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde::de::{Deserialize, Deserializer, Error as _};
use url::Url;

use super::definition::text::{NAME, NAME_ALLOWED, entry_text};
use super::keys::OperatorKeys;
use super::pattern::{SearchRegex, Searches};
use super::public_suffix::{PublicSuffix, Section};
use super::query::{Query, SearchType};
use super::text::{constant, is_host_name};
use crate::base::encoding::percent_encode;
use filter::Filter;

/// The variables, for error messages.
const VARIABLES: &str = "query, local, domain, host, saved.NAME, config.NAME, config.NAME?";

/// The syntax of a template's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Url,
    Regex,
    /// Text that is not escaped. The user of the text escapes it as a whole.
    Plain,
}

/// The error for a template that cannot be filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FillError {
    /// The query has no such part. For example, a username has no domain.
    NoPart,
    /// The operator has not set a key.
    NoKey,
    /// The operator has not set a key, but it is optional. The part that contains it is omitted.
    LeftOut,
    /// No earlier response gave a value of this name.
    NotSaved,
    /// The value is not valid in its place, such as a path segment `..` or a line break in a header.
    Unfit,
}

/// The value that a slot is filled with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Variable {
    Query,
    Local,
    Domain,
    /// The host of the entry, which its author wrote.
    Host,
    /// A value that was saved from an earlier probe.
    Saved(String),
    /// A key of the operator.
    Config {
        name: String,
        is_optional: bool,
    },
    /// The value that an extractor read.
    Value,
}

#[derive(Debug, Clone, PartialEq)]
enum Part {
    Text(String),
    Slot(Variable, Vec<Filter>),
}

/// The values that slots are filled with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Values<'a> {
    pub(crate) query: &'a Query,
    /// The query's normal form without the characters that the module strips.
    pub(crate) name: &'a str,
    /// The host of the entry, or nothing.
    pub(crate) host: &'a str,
    /// The operator's keys, or `None` in rules and results, which must not contain keys.
    pub(crate) keys: Option<&'a OperatorKeys>,
    pub(crate) saved: &'a Saved,
    /// The value that an extractor read.
    pub(crate) value: Option<&'a str>,
    /// The regex searches of the check.
    pub(crate) searches: &'a Searches,
}

impl<'a> Values<'a> {
    /// Returns the values for rules and results, without keys and without a value that an extractor read.
    pub(crate) fn new(
        host: &'a str,
        query: &'a Query,
        name: &'a str,
        saved: &'a Saved,
        searches: &'a Searches,
    ) -> Self {
        Self { query, name, host, keys: None, saved, value: None, searches }
    }
}

/// Values that were saved from responses, by name.
pub(crate) type Saved = BTreeMap<String, String>;

/// A text with slots for values.
#[derive(Debug, Clone)]
pub struct Template {
    text: String,
    kind: Kind,
    parts: Vec<Part>,
}

entry_text!(Template, text, |text| Template::parse(text, Kind::Plain));

/// Reads the template of a URL, which may be optional.
pub(crate) fn url<'de, D: Deserializer<'de>, T: From<Template>>(from: D) -> Result<T, D::Error> {
    Template::parse(&String::deserialize(from)?, Kind::Url).map(T::from).map_err(D::Error::custom)
}

/// The host of a URL template.
#[derive(Debug, Clone)]
pub(crate) enum Host {
    /// The host is always this one, or a name below it.
    Fixed(String),
    /// The host ends with a value of the query. This template, when filled, is an address with the host alone.
    Queried(Template),
    /// The host comes from an earlier response or from a key of the operator.
    Unknown,
}

impl Host {
    /// Returns the host for this query. Returns `None` if it is not known or if the query has no such part.
    pub(crate) fn name(&self, values: &Values<'_>) -> Option<String> {
        match self {
            Self::Fixed(host) => Some(host.clone()),
            Self::Queried(template) => Some(template.fill(values).ok()?.strip_prefix("https://")?.to_owned()),
            Self::Unknown => None,
        }
    }

    /// Returns the host if it is the same for all queries.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self {
            Self::Fixed(host) => Some(host),
            Self::Queried(_) | Self::Unknown => None,
        }
    }
}

impl Template {
    /// Parses a template. The error describes the mistake and the allowed values.
    pub(crate) fn parse(text: &str, kind: Kind) -> Result<Self, String> {
        let mut parts = match text.contains(['{', '}']) {
            true => read(text, kind)?,
            false => vec![Part::Text(text.to_owned())],
        };
        parts.retain(|part| !matches!(part, Part::Text(text) if text.is_empty()));
        let template = Self { text: text.to_owned(), kind, parts };
        if kind == Kind::Url {
            template.check_url()?;
        }
        Ok(template)
    }

    /// Returns the template with the host of an entry in its place.
    pub(crate) fn on(&self, host: &str) -> Self {
        let filled = |part: &Part| match part {
            Part::Slot(Variable::Host, _) => Part::Text(host.to_owned()),
            other => other.clone(),
        };
        Self {
            text: self.text.replace("{host}", host),
            kind: self.kind,
            parts: self.parts.iter().map(filled).collect(),
        }
    }

    /// Returns the text if the template has no slots.
    pub(crate) fn literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// Returns the texts before and after the query, if that is the only slot and is filled with the name as it is (in
    /// lower case at most).
    pub(crate) fn around_query(&self) -> Option<(&str, &str)> {
        let parts = ["{query}", "{query|lower}"].iter().find_map(|slot| self.text.split_once(slot));
        parts.filter(|(before, after)| ![before, after].iter().any(|text| text.contains(['{', '}'])))
    }

    fn slots(&self) -> impl Iterator<Item = (&Variable, &[Filter])> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Slot(variable, filters) => Some((variable, filters.as_slice())),
        })
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &Variable> {
        self.slots().map(|(variable, _)| variable)
    }

    /// Returns whether the filled template contains the query, or a part of it, in clear text (not as a
    /// hash).
    pub(crate) fn shows_query(&self) -> bool {
        self.slots().any(|(variable, filters)| {
            variable.is_of_query() && !filters.iter().any(|filter| filter.is_hash())
        })
    }

    /// Returns the template with every slot filled with a harmless word, to validate the text around the
    /// slots.
    pub(crate) fn example(&self) -> String {
        let parts = self.parts.iter().enumerate().map(|(index, part)| match part {
            Part::Text(text) => text.as_str(),
            Part::Slot(Variable::Saved(_), _) if index == 0 && self.kind == Kind::Url => {
                "https://example.com/"
            }
            Part::Slot(..) => "example",
        });
        parts.collect()
    }

    /// Checks the text around the slots of a URL.
    fn check_url(&self) -> Result<(), String> {
        let example = self.example();
        if !["https://", "http://"].iter().any(|scheme| example.starts_with(scheme)) {
            return Err("a URL must begin with `https://`, `http://` or `{saved.NAME}`".into());
        }
        if let Some(c) = example.chars().find(|c| c.is_control() || matches!(c, ' ' | '\\')) {
            return Err(format!("a URL must not contain {c:?}; percent-encode it"));
        }
        let invalid = |error| format!("`{example}` (filled with an example) is not a valid URL: {error}");
        let url = Url::parse(&example).map_err(invalid)?;
        let host = url.host_str().unwrap_or_default();
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a URL must not have a user name or password here".into());
        }
        if url.fragment().is_some() {
            return Err("a URL must not have a fragment here (`#`): it would never be sent".into());
        }
        if !host.contains('.') && !host.contains("example") {
            return Err(format!("`{host}` is not a public host name"));
        }
        self.variables().try_for_each(|variable| match variable {
            Variable::Config { name, is_optional: true } => {
                Err(format!("`{{config.{name}?}}` may be missing, which is not allowed in a URL"))
            }
            _ => Ok(()),
        })
    }

    /// Returns the text of a URL before the port and the path, without the scheme.
    fn authority(&self) -> &str {
        let rest = match self.text.split_once("://") {
            Some((scheme, rest)) if !scheme.contains('{') => rest,
            _ => &self.text,
        };
        rest.split(['/', '?', ':']).next().unwrap_or_default()
    }

    /// Returns the host to which this URL template leads, for the rate limit of that host.
    pub(crate) fn host(&self) -> Host {
        let host = self.authority();
        if self.text.starts_with('{') {
            return Host::Unknown;
        }
        let Some((_, tail)) = host.rsplit_once('}') else { return Host::Fixed(host.to_ascii_lowercase()) };
        let end = tail.trim_start_matches(|c| c != '.').trim_start_matches('.').to_ascii_lowercase();
        let last = &host[host.rfind('{').unwrap_or_default()..];
        let queried = match tail {
            _ if !end.is_empty() && !is_icann_suffix(&end) => return Host::Fixed(end),
            "" if last.starts_with("{saved.") || last.starts_with("{config.") => return Host::Unknown,
            "" => last,
            _ => host,
        };
        Self::parse(&format!("https://{queried}"), Kind::Url).map_or(Host::Unknown, Host::Queried)
    }

    /// Returns the source of this URL template's host for error messages, if that is neither the entry nor
    /// the operator.
    pub(crate) fn host_is_of(&self) -> Option<&'static str> {
        match self.host() {
            Host::Fixed(_) => None,
            Host::Queried(_) => Some("the query"),
            Host::Unknown => self.authority().contains("{saved.").then_some("an earlier answer"),
        }
    }

    /// Fills every slot with its value.
    pub(crate) fn fill(&self, values: &Values<'_>) -> Result<String, FillError> {
        let mut out = String::new();
        for (index, part) in self.parts.iter().enumerate() {
            let (variable, filters) = match part {
                Part::Text(text) => {
                    out.push_str(text);
                    continue;
                }
                Part::Slot(variable, filters) => (variable, filters),
            };
            let mut value = variable.value(values)?.to_owned();
            for filter in filters {
                value = filter.apply(&value).ok_or(FillError::NoPart)?;
            }
            match self.kind {
                Kind::Plain => out.push_str(&value),
                Kind::Regex => out.push_str(&regex::escape(&value)),
                Kind::Url if *variable == Variable::Host => out.push_str(&value),
                Kind::Url if index == 0 => out.push_str(&address(&value, self.parts.get(1))?),
                Kind::Url if is_in_host(&out) => {
                    out.push_str(&labels(&value, variable.may_hold_dots(values))?);
                }
                Kind::Url => out.push_str(&percent_encode(&value)),
            }
        }
        if self.kind == Kind::Url && has_dot_segment(&out) {
            return Err(FillError::Unfit);
        }
        Ok(out)
    }
}

/// Returns whether anyone can register a name directly below `name`, which may end in a dot.
fn is_icann_suffix(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    PublicSuffix::of(name)
        .is_some_and(|suffix| suffix.name == name && suffix.section != Some(Section::Private))
}

/// Returns whether a path segment is `.` or `..`. A URL parser would resolve it to another path, even if it
/// is escaped.
fn has_dot_segment(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or_default();
    path.split(['/', '\\']).skip(1).any(|segment| matches!(segment, "." | ".."))
}

impl Variable {
    /// Returns whether the value is the query or a part of it.
    pub(crate) fn is_of_query(&self) -> bool {
        matches!(self, Self::Query | Self::Local | Self::Domain)
    }

    /// Returns the value, which is neither filtered nor escaped.
    fn value<'v>(&self, values: &Values<'v>) -> Result<&'v str, FillError> {
        match self {
            Self::Query => Ok(values.name),
            Self::Local => values.query.local().ok_or(FillError::NoPart),
            Self::Domain => values.query.domain().ok_or(FillError::NoPart),
            Self::Host => Ok(values.host),
            Self::Value => values.value.ok_or(FillError::NoPart),
            Self::Saved(name) => values.saved.get(name).map(String::as_str).ok_or(FillError::NotSaved),
            Self::Config { name, is_optional } => {
                let missing = if *is_optional { FillError::LeftOut } else { FillError::NoKey };
                values.keys.and_then(|keys| keys.get(name)).ok_or(missing)
            }
        }
    }

    /// Returns whether the value may contain dots in a host. A username with a dot would lead to another zone than the
    /// site's names.
    fn may_hold_dots(&self, values: &Values<'_>) -> bool {
        match self {
            Self::Query => values.query.search_type() == SearchType::Domain,
            Self::Local => false,
            _ => true,
        }
    }
}

/// Returns whether a URL that begins with this text is still in its host.
fn is_in_host(url: &str) -> bool {
    url.split_once("://").is_some_and(|(_, rest)| !rest.contains(['/', '?']))
}

/// Returns one or more labels of a host name.
fn labels(value: &str, may_hold_dots: bool) -> Result<String, FillError> {
    let value = value.to_ascii_lowercase();
    let is_fit = is_host_name(&value) && (may_hold_dots || !value.contains('.'));
    if is_fit { Ok(value) } else { Err(FillError::Unfit) }
}

/// Returns a complete web address at the start of a URL. The part that is `next` must still belong to the path.
fn address(value: &str, next: Option<&Part>) -> Result<String, FillError> {
    let url = Url::parse(value.trim()).map_err(|_| FillError::Unfit)?;
    let is_web = matches!(url.scheme(), "http" | "https") && url.has_host();
    let is_bare = url.username().is_empty() && url.password().is_none();
    let has_end = url.query().is_some() || url.fragment().is_some();
    if !is_web || !is_bare || (has_end && next.is_some()) {
        return Err(FillError::Unfit);
    }
    let text = url.as_str();
    let follows_slash = matches!(next, Some(Part::Text(text)) if text.starts_with('/'));
    Ok(if follows_slash { text.trim_end_matches('/') } else { text }.to_owned())
}

/// A literal brace, written twice; a slot; a brace without its partner.
const BRACES: &str = r"(?<double>\{\{|\}\})|\{(?<slot>[^}]*)\}|(?<lone>[{}])";
/// Escapes and quantifiers of a regex, whose braces are not those of a slot. `\b{query}` is a word boundary followed by a
/// variable.
const OF_REGEX: &str = r"\\[pPxuU]\{[^}]*\}|\\b\{(?:start|end)(?:-half)?\}|\\.|\{[0-9][0-9,]*\}";

fn read(text: &str, kind: Kind) -> Result<Vec<Part>, String> {
    static PLAIN: LazyLock<Regex> = LazyLock::new(|| constant(BRACES));
    static IN_REGEX: LazyLock<Regex> = LazyLock::new(|| constant(&format!("(?s){OF_REGEX}|{BRACES}")));
    let tokens = if kind == Kind::Regex { &IN_REGEX } else { &PLAIN };
    let (mut parts, mut literal, mut end) = (Vec::new(), String::new(), 0);
    for found in tokens.captures_iter(text) {
        let token = found.get_match();
        literal.push_str(&text[end..token.start()]);
        end = token.end();
        if let Some(inside) = found.name("slot") {
            parts.push(Part::Text(std::mem::take(&mut literal)));
            parts.push(slot(inside.as_str(), kind)?);
        } else if found.name("double").is_some() {
            literal.push_str(&token.as_str()[..1]);
        } else if let Some(lone) = found.name("lone").map(|lone| lone.as_str()) {
            let other = if lone == "{" { "}" } else { "{" };
            return Err(format!(
                "a `{lone}` without its `{other}`; write a literal brace twice: `{lone}{lone}`"
            ));
        } else {
            literal.push_str(token.as_str());
        }
    }
    literal.push_str(&text[end..]);
    parts.push(Part::Text(literal));
    Ok(parts)
}

/// Parses the inside of a slot, such as `query|lower|md5`.
fn slot(text: &str, kind: Kind) -> Result<Part, String> {
    let mut words = text.split('|');
    let variable = variable(words.next().unwrap_or_default())?;
    let mut filters = words.map(Filter::read).collect::<Result<Vec<_>, _>>()?;
    // In a URL every value is encoded anyway.
    filters.retain(|filter| kind != Kind::Url || *filter != Filter::UrlEncode);
    Ok(Part::Slot(variable, filters))
}

fn variable(name: &str) -> Result<Variable, String> {
    Ok(match name.split_once('.') {
        None if name == "query" => Variable::Query,
        None if name == "local" => Variable::Local,
        None if name == "domain" => Variable::Domain,
        None if name == "host" => Variable::Host,
        None if name == "value" => Variable::Value,
        Some(("saved", rest)) if is_name(rest) => Variable::Saved(rest.to_owned()),
        Some(("config", rest)) if is_name(rest.strip_suffix('?').unwrap_or(rest)) => {
            let name = rest.strip_suffix('?');
            Variable::Config { name: name.unwrap_or(rest).to_owned(), is_optional: name.is_some() }
        }
        Some((kind @ ("saved" | "config"), rest)) => {
            return Err(format!("`{rest}` of `{{{kind}.{rest}}}` is not a valid name; {NAME_ALLOWED}"));
        }
        _ => {
            return Err(format!(
                "`{{{name}}}` is not a variable; expected {VARIABLES}; write a literal brace twice: `{{{{`"
            ));
        }
    })
}

/// Returns whether `name` is valid as the name of a saved value or of a key.
fn is_name(name: &str) -> bool {
    static VALID: LazyLock<Regex> = LazyLock::new(|| constant(NAME));
    VALID.is_match(name)
}

/// A regex that may contain variables.
#[derive(Debug, Clone)]
pub struct Pattern {
    pub(crate) template: Template,
    /// The regex itself, if it has no variables.
    fixed: Option<SearchRegex>,
}

entry_text!(Pattern, template, Pattern::parse);

impl Pattern {
    /// Parses a template of a regex. The regex itself is compiled when it is first used.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let template = Template::parse(text, Kind::Regex)?;
        let fixed = template.literal().map(SearchRegex::lazy);
        Ok(Self { template, fixed })
    }

    /// Returns the regex with examples as the values of its variables.
    pub(crate) fn example(&self) -> SearchRegex {
        self.fixed.clone().unwrap_or_else(|| SearchRegex::lazy(&self.template.example()))
    }

    /// Returns the regex with the values of this check.
    pub(crate) fn regex(&self, values: &Values<'_>) -> Result<Cow<'_, SearchRegex>, FillError> {
        if let Some(regex) = &self.fixed {
            return Ok(Cow::Borrowed(regex));
        }
        // Only an extremely long value makes a valid regex too large or too expensive.
        let filled = values.searches.filled(self.template.fill(values)?);
        filled.map(Cow::Owned).map_err(|_| FillError::Unfit)
    }

    /// Returns whether the regex matches in `text`. Returns `false` if a variable has no value.
    pub(crate) fn is_found(&self, text: &str, values: &Values<'_>) -> bool {
        self.regex(values).is_ok_and(|regex| regex.is_found(text, values.searches))
    }

    /// Returns whether the regex matches in `text`. If `text` was cut off, the match must end before the
    /// cut, which is not the end of a line, a word or the text.
    pub(crate) fn is_found_in(&self, text: &str, is_cut: bool, values: &Values<'_>) -> bool {
        if !is_cut {
            return self.is_found(text, values);
        }
        self.regex(values).is_ok_and(|regex| regex.is_found_before_end(text, values.searches))
    }
}
