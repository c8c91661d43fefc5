//! A catalogue entry that is being made from an entry of a list.

use ::regex::Regex;
use serde_json::{Map, Value, json};
use url::Url;

use super::fields::{Fields, Reason, pairs};
use super::kind::ListKind;
use super::regex;
use super::report::shown;
use super::slots::{Address, address, literal, template};
use crate::modules::definition::{Entry, MatcherEntry, Method, ProbeEntry, Scripts, StatusClass, StatusRule};
use crate::modules::plan::is_reserved;
use crate::modules::query::{Query, SearchType};

/// Statuses that mean that there is no such account, or that the site refuses the name although it is a valid
/// username. Any other error status may be a block or a defect.
pub(super) const MISS_STATUSES: [u16; 4] = [400, 404, 410, 422];

/// Headers that contain a user's session or a token against bots.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// A catalogue entry that is being made, with the parts of the list's entry that it leaves out.
pub(super) struct Draft {
    pub(super) entry: Entry,
    pub(super) changes: Vec<Reason>,
    /// The compiled regex of `accepts`.
    accepted: Option<Regex>,
}

impl Draft {
    /// Creates an entry with one probe.
    pub(super) fn new(kind: ListKind, name: &str, probe: &Address) -> Result<Self, Reason> {
        let platform = shown(name.trim()).chars().take(80).collect::<String>();
        // The entry is made from JSON, so that all other fields get their default values.
        let entry = json!({
            "id": "", "platform": platform.trim(), "type": "username", "category": "misc", "tags": [kind.tag()],
            "probes": [{"url": probe.template}], "hit": [],
        });
        let entry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        Ok(Self { entry, changes: Vec::new(), accepted: None })
    }

    /// Returns the only probe.
    pub(super) fn probe(&mut self) -> &mut ProbeEntry {
        // `new` creates the probe.
        &mut self.entry.probes[0]
    }

    /// Sets the headers. `placeholder` is the text that stands for the name.
    pub(super) fn headers(
        &mut self,
        headers: Option<&Map<String, Value>>,
        placeholder: &str,
    ) -> Result<(), Reason> {
        let Some(headers) = headers else { return Ok(()) };
        for (name, value) in pairs("headers", headers)? {
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
            let value = template(value.trim(), placeholder);
            let known = self.probe().headers.keys().find(|known| known.eq_ignore_ascii_case(&lower)).cloned();
            if let Some(known) = known {
                self.changes.push(format!("the header `{name}` is repeated: the last one is used"));
                self.probe().headers.remove(&known);
            }
            self.probe().headers.insert(name.trim().to_owned(), value);
        }
        Ok(())
    }

    /// Returns the value of a header, if it is set.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let headers = &self.entry.probes[0].headers;
        headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Sets the method that a list names.
    pub(super) fn method(&mut self, name: Option<&str>) -> Result<(), Reason> {
        self.probe().method = match name.map(str::to_ascii_uppercase).as_deref() {
            None | Some("" | "GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("POST") => Method::Post,
            Some("PUT") => Method::Put,
            Some(other) => {
                return Err(format!(
                    "unsupported method {}; GET, HEAD, POST and PUT are supported",
                    shown(other)
                ));
            }
        };
        Ok(())
    }

    /// Returns whether the method sends a body.
    pub(super) fn has_body(&self) -> bool {
        matches!(self.entry.probes[0].method, Method::Post | Method::Put)
    }

    /// Sets the profile page that a person would open.
    pub(super) fn profile(&mut self, text: &str, placeholder: &str) {
        match address(text, placeholder) {
            Ok(page) if page.names => self.entry.profile = Some(page.template),
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
    pub(super) fn set_home_page(&mut self, text: Option<&str>) {
        let home = text.and_then(|text| Url::parse(text.trim()).ok());
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        self.entry.home = home.filter(is_web).map(Into::into);
    }

    /// Sets `accepts` from the regex that the list's tool searches in a name before it sends a request.
    pub(super) fn accepts(&mut self, python: Option<&str>) {
        let Some(python) = python.filter(|text| !text.is_empty()) else { return };
        match regex::accepts(python) {
            Ok((accepts, compiled)) => {
                self.entry.accepts = Some(accepts);
                self.accepted = Some(compiled);
            }
            Err(reason) => self.changes.push(format!("`regexCheck` is ignored: {reason}")),
        }
    }

    /// Adds names that exist, if they are valid queries here. A name with non-ASCII characters shows that
    /// the site accepts such names.
    pub(super) fn known(&mut self, names: &[&str]) {
        for name in names {
            let query = Query::parse(SearchType::Username, name).ok();
            let asked: Option<String> = query.as_ref().map(|query| match &self.entry.strip {
                None => query.normal().to_owned(),
                Some(strip) => query.normal().chars().filter(|c| !strip.contains(*c)).collect(),
            });
            let is_fit = |name: &String| {
                !name.is_empty() && self.accepted.as_ref().is_none_or(|regex| regex.is_match(name))
            };
            if asked.as_ref().is_some_and(is_fit) {
                if query.is_some_and(|query| !query.has_only_ascii()) {
                    self.entry.scripts = Scripts::Any;
                }
                self.entry.known.push((*name).to_owned());
            } else {
                self.changes.push(format!("its known name `{}` is not valid here", shown(name)));
            }
        }
    }

    /// Adds a remark for people who edit the entry.
    pub(super) fn add_remark(&mut self, text: &str) {
        let text = shown(text.trim());
        if !text.is_empty() {
            self.entry.note = Some(match self.entry.note.take() {
                Some(note) => format!("{note}; {text}"),
                None => text,
            });
        }
    }

    /// Adds a remark about the protection against bots that the list mentions.
    pub(super) fn protection(&mut self, fields: Fields<'_>) -> Result<(), Reason> {
        let protection = fields.texts("protection")?;
        if !protection.is_empty() {
            self.add_remark(&format!("protection: {}", protection.join(", ")));
        }
        Ok(())
    }
}

/// Returns the rule for a success status, `2xx`.
pub(super) fn success() -> StatusRule {
    StatusRule::Class(StatusClass::Success)
}

/// Returns rules for the given status codes.
pub(super) fn codes(codes: &[u16]) -> Vec<StatusRule> {
    codes.iter().map(|code| StatusRule::Code(*code)).collect()
}

/// Returns words of a body, without duplicates, in which every character is literal.
pub(super) fn words(texts: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = Vec::with_capacity(texts.len());
    for text in texts {
        let word = literal(text);
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Returns a matcher for the status alone.
pub(super) fn on_status(status: Vec<StatusRule>) -> MatcherEntry {
    MatcherEntry { status, ..MatcherEntry::default() }
}
