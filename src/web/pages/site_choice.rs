//! [`SiteChoice`]: the choice of sites in the search form.

use std::collections::BTreeMap;

use serde_json::json;

use super::refusal::sentence;
use crate::modules::catalog::{Catalog, Choice, MAX_NAMES};
use crate::modules::query::SearchType;
use crate::web::visit::Form;

/// The choice of sites. Sites are named by ids or names, categories are those of one type of search.
#[derive(Debug, Clone, Default)]
pub(super) struct SiteChoice {
    /// The only sites to ask, separated by commas. Empty for all.
    pub(super) modules: String,
    /// The sites that are not asked, separated by commas.
    pub(super) exclude_modules: String,
    /// The only categories to ask, each with its type.
    categories: Vec<(SearchType, String)>,
}

/// The categories of a type that can be chosen.
#[derive(Debug, Clone)]
pub(super) struct CategoryGroup {
    /// The name of the type.
    pub(super) search_type: SearchType,
    pub(super) options: Vec<CategoryOption>,
}

/// A category that can be chosen.
#[derive(Debug, Clone)]
pub(super) struct CategoryOption {
    pub(super) value: String,
    pub(super) label: String,
    /// The number of its sites.
    pub(super) sites: usize,
    pub(super) is_chosen: bool,
}

impl SiteChoice {
    /// Reads the choice from a form.
    pub(super) fn read(form: &Form) -> Self {
        let category = |value: &str| {
            let (search_type, name) = value.split_once('/')?;
            Some((SearchType::from_name(search_type)?, name.to_owned()))
        };
        Self {
            modules: form.get("modules").trim().to_owned(),
            exclude_modules: form.get("exclude_modules").trim().to_owned(),
            categories: form.all("category").filter_map(category).take(MAX_NAMES).collect(),
        }
    }

    /// Returns the choice of a search of that type.
    pub(super) fn of(choice: &Choice, search_type: SearchType) -> Self {
        Self {
            modules: choice.modules.join(", "),
            exclude_modules: choice.exclude_modules.join(", "),
            categories: choice.categories.iter().map(|name| (search_type, name.clone())).collect(),
        }
    }

    /// Returns the choice of these modules.
    pub(super) fn named(modules: impl IntoIterator<Item = String>) -> Self {
        let modules = modules.into_iter().collect::<Vec<_>>().join(", ");
        Self { modules, ..Self::default() }
    }

    /// Returns whether anything is chosen.
    pub(super) fn is_set(&self) -> bool {
        !self.modules.is_empty() || !self.exclude_modules.is_empty() || !self.categories.is_empty()
    }

    /// Returns the choice for a search of that type.
    pub(super) fn choice(&self, search_type: SearchType) -> Choice {
        let categories = self.categories.iter().filter(|(of, _)| *of == search_type);
        Choice {
            modules: names(&self.modules),
            exclude_modules: names(&self.exclude_modules),
            categories: categories.map(|(_, name)| name.clone()).collect(),
            ..Choice::default()
        }
    }

    /// Returns the part of a search's fingerprint that the choice is. It is empty if nothing is chosen.
    pub(super) fn fingerprint(&self, search_type: SearchType) -> String {
        let choice = self.choice(search_type).narrowed();
        let text = |choice: Choice| {
            let Choice { modules, exclude_modules, categories, .. } = choice;
            format!("sites {} ", json!([modules, exclude_modules, categories]))
        };
        choice.map(text).unwrap_or_default()
    }

    /// Returns the values of the chosen categories, as a form sends them.
    pub(super) fn category_values(&self) -> Vec<String> {
        self.categories.iter().map(|(search_type, name)| value(*search_type, name)).collect()
    }

    /// Returns the categories that can be chosen, by type.
    pub(super) fn groups(&self, catalog: &Catalog) -> Vec<CategoryGroup> {
        let mut sites: BTreeMap<(SearchType, &str), usize> = BTreeMap::new();
        for module in catalog.modules().iter().filter(|module| module.entry().enabled) {
            *sites.entry((module.search_type(), &module.entry().category)).or_default() += 1;
        }
        let chosen = self.category_values();
        let option = |search_type, name: &str, sites| {
            let value = value(search_type, name);
            let label = sentence(&name.replace('_', " "));
            CategoryOption { is_chosen: chosen.contains(&value), value, label, sites }
        };
        let group = |search_type| {
            let of_type = sites.iter().filter(|((of, _), _)| *of == search_type);
            let options = of_type.map(|((of, name), sites)| option(*of, name, *sites)).collect();
            CategoryGroup { search_type, options }
        };
        [SearchType::Username, SearchType::Email, SearchType::Domain].map(group).into()
    }
}

fn value(search_type: SearchType, category: &str) -> String {
    format!("{search_type}/{category}")
}

/// Returns the names in a list. Names of sites may contain spaces.
fn names(list: &str) -> Vec<String> {
    let names = list.split([',', ';', '\n']).map(str::trim).filter(|name| !name.is_empty());
    names.take(MAX_NAMES).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sites_are_separated_by_commas_and_categories_are_those_of_the_type() {
        let form = "modules=GitHub,+Hacker+News%0D%0A,&exclude_modules=+&category=username/coding&category=email/profile\
                    &category=phone/x&category=y";
        let choice = SiteChoice::read(&Form::parse(form.as_bytes()));
        let of_name = choice.choice(SearchType::Username);
        assert_eq!((of_name.modules, of_name.categories), (names("GitHub,Hacker News"), names("coding")));
        assert_eq!(choice.choice(SearchType::Domain).categories, names(""));
        assert_eq!(choice.category_values(), ["username/coding", "email/profile"]);
        assert_eq!(choice.exclude_modules, "");
        assert_eq!(SiteChoice::default().fingerprint(SearchType::Email), "");
    }
}
