//! The table of modules: which rows, in which order. Sorted by the server, so that it works without scripts and an
//! address leads to what somebody saw.

use std::cmp::Ordering;

use url::form_urlencoded;

use crate::modules::module::Module;
use crate::modules::query::SearchType;
use crate::runs::health::verdict::{ModuleHealth, Verdict};
use crate::web::visit::Form;

/// Rows of one page.
pub(super) const ROWS: usize = 100;

/// A module and how it has done.
pub(super) type Row<'m> = (&'m Module, ModuleHealth);

/// What the table can be sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Column {
    Health,
    Platform,
    Type,
    Checks,
    Hits,
    Misses,
    Blocked,
    Errors,
    Latency,
    LastHit,
}

impl Column {
    /// All of them, as they stand from left to right.
    pub(super) const ALL: [Self; 10] = [
        Self::Platform,
        Self::Health,
        Self::Type,
        Self::Hits,
        Self::Misses,
        Self::Blocked,
        Self::Errors,
        Self::Latency,
        Self::Checks,
        Self::LastHit,
    ];

    /// Its name in an address.
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Health => "health",
            Self::Platform => "platform",
            Self::Type => "type",
            Self::Checks => "checks",
            Self::Hits => "hits",
            Self::Misses => "misses",
            Self::Blocked => "blocked",
            Self::Errors => "errors",
            Self::Latency => "latency",
            Self::LastHit => "last_hit",
        }
    }

    /// Its name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Health => "Health",
            Self::Platform => "Module",
            Self::Type => "Type",
            Self::Checks => "Checks",
            Self::Hits => "Hits",
            Self::Misses => "Misses",
            Self::Blocked => "Blocked",
            Self::Errors => "Errors",
            Self::Latency => "Latency",
            Self::LastHit => "Last hit",
        }
    }

    /// Whether its cells are figures: what most people look for then comes first in falling order.
    pub(super) fn is_number(self) -> bool {
        !matches!(self, Self::Health | Self::Platform | Self::Type)
    }

    /// Rising: for health the worst is least.
    fn compare(self, (one, a): &Row<'_>, (other, b): &Row<'_>) -> Ordering {
        match self {
            Self::Health => place(a.status).cmp(&place(b.status)).then(trouble(b).total_cmp(&trouble(a))),
            Self::Platform => name(one).cmp(&name(other)),
            Self::Type => one.search_type().as_str().cmp(other.search_type().as_str()),
            Self::Checks => a.checks.cmp(&b.checks),
            Self::Hits => a.hit_rate.total_cmp(&b.hit_rate),
            Self::Misses => a.miss_rate.total_cmp(&b.miss_rate),
            Self::Blocked => a.blocked_rate.total_cmp(&b.blocked_rate),
            Self::Errors => a.error_rate.total_cmp(&b.error_rate),
            Self::Latency => a.latency_ms.cmp(&b.latency_ms),
            Self::LastHit => a.last_hit_at.cmp(&b.last_hit_at),
        }
    }
}

fn place(verdict: Verdict) -> usize {
    Verdict::ALL.iter().position(|known| *known == verdict).unwrap_or_default()
}

fn trouble(health: &ModuleHealth) -> f64 {
    health.blocked_rate + health.error_rate
}

fn name(module: &Module) -> String {
    module.platform().to_lowercase()
}

/// What of the table is asked for: everything that its address can say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) column: Column,
    pub(super) falling: bool,
    pub(super) health: Option<Verdict>,
    pub(super) search_type: Option<SearchType>,
    /// Part of a platform's name or a module's id, in lower case; empty: all.
    pub(super) text: String,
    /// From 1.
    pub(super) page: usize,
}

impl Choice {
    /// Reads the parameters of an address. What it does not know is left at what it is without: a page for people
    /// helps itself.
    pub(super) fn read(address: &Form) -> Self {
        let of = |name: &str| address.get(name);
        let column = Column::ALL.into_iter().find(|known| known.as_str() == of("sort"));
        let column = column.unwrap_or(Column::Health);
        Self {
            column,
            falling: match of("order") {
                "rising" => false,
                "falling" => true,
                _ => column.is_number(),
            },
            health: Verdict::ALL.into_iter().find(|known| known.as_str() == of("health")),
            search_type: SearchType::ALL.into_iter().find(|known| known.as_str() == of("type")),
            text: of("q").trim().chars().take(100).collect::<String>().to_lowercase(),
            page: of("page").parse().unwrap_or(1).max(1),
        }
    }

    /// The same sorted by a column, from its first page on; turned round where it is sorted by it already.
    pub(super) fn sorted_by(&self, column: Column) -> Self {
        let falling = if self.column == column { !self.falling } else { column.is_number() };
        Self { column, falling, page: 1, ..self.clone() }
    }

    /// The same with modules of that health alone; of any for `None`.
    pub(super) fn of_health(&self, health: Option<Verdict>) -> Self {
        Self { health, page: 1, ..self.clone() }
    }

    /// The same on another page.
    pub(super) fn on_page(&self, page: usize) -> Self {
        Self { page, ..self.clone() }
    }

    /// Whether modules of that type alone are asked for.
    pub(super) fn is_type(&self, name: &str) -> bool {
        self.search_type.is_some_and(|known| known.as_str() == name)
    }

    /// What the form above the table has no field for, as parameters of an address.
    pub(super) fn beyond_the_form(&self) -> Vec<(&'static str, &'static str)> {
        let mut pairs = Vec::new();
        if self.column != Column::Health || self.falling {
            let order = if self.falling { "falling" } else { "rising" };
            pairs.extend([("sort", self.column.as_str()), ("order", order)]);
        }
        pairs.extend(self.health.map(|health| ("health", health.as_str())));
        pairs
    }

    /// What stands in an address for it, with `?`; empty where all is as it is without.
    pub(super) fn query(&self) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(self.beyond_the_form());
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

    /// The rows that it is about, whatever their health.
    pub(super) fn of_any_health<'m>(&self, all: Vec<Row<'m>>) -> Vec<Row<'m>> {
        let fits = |module: &Module| {
            let is_type = self.search_type.is_none_or(|wanted| module.search_type() == wanted);
            is_type && (name(module).contains(&self.text) || module.id().contains(&self.text))
        };
        all.into_iter().filter(|(module, _)| fits(module)).collect()
    }

    /// These rows in the order that is asked for, of the health that is asked for. Equal ones stand by name.
    pub(super) fn put_in_order(&self, rows: &mut Vec<Row<'_>>) {
        rows.retain(|(_, health)| self.health.is_none_or(|wanted| health.status == wanted));
        rows.sort_by(|one, other| {
            let order = self.column.compare(one, other);
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
    fn an_address_says_what_is_shown_and_is_made_of_it() {
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
        let by_errors = choice("page=4").sorted_by(Column::Errors);
        assert_eq!((by_errors.falling, by_errors.page), (true, 1));
        assert!(!by_errors.sorted_by(Column::Errors).falling);
    }

    #[test]
    fn rows_are_chosen_and_put_in_order() {
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
            choice.put_in_order(&mut rows);
            rows.iter().map(|(module, _)| module.id().to_string()).collect::<String>()
        };
        for (query, want) in [
            ("", "bca"),
            ("sort=health&order=falling", "acb"),
            ("sort=platform", "abc"),
            ("sort=hits", "abc"),
            ("sort=errors", "bac"),
            ("sort=latency&order=rising", "cab"),
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
