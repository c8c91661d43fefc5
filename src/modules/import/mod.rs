//! Import of the site lists of WhatsMyName, Sherlock and Maigret.
//!
//! Each entry of a list becomes a catalogue entry that judges as the list's own tool does, as far as its rules allow
//! that. An entry that cannot be converted is left out, and what an entry loses is noted: see [`report`].
//!
//! | file | contents |
//! |---|---|
//! | `draft` | the catalogue entry that is made, and what the lists have in common |
//! | `whatsmyname`, `sherlock`, `maigret` | the entries of each list |
//! | `python` | Python's regexes and format strings |
//! | [`report`] | the report of what was imported |

mod draft;
mod maigret;
mod python;
pub mod report;
mod sherlock;
mod whatsmyname;

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Map, Value};
use unicode_normalization::UnicodeNormalization as _;

use super::definition::Entry;
use super::module::Module;
use draft::{Draft, Reason, type_name};
pub use report::ListKind;
use report::{ListReport, NoteKind};

/// The maximum number of entries in one list.
const MAX_ENTRIES: usize = 20_000;
/// The maximum length of a name's part of an id, in bytes.
const MAX_SLUG_BYTES: usize = 48;

/// Returns the kind of list that a document is, by its form.
///
/// # Errors
/// Returns an error if the document is none of the known lists. It says for each kind what is missing.
pub fn recognise(root: &Value) -> Result<ListKind, String> {
    let mut reasons = Vec::new();
    for kind in ListKind::ALL {
        match why_not(kind, root) {
            None => return Ok(kind),
            Some(reason) => reasons.push(format!("{} has {reason}", kind.name())),
        }
    }
    Err(format!(
        "unknown format: Sightline's own has an array of entries (here: {}); {}",
        type_name(root),
        reasons.join("; ")
    ))
}

/// Returns what a document of this kind has, and what this document has instead if it is of another kind.
fn why_not(kind: ListKind, root: &Value) -> Option<String> {
    let sites = root.get("sites");
    let here = sites.map_or("none", type_name);
    match (kind, sites) {
        (ListKind::WhatsMyName, Some(Value::Array(_))) | (ListKind::Maigret, Some(Value::Object(_))) => None,
        (ListKind::WhatsMyName, _) => Some(format!("an array `sites` (here: {here})")),
        (ListKind::Maigret, _) => Some(format!("an object `sites` (here: {here})")),
        (ListKind::Sherlock, _) => {
            let members: Vec<&Value> = root.as_object().into_iter().flat_map(Map::values).collect();
            let is_entry = |it: &&Value| it.get("errorType").is_some() && it.get("url").is_some();
            let all = members.len();
            (!members.iter().any(is_entry))
                .then(|| format!("entries with `url` and `errorType` (here: 0 of {all} members)"))
        }
    }
}

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
    let text = text.trim_start_matches('\u{feff}');
    let root: Value = serde_json::from_str(text).map_err(|error| format!("it is not valid JSON: {error}"))?;
    let kind = recognise(&root)?;
    let (sites, members) = (&root["sites"], || root.as_object().into_iter().flatten());
    let entries: Vec<(String, &Value)> = match kind {
        ListKind::WhatsMyName => {
            let name =
                |index: usize, it: &Value| it["name"].as_str().map_or(format!("[{index}]"), str::to_owned);
            let sites = sites.as_array().into_iter().flatten().enumerate();
            sites.map(|(index, site)| (name(index, site), site)).collect()
        }
        ListKind::Sherlock => {
            let sites = members().filter(|(name, _)| !name.starts_with('$'));
            sites.map(|(name, site)| (name.clone(), site)).collect()
        }
        ListKind::Maigret => {
            let sites = sites.as_object().into_iter().flatten();
            sites.map(|(name, site)| (name.clone(), site)).collect()
        }
    };
    if entries.len() > MAX_ENTRIES {
        return Err(format!("it has {} entries; at most {MAX_ENTRIES} are imported", entries.len()));
    }
    let report = ListReport::new(file, kind, entries.len());
    let mut importer =
        Importer { kind, modules: Vec::new(), report, ids: Ids::default(), unknown: BTreeMap::new() };
    for (name, value) in entries {
        importer.take(&name, value, root["engines"].as_object());
    }
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
    fn take(&mut self, name: &str, value: &Value, engines: Option<&Map<String, Value>>) {
        let Some(site) = value.as_object() else {
            let reason = format!("the entry is {}; expected an object", type_name(value));
            return self.report.note(name, NoteKind::LeftOut, &reason);
        };
        let (known, is_enabled) = match self.kind {
            ListKind::WhatsMyName => (whatsmyname::Site::MEMBERS, value["valid"] != false),
            ListKind::Sherlock => (sherlock::Site::MEMBERS, true),
            ListKind::Maigret => (maigret::Site::MEMBERS, value["disabled"] != true),
        };
        for member in site.keys().filter(|member| !known.contains(&member.as_str())) {
            *self.unknown.entry(member.clone()).or_insert(0) += 1;
        }
        self.report.off += usize::from(!is_enabled);
        let draft = match self.kind {
            ListKind::WhatsMyName => whatsmyname::draft(site),
            ListKind::Sherlock => sherlock::draft(name, site),
            ListKind::Maigret => maigret::draft(name, site, engines),
        };
        match draft.and_then(|draft| self.compile(name, draft, is_enabled)) {
            Ok((module, changes)) => {
                changes.iter().for_each(|change| self.report.note(name, NoteKind::Changed, change));
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
        let id = self.ids.give(self.kind.prefix(), name, &draft.host());
        let (mut entry, changes) = draft.finish();
        entry["id"] = id.into();
        entry["enabled"] = is_enabled.into();
        let compiled = Entry::read(&entry.to_string(), &entry).and_then(Module::compile);
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

/// Gives each entry of a list a unique id.
#[derive(Debug, Default)]
struct Ids {
    given: HashSet<String>,
    last: HashMap<String, usize>,
}

impl Ids {
    /// Returns an id such as `PREFIX.NAME`. If a name is repeated, the second entry gets `-2`, and so on, in
    /// the order of the list. If the name has no ASCII letter or digit, the name of the host is used.
    fn give(&mut self, prefix: &str, name: &str, host: &str) -> String {
        let name = [slug(name), slug(host)].into_iter().find(|slug| !slug.is_empty());
        let plain = format!("{prefix}.{}", name.as_deref().unwrap_or("site"));
        let mut id = plain.clone();
        while !self.given.insert(id.clone()) {
            let number = self.last.entry(plain.clone()).or_insert(1);
            *number += 1;
            id = format!("{plain}-{number}");
        }
        id
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_made_of_the_name() {
        let mut ids = Ids::default();
        for (name, host, want) in [
            ("Last.fm [FR]", "", "a.last-fm-fr"),
            ("Café", "", "a.cafe"),
            ("cafe", "", "a.cafe-2"),
            ("Ночь", "x.example", "a.x-example"),
            ("!", "", "a.site"),
        ] {
            assert_eq!(ids.give("a", name, host), want);
        }
        assert!(slug(&"é".repeat(100)).len() <= MAX_SLUG_BYTES);
    }
}
