//! An entry of ours in the making.

use ::regex::Regex;
use serde_json::{Map, Value, json};
use url::Url;

use super::fields::{Fields, Reason, pairs};
use super::report::shown;
use super::slots::{Address, address, literal, template};
use super::{ListKind, regex};
use crate::modules::definition::{Entry, MatcherEntry, Method, ProbeEntry, Scripts, StatusRule};
use crate::modules::plan::RESERVED;
use crate::modules::query::{Query, SearchType};

/// Statuses that say "not there", or "no such name can be" of a name that we know to be one. Whatever else is no
/// success may be a block or a defect.
pub(super) const GONE: [u16; 4] = [400, 404, 410, 422];

/// Headers that belong to the connection, beside those that the program sets itself.
const OF_THE_CONNECTION: [&str; 4] = ["keep-alive", "proxy-authorization", "proxy-connection", "te"];

/// Headers that carry somebody's session or a proof against bots.
const CREDENTIALS: [&str; 2] = ["authorization", "cookie"];

/// An entry in the making, with what of the foreign one it leaves out.
pub(super) struct Draft {
    pub(super) entry: Entry,
    pub(super) changes: Vec<Reason>,
    /// `accepts`, compiled.
    accepted: Option<Regex>,
}

impl Draft {
    /// An entry with its one probe.
    pub(super) fn new(kind: ListKind, name: &str, probe: &Address) -> Result<Self, Reason> {
        let platform = shown(name.trim()).chars().take(80).collect::<String>();
        // Through JSON: whatever the language learns keeps its default here.
        let entry = json!({
            "id": "", "platform": platform.trim(), "type": "username", "category": "misc", "tags": [kind.tag()],
            "probes": [{"url": probe.template}], "hit": [],
        });
        let entry = serde_json::from_value(entry).map_err(|error| error.to_string())?;
        Ok(Self { entry, changes: Vec::new(), accepted: None })
    }

    /// The one probe.
    pub(super) fn probe(&mut self) -> &mut ProbeEntry {
        // `new` has put it there.
        &mut self.entry.probes[0]
    }

    /// Headers, in which `placeholder` is the name.
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
                    "it sends a `{name}` header: what a list carries there is somebody's session or proof"
                ));
            }
            if RESERVED.contains(&lower.as_str()) || OF_THE_CONNECTION.contains(&lower.as_str()) {
                self.changes.push(format!("the header `{name}` is the program's own affair"));
                continue;
            }
            let value = template(value.trim(), placeholder);
            let known = self.probe().headers.keys().find(|known| known.eq_ignore_ascii_case(&lower)).cloned();
            if let Some(known) = known {
                self.changes.push(format!("the header `{name}` stands twice: the last one counts"));
                self.probe().headers.remove(&known);
            }
            self.probe().headers.insert(name.trim().to_owned(), value);
        }
        Ok(())
    }

    /// The value of a header, if it is there.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let headers = &self.entry.probes[0].headers;
        headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The method that a list names.
    pub(super) fn method(&mut self, name: Option<&str>) -> Result<(), Reason> {
        self.probe().method = match name.map(str::to_ascii_uppercase).as_deref() {
            None | Some("" | "GET") => Method::Get,
            Some("HEAD") => Method::Head,
            Some("POST") => Method::Post,
            Some("PUT") => Method::Put,
            Some(other) => {
                return Err(format!("the method {}; GET, HEAD, POST and PUT are sent", shown(other)));
            }
        };
        Ok(())
    }

    /// Whether the method sends a body.
    pub(super) fn has_body(&self) -> bool {
        matches!(self.entry.probes[0].method, Method::Post | Method::Put)
    }

    /// The page that a person would open.
    pub(super) fn profile(&mut self, text: &str, placeholder: &str) {
        match address(text, placeholder) {
            Ok(page) if page.names => self.entry.profile = Some(page.template),
            // A front page is no profile.
            Ok(page) if !page.named_in_fragment => {}
            Ok(_) => self.changes.push(format!(
                "its page has the name behind a `#`, which no link of ours holds: `{}`",
                shown(&text.replace(placeholder, "NAME"))
            )),
            Err(reason) => self.changes.push(format!("its page: {reason}")),
        }
    }

    /// The site's front page, where the list gives a usable one.
    pub(super) fn home(&mut self, text: Option<&str>) {
        let home = text.and_then(|text| Url::parse(text.trim()).ok());
        let is_web = |url: &Url| matches!(url.scheme(), "http" | "https") && url.has_host();
        self.entry.home = home.filter(is_web).map(Into::into);
    }

    /// The regex that the list's tool searches in a name before it asks.
    pub(super) fn accepts(&mut self, python: Option<&str>) {
        let Some(python) = python.filter(|text| !text.is_empty()) else { return };
        match regex::accepts(python) {
            Ok((accepts, compiled)) => {
                self.entry.accepts = Some(accepts);
                self.accepted = Some(compiled);
            }
            Err(reason) => self.changes.push(format!("`regexCheck` is not looked at: {reason}")),
        }
    }

    /// Names that exist, as far as they can be names here. One in another script than ours says that the site
    /// takes such names.
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
                self.changes
                    .push(format!("its known name `{}` is none that could be asked here", shown(name)));
            }
        }
    }

    /// A word for the next author.
    pub(super) fn remark(&mut self, text: &str) {
        let text = shown(text.trim());
        if !text.is_empty() {
            self.entry.note = Some(match self.entry.note.take() {
                Some(note) => format!("{note}; {text}"),
                None => text,
            });
        }
    }

    /// Notes which obstacles the list knows of.
    pub(super) fn protection(&mut self, fields: Fields<'_>) -> Result<(), Reason> {
        let protection = fields.texts("protection")?;
        if !protection.is_empty() {
            self.remark(&format!("protection: {}", protection.join(", ")));
        }
        Ok(())
    }
}

/// `2xx`.
pub(super) fn success() -> StatusRule {
    StatusRule::Class("2xx".to_owned())
}

/// These codes as a rule.
pub(super) fn codes(codes: &[u16]) -> Vec<StatusRule> {
    codes.iter().map(|code| StatusRule::Code(*code)).collect()
}

/// Words that stand in a body for themselves.
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

/// A rule on the status alone.
pub(super) fn on_status(status: Vec<StatusRule>) -> MatcherEntry {
    MatcherEntry { status, ..MatcherEntry::default() }
}
