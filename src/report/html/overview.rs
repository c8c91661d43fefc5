//! What a run found at a glance: the facts with their sources, people, the categories, the timeline and the dossier. The web app
//! shows the same parts.

use std::collections::{BTreeMap, HashMap};

use super::markup::Markup;
use super::{dossier, people, timeline};
use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::runs::facts::{Created, Fact, Facts};
use crate::runs::record::RunRecord;
use crate::runs::run::ResultRecord;

/// The most facts of a kind.
const MOST_FACTS: usize = 8;
/// The most characters of a fact.
const MOST_CHARS: usize = 120;

/// Returns the parts, each of which is left out if it would be empty. Facts lead to the elements `result-ID`, categories
/// to `category-NAME`.
pub fn overview(run: &RunRecord, catalog: &Catalog) -> String {
    write(run, catalog).into_string()
}

pub(super) fn write(run: &RunRecord, catalog: &Catalog) -> Markup {
    let mut page = Markup::default();
    facts(&mut page, &run.results);
    people::write(&mut page, run, catalog);
    categories(&mut page, run, catalog);
    timeline::write(&mut page, run);
    dossier::write(&mut page, run);
    page
}

fn facts(page: &mut Markup, results: &[ResultRecord]) {
    let facts = Facts::of(results);
    let accounts = [("oldest", &facts.oldest), ("newest", &facts.newest)];
    let accounts: Vec<(&str, &Created)> =
        accounts.into_iter().filter_map(|(word, created)| Some((word, created.as_ref()?))).collect();
    if facts.lists().next().is_none() && accounts.is_empty() {
        return;
    }
    let platforms: HashMap<u32, &str> =
        results.iter().map(|it| (it.id, it.platform.as_deref().unwrap_or(&it.source))).collect();
    page.raw("<section class=\"part\">\n<h3>What the results say</h3>\n<dl class=\"said\">\n");
    for (name, facts) in facts.lists() {
        page.raw("<div><dt>").text(name).raw("</dt>");
        facts.iter().take(MOST_FACTS).for_each(|one| fact(page, one, &platforms));
        if facts.len() > MOST_FACTS {
            page.raw("<dd class=\"faint\">and ").show(facts.len() - MOST_FACTS).raw(" more</dd>");
        }
        page.raw("</div>\n");
    }
    if !accounts.is_empty() {
        page.raw("<div><dt>Accounts</dt>");
        for (word, created) in accounts {
            page.raw("<dd>").text(word).raw(" ").text(&created.day);
            page.sources(&[(created.result, created.platform.as_str())]);
            page.raw("</dd>");
        }
        page.raw("</div>\n");
    }
    page.raw("</dl>\n</section>\n");
}

fn fact(page: &mut Markup, fact: &Fact, platforms: &HashMap<u32, &str>) {
    let shown: String = fact.text.chars().take(MOST_CHARS).collect();
    page.raw("<dd><bdi>").link(&fact.text, &shown).raw("</bdi>");
    let named: Vec<(u32, &str)> =
        fact.results.iter().filter_map(|id| Some((*id, *platforms.get(id)?))).collect();
    page.sources(&named);
    page.raw("</dd>");
}

/// Writes a bar for each category: how many of its modules found something, of those that were asked.
fn categories(page: &mut Markup, run: &RunRecord, catalog: &Catalog) {
    let mut counts: BTreeMap<&str, (u32, u32)> = BTreeMap::new();
    for module in run.modules.iter().filter(|module| module.status != Outcome::Skipped) {
        let (hits, asked) = counts.entry(category_of(catalog, &module.module)).or_default();
        *hits += u32::from(module.status == Outcome::Hit);
        *asked += 1;
    }
    let mut counts: Vec<_> = counts.into_iter().filter(|(_, (hits, _))| *hits > 0).collect();
    if counts.len() < 2 {
        return;
    }
    counts.sort_by_key(|(_, (hits, _))| std::cmp::Reverse(*hits));
    let most = counts.iter().map(|(_, (_, asked))| *asked).max().unwrap_or(1);
    page.raw("<section class=\"part\">\n<h3>Sites with a hit, of those that were asked</h3>\n<ul class=\"bars\">\n");
    for (name, (hits, asked)) in counts {
        page.raw("<li data-category=\"").text(name).raw("\"><a href=\"#category-").text(name).raw("\">");
        page.text(&titled(name)).raw("</a><svg viewBox=\"0 0 ").show(most);
        page.raw(" 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\"><rect class=\"track\" height=\"1\" width=\"");
        page.show(asked).raw("\"/><rect height=\"1\" width=\"").show(hits).raw("\"/></svg><span>").show(hits);
        page.raw(" of ").show(asked).raw("</span></li>\n");
    }
    page.raw("</ul>\n</section>\n");
}

/// Returns the category of a module; `other` if the catalogue does not have the module any more.
pub(super) fn category_of<'c>(catalog: &'c Catalog, module: &str) -> &'c str {
    catalog.get(module).map_or("other", |module| module.entry().category.as_str())
}

/// Returns the name of a category as a title.
pub fn titled(name: &str) -> String {
    let name = name.replace('_', " ");
    let mut rest = name.chars();
    rest.next().map_or_else(String::new, |first| first.to_uppercase().chain(rest).collect())
}
