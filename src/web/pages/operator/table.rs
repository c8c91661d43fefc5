//! The table of modules: its filters and order. The server sorts it, so that it works without scripts and an address
//! always shows the same view.

use std::cmp::Ordering;

use url::form_urlencoded;

use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::runs::health::verdict::{ModuleHealth, Verdict};
use crate::web::visit::Form;

/// The number of rows on a page.
pub(super) const ROWS: usize = 100;

/// A module with its health.
pub(super) type Row<'m> = (&'m Module, ModuleHealth);

/// A column by which the table can be sorted.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column {
    /// Its name in an address.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// Whether it contains numbers, which are sorted in descending order first.
    pub(super) is_number: bool,
    /// Compares two rows in ascending order.
    compare: Compare,
}

type Compare = fn(&Row<'_>, &Row<'_>) -> Ordering;

const fn text(name: &'static str, title: &'static str, compare: Compare) -> Column {
    Column { name, title, is_number: false, compare }
}

const fn number(name: &'static str, title: &'static str, compare: Compare) -> Column {
    Column { name, title, is_number: true, compare }
}

/// All columns from left to right.
pub(super) const COLUMNS: [Column; 12] = [
    text("platform", "Module", |(one, _), (other, _)| name(one).cmp(&name(other))),
    HEALTH,
    text("type", "Type", |(one, _), (other, _)| one.search_type().as_str().cmp(other.search_type().as_str())),
    text("verified", "Verified", |(one, _), (other, _)| verified_date(one).cmp(&verified_date(other))),
    number("hits", "Hits", |(_, a), (_, b)| a.hit_rate.total_cmp(&b.hit_rate)),
    number("misses", "Misses", |(_, a), (_, b)| a.miss_rate.total_cmp(&b.miss_rate)),
    number("blocked", "Blocked", |(_, a), (_, b)| a.blocked_rate.total_cmp(&b.blocked_rate)),
    number("errors", "Errors", |(_, a), (_, b)| a.error_rate.total_cmp(&b.error_rate)),
    number("latency", "Latency", |(_, a), (_, b)| a.latency_ms.cmp(&b.latency_ms)),
    number("deadline", "Deadline", |(_, a), (_, b)| a.deadline_ms.cmp(&b.deadline_ms)),
    number("checks", "Checks", |(_, a), (_, b)| a.checks.cmp(&b.checks)),
    number("last_hit", "Last hit", |(_, a), (_, b)| a.last_hit_at.cmp(&b.last_hit_at)),
];

/// The column by which the table is sorted by default. The worst health comes first.
const HEALTH: Column = text("health", "Health", |(_, a), (_, b)| {
    place(a.status).cmp(&place(b.status)).then(obstacle(b).total_cmp(&obstacle(a)))
});

fn place(verdict: Verdict) -> usize {
    Verdict::ALL.iter().position(|known| *known == verdict).unwrap_or_default()
}

fn obstacle(health: &ModuleHealth) -> f64 {
    health.blocked_rate + health.error_rate
}

/// Returns the date of the evidence for the module, or `None` without evidence, which comes first.
fn verified_date(module: &Module) -> Option<&str> {
    module.entry().verified.as_ref().map(|verified| verified.date.as_str())
}

fn name(module: &Module) -> String {
    module.platform().to_lowercase()
}

/// The filters and order of the table, as its address contains them.
#[derive(Debug, Clone)]
pub(super) struct Choice {
    pub(super) column: Column,
    pub(super) falling: bool,
    pub(super) health: Option<Verdict>,
    pub(super) search_type: Option<SearchType>,
    /// A part of a platform's name or a module's id in lower case. If it is empty, all modules match.
    pub(super) text: String,
    /// The page number, counted from 1.
    pub(super) page: usize,
}

impl Choice {
    /// Parses the parameters of an address. Invalid ones keep their default.
    pub(super) fn read(address: &Form) -> Self {
        let of = |name: &str| address.get(name);
        let column = COLUMNS.into_iter().find(|known| known.name == of("sort")).unwrap_or(HEALTH);
        Self {
            column,
            falling: match of("order") {
                "rising" => false,
                "falling" => true,
                _ => column.is_number,
            },
            health: Verdict::ALL.into_iter().find(|known| known.as_str() == of("health")),
            search_type: SearchType::ALL.into_iter().find(|known| known.as_str() == of("type")),
            text: of("q").trim().chars().take(100).collect::<String>().to_lowercase(),
            page: of("page").parse().unwrap_or(1).max(1),
        }
    }

    /// Returns the choice sorted by a column, on its first page. If it is already sorted by this column, the order is
    /// reversed.
    pub(super) fn sorted_by(&self, column: Column) -> Self {
        let falling = if self.column.name == column.name { !self.falling } else { column.is_number };
        Self { column, falling, page: 1, ..self.clone() }
    }

    /// Returns the choice with only modules of this health, or with all modules for `None`.
    pub(super) fn of_health(&self, health: Option<Verdict>) -> Self {
        Self { health, page: 1, ..self.clone() }
    }

    /// Returns the choice on another page.
    pub(super) fn on_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// Returns whether only modules of this type are selected.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.search_type.is_some_and(|known| known.as_str() == name)
    }

    /// Returns the address parameters for which the form above the table has no field.
    pub(super) fn hidden_fields(&self) -> Vec<(&'static str, &'static str)> {
        let mut pairs = Vec::new();
        if self.column.name != HEALTH.name || self.falling {
            let order = if self.falling { "falling" } else { "rising" };
            pairs.extend([("sort", self.column.name), ("order", order)]);
        }
        pairs.extend(self.health.map(|health| ("health", health.as_str())));
        pairs
    }

    /// Returns the query string of an address with `?`, empty for the defaults.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.hidden_fields());
        if let Some(search_type) = self.search_type {
            query.append_pair("type", search_type.as_str());
        }
        if !self.text.is_empty() {
            query.append_pair("q", &self.text);
        }
        if self.page > 1 {
            query.append_pair("page", &self.page.to_string());
        }
        let query = query.finish();
        if query.is_empty() { query } else { format!("?{query}") }
    }

    /// Returns the rows that match the filters, of any health.
    pub(super) fn of_any_health<'m>(&self, all: Vec<Row<'m>>) -> Vec<Row<'m>> {
        let fits = |module: &Module| {
            let is_type = self.search_type.is_none_or(|wanted| module.search_type() == wanted);
            is_type && (name(module).contains(&self.text) || module.id().contains(&self.text))
        };
        all.into_iter().filter(|(module, _)| fits(module)).collect()
    }

    /// Filters the rows by health and sorts them. Equal rows are sorted by name.
    pub(super) fn filter_and_sort(&self, rows: &mut Vec<Row<'_>>) {
        rows.retain(|(_, health)| self.health.is_none_or(|wanted| health.status == wanted));
        rows.sort_by(|one, other| {
            let order = (self.column.compare)(one, other);
            let order = if self.falling { order.reverse() } else { order };
            order.then_with(|| name(one.0).cmp(&name(other.0))).then_with(|| one.0.id().cmp(other.0.id()))
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modules::catalog::Catalog;
    use crate::modules::outcome::Outcome;
    use crate::runs::health::HealthTable;

    fn choice(query: &str) -> Choice {
        Choice::read(&Form::parse(query.as_bytes()))
    }

    #[test]
    fn an_address_parses_to_its_choice_and_back() {
        for query in [
            "",
            "?sort=health&order=falling",
            "?sort=errors&order=rising&health=broken&type=email&q=git+hub%26&page=3",
        ] {
            assert_eq!(choice(query.trim_start_matches('?')).query(), query);
        }
        for nonsense in ["sort=colour", "page=0", "page=-1", "health=%00", "type=x&order=up", "q=%20"] {
            assert_eq!(choice(nonsense).query(), "", "{nonsense}");
        }
        let errors = choice("sort=errors").column;
        let by_errors = choice("page=4").sorted_by(errors);
        assert_eq!((by_errors.falling, by_errors.page), (true, 1));
        assert!(!by_errors.sorted_by(errors).falling);
    }

    #[test]
    fn rows_are_filtered_and_sorted() {
        let entry = |id: &str, platform: &str, kind: &str| {
            serde_json::json!({"id": id, "platform": platform, "type": kind, "category": "test", "control": false,
                "probes": [{"url": "https://a.example/{query}"}], "hit": [{"status": [200]}],
                "miss": [{"status": [404]}]})
        };
        let entries =
            [entry("b", "Beta", "username"), entry("a", "alpha", "username"), entry("c", "Gamma", "email")];
        let text = serde_json::Value::from(entries.to_vec()).to_string();
        let catalog = Catalog::from_text("test", &text).unwrap();
        let (table, now) = (HealthTable::default(), jiff::Timestamp::UNIX_EPOCH);
        for (id, outcome) in [("a", Outcome::Hit), ("b", Outcome::Error)] {
            for _ in 0..5 {
                table.note(&id.into(), outcome, std::time::Duration::from_secs(1), now);
            }
        }
        let shown = |query: &str| {
            let choice = choice(query);
            let mut rows = choice.of_any_health(table.of_all(catalog.modules(), now));
            choice.filter_and_sort(&mut rows);
            rows.iter().map(|(module, _)| module.id().to_string()).collect::<String>()
        };
        for (query, want) in [
            ("", "bca"),
            ("sort=health&order=falling", "acb"),
            ("sort=platform", "abc"),
            ("sort=hits", "abc"),
            ("sort=errors", "bac"),
            ("sort=latency&order=rising", "cab"),
            ("sort=deadline", "abc"),
            ("sort=type", "cab"),
            ("health=broken", "b"),
            ("health=blocked", ""),
            ("type=email", "c"),
            ("q=BET", "b"),
        ] {
            assert_eq!(shown(query), want, "{query}");
        }
    }
}
