//! Conditions on HTML elements.

use crate::modules::answer::Answer;
use crate::modules::definition::{CssCondition, CssRule};
use crate::modules::html::{Element, Selector};
use crate::modules::pattern::Pattern;
use crate::modules::template::{Template, Values};
use crate::modules::text::same_name;

impl CssRule {
    /// Returns the selector, and the condition on the elements that it finds.
    pub(crate) fn parts(&self) -> (&Selector, Option<&CssCondition>) {
        match self {
            Self::Found(select) => (select, None),
            Self::Detailed(condition) => (&condition.select, Some(condition)),
        }
    }

    /// Returns whether the rule holds on the page. On a page that was cut off, no element can be proved to
    /// be missing.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let (select, condition) = self.parts();
        let fits = |element| condition.is_none_or(|condition| condition.fits(answer, element, values));
        let is_found = answer.elements(select).iter().any(fits);
        if self.is_positive() { is_found } else { !is_found && !answer.is_cut() }
    }

    /// Returns the description for people.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", if self.is_positive() { "" } else { "no " }, &**self.parts().0)
    }

    pub(crate) fn echoes_query(&self) -> bool {
        let matches = self.parts().1.and_then(|condition| condition.matches.as_ref());
        let template = matches.and_then(Pattern::template);
        self.proves_name() || (self.is_positive() && template.is_some_and(Template::shows_query))
    }

    /// Returns whether an element must equal the query.
    pub(crate) fn proves_name(&self) -> bool {
        self.is_positive() && self.parts().1.is_some_and(|condition| condition.equals_query == Some(true))
    }

    /// Returns whether an element must be there.
    pub(crate) fn is_positive(&self) -> bool {
        self.parts().1.is_none_or(|condition| condition.exists)
    }
}

impl CssCondition {
    /// Returns whether an element meets the condition. The text of the last element of a page that was cut off may
    /// continue after the cut.
    fn fits(&self, answer: &Answer<'_>, element: &Element, values: &Values<'_>) -> bool {
        if self.attribute.is_none() && self.matches.is_none() && self.equals_query.is_none() {
            return true;
        }
        let text = match &self.attribute {
            Some(name) => element.attribute(&name.to_ascii_lowercase()).map(str::to_owned),
            None => Some(answer.page().text_of(element)),
        };
        let Some(text) = text else { return false };
        let is_cut = self.attribute.is_none() && answer.is_cut() && answer.page().is_last(element);
        let matches = self.matches.as_ref().is_none_or(|pattern| pattern.is_found_in(&text, is_cut, values));
        let trimmed = text.trim();
        let name = trimmed.strip_prefix('@').unwrap_or(trimmed);
        matches && self.equals_query.is_none_or(|wanted| !is_cut && wanted == same_name(name, values.name))
    }
}
