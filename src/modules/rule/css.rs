//! Conditions on the elements that a CSS selector finds.

use crate::modules::answer::Answer;
use crate::modules::definition::{CssCondition, CssRule};
use crate::modules::html::{Element, SelectorId, Selectors};
use crate::modules::mistake::Mistakes;
use crate::modules::pattern::Pattern;
use crate::modules::scope::Scope;
use crate::modules::template::Values;
use crate::modules::text::same_name;

/// A compiled [`CssRule`].
#[derive(Debug, Clone)]
pub(crate) struct CssMatcher {
    selector: SelectorId,
    exists: bool,
    attribute: Option<String>,
    matches: Option<Pattern>,
    equals_query: Option<bool>,
    label: String,
}

impl CssMatcher {
    /// Compiles a rule. If it is invalid, adds the errors to `mistakes` and returns `None`.
    pub(crate) fn compile(
        rule: &CssRule,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Option<Self> {
        let condition = match rule {
            CssRule::Found(select) => {
                CssCondition { select: select.clone(), exists: true, ..CssCondition::default() }
            }
            CssRule::Detailed(condition) => condition.clone(),
        };
        let attribute = condition.attribute.map(|name| name.to_ascii_lowercase());
        let selector = mistakes.take(selectors.add(&condition.select, attribute.as_deref()))?;
        let matches = match &condition.matches {
            Some(text) => Some(mistakes.field("matches", |mistakes| scope.pattern(text, mistakes))?),
            None => None,
        };
        let label = format!("{}{}", if condition.exists { "" } else { "no " }, condition.select);
        let equals_query = condition.equals_query;
        Some(Self { selector, exists: condition.exists, attribute, matches, equals_query, label })
    }

    /// Returns whether the rule holds on the page. On a page that was cut off, no element can be proved to
    /// be missing.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let page = answer.page();
        let is_found = page.elements(self.selector).iter().any(|element| {
            if self.attribute.is_none() && self.matches.is_none() && self.equals_query.is_none() {
                return true;
            }
            let is_cut = self.attribute.is_none() && answer.is_cut() && page.is_last(element);
            self.read(answer, element).is_some_and(|text| self.fits(&text, is_cut, values))
        });
        if self.exists { is_found } else { !is_found && !answer.is_cut() }
    }

    fn read(&self, answer: &Answer<'_>, element: &Element) -> Option<String> {
        match &self.attribute {
            Some(name) => element.attribute(name).map(str::to_owned),
            None => Some(answer.page().text_of(element)),
        }
    }

    /// Returns whether a text meets the conditions. `is_cut` says whether the element's text may continue
    /// after the cut of the page.
    fn fits(&self, text: &str, is_cut: bool, values: &Values<'_>) -> bool {
        let matches = self.matches.as_ref().is_none_or(|pattern| pattern.is_found_in(text, is_cut, values));
        let trimmed = text.trim();
        let name = trimmed.strip_prefix('@').unwrap_or(trimmed);
        matches && self.equals_query.is_none_or(|wanted| !is_cut && wanted == same_name(name, values.name))
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    pub(crate) fn echoes_query(&self) -> bool {
        self.exists
            && (self.equals_query == Some(true)
                || self
                    .matches
                    .as_ref()
                    .and_then(Pattern::template)
                    .is_some_and(super::super::template::Template::shows_query))
    }

    /// Returns whether an element must equal the query.
    pub(crate) fn proves_name(&self) -> bool {
        self.exists && self.equals_query == Some(true)
    }

    pub(crate) fn is_positive(&self) -> bool {
        self.exists
    }
}
