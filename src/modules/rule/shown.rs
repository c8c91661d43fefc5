//! Conditions on the visible text and the title of a page.

use crate::modules::answer::Answer;
use crate::modules::definition::MatcherEntry;
use crate::modules::html::Selectors;
use crate::modules::mistake::Mistakes;
use crate::modules::scope::Scope;
use crate::modules::template::{Kind, Template, Values};
use crate::modules::text::squeeze;

/// The compiled conditions `text`, `title` and `title_is` of a [`MatcherEntry`].
#[derive(Debug, Clone)]
pub(super) struct ShownMatcher {
    text: Vec<Template>,
    title: Option<Template>,
    title_is: Option<Template>,
    ignore_case: bool,
}

impl ShownMatcher {
    /// Compiles the conditions and adds their errors to `mistakes`.
    pub(super) fn compile(
        entry: &MatcherEntry,
        selectors: &mut Selectors,
        scope: &Scope,
        mistakes: &mut Mistakes,
    ) -> Self {
        if !entry.text.is_empty() {
            selectors.want_visibility();
        }
        let template = |text: &str, mistakes: &mut Mistakes| {
            if text.trim().is_empty() {
                mistakes.add("an empty text is on every page");
            }
            scope.template(text, Kind::Plain, mistakes)
        };
        let mut one = |field: &str, text: &Option<String>| {
            text.as_deref().and_then(|text| mistakes.field(field, |mistakes| template(text, mistakes)))
        };
        let (title, title_is) = (one("title", &entry.title), one("title_is", &entry.title_is));
        let text = mistakes.list("text", &entry.text, |mistakes, text| template(text, mistakes));
        Self { text, title, title_is, ignore_case: entry.ignore_case }
    }

    /// Returns whether every condition holds. A title that was cut off does not meet any condition.
    pub(super) fn holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        (self.text.is_empty() || self.text_holds(answer, values))
            && (self.title.is_none() && self.title_is.is_none() || self.title_holds(answer, values))
    }

    fn text_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let shown = self.cased(answer.visible());
        self.text
            .iter()
            .all(|text| text.fill(values).is_ok_and(|wanted| shown.contains(&self.cased(&squeeze(&wanted)))))
    }

    fn title_holds(&self, answer: &Answer<'_>, values: &Values<'_>) -> bool {
        let Some(title) = &answer.page().title else { return false };
        let shown = self.cased(title);
        let wanted =
            |template: &Template| template.fill(values).ok().map(|wanted| self.cased(&squeeze(&wanted)));
        let stands = |template: &Template| wanted(template).is_some_and(|wanted| shown.contains(&wanted));
        let equals = |template: &Template| wanted(template).is_some_and(|wanted| shown == wanted);
        self.title.as_ref().is_none_or(stands) && self.title_is.as_ref().is_none_or(equals)
    }

    fn cased(&self, text: &str) -> String {
        if self.ignore_case { text.to_lowercase() } else { text.to_owned() }
    }

    /// Returns whether there is any condition.
    pub(super) fn is_asked(&self) -> bool {
        !self.text.is_empty() || self.title.is_some() || self.title_is.is_some()
    }

    /// Returns whether the conditions hold only if the page repeats the query.
    pub(super) fn echoes_query(&self) -> bool {
        self.text.iter().chain(&self.title).chain(&self.title_is).any(Template::shows_query)
    }
}
