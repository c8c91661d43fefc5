//! Imports the lists of other tools: WhatsMyName, Sherlock and Maigret.
//!
//! | file | holds |
//! |---|---|
//! | `recognise` | recognition of a list by its JSON document |
//! | `whatsmyname`, `sherlock`, `maigret` | conversion of the entries of each list |
//! | `draft` | a catalogue entry that is being made, with the parts that it leaves out |
//! | `fields`, `slots`, `regex`, `categories`, `ids` | conversion of single parts of an entry |
//! | `kind` | the kinds of lists that are known |
//! | [`report`] | a report of what was imported and what was not, by entry |
//!
//! # How a list is read
//! Catalogue files are refused for any mistake. The lists of other tools are imported as far as possible,
//! since their authors write for other programs. Unknown members are ignored and named in the report. An
//! entry that cannot become a module is left out. A part that a catalogue entry cannot express is left out
//! of its entry. The report gives the reason in both cases. Entries that the list has disabled become
//! disabled modules.
//!
//! # What changes
//! Requests are reproduced: address, method, body, headers, and whether redirects are followed. Rules are as
//! strict as in the catalogue. A hit needs a success status, and a response that may be a block or a defect
//! is not a miss, even if the list's tool treats it as one. The control check and the global barriers apply
//! to every module. Credentials in a list are never sent.
//!
//! # Ids
//! The ids are `wmn.NAME`, `sherlock.NAME` and `maigret.NAME`, so that they differ from those of built-in
//! modules and of other lists. NAME is the entry's name in lower-case ASCII letters and digits, separated by
//! `-`. The second entry with one name in a list gets `NAME-2`.
//!
//! # To add a list
//! A new list needs a variant of [`ListKind`], its marks in `recognise`, a file with its `MEMBERS`,
//! `is_enabled` and `draft`, and an arm in `Importer::entries`.

mod categories;
mod draft;
mod fields;
mod ids;
mod kind;
mod maigret;
mod recognise;
mod regex;
pub mod report;
mod sherlock;
mod slots;
mod whatsmyname;

use std::collections::BTreeMap;

use serde_json::{Map, Value};

pub(crate) use ids::slug;
pub use kind::ListKind;
pub use recognise::recognise;
use report::{ListReport, NoteKind};

use self::draft::Draft;
use self::fields::{Fields, Reason};
use self::ids::Ids;
use super::definition::Entry;
use super::document;
use super::mistake::Mistakes;
use super::module::Module;

/// The maximum number of entries in one list.
const MAX_ENTRIES: usize = 20_000;

/// The result of an import.
#[derive(Debug)]
pub struct Imported {
    /// The modules, in the order of the list.
    pub modules: Vec<Module>,
    /// The report of what is not in the modules, by entry.
    pub report: ListReport,
}

/// Imports a list. `file` is the file's name in error messages.
///
/// # Errors
/// Returns an error if the text is not JSON, is not a known list, or has too many entries.
pub fn take_over(file: &str, text: &str) -> Result<Imported, String> {
    let (root, twice) = document::lenient(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let kind = recognise(&root)?;
    let mut importer = Importer::new(file, kind);
    twice.iter().for_each(|path| importer.note_repetition(path));
    importer.entries(&root)?;
    Ok(importer.done())
}

struct Importer {
    kind: ListKind,
    modules: Vec<Module>,
    report: ListReport,
    ids: Ids,
    /// The unknown members, each with the number of entries that have it.
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

    /// Records a repeated name of an entry or of a member.
    fn note_repetition(&mut self, path: &[String]) {
        let (entry, member) = match (self.kind, path) {
            (ListKind::Sherlock, [entry, member @ ..]) => (entry.as_str(), member),
            (ListKind::Maigret, [sites, entry, member @ ..]) if sites == "sites" => (entry.as_str(), member),
            (_, member) => ("", member),
        };
        if member.is_empty() {
            self.report.entries += 1;
            self.report.note(entry, NoteKind::LeftOut, "the list has a later entry of the same name");
        } else {
            let reason = format!("`{}` is repeated in one object: the last one is used", member.join("."));
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
            return Err(format!("it has {count} entries; at most {MAX_ENTRIES} are imported"));
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
                let off = if is_enabled { "" } else { " (the list has disabled it, too)" };
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
        let written = serde_json::to_value(entry).map_err(|error| error.to_string())?;
        let mut mistakes = Mistakes::default();
        let entry = Entry::read(written, &mut mistakes).filter(|_| mistakes.count() == 0);
        let compiled = entry.map_or_else(|| Err(mistakes.into_list()), Module::compile);
        let module = compiled.map_err(|mistakes| {
            mistakes.first().map_or_else(|| "it makes no sense".to_owned(), ToString::to_string)
        })?;
        Ok((module, changes))
    }

    fn done(mut self) -> Imported {
        for (member, count) in std::mem::take(&mut self.unknown) {
            let reason = format!("`{member}` is unknown and ignored ({count} entries)");
            self.report.note("", NoteKind::Changed, &reason);
        }
        Imported { modules: self.modules, report: self.report }
    }
}
