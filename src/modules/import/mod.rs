//! Lists that users already have: WhatsMyName, Sherlock and Maigret, made into entries of ours.
//!
//! | file | holds |
//! |---|---|
//! | `recognise` | which list a JSON document is |
//! | `whatsmyname`, `sherlock`, `maigret` | what an entry of each list means, and our entry for it |
//! | `draft` | an entry of ours in the making, with what it leaves out |
//! | `fields`, `slots`, `regex`, `categories`, `ids` | foreign types, templates, regexes, words, names |
//! | [`report`] | what was taken over and what was not, entry by entry |
//!
//! # How a list is read
//! Our own files are refused for any mistake; a foreign list, whose authors we are not, is taken as far as it goes: members
//! that we do not know are passed over (and named in the report), an entry that cannot be a module is left out with the
//! reason, a part that cannot be said in our language is left out of its entry with the reason. Nothing is
//! left out in silence. Entries that the list has switched off become modules that are switched off.
//!
//! # What changes
//! Requests are reproduced: address, method, body, headers, redirects followed or not. Rules are not more trusting than
//! our own: a hit needs the status of one, and what may be a block or a defect is no miss, whatever the list's tool would
//! make of it. The control check and the global barriers apply as to every module. Credentials that a
//! list carries are never sent.
//!
//! # Ids
//! `wmn.NAME`, `sherlock.NAME` and `maigret.NAME`: no list's id meets that of a built-in module or another list.
//! NAME is the entry's name in lower-case ASCII letters and digits with `-` between; the second one of
//! a name in a list is `NAME-2`.
//!
//! # To add a list
//! A variant of [`ListKind`], its marks in `recognise`, a file with its `MEMBERS`, `is_enabled` and
//! `draft`, its arm in `Importer::entries`.

mod categories;
mod draft;
mod fields;
mod ids;
mod maigret;
mod recognise;
mod regex;
pub mod report;
mod sherlock;
mod slots;
mod whatsmyname;

use std::collections::BTreeMap;
use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub(crate) use ids::slug;
pub use recognise::recognise;
use report::{ListReport, NoteKind};

use self::draft::Draft;
use self::fields::{Fields, Reason};
use self::ids::Ids;
use super::document;
use super::module::Module;

/// The most entries of one list.
const MAX_ENTRIES: usize = 20_000;

/// Lists that can be taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// `wmn-data.json`.
    WhatsMyName,
    /// Sherlock's `data.json`.
    Sherlock,
    /// Maigret's `data.json`.
    Maigret,
}

impl ListKind {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::WhatsMyName, Self::Sherlock, Self::Maigret];

    /// The name people know.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhatsMyName => "WhatsMyName",
            Self::Sherlock => "Sherlock",
            Self::Maigret => "Maigret",
        }
    }

    /// What ids of its modules begin with, before a dot.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::WhatsMyName => "wmn",
            Self::Sherlock => "sherlock",
            Self::Maigret => "maigret",
        }
    }

    /// The tag that its modules have.
    pub fn tag(self) -> &'static str {
        match self {
            Self::WhatsMyName => "whatsmyname",
            Self::Sherlock => "sherlock",
            Self::Maigret => "maigret",
        }
    }
}

impl fmt::Display for ListKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for ListKind {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.tag())
    }
}

/// What a list became.
#[derive(Debug)]
pub struct Imported {
    /// In the order of the list.
    pub modules: Vec<Module>,
    /// Entry by entry, what is not in them.
    pub report: ListReport,
}

/// Takes a list over. `file` is its name in messages.
///
/// # Errors
/// It is no JSON, no list that is known, or too long.
pub fn take_over(file: &str, text: &str) -> Result<Imported, String> {
    let (root, twice) = document::lenient(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let kind = recognise(&root)?;
    let mut importer = Importer::new(file, kind);
    twice.iter().for_each(|path| importer.twice(path));
    importer.entries(&root)?;
    Ok(importer.done())
}

struct Importer {
    kind: ListKind,
    modules: Vec<Module>,
    report: ListReport,
    ids: Ids,
    /// Members that are not known, with how many entries have them.
    unknown: BTreeMap<String, usize>,
}

impl Importer {
    fn new(file: &str, kind: ListKind) -> Self {
        Self {
            kind,
            modules: Vec::new(),
            report: ListReport::new(file, kind),
            ids: Ids::default(),
            unknown: BTreeMap::new(),
        }
    }

    /// Notes a name that stands twice: an entry, or a member of one.
    fn twice(&mut self, path: &[String]) {
        let (entry, member) = match (self.kind, path) {
            (ListKind::Sherlock, [entry, member @ ..]) => (entry.as_str(), member),
            (ListKind::Maigret, [sites, entry, member @ ..]) if sites == "sites" => (entry.as_str(), member),
            (_, member) => ("", member),
        };
        if member.is_empty() {
            self.report.entries += 1;
            self.report.note(entry, NoteKind::LeftOut, "the list has a later entry of the same name");
        } else {
            let reason = format!("`{}` stands twice in one object: the last one counts", member.join("."));
            self.report.note(entry, NoteKind::Changed, &reason);
        }
    }

    fn entries(&mut self, root: &Value) -> Result<(), String> {
        let count = match self.kind {
            ListKind::WhatsMyName => root["sites"].as_array().map_or(0, Vec::len),
            ListKind::Sherlock => root.as_object().map_or(0, Map::len),
            ListKind::Maigret => root["sites"].as_object().map_or(0, Map::len),
        };
        if count > MAX_ENTRIES {
            return Err(format!("it has {count} entries; at most {MAX_ENTRIES} are taken over"));
        }
        match self.kind {
            ListKind::WhatsMyName => {
                for (index, value) in root["sites"].as_array().into_iter().flatten().enumerate() {
                    let name = value["name"].as_str().map_or_else(|| format!("[{index}]"), str::to_owned);
                    self.entry(&name, value, &whatsmyname::MEMBERS, whatsmyname::is_enabled, |fields| {
                        whatsmyname::draft(fields)
                    });
                }
            }
            ListKind::Sherlock => {
                let members = root.as_object().into_iter().flatten();
                for (name, value) in members.filter(|(name, _)| !name.starts_with('$')) {
                    self.entry(
                        name,
                        value,
                        &sherlock::MEMBERS,
                        |_| true,
                        |fields| sherlock::draft(name, fields),
                    );
                }
            }
            ListKind::Maigret => {
                let engines = root["engines"].as_object();
                for (name, value) in root["sites"].as_object().into_iter().flatten() {
                    self.entry(name, value, &maigret::MEMBERS, maigret::is_enabled, |fields| {
                        let whole = maigret::merged(fields.0, engines)?;
                        maigret::draft(name, Fields(&whole))
                    });
                }
            }
        }
        Ok(())
    }

    fn entry(
        &mut self,
        name: &str,
        value: &Value,
        members: &[&str],
        is_enabled: impl Fn(Fields<'_>) -> bool,
        draft: impl FnOnce(Fields<'_>) -> Result<Draft, Reason>,
    ) {
        self.report.entries += 1;
        let fields = match Fields::of(value) {
            Ok(fields) => fields,
            Err(reason) => return self.report.note(name, NoteKind::LeftOut, &reason),
        };
        for member in fields.0.keys().filter(|member| !members.contains(&member.as_str())) {
            *self.unknown.entry(member.clone()).or_insert(0) += 1;
        }
        let is_enabled = is_enabled(fields);
        self.report.off += usize::from(!is_enabled);
        let made = draft(fields).and_then(|draft| self.compile(name, draft, is_enabled));
        match made {
            Ok((module, changes)) => {
                for change in changes {
                    self.report.note(name, NoteKind::Changed, &change);
                }
                self.report.taken_over += 1;
                self.report.enabled_taken_over += usize::from(is_enabled);
                self.modules.push(module);
            }
            Err(reason) => {
                let off = if is_enabled { "" } else { " (the list has switched it off, too)" };
                self.report.note(name, NoteKind::LeftOut, &format!("{reason}{off}"));
            }
        }
    }

    fn compile(
        &mut self,
        name: &str,
        draft: Draft,
        is_enabled: bool,
    ) -> Result<(Module, Vec<Reason>), Reason> {
        let Draft { mut entry, changes, .. } = draft;
        let host = entry.probes.first().and_then(|probe| {
            let url = probe.url.replace("{query}", "");
            Some(url::Url::parse(&url).ok()?.host_str()?.trim_matches('.').to_owned())
        });
        entry.enabled = is_enabled;
        entry.id = self.ids.give(self.kind.prefix(), name, host.as_deref().unwrap_or_default());
        let compiled = Module::compile(entry);
        let module = compiled.map_err(|mistakes| {
            mistakes.first().map_or_else(|| "it makes no sense".to_owned(), ToString::to_string)
        })?;
        Ok((module, changes))
    }

    fn done(mut self) -> Imported {
        for (member, count) in std::mem::take(&mut self.unknown) {
            let reason = format!("`{member}` is not known here and passed over ({count} entries)");
            self.report.note("", NoteKind::Changed, &reason);
        }
        Imported { modules: self.modules, report: self.report }
    }
}
