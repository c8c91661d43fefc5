//! The section about coverage: the modules that gave an answer, and those that did not. A list of results alone shows
//! nothing about the sites that could not be queried.

use super::markup::Markup;
use crate::modules::outcome::Outcome;
use crate::modules::reason::Reason;
use crate::runs::coverage::Coverage;
use crate::runs::record::RunRecord;
use crate::runs::run::ModuleReport;

pub(super) fn write(page: &mut Markup, run: &RunRecord) {
    let coverage = &run.summary.coverage;
    page.raw("<section>\n<h2>Coverage</h2>\n<p>");
    page.show(coverage.conclusive()).raw(" of ").show(coverage.asked()).raw(" modules gave an answer (");
    page.show(format_args!("{:.0}%", coverage.ratio() * 100.0)).raw("). ");
    page.raw("The others are neither a hit nor a miss: nothing is known about them.");
    page.raw("</p>\n");
    if let Some(cuts) = coverage.cuts_text() {
        page.raw("<p>").text(&cuts).raw(".</p>\n");
    }
    bar(page, coverage);
    table(page, coverage);
    for outcome in Outcome::ALL.into_iter().filter(|outcome| !outcome.is_conclusive()) {
        unanswered(page, outcome, &run.modules_that(outcome));
    }
    misses(page, &run.modules_that(Outcome::Miss));
    page.raw("</section>\n");
}

/// Writes a bar with the share of each outcome. The table has the same figures as text.
fn bar(page: &mut Markup, coverage: &Coverage) {
    if coverage.checked() == 0 {
        return;
    }
    page.raw("<svg class=\"bar\" viewBox=\"0 0 ").show(coverage.checked());
    page.raw(" 1\" preserveAspectRatio=\"none\" aria-hidden=\"true\">");
    let mut from = 0;
    for outcome in Outcome::ALL {
        let width = coverage.count_of(outcome);
        page.raw("<rect class=\"").text(outcome.as_str()).raw("\" x=\"").show(from);
        page.raw("\" width=\"").show(width).raw("\" height=\"1\"/>");
        from += width;
    }
    page.raw("</svg>\n");
}

fn table(page: &mut Markup, coverage: &Coverage) {
    page.raw(
        "<table>\n<thead><tr><th>Outcome</th><th>Modules</th><th>What it means</th></tr></thead>\n<tbody>\n",
    );
    for outcome in Outcome::ALL.into_iter().filter(|outcome| coverage.count_of(*outcome) > 0) {
        page.raw("<tr><th><span class=\"swatch ").text(outcome.as_str()).raw("\"></span>");
        page.text(outcome.title()).raw("</th><td>").show(coverage.count_of(outcome));
        page.raw("</td><td>").text(outcome.meaning()).raw("</td></tr>\n");
    }
    page.raw("</tbody>\n</table>\n");
}

/// Writes the modules that ended with this outcome and gave no answer, each with its reason.
fn unanswered(page: &mut Markup, outcome: Outcome, modules: &[&ModuleReport]) {
    if modules.is_empty() {
        return;
    }
    page.raw("<h3>").text(outcome.title()).raw(" <span class=\"count\">").show(modules.len());
    page.raw("</span></h3>\n<ul class=\"modules\">\n");
    for module in modules {
        item(page, module, module.reason);
    }
    page.raw("</ul>\n");
}

/// Writes the misses in a collapsed list, since there are many of them.
fn misses(page: &mut Markup, modules: &[&ModuleReport]) {
    if modules.is_empty() {
        return;
    }
    page.raw("<details>\n<summary>Nothing was found on these <span class=\"count\">").show(modules.len());
    page.raw("</span></summary>\n<ul class=\"modules\">\n");
    modules.iter().for_each(|module| item(page, module, None));
    page.raw("</ul>\n</details>\n");
}

fn item(page: &mut Markup, module: &ModuleReport, reason: Option<Reason>) {
    page.raw("<li title=\"").text(&module.module).raw("\">").text(&module.platform);
    if let Some(reason) = reason {
        page.raw(" <small>").text(&reason.as_phrase()).raw("</small>");
    }
    page.raw("</li>\n");
}
