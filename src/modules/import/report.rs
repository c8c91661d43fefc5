//! The report of an import, by entry.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use crate::base::words::words;
use crate::modules::text::{clean, squeeze, truncate};

/// The maximum length in characters of a name or a reason that comes from a list.
const MAX_CHARS: usize = 200;

words! {
    /// The kinds of lists that can be imported, each with the tag that its modules have.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ListKind {
        /// WhatsMyName's `wmn-data.json`.
        WhatsMyName = "whatsmyname",
        /// Sherlock's `data.json`.
        Sherlock = "sherlock",
        /// Maigret's `data.json`.
        Maigret = "maigret",
    }
}

impl ListKind {
    /// Returns the name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhatsMyName => "WhatsMyName",
            Self::Sherlock => "Sherlock",
            Self::Maigret => "Maigret",
        }
    }

    /// Returns the prefix of the ids of the list's modules, without the dot.
    pub(super) fn prefix(self) -> &'static str {
        if self == Self::WhatsMyName { "wmn" } else { self.as_str() }
    }
}

/// The report of the import of one list.
#[derive(Debug, Clone, Serialize)]
pub struct ListReport {
    /// The name of the file.
    pub file: String,
    /// The tool that the list belongs to.
    pub format: ListKind,
    /// The number of entries in the list.
    pub entries: usize,
    /// The number of entries that the list's authors have disabled.
    pub off: usize,
    /// The number of entries that became modules, including disabled ones.
    pub taken_over: usize,
    /// The number of enabled entries that became modules.
    pub enabled_taken_over: usize,
    /// Notes about the entries that were not, or not completely, imported.
    pub notes: Vec<Note>,
}

/// A note about one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The entry's name in its list, or an empty text for the list as a whole.
    pub name: String,
    /// The outcome of the entry's import.
    pub outcome: NoteKind,
    /// The reason. For [`NoteKind::AlreadyThere`], this is the id of the module that sends the same request.
    pub reason: String,
}

/// The outcome of the import of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// The entry did not become a module.
    LeftOut,
    /// The entry did not become a module, since an earlier module sends the same request.
    AlreadyThere,
    /// The entry became a module without a part of the list's entry.
    Changed,
}

impl ListReport {
    pub(super) fn new(file: &str, format: ListKind, entries: usize) -> Self {
        Self {
            file: file.to_owned(),
            format,
            entries,
            off: 0,
            taken_over: 0,
            enabled_taken_over: 0,
            notes: Vec::new(),
        }
    }

    /// Adds a note. Control characters are removed, since a list may contain anything and the note may be
    /// shown in a terminal.
    pub(super) fn note(&mut self, name: &str, outcome: NoteKind, reason: &str) {
        self.notes.push(Note { name: shown(name), outcome, reason: shown(reason) });
    }

    /// Removes entries that had become modules, since earlier modules send the same requests. Each item is
    /// the entry's name, the id of the earlier module, and whether the entry is enabled.
    pub(crate) fn skip_covered(&mut self, entries: &[(String, Arc<str>, bool)]) {
        let names: HashSet<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        self.notes.retain(|note| note.outcome != NoteKind::Changed || !names.contains(note.name.as_str()));
        for (name, id, is_enabled) in entries {
            self.taken_over -= 1;
            self.enabled_taken_over -= usize::from(*is_enabled);
            self.note(name, NoteKind::AlreadyThere, id);
        }
    }

    /// Returns the number of notes of the given kind.
    pub fn count(&self, outcome: NoteKind) -> usize {
        self.notes.iter().filter(|note| note.outcome == outcome).count()
    }

    /// Returns the notes of the given kind, one per line, each with the name of the file before it.
    pub fn lines(&self, outcome: NoteKind) -> impl Iterator<Item = String> {
        self.notes
            .iter()
            .filter(move |note| note.outcome == outcome)
            .map(|note| format!("{}: {note}", shown(&self.file)))
    }

    /// Returns a summary of the import on one line, with the numbers of entries.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: list of {}: {} of {} entries imported",
            shown(&self.file),
            self.format.name(),
            self.taken_over,
            self.entries
        );
        let others = [
            (self.count(NoteKind::AlreadyThere), "already covered"),
            (self.count(NoteKind::LeftOut), "left out"),
            (self.off, "disabled by the list"),
        ];
        for (count, what) in others.iter().filter(|(count, _)| *count > 0) {
            text.push_str(&format!(", {count} {what}"));
        }
        text
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{}: ", self.name)?;
        }
        match self.outcome {
            NoteKind::LeftOut => write!(f, "left out: {}", self.reason),
            NoteKind::AlreadyThere => write!(f, "already covered by `{}`", self.reason),
            NoteKind::Changed => write!(f, "imported, but: {}", self.reason),
        }
    }
}

/// Returns a text as one line of limited length, without control characters and characters that change the
/// direction of text.
pub(super) fn shown(text: &str) -> String {
    truncate(&squeeze(&clean(text)), MAX_CHARS).into_owned()
}
