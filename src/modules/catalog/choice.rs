//! The choice of modules for one search, and the reasons to refuse a choice.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::load::{Catalog, Selection};
use crate::modules::definition::Contact;
use crate::modules::module::Module;
use crate::modules::near::did_you_mean;
use crate::modules::query::SearchType;

/// The maximum number of names in one list of a choice.
pub const MAX_NAMES: usize = 1000;
/// The maximum number of names that an error repeats, and the maximum number of characters of each.
const SHOWN_NAMES: usize = 20;
const SHOWN_CHARS: usize = 64;

/// A choice of modules. The default value is used for a search without a choice.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// The ids of the only modules to use. An empty list means all. An adult module listed here runs even
    /// without `nsfw`.
    pub modules: Vec<String>,
    /// The ids of the modules to leave out. They may be of any search type, so that one list serves every
    /// search.
    pub exclude_modules: Vec<String>,
    /// The only categories to use. An empty list means all.
    pub categories: Vec<String>,
    /// Whether modules for adult sites are included.
    pub nsfw: bool,
    /// Whether the sites of engines are included.
    pub engines: bool,
    /// Whether only modules that send requests to third parties are used. Then no request reaches the
    /// searched target or its name servers.
    pub passive: bool,
}

impl Choice {
    /// Returns the choice if it names modules or categories.
    pub fn narrowed(&self) -> Option<Self> {
        let Self { modules, exclude_modules, categories, .. } = self;
        let is_narrowed = [modules, exclude_modules, categories].iter().any(|names| !names.is_empty());
        is_narrowed.then(|| self.clone())
    }

    /// Returns the field that narrows the choice the most, for the error when no module is left.
    fn narrows_by(&self) -> &'static str {
        match self {
            Self { modules, .. } if !modules.is_empty() => "modules",
            Self { categories, .. } if !categories.is_empty() => "categories",
            Self { exclude_modules, .. } if !exclude_modules.is_empty() => "exclude_modules",
            Self { passive: true, .. } => "passive",
            _ => "type",
        }
    }
}

/// The error for a choice that is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}: expected {allowed}")]
pub struct ChoiceError {
    /// The refused field of the request, or the first one if there are several.
    pub field: &'static str,
    /// A description of all mistakes, for people.
    pub message: String,
    /// The names that the message is about. If there are many, only the first ones are kept. Long names are
    /// cut, and control characters are replaced.
    pub names: Vec<String>,
    /// A description of the values that are allowed for this field.
    pub allowed: String,
}

impl ChoiceError {
    fn join(mut self, other: Self) -> Self {
        self.message = format!("{}; {}", self.message, other.message);
        self.names.extend(other.names);
        self
    }
}

impl Catalog {
    /// Returns the modules that a search with this choice uses, popular ones first. `switches` says which
    /// modules are available at all.
    ///
    /// # Errors
    /// Returns an error if a name is unknown, if this search cannot use a named module, or if no module is
    /// left.
    pub fn choose(&self, switches: &Selection, choice: &Choice) -> Result<Vec<Arc<Module>>, ChoiceError> {
        if let Some(error) = self.wrong_names(switches, choice).into_iter().reduce(ChoiceError::join) {
            return Err(error);
        }
        let chosen = self.select(switches, choice);
        if chosen.is_empty() { Err(self.nothing_left(switches, choice)) } else { Ok(chosen) }
    }

    /// Returns the choice with the ids of modules that people write in another way, such as `GitHub`.
    pub fn with_ids(&self, search_type: SearchType, mut choice: Choice) -> Choice {
        let names = choice.modules.iter_mut().chain(&mut choice.exclude_modules);
        for name in names.filter(|name| self.get(name).is_none()) {
            let mut of_type = self.modules().iter().filter(|module| module.search_type() == search_type);
            let is_meant = |module: &&Arc<Module>| {
                module.id().eq_ignore_ascii_case(name) || module.platform().eq_ignore_ascii_case(name)
            };
            if let Some(module) = of_type.find(is_meant) {
                *name = module.id().to_string();
            }
        }
        choice
    }

    /// Returns the enabled modules that these switches and this choice leave, popular ones first, then by id.
    pub fn select(&self, switches: &Selection, choice: &Choice) -> Vec<Arc<Module>> {
        let named: BTreeSet<&str> = choice.modules.iter().map(String::as_str).collect();
        let excluded: BTreeSet<&str> = choice.exclude_modules.iter().map(String::as_str).collect();
        let is_chosen = |module: &&Arc<Module>| {
            let (id, entry) = (&**module.id(), module.entry());
            entry.enabled
                && module.search_type() == switches.search_type
                && (switches.premium || !module.is_premium())
                && (switches.discovery || !entry.discovery)
                && (choice.nsfw || !entry.nsfw || !named.is_empty())
                && (choice.engines || !entry.needs_engines() || !named.is_empty())
                && (named.is_empty() || named.contains(id))
                && !excluded.contains(id)
                && (choice.categories.is_empty() || choice.categories.contains(&entry.category))
                && (!choice.passive || entry.contact == Contact::ThirdParty)
        };
        let mut chosen: Vec<Arc<Module>> = self.modules().iter().filter(is_chosen).cloned().collect();
        let place = |module: &Arc<Module>| (module.entry().rank.unwrap_or(u32::MAX), Arc::clone(module.id()));
        chosen.sort_by_cached_key(place);
        chosen
    }

    /// Returns an error for each kind of names that are wrong.
    fn wrong_names(&self, switches: &Selection, choice: &Choice) -> Vec<ChoiceError> {
        let kind = switches.search_type;
        let ids = |of: Option<SearchType>| {
            let modules = self.modules().iter();
            let modules = modules.filter(|module| of.is_none_or(|of| module.search_type() == of));
            modules.map(|module| &**module.id()).collect::<Vec<&str>>()
        };
        let categories: Vec<&str> = self.categories(kind).into_iter().collect();
        let why_not = |id: &str| match self.get(id) {
            None => 1,
            Some(module) if module.search_type() != kind => 2,
            Some(module) if !module.entry().enabled => 3,
            Some(module) if module.entry().discovery && !switches.discovery => 4,
            Some(module) if module.is_premium() && !switches.premium => 5,
            Some(_) => 0,
        };
        let sign_in = "modules that touch no sign-in page, unless the operator allows them (--discovery)";
        let browser = "modules that need no browser, or a premium search";
        let of_others = format!("no {kind} modules");
        let reasons: [(&str, &str, Vec<&str>); 5] = [
            ("unknown modules", IDS, ids(Some(kind))),
            (&of_others, IDS, Vec::new()),
            ("modules that are disabled in the catalogue", IDS, Vec::new()),
            ("modules that touch a sign-in page", sign_in, Vec::new()),
            ("modules of premium searches", browser, Vec::new()),
        ];
        let of_modules = reasons.iter().enumerate().map(|(index, (message, allowed, known))| {
            refusal("modules", message, &choice.modules, |id| why_not(id) == index + 1, allowed, known)
        });
        let is_unknown = |id: &str| self.get(id).is_none();
        let excluded = refusal(
            "exclude_modules",
            "unknown modules",
            &choice.exclude_modules,
            is_unknown,
            IDS,
            &ids(None),
        );
        let of_categories = refusal(
            "categories",
            &format!("unknown categories of {kind} modules"),
            &choice.categories,
            |name| !categories.contains(&name),
            &categories.join(", "),
            &categories,
        );
        of_modules.chain([excluded, of_categories]).flatten().collect()
    }

    /// Returns the error for a choice that leaves no module. It names the switch that would leave some, if
    /// there is one.
    fn nothing_left(&self, switches: &Selection, choice: &Choice) -> ChoiceError {
        let (kind, field) = (switches.search_type, choice.narrows_by());
        let adult = Choice { nsfw: true, ..choice.clone() };
        let engines = Choice { engines: true, ..choice.clone() };
        let active = Choice { passive: false, ..choice.clone() };
        let premium = Selection { premium: true, ..*switches };
        let discovery = Selection { discovery: true, ..*switches };
        let others = [
            (switches, &adult, "they are adult sites, which `nsfw` includes"),
            (switches, &engines, "they are sites of engines, which `engines` includes"),
            (switches, &active, "none of them is passive"),
            (&premium, choice, "they need a browser: a premium search includes them"),
            (
                &discovery,
                choice,
                "they touch a sign-in page, which the operator does not allow (--discovery)",
            ),
        ];
        let left = others.iter().find(|(switches, choice, _)| !self.select(switches, choice).is_empty());
        let why = left.map_or_else(String::new, |(.., why)| format!(": {why}"));
        let (what, allowed) = match field {
            "type" => ("the catalogue has", "a type that the catalogue has modules for"),
            _ => ("this choice leaves", "a choice that leaves at least one module"),
        };
        let message = format!("{what} no {kind} module{why}");
        ChoiceError { field, message, names: Vec::new(), allowed: allowed.to_owned() }
    }
}

const IDS: &str = "ids of modules of this type, as GET /v1/modules and `sightline catalog list` show them";

/// Returns the error about the wrong names, if there are any, with those of the `known` ones that were probably meant.
fn refusal(
    field: &'static str,
    message: &str,
    names: &[String],
    is_wrong: impl Fn(&str) -> bool,
    allowed: &str,
    known: &[&str],
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
    let meant = did_you_mean(&shown, || known.iter().copied());
    let message = format!("{field}: {message}: {}{more}{meant}", shown.join(", "));
    Some(ChoiceError { field, message, names: shown, allowed: allowed.to_owned() })
}

/// Returns a name as it is shown in a message: cut, and without control characters.
fn shown(name: &str) -> String {
    let chars = name.chars().take(SHOWN_CHARS);
    chars.map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
