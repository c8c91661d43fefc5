//! The host to which a URL template leads, for the rate limit of that host.

use super::text::{Part, Place, Template, Values, Variable, scheme_length};
use crate::modules::public_suffix::{PublicSuffix, Section};

/// The host of a URL template.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Host {
    /// The host is always this one, or a name below it.
    Fixed(String),
    /// The host ends with a value of the query. This template, when filled, is the host.
    Queried(Template),
    /// The host comes from an earlier response or from a key of the operator.
    Unknown,
}

impl Host {
    /// Returns the host for this query. Returns `None` if it is not known or if the query has no such part.
    pub(crate) fn name(&self, values: &Values<'_>) -> Option<String> {
        match self {
            Self::Fixed(host) => Some(host.clone()),
            Self::Queried(template) => template.fill(values).ok(),
            Self::Unknown => None,
        }
    }

    /// Returns the host if it is the same for all queries.
    pub(crate) fn fixed(&self) -> Option<&str> {
        match self {
            Self::Fixed(host) => Some(host),
            Self::Queried(_) | Self::Unknown => None,
        }
    }
}

impl Template {
    /// Returns the host to which this URL template leads.
    pub(crate) fn host(&self) -> Host {
        let parts = self.host_parts();
        let Some(last) = parts.iter().rposition(|part| matches!(part, Part::Slot(_))) else {
            return match parts.into_iter().next() {
                Some(Part::Text(host)) => Host::Fixed(host.to_ascii_lowercase()),
                _ => Host::Unknown,
            };
        };
        if let Some(Part::Text(tail)) = parts.get(last + 1) {
            let tail = tail.trim_start_matches(|c| c != '.').trim_start_matches('.').to_ascii_lowercase();
            if !tail.is_empty() && !is_icann_suffix(&tail) {
                return Host::Fixed(tail);
            }
            return Host::Queried(Self::of_parts(parts));
        }
        match &parts[last] {
            Part::Slot(slot) if matches!(slot.variable, Variable::Saved(_) | Variable::Config { .. }) => {
                Host::Unknown
            }
            _ => Host::Queried(Self::of_parts(parts[last..].to_vec())),
        }
    }

    /// Returns the source of this URL template's host for error messages, if that is neither the entry nor
    /// the operator.
    pub(crate) fn host_is_of(&self) -> Option<&'static str> {
        match self.host() {
            Host::Fixed(_) => None,
            Host::Queried(_) => Some("the query"),
            Host::Unknown => {
                let slots = self.slots().filter(|slot| matches!(slot.place, Place::Address | Place::Host));
                let is_saved = slots.map(|slot| &slot.variable).any(|it| matches!(it, Variable::Saved(_)));
                is_saved.then_some("an earlier answer")
            }
        }
    }

    /// Returns the parts before the path, without the scheme and the port.
    fn host_parts(&self) -> Vec<Part> {
        let mut host = Vec::new();
        for (index, part) in self.parts.iter().enumerate() {
            match part {
                Part::Slot(slot) if slot.place == Place::Host => host.push(part.clone()),
                Part::Slot(_) => break,
                Part::Text(text) => {
                    let start = if index == 0 { scheme_length(text).unwrap_or(0) } else { 0 };
                    let text = &text[start..];
                    let end = text.find(['/', '?', ':']).unwrap_or(text.len());
                    if end > 0 {
                        host.push(Part::Text(text[..end].to_owned()));
                    }
                    if end < text.len() {
                        break;
                    }
                }
            }
        }
        host
    }
}

/// Returns whether anyone can register a name directly below `name`, which may end in a dot.
fn is_icann_suffix(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    PublicSuffix::of(name)
        .is_some_and(|suffix| suffix.name == name && suffix.section != Some(Section::Private))
}
