//! What was taken over from a list and what was not: said entry by entry.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::ListKind;
use crate::modules::text::{clean, cut, squeeze};

/// The most characters of a name or reason that come from a list.
const MAX_CHARS: usize = 200;

/// What became of a list.
#[derive(Debug, Clone, Serialize)]
pub struct ListReport {
    /// File name.
    pub file: String,
    /// Whose list it is.
    pub format: ListKind,
    /// How many entries it has.
    pub entries: usize,
    /// How many of these its authors have switched off.
    pub off: usize,
    /// How many became modules, those switched off included.
    pub taken_over: usize,
    /// How many that are switched on became modules.
    pub enabled_taken_over: usize,
    /// Entry by entry: what is not, or not wholly, taken over.
    pub notes: Vec<Note>,
}

/// A word about one entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The entry's name in its list; empty: the list as a whole.
    pub name: String,
    /// What became of it.
    pub outcome: NoteKind,
    /// Why. For [`NoteKind::AlreadyThere`] the id of the module that asks the same.
    pub reason: String,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// It became no module.
    LeftOut,
    /// It became no module since an earlier one asks the same site for the same.
    AlreadyThere,
    /// It became a module, without a part of what its list says.
    Changed,
}

impl ListReport {
    pub(super) fn new(file: &str, format: ListKind) -> Self {
        Self {
            file: file.to_owned(),
            format,
            entries: 0,
            off: 0,
            taken_over: 0,
            enabled_taken_over: 0,
            notes: Vec::new(),
        }
    }

    /// Notes something. Whatever a terminal would obey is taken out: lists come from anywhere.
    pub(super) fn note(&mut self, name: &str, outcome: NoteKind, reason: &str) {
        self.notes.push(Note { name: shown(name), outcome, reason: shown(reason) });
    }

    /// Takes back entries that had become modules: earlier modules (their ids) do their work. Each with
    /// its name and whether it is switched on.
    pub(crate) fn leave_to_others(&mut self, entries: &[(String, Arc<str>, bool)]) {
        let names: HashSet<&str> = entries.iter().map(|(name, ..)| name.as_str()).collect();
        self.notes.retain(|note| note.outcome != NoteKind::Changed || !names.contains(note.name.as_str()));
        for (name, id, is_enabled) in entries {
            self.taken_over -= 1;
            self.enabled_taken_over -= usize::from(*is_enabled);
            self.note(name, NoteKind::AlreadyThere, id);
        }
    }

    /// How many notes of that kind there are.
    pub fn count(&self, outcome: NoteKind) -> usize {
        self.notes.iter().filter(|note| note.outcome == outcome).count()
    }

    /// The notes of that kind, one a line, each with the file's name before it.
    pub fn lines(&self, outcome: NoteKind) -> impl Iterator<Item = String> {
        self.notes
            .iter()
            .filter(move |note| note.outcome == outcome)
            .map(|note| format!("{}: {note}", shown(&self.file)))
    }

    /// The list in one line: how many entries became what.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: list of {}: {} of {} entries taken over",
            shown(&self.file),
            self.format,
            self.taken_over,
            self.entries
        );
        let others = [
            (self.count(NoteKind::AlreadyThere), "there already"),
            (self.count(NoteKind::LeftOut), "left out"),
            (self.off, "switched off by the list"),
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
            NoteKind::AlreadyThere => write!(f, "there already: `{}` asks the same", self.reason),
            NoteKind::Changed => write!(f, "taken over, but: {}", self.reason),
        }
    }
}

/// One line of bounded length, without control characters and what turns the direction of text.
pub(super) fn shown(text: &str) -> String {
    cut(&squeeze(&clean(text)), MAX_CHARS).into_owned()
}
