//! Conditions on HTML elements.

use schemars::{JsonSchema, Schema, json_schema};
use serde::{Deserialize, Serialize};

use super::text::{Short, ShortOrLong, yes};
use crate::modules::answer::Answer;
use crate::modules::html::{Element, MAX_FOUND, Selector};
use crate::modules::template::{Pattern, Values};
use crate::modules::text::same_name;

/// A condition on the elements that a CSS selector finds. The short form is
/// the selector alone, which must find an element.
pub type CssRule = ShortOrLong<CssCondition>;

/// The long form of a condition on the elements that a CSS selector finds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "an object")]
#[schemars(rename = "css_rule")]
pub struct CssCondition {
    /// The selector: compound selectors (`tag#id.class[attr^="v"]`) joined by a space, in a list joined by `,`.
    #[schemars(length(min = 1))]
    pub select: Selector,
    /// Whether there must be such an element (`true`, the default) or must not be one (`false`).
    #[serde(default = "yes")]
    pub exists: bool,
    /// The attribute that is read instead of the text.
    pub attribute: Option<String>,
    /// A regex (a template for regexes) that must be found in the text (or attribute) of one element.
    pub matches: Option<Pattern>,
    /// Whether the trimmed text (or attribute) of one element, without a
    /// leading `@`, must be the query, regardless of case.
    pub equals_query: Option<bool>,
}

impl Short for CssCondition {
    fn of_text(text: &str) -> Result<Self, String> {
        Ok(Self { select: Selector::parse(text)?, exists: true, ..Self::default() })
    }

    fn as_text(&self) -> Option<&str> {
        let short = Self { select: self.select.clone(), exists: true, ..Self::default() };
        (*self == short).then_some(&*self.select)
    }

    fn schema() -> Schema {
        json_schema!({"type": "string"})
    }
}

impl CssCondition {
    /// Returns whether the rule holds on the page. On a page that was cut off, or of which not all that the rule is about
    /// is read, no element can be proved to be missing.
    pub(crate) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let elements = answer.page().select(&self.select);
        let is_found = elements.iter().take(MAX_FOUND).any(|element| self.fits(answer, element, values));
        let is_cut = |it: &&Element| self.attribute.is_none() && answer.page().is_text_cut(it, false);
        let is_whole = || !answer.is_cut() && elements.len() <= MAX_FOUND && !elements.iter().any(is_cut);
        is_found == self.exists && (is_found || is_whole())
    }

    /// Returns the description for people.
    pub(crate) fn label(&self) -> String {
        format!("{}{}", if self.exists { "" } else { "no " }, &*self.select)
    }

    pub(crate) fn echoes_query(&self) -> bool {
        self.proves_name()
            || (self.exists && self.matches.as_ref().is_some_and(|pattern| pattern.template.shows_query()))
    }

    /// Returns whether an element must equal the query.
    pub(crate) fn proves_name(&self) -> bool {
        self.exists && self.equals_query == Some(true)
    }

    /// Returns whether an element meets the condition. A text that was cut off continues after the cut.
    fn fits(&self, answer: &Answer<'_>, element: &Element, values: &Values<'_>) -> bool {
        if self.attribute.is_none() && self.matches.is_none() && self.equals_query.is_none() {
            return true;
        }
        let attribute = self.attribute.as_ref().map(|name| name.to_ascii_lowercase());
        let Some(text) = answer.page().value(element, attribute.as_deref()) else { return false };
        let is_cut = self.attribute.is_none() && answer.page().is_text_cut(element, answer.is_cut());
        let matches = self.matches.as_ref().is_none_or(|pattern| pattern.is_found_in(&text, is_cut, values));
        let trimmed = text.trim();
        let name = trimmed.strip_prefix('@').unwrap_or(trimmed);
        matches && self.equals_query.is_none_or(|wanted| !is_cut && wanted == same_name(name, values.name))
    }
}
