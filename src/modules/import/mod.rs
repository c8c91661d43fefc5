//! Import of the site lists of WhatsMyName, Sherlock and Maigret.
//!
//! Each entry of a list becomes a catalogue entry that judges as the list's own tool does, where its rules allow
//! that. An entry that cannot be converted is left out, and what an entry loses is noted: see [`report`].
//!
//! | file | contents |
//! |---|---|
//! | `whatsmyname` | the entries of WhatsMyName |
//! | `maigret` | the entries of Sherlock and Maigret |
//! | `parts` | the parts of entries that the lists have in common |
//! | `python` | Python's regexes and format strings |
//! | [`report`] | the report of what was imported |

mod maigret;
mod parts;
mod python;
pub mod report;
mod whatsmyname;

use std::collections::{BTreeMap, HashMap};

use serde_json::Value;

use super::definition::Entry;
use super::module::Module;
use super::query::{Query, SearchType};
use parts::{ADULT, Made, Reason};
pub(crate) use parts::{literal, slug};
pub use report::ListKind;
use report::{ListReport, NoteKind, shown};

/// The maximum number of entries in one list.
const MAX_ENTRIES: usize = 20_000;

/// Returns the kind of list that a document is, by its form, and its entries with their names. Returns `None` if it is
/// none of the known lists.
pub(super) fn recognise(root: &Value) -> Option<(ListKind, Vec<(String, &Value)>)> {
    let named = |(name, site): (&String, _)| (name.clone(), site);
    match root.get("sites") {
        Some(Value::Array(sites)) => {
            let name = |(index, site): (usize, &Value)| {
                site["name"].as_str().map_or(format!("[{index}]"), str::to_owned)
            };
            let names = sites.iter().enumerate().map(name);
            Some((ListKind::WhatsMyName, names.zip(sites).collect()))
        }
        Some(Value::Object(sites)) => Some((ListKind::Maigret, sites.iter().map(named).collect())),
        _ => {
            // Sherlock's list has the address of its schema beside the entries.
            let sites = root.as_object()?.iter().filter(|(name, _)| !name.starts_with('$'));
            let is_entry = |it: &Value| it.get("errorType").is_some() && it.get("url").is_some();
            let is_list = sites.clone().any(|(_, site)| is_entry(site));
            is_list.then(|| (ListKind::Sherlock, sites.map(named).collect()))
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
    let (kind, sites) = recognise(&root).ok_or(
        "unknown format: expected an array of entries (Sightline's own format), an object with an array `sites` \
         (WhatsMyName) or an object `sites` (Maigret), or an object of entries with `url` and `errorType` (Sherlock)",
    )?;
    if sites.len() > MAX_ENTRIES {
        return Err(format!("it has {} entries; at most {MAX_ENTRIES} are imported", sites.len()));
    }
    let mut list = Imported { modules: Vec::new(), report: ListReport::new(file, kind, sites.len()) };
    let (mut ids, mut unused) = (Ids::default(), BTreeMap::<String, usize>::new());
    for (name, site) in sites {
        let is_enabled = site["valid"] != false && site["disabled"] != true;
        list.report.off += usize::from(!is_enabled);
        let mut changes = Vec::new();
        let made = made(kind, &name, site, &root["engines"], &mut changes).and_then(|mut made| {
            made.entry["id"] = ids.give(kind, &name, &made.entry["probes"][0]["url"]).into();
            made.entry["enabled"] = is_enabled.into();
            Ok((module(&made.entry, made.known, &mut changes)?, made.unused))
        });
        match made {
            Ok((module, members)) => {
                changes.iter().for_each(|change| list.report.note(&name, NoteKind::Changed, change));
                members.into_iter().for_each(|(member, _)| *unused.entry(member).or_default() += 1);
                list.report.taken_over += 1;
                list.modules.push(module);
            }
            Err(reason) => {
                let off = if is_enabled { "" } else { " (the list has disabled it, too)" };
                list.report.note(&name, NoteKind::LeftOut, &format!("{reason}{off}"));
            }
        }
    }
    let is_read = |member: &String| matches!(member.as_str(), "valid" | "disabled");
    for (member, count) in unused.into_iter().filter(|(member, _)| !is_read(member)) {
        let reason = format!("`{member}` is not used ({count} entries)");
        list.report.note("", NoteKind::Changed, &reason);
    }
    Ok(list)
}

/// Makes a catalogue entry without an id. `changes` gets the parts that the entry loses.
fn made(
    kind: ListKind,
    name: &str,
    site: &Value,
    engines: &Value,
    changes: &mut Vec<Reason>,
) -> Result<Made, Reason> {
    let members = site.as_object().ok_or("the entry is not an object")?;
    let mut made = match kind {
        ListKind::WhatsMyName => whatsmyname::entry(members, changes),
        ListKind::Sherlock | ListKind::Maigret => maigret::entry(kind, members, engines, changes),
    }?;
    let entry = &mut made.entry;
    let platform = shown(name.trim()).chars().take(80).collect::<String>();
    (entry["platform"], entry["type"]) = (platform.trim().into(), "username".into());
    entry["nsfw"] = (entry["category"] == ADULT).into();
    // A name in another script shows that the site accepts such names.
    let is_other = |query: Query| !query.normal().is_ascii();
    if made.known.iter().any(|name| Query::parse(SearchType::Username, name).is_ok_and(is_other)) {
        entry["scripts"] = "any".into();
    }
    if let Some(fields) = entry.as_object_mut() {
        fields.retain(|_, value| !value.is_null());
    }
    Ok(made)
}

/// Makes the module of an entry, with the known names that it accepts.
fn module(entry: &Value, known: Vec<String>, changes: &mut Vec<Reason>) -> Result<Module, Reason> {
    let module = Entry::read(entry).and_then(Module::compile);
    let module = module.map_err(|mistakes| mistakes.into_iter().next().unwrap_or_default())?;
    let (known, refused): (Vec<_>, Vec<_>) = known.into_iter().partition(|name| {
        Query::parse(SearchType::Username, name).is_ok_and(|query| module.why_refused(&query).is_none())
    });
    let invalid = |name: &String| format!("its known name `{}` is not valid here", shown(name));
    changes.extend(refused.iter().map(invalid));
    Ok(Module::new(Entry { known, ..module.entry().clone() }))
}

/// The ids that were given, each with the last number that was appended to it.
#[derive(Debug, Default)]
struct Ids(HashMap<String, usize>);

impl Ids {
    /// Returns a unique id such as `PREFIX.NAME`. If a name is repeated, the second entry gets `-2`, and so on, in
    /// the order of the list. If the name has no ASCII letter or digit, the name of the host is used.
    fn give(&mut self, kind: ListKind, name: &str, url: &Value) -> String {
        let prefix = if kind == ListKind::WhatsMyName { "wmn".to_owned() } else { kind.tag() };
        let url = url.as_str().unwrap_or_default().replace("{query}", "");
        let host = url.split('/').nth(2).unwrap_or_default();
        let name = [slug(name), slug(host)].into_iter().find(|slug| !slug.is_empty());
        let plain = format!("{prefix}.{}", name.as_deref().unwrap_or("site"));
        let mut id = plain.clone();
        while self.0.contains_key(&id) {
            let number = self.0.entry(plain.clone()).or_insert(1);
            *number += 1;
            id = format!("{plain}-{number}");
        }
        self.0.insert(id.clone(), 1);
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
            ("Last.fm [FR]", "", "wmn.last-fm-fr"),
            ("Café", "", "wmn.cafe"),
            ("cafe", "", "wmn.cafe-2"),
            ("cafe 2", "", "wmn.cafe-2-2"),
            ("cafe", "", "wmn.cafe-3"),
            ("Ночь", "https://{query}.x.example/", "wmn.x-example"),
            ("!", "", "wmn.site"),
        ] {
            assert_eq!(ids.give(ListKind::WhatsMyName, name, &host.into()), want);
        }
        assert!(slug(&"é".repeat(100)).len() <= 48);
    }
}
