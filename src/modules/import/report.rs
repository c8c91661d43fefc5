//! The report of an import, by entry.

use std::fmt;

use crate::base::words::words;
use crate::modules::text::{clean, squeeze, truncate};

/// The maximum length in characters of a name or a reason that comes from a list.
const MAX_CHARS: usize = 200;

words! {
    /// The kinds of lists that can be imported, with the names of their tools.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ListKind {
        /// WhatsMyName's `wmn-data.json`.
        WhatsMyName = "WhatsMyName",
        /// Sherlock's `data.json`.
        Sherlock = "Sherlock",
        /// Maigret's `data.json`.
        Maigret = "Maigret",
    }
}

impl ListKind {
    /// Returns the tag of the list's modules.
    pub(super) fn tag(self) -> String {
        self.as_str().to_ascii_lowercase()
    }
}

/// The report of the import of one list.
#[derive(Debug, Clone)]
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
    /// Notes about the entries that were not, or not completely, imported.
    pub notes: Vec<Note>,
}

/// A note about one entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// The entry's name in its list, or an empty text for the list as a whole.
    pub name: String,
    /// The outcome of the entry's import.
    pub outcome: NoteKind,
    /// The reason. For [`NoteKind::AlreadyThere`], this is the id of the module that sends the same request.
    pub reason: String,
}

/// The outcome of the import of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
        Self { file: shown(file), format, entries, off: 0, taken_over: 0, notes: Vec::new() }
    }

    /// Adds a note. Control characters are removed, since a list may contain anything and the note may be
    /// shown in a terminal.
    pub(super) fn note(&mut self, name: &str, outcome: NoteKind, reason: &str) {
        self.notes.push(Note { name: shown(name), outcome, reason: shown(reason) });
    }

    /// Notes that an entry that had become a module is left out, since the module `id` sends the same request.
    pub(crate) fn skip_covered(&mut self, name: &str, id: &str) {
        self.taken_over -= 1;
        self.notes.retain(|note| note.outcome != NoteKind::Changed || note.name != name);
        self.note(name, NoteKind::AlreadyThere, id);
    }

    /// Returns the number of notes of the given kind.
    pub fn count(&self, outcome: NoteKind) -> usize {
        self.lines(outcome).count()
    }

    /// Returns the notes of the given kind, one per line, each with the name of the file before it.
    pub fn lines(&self, outcome: NoteKind) -> impl Iterator<Item = String> {
        let notes = self.notes.iter().filter(move |note| note.outcome == outcome);
        notes.map(|note| format!("{}: {note}", self.file))
    }

    /// Returns a summary of the import on one line, with the numbers of entries.
    pub fn summary(&self) -> String {
        let Self { file, format, entries, off, taken_over, .. } = self;
        let mut text =
            format!("{file}: list of {}: {taken_over} of {entries} entries imported", format.as_str());
        let others = [
            (self.count(NoteKind::AlreadyThere), "already covered"),
            (self.count(NoteKind::LeftOut), "left out"),
            (*off, "disabled by the list"),
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
