//! The variables that are allowed in a template of an entry.

use std::collections::BTreeSet;

use super::definition::Entry;
use super::mistake::Mistakes;
use super::pattern::Pattern;
use super::query::SearchType;
use super::template::{Kind, Template, Variable};

/// The variables that a template at this place may use.
#[derive(Debug, Clone)]
pub(crate) struct Scope {
    pub(crate) search_type: SearchType,
    /// The names that earlier probes save.
    pub(crate) saved: BTreeSet<String>,
    /// Whether `{config.NAME}` is allowed. It is allowed only in requests, so that no key reaches a result.
    pub(crate) allows_config: bool,
    /// Whether `{value}` is allowed in the template.
    pub(crate) allows_value: bool,
    /// Whether this is the request of a feed, which is the same for every query.
    pub(crate) feed: bool,
    /// The keys that the entry lists in `needs`, without the prefix `config.`.
    pub(crate) needs: BTreeSet<String>,
    /// The number of probes in the entry.
    pub(crate) probes: usize,
}

impl Scope {
    /// Returns the scope of an entry's rules, with the names that its probes save.
    pub(crate) fn of_rules(entry: &Entry, saved: BTreeSet<String>) -> Self {
        let needs = entry.needs.iter().filter_map(|need| need.strip_prefix("config."));
        Self {
            search_type: entry.search_type,
            saved,
            allows_config: false,
            allows_value: false,
            feed: false,
            needs: needs.map(str::to_owned).collect(),
            probes: entry.probes.len(),
        }
    }

    /// Parses a template and checks its variables.
    pub(crate) fn template(&self, text: &str, kind: Kind, mistakes: &mut Mistakes) -> Option<Template> {
        let template = mistakes.take(Template::parse(text, kind))?;
        self.admits(&template, mistakes).then_some(template)
    }

    /// Parses a template for regexes and checks its variables.
    pub(crate) fn pattern(&self, text: &str, mistakes: &mut Mistakes) -> Option<Pattern> {
        let pattern = Pattern::read(text, mistakes)?;
        let is_admitted = pattern.template().is_none_or(|template| self.admits(template, mistakes));
        is_admitted.then_some(pattern)
    }

    fn admits(&self, template: &Template, mistakes: &mut Mistakes) -> bool {
        let before = mistakes.count();
        for variable in template.variables() {
            if let Some(message) = self.why_not_allowed(variable) {
                mistakes.add(message);
            }
        }
        mistakes.count() == before
    }

    fn why_not_allowed(&self, variable: &Variable) -> Option<String> {
        let kind = self.search_type;
        match variable {
            Variable::Query | Variable::Local | Variable::Domain | Variable::Saved(_) if self.feed => Some(
                "a feed is fetched once for all queries: its request must not contain `{query}`, `{local}`, `{domain}` or `{saved.NAME}`"
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
                Some(format!("`{{config.{name}}}` is not allowed here: keys are only for requests"))
            }
            Variable::Config { name, is_optional: true } if self.needs.contains(name) => Some(format!(
                "`{{config.{name}?}}` may be missing, but \"config.{name}\" is in `needs`; remove the `?` or the entry of `needs`"
            )),
            Variable::Config { is_optional: true, .. } => None,
            Variable::Config { name, .. } if self.needs.contains(name) => None,
            Variable::Config { name, .. } => {
                Some(format!("`{{config.{name}}}` is used but not needed; add \"config.{name}\" to `needs`"))
            }
            Variable::Value if self.allows_value => None,
            Variable::Value => Some("`{value}` is allowed only in an extractor's `format`".into()),
        }
    }

    /// Notes a mistake if there is no probe with the index `probe`.
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
