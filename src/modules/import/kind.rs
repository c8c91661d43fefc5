//! The lists of other tools that can be imported.

use std::fmt;

use serde::{Serialize, Serializer};

/// The kinds of lists that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ListKind {
    /// WhatsMyName's `wmn-data.json`.
    WhatsMyName,
    /// Sherlock's `data.json`.
    Sherlock,
    /// Maigret's `data.json`.
    Maigret,
}

impl ListKind {
    /// All kinds of lists.
    pub const ALL: [Self; 3] = [Self::WhatsMyName, Self::Sherlock, Self::Maigret];

    /// Returns the name of the tool.
    pub fn name(self) -> &'static str {
        match self {
            Self::WhatsMyName => "WhatsMyName",
            Self::Sherlock => "Sherlock",
            Self::Maigret => "Maigret",
        }
    }

    /// Returns the prefix of the ids of the list's modules, without the dot.
    pub fn prefix(self) -> &'static str {
        match self {
            Self::WhatsMyName => "wmn",
            Self::Sherlock => "sherlock",
            Self::Maigret => "maigret",
        }
    }

    /// Returns the tag that the list's modules have.
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
