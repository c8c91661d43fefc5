//! What a caller chooses from the catalogue for one search, and why a choice is refused.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use super::{Catalog, Selection};
use crate::modules::definition::Contact;
use crate::modules::module::Module;

/// The most names of one list.
pub const MAX_NAMES: usize = 1000;
/// The most names that a refusal repeats, and the most characters of each.
const SHOWN_NAMES: usize = 20;
const SHOWN_CHARS: usize = 64;

/// What a caller chooses. The default asks what a search asks without a choice.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Choice {
    /// Only these modules, by id; an adult one that is named here is asked without `nsfw`. Empty: all.
    pub modules: Vec<String>,
    /// Not these modules, by id; of any type, so that one list serves every search.
    pub exclude_modules: Vec<String>,
    /// Only modules of these categories. Empty: all.
    pub categories: Vec<String>,
    /// Adult sites too.
    pub nsfw: bool,
    /// Only modules that ask a third party: nothing reaches what is looked up, nor its name servers.
    pub passive: bool,
}

impl Choice {
    /// The part that leaves the fewest modules, to name it where none is left.
    fn narrows_by(&self) -> Part {
        let parts = [
            (!self.modules.is_empty(), Part::Modules),
            (!self.categories.is_empty(), Part::Categories),
            (!self.exclude_modules.is_empty(), Part::ExcludeModules),
            (self.passive, Part::Passive),
        ];
        parts.into_iter().find(|(narrows, _)| *narrows).map_or(Part::Type, |(_, part)| part)
    }
}

/// Which part of a choice a refusal speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// [`Choice::modules`].
    Modules,
    /// [`Choice::exclude_modules`].
    ExcludeModules,
    /// [`Choice::categories`].
    Categories,
    /// [`Choice::passive`].
    Passive,
    /// The kind of search.
    Type,
}

impl Part {
    /// The field's name in a request.
    pub fn field(self) -> &'static str {
        match self {
            Self::Modules => "modules",
            Self::ExcludeModules => "exclude_modules",
            Self::Categories => "categories",
            Self::Passive => "passive",
            Self::Type => "type",
        }
    }
}

/// Why a choice is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChoiceError {
    /// Where; the first place of several.
    pub part: Part,
    /// All that was wrong, for a person.
    pub message: String,
    /// The names it speaks of, the first of them where they are many; cut where they are long, and
    /// without control characters.
    pub names: Vec<String>,
    /// What is allowed at that place.
    pub allowed: String,
}

impl ChoiceError {
    fn join(mut self, other: Self) -> Self {
        self.message = format!("{}; {}", self.message, other.message);
        self.names.extend(other.names);
        self
    }
}

impl fmt::Display for ChoiceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; allowed: {}", self.message, self.allowed)
    }
}

impl std::error::Error for ChoiceError {}

impl Catalog {
    /// The modules that a search asks by this choice, popular ones first. `switches` says what may be
    /// asked at all.
    ///
    /// # Errors
    /// A name that is unknown, or that this search cannot ask; a choice that leaves nothing.
    pub fn choose(&self, switches: &Selection, choice: &Choice) -> Result<Vec<Arc<Module>>, ChoiceError> {
        let wrong = self.wrong_modules(switches, &choice.modules).into_iter();
        let wrong = wrong
            .chain(self.wrong_exclusions(&choice.exclude_modules))
            .chain(self.wrong_categories(switches, &choice.categories));
        if let Some(error) = wrong.reduce(ChoiceError::join) {
            return Err(error);
        }
        let chosen = self.chosen(switches, choice);
        if chosen.is_empty() { Err(self.nothing_left(switches, choice)) } else { Ok(chosen) }
    }

    fn chosen(&self, switches: &Selection, choice: &Choice) -> Vec<Arc<Module>> {
        let named: BTreeSet<&str> = choice.modules.iter().map(String::as_str).collect();
        let mut chosen = self.select(&Selection { nsfw: choice.nsfw || !named.is_empty(), ..*switches });
        let excluded: BTreeSet<&str> = choice.exclude_modules.iter().map(String::as_str).collect();
        chosen.retain(|module| {
            let (id, entry) = (&**module.id(), module.entry());
            (named.is_empty() || named.contains(id))
                && !excluded.contains(id)
                && (choice.categories.is_empty() || choice.categories.contains(&entry.category))
                && (!choice.passive || entry.contact == Contact::ThirdParty)
        });
        chosen
    }

    fn wrong_modules(&self, switches: &Selection, ids: &[String]) -> Vec<ChoiceError> {
        let kind = switches.search_type;
        let entry = |id: &str| self.get(id).map(|module| module.entry());
        let of_this_type =
            |id: &str| self.get(id).filter(|module| module.search_type() == kind && module.entry().enabled);
        let refusals = [
            refusal(Part::Modules, "unknown modules", ids, |id| entry(id).is_none(), IDS),
            refusal(
                Part::Modules,
                &format!("no {kind} modules"),
                ids,
                |id| self.get(id).is_some_and(|module| module.search_type() != kind),
                IDS,
            ),
            refusal(
                Part::Modules,
                "modules that are switched off in the catalogue",
                ids,
                |id| entry(id).is_some_and(|entry| !entry.enabled),
                IDS,
            ),
            refusal(
                Part::Modules,
                "modules that touch a sign-in page",
                ids,
                |id| !switches.discovery && of_this_type(id).is_some_and(|module| module.entry().discovery),
                "modules that touch no sign-in page, unless the operator allows them (--discovery)",
            ),
            refusal(
                Part::Modules,
                "modules of premium searches",
                ids,
                |id| !switches.premium && of_this_type(id).is_some_and(|module| module.is_premium()),
                "modules that need no browser, or a premium search",
            ),
        ];
        refusals.into_iter().flatten().collect()
    }

    fn wrong_exclusions(&self, ids: &[String]) -> Option<ChoiceError> {
        refusal(Part::ExcludeModules, "unknown modules", ids, |id| self.get(id).is_none(), IDS)
    }

    fn wrong_categories(&self, switches: &Selection, categories: &[String]) -> Option<ChoiceError> {
        if categories.is_empty() {
            return None;
        }
        let known = self.categories(switches.search_type);
        let allowed = known.iter().copied().collect::<Vec<_>>().join(", ");
        let message = format!("unknown categories of {} modules", switches.search_type);
        refusal(Part::Categories, &message, categories, |name| !known.contains(name), &allowed)
    }

    /// Says which switch would leave some, if one would.
    fn nothing_left(&self, switches: &Selection, choice: &Choice) -> ChoiceError {
        let (kind, part) = (switches.search_type, choice.narrows_by());
        let others = [
            (
                *switches,
                Choice { nsfw: true, ..choice.clone() },
                "they are adult sites: `nsfw` asks them too",
            ),
            (*switches, Choice { passive: false, ..choice.clone() }, "none of them is passive"),
            (
                Selection { premium: true, ..*switches },
                choice.clone(),
                "they need a browser: a premium search asks them",
            ),
            (
                Selection { discovery: true, ..*switches },
                choice.clone(),
                "they touch a sign-in page, which the operator does not allow (--discovery)",
            ),
        ];
        let would_leave_some =
            |(switches, choice, _): &&(Selection, Choice, _)| !self.chosen(switches, choice).is_empty();
        let why =
            others.iter().find(would_leave_some).map_or_else(String::new, |(.., why)| format!(": {why}"));
        let (what, allowed) = match part {
            Part::Type => ("the catalogue has", "a type that the catalogue has modules for"),
            _ => ("this choice leaves", "a choice that leaves at least one module"),
        };
        let message = format!("{what} no {kind} module to be asked{why}");
        ChoiceError { part, message, names: Vec::new(), allowed: allowed.to_owned() }
    }
}

const IDS: &str = "ids of modules of this type, as GET /v1/modules and `sightline catalog list` show them";

/// What is to be said of the names that are wrong, if there are any.
fn refusal(
    part: Part,
    message: &str,
    names: &[String],
    is_wrong: impl Fn(&str) -> bool,
    allowed: &str,
) -> Option<ChoiceError> {
    let wrong: BTreeSet<&str> = names.iter().map(String::as_str).filter(|name| is_wrong(name)).collect();
    if wrong.is_empty() {
        return None;
    }
    let shown: Vec<String> = wrong.iter().take(SHOWN_NAMES).map(|name| shown(name)).collect();
    let more = match wrong.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("{}: {message}: {}{more}", part.field(), shown.join(", "));
    Some(ChoiceError { part, message, names: shown, allowed: allowed.to_owned() })
}

/// A name as a message repeats it: whoever sent it, terminals and logs stay whole.
fn shown(name: &str) -> String {
    let chars = name.chars().take(SHOWN_CHARS);
    chars.map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
