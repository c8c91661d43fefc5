//! The section of results by category, in order of confidence.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::markup::Markup;
use super::overview::{category_of, titled};
use crate::modules::catalog::Catalog;
use crate::runs::entity::identified::web_address;
use crate::runs::entity::merge::{self, SOURCES};
use crate::runs::pictures::avatar::AVATAR;
use crate::runs::record::RunRecord;
use crate::runs::run::ResultRecord;

/// The metadata member that is the link of the value.
const PROFILE_URL: &str = "profile_url";

pub(super) fn write(page: &mut Markup, run: &RunRecord, catalog: &Catalog) {
    page.raw("<section>\n<h2>Results</h2>\n");
    if run.results.is_empty() {
        page.raw("<p>Nothing was found");
        page.raw(if run.summary.status.is_terminal() { "." } else { " yet." });
        page.raw(" The modules that were asked, and those that gave no answer, are below.</p>\n");
    }
    for (category, results) in by_category(&run.results, catalog) {
        page.raw("<h3 id=\"category-").text(category).raw("\">").text(&titled(category));
        page.raw(" <span class=\"count\">").show(results.len());
        page.raw("</span></h3>\n<div class=\"results\">\n");
        results.into_iter().for_each(|result| article(page, result, run));
        page.raw("</div>\n");
    }
    page.raw("</section>\n");
}

/// Groups the results by category: the category with the most results first, and in it those with the highest confidence.
fn by_category<'r>(
    results: &'r [ResultRecord],
    catalog: &'r Catalog,
) -> Vec<(&'r str, Vec<&'r ResultRecord>)> {
    let mut groups: BTreeMap<&str, Vec<&ResultRecord>> = BTreeMap::new();
    for result in results {
        groups.entry(category_of(catalog, &result.source)).or_default().push(result);
    }
    for group in groups.values_mut() {
        group.sort_by(|a, b| b.confidence.total_cmp(&a.confidence).then(a.id.cmp(&b.id)));
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| Reverse(group.len()));
    groups
}

fn article(page: &mut Markup, result: &ResultRecord, run: &RunRecord) {
    page.raw("<article id=\"result-").show(result.id);
    page.raw(if result.is_of_another_person() { "\" class=\"other\">\n" } else { "\">\n" });
    if run.summary.options.avatars {
        face(page, result, run.thumbnails.get(&result.id));
    }
    page.raw("<p class=\"platform\">")
        .text(result.platform.as_deref().unwrap_or(&result.source))
        .raw(" <span class=\"confidence\">")
        .text(&result.result_type.replace('_', " "))
        .raw("</span> <span class=\"confidence\" title=\"confidence, 0 to 1\">")
        .show(format_args!("{:.2}", result.confidence))
        .raw("</span></p>\n");
    value(page, result);
    let facts: Vec<(&String, &Value)> =
        result.metadata.iter().filter(|(name, value)| is_fact(name, value, result)).collect();
    if !facts.is_empty() {
        page.raw("<dl>\n");
        for (name, fact) in facts {
            page.raw("<dt>").text(&name.replace('_', " ")).raw("</dt><dd>");
            member(page, fact);
            page.raw("</dd>\n");
        }
        page.raw("</dl>\n");
    }
    page.raw("<p class=\"sources\">found by ").text(&merge::modules(result).join(", "));
    page.raw("</p>\n");
    annotation(page, result);
    page.raw("</article>\n");
}

/// Writes what the owner of the run has noted about the result.
fn annotation(page: &mut Markup, result: &ResultRecord) {
    let Some(annotation) = &result.annotation else { return };
    if annotation.not_this_person {
        page.raw("<p class=\"mark\">Not this person</p>\n");
    }
    if let Some(note) = &annotation.note {
        page.raw("<p class=\"note\">").lines(note).raw("</p>\n");
    }
}

/// Writes the thumbnail, or the first letter of the platform if there is none.
fn face(page: &mut Markup, result: &ResultRecord, thumbnail: Option<&Vec<u8>>) {
    match thumbnail {
        Some(png) => page
            .raw("<img class=\"face\" src=\"data:image/png;base64,")
            .text(&STANDARD.encode(png))
            .raw("\" alt=\"\" width=\"48\" height=\"48\">\n"),
        None => page
            .raw("<span class=\"face\" aria-hidden=\"true\">")
            .text(&initial(result.platform.as_deref().unwrap_or(&result.source)))
            .raw("</span>\n"),
    };
}

/// Returns the first letter or digit of a name as a capital letter.
pub fn initial(name: &str) -> String {
    name.chars().find(|c| c.is_alphanumeric()).unwrap_or('?').to_uppercase().collect()
}

fn value(page: &mut Markup, result: &ResultRecord) {
    let link = result.metadata.get(PROFILE_URL).and_then(Value::as_str);
    let Some(shown) = result.value.as_deref().or(link) else { return };
    page.raw("<p class=\"value\"><bdi>").link(link.unwrap_or(shown), shown).raw("</bdi></p>\n");
}

/// Returns whether a metadata member is listed as a fact. Sources have a line of their own, and the picture is shown. The address of a
/// profile is the link of the value if it is a valid web address.
fn is_fact(name: &str, value: &Value, result: &ResultRecord) -> bool {
    match name {
        SOURCES | AVATAR => false,
        PROFILE_URL => result.value.is_some() && value.as_str().is_some_and(|url| web_address(url).is_none()),
        _ => !value.is_null(),
    }
}

/// Appends a metadata member: text, a number or a list of these as text, anything deeper as JSON.
fn member<'m>(page: &'m mut Markup, value: &Value) -> &'m mut Markup {
    match value {
        Value::String(text) => page.isolated(text),
        Value::Number(number) => page.show(number),
        Value::Bool(true) => page.raw("yes"),
        Value::Bool(false) => page.raw("no"),
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            for (index, item) in items.iter().enumerate() {
                page.raw(if index == 0 { "" } else { ", " });
                member(page, item);
            }
            page
        }
        other => page.raw("<code>").show(other).raw("</code>"),
    }
}
