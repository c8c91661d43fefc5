//! The dossier as sections of which one is shown at a time. Links choose the section, so that it works without scripts.
//! On paper, all sections are shown.

use super::markup::Markup;
use crate::report::dossier::mail::Verdict;
use crate::report::dossier::table::{Row, Table};
use crate::report::dossier::{Section, sections};
use crate::runs::record::RunRecord;

/// The most rows of a table. Files have all of them.
const MOST_ROWS: usize = 500;
/// The length up to which a cell is not broken into lines, so that addresses and days stay whole.
const WHOLE_CHARS: usize = 16;
/// The most characters of a cell.
const MOST_CHARS: usize = 300;

pub(super) fn write(page: &mut Markup, run: &RunRecord) {
    let sections = sections(run);
    if sections.is_empty() {
        return;
    }
    page.raw("<div class=\"dossier\">\n<nav aria-label=\"Dossier\"><ul>");
    for Section { id, title, .. } in &sections {
        page.raw("<li><a href=\"#dossier-").text(id).raw("\">").text(title).raw("</a></li>");
    }
    page.raw("</ul></nav>\n<div class=\"panels\">\n");
    sections.iter().for_each(|section| panel(page, section));
    page.raw("</div>\n</div>\n");
}

fn panel(page: &mut Markup, section: &Section) {
    page.raw("<section class=\"panel\" id=\"dossier-").text(section.id).raw("\">\n<h3>").text(section.title);
    if section.count() > 0 {
        page.raw(" <span class=\"count\">").show(section.count()).raw("</span>");
    }
    page.raw("</h3>\n");
    if !section.verdicts.is_empty() {
        verdicts(page, &section.verdicts);
    }
    section.tables.iter().for_each(|table| write_table(page, table));
    page.raw("</section>\n");
}

fn verdicts(page: &mut Markup, verdicts: &[Verdict]) {
    page.begin_table("Mail security", &["Record", "Verdict", "Why", "Found"]);
    for verdict in verdicts {
        page.raw("<tr><th scope=\"row\">").text(verdict.name).raw("</th><td><span class=\"grade ");
        page.text(verdict.grade.as_str()).raw("\">").text(verdict.grade.as_str()).raw("</span></td><td>");
        page.text(&verdict.reason).raw("</td><td>");
        if let Some(record) = &verdict.record {
            page.raw("<code><bdi>").text(&cut(record)).raw("</bdi></code>");
        }
        if let Some(result) = verdict.result {
            page.raw(" <small class=\"sources\"><a href=\"#result-")
                .show(result)
                .raw("\">source<span class=\"visually-hidden\"> of ");
            page.text(verdict.name).raw("</span></a></small>");
        }
        page.raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table></div>\n");
}

fn write_table(page: &mut Markup, table: &Table) {
    let mut heads = table.heads.clone();
    heads.push("Found by");
    page.begin_table(table.title, &heads);
    table.rows.iter().take(MOST_ROWS).for_each(|row| write_row(page, row));
    page.raw("</tbody>\n</table></div>\n");
    if table.rows.len() > MOST_ROWS {
        page.raw("<p class=\"faint\">")
            .show(table.rows.len() - MOST_ROWS)
            .raw(" more are in the files.</p>\n");
    }
}

fn write_row(page: &mut Markup, row: &Row) {
    page.raw("<tr>");
    for cell in &row.cells {
        page.raw(if cell.chars().count() <= WHOLE_CHARS { "<td class=\"whole\"><bdi>" } else { "<td><bdi>" });
        page.link(cell, &cut(cell)).raw("</bdi></td>");
    }
    let named: Vec<(u32, &str)> = row.sources.iter().map(|(id, platform)| (*id, platform.as_str())).collect();
    page.raw("<td>");
    page.sources(&named);
    page.raw("</td></tr>\n");
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
