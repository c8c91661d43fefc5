//! Which variables may stand where, while an entry is compiled.

use std::collections::BTreeSet;

use super::mistake::Mistakes;
use super::pattern::Pattern;
use super::query::SearchType;
use super::template::{Kind, Template, Variable};

/// What a template at this place may ask for.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) search_type: SearchType,
    /// Names that earlier probes save.
    pub(crate) saved: BTreeSet<String>,
    /// Whether `{config.NAME}` may stand here: in requests only, so that no key reaches a result.
    pub(crate) allows_config: bool,
    /// Whether `{value}` may stand here.
    pub(crate) allows_value: bool,
    /// Whether `{page}` may stand here.
    pub(crate) allows_page: bool,
    /// Whether this is the request of a feed, which is the same for every query.
    pub(crate) feed: bool,
    /// Keys that the entry says it needs, without `config.`.
    pub(crate) needs: BTreeSet<String>,
    /// How many probes there are.
    pub(crate) probes: usize,
}

impl Scope {
    /// Reads a template and checks its variables.
    pub(crate) fn template(&self, text: &str, kind: Kind, mistakes: &mut Mistakes) -> Option<Template> {
        let template = mistakes.take(Template::parse(text, kind))?;
        self.admits(&template, mistakes).then_some(template)
    }

    /// Reads a template for regexes and checks its variables.
    pub(crate) fn pattern(&self, text: &str, mistakes: &mut Mistakes) -> Option<Pattern> {
        let pattern = mistakes.take(Pattern::parse(text))?;
        let is_admitted = pattern.template().is_none_or(|template| self.admits(template, mistakes));
        is_admitted.then_some(pattern)
    }

    fn admits(&self, template: &Template, mistakes: &mut Mistakes) -> bool {
        let before = mistakes.count();
        for variable in template.variables() {
            if let Some(message) = self.objection(variable) {
                mistakes.add(message);
            }
        }
        mistakes.count() == before
    }

    fn objection(&self, variable: &Variable) -> Option<String> {
        let kind = self.search_type;
        match variable {
            Variable::Query | Variable::Local | Variable::Domain | Variable::Saved(_) if self.feed => Some(
                "a feed is fetched once for all queries: its request holds no `{query}`, `{local}`, `{domain}` or `{saved.NAME}`"
                    .into(),
            ),
            Variable::Query => None,
            Variable::Local if kind == SearchType::Email => None,
            Variable::Local => Some(format!("`{{local}}` has no value in {kind} modules; use `{{query}}`")),
            Variable::Domain if kind != SearchType::Username => None,
            Variable::Domain => Some(format!("`{{domain}}` has no value in {kind} modules; use `{{query}}`")),
            Variable::Saved(name) if self.saved.contains(name) => None,
            Variable::Saved(name) => Some(format!(
                "`{{saved.{name}}}` is not saved by an earlier probe; add it to that probe's `save`"
            )),
            Variable::Config { name, .. } if !self.allows_config => {
                Some(format!("`{{config.{name}}}` must not stand here: keys are for requests only"))
            }
            Variable::Config { name, is_optional: true } if self.needs.contains(name) => Some(format!(
                "`{{config.{name}?}}` may be missing, but \"config.{name}\" stands in `needs`; take the `?` or the need away"
            )),
            Variable::Config { is_optional: true, .. } => None,
            Variable::Config { name, .. } if self.needs.contains(name) => None,
            Variable::Config { name, .. } => {
                Some(format!("`{{config.{name}}}` is used but not needed; add \"config.{name}\" to `needs`"))
            }
            Variable::Page if self.allows_page => None,
            Variable::Page => Some("`{page}` stands in the `url` of `pages` only".into()),
            Variable::Value if self.allows_value => None,
            Variable::Value => Some("`{value}` stands in an extractor's `format` only".into()),
        }
    }

    /// Checks that a probe of that index exists.
    pub(crate) fn check_probe(&self, probe: Option<usize>, mistakes: &mut Mistakes) {
        if let Some(index) = probe.filter(|index| *index >= self.probes) {
            let last = self.probes.saturating_sub(1);
            mistakes.add_in(
                "probe",
                format!("there is no probe {index}; the last one is {last} (0 is the first)"),
            );
        }
    }
}
