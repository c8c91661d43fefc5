//! The report as one HTML page to read, print or keep. It has no scripts, external images or external styles, and a
//! content security policy that forbids them. Thumbnails are part of the page.
//!
//! | file | holds |
//! |---|---|
//! | `markup` | escapes everything from outside |
//! | `overview` | what the results say together, and the categories |
//! | `timeline` | the days that results tell, as a drawing and as a table |
//! | `dossier` | the results of a domain or an email address as tables |
//! | `people` | people, and the graph as a drawing |
//! | `results` | the results by category, in order of confidence |
//! | `coverage` | which modules gave an answer, and why others did not |
//! | `outcomes.css` | the colours of outcomes, which the web app uses, too |
//! | `parts.css` | the style of overview, timeline, dossier and graph, which the web app uses, too |
//! | `report.css` | style for the screen, light and dark, and for paper |

mod coverage;
mod dossier;
mod markup;
mod overview;
mod people;
mod results;
mod timeline;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::base::clock::to_the_second;
use crate::modules::catalog::Catalog;
use crate::runs::record::RunRecord;
use crate::runs::run::{RunSummary, Status};
use markup::Markup;
pub use overview::{overview, titled};
pub use people::graph;
pub use results::initial;

const STYLE: &str =
    concat!(include_str!("outcomes.css"), include_str!("parts.css"), include_str!("report.css"));

/// Returns the policy of the page: it may use its own style, pictures that are part of it, and nothing else.
pub fn content_security_policy() -> String {
    let hash = STANDARD.encode(Sha256::digest(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

/// Returns the page. The catalogue tells the categories of modules and the addresses of profiles.
pub fn page(run: &RunRecord, catalog: &Catalog) -> String {
    let mut page = Markup::default();
    head(&mut page, &run.summary);
    page.raw("<body>\n<main>\n");
    title(&mut page, run);
    notices(&mut page, run);
    overview_section(&mut page, run, catalog);
    people::write_graph_section(&mut page, run, catalog);
    results::write(&mut page, run, catalog);
    coverage::write(&mut page, run);
    page.raw("</main>\n");
    footer(&mut page, run);
    page.raw("</body>\n</html>\n");
    page.into_string()
}

fn overview_section(page: &mut Markup, run: &RunRecord, catalog: &Catalog) {
    let parts = overview::write(run, catalog);
    if !parts.is_empty() {
        page.raw("<section>\n<h2>Overview</h2>\n").append(&parts).raw("</section>\n");
    }
}

fn head(page: &mut Markup, run: &RunSummary) {
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
        .raw("<meta http-equiv=\"Content-Security-Policy\" content=\"")
        .text(&content_security_policy())
        .raw("\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
        .raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"robots\" content=\"noindex\">\n")
        .raw("<meta name=\"color-scheme\" content=\"light dark\">\n<title>")
        .text(&run.query)
        .raw(" · Sightline report</title>\n<style>")
        .raw(STYLE)
        .raw("</style>\n</head>\n");
}

fn title(page: &mut Markup, run: &RunRecord) {
    let summary = &run.summary;
    page.raw("<header>\n<p class=\"kicker\">Sightline report · ")
        .text(summary.search_type.as_str())
        .raw(if summary.premium { " search, premium" } else { " search" })
        .raw("</p>\n<h1><bdi>")
        .text(&summary.query)
        .raw("</bdi></h1>\n<dl class=\"facts\">\n");
    fact(page, "Status", summary.status.as_str());
    fact(page, "Results", &summary.total_results.to_string());
    fact(page, "Started", &to_the_second(summary.created_at));
    match summary.completed_at {
        Some(at) => fact(page, "Ended", &to_the_second(at)),
        None => fact(page, "As of", &to_the_second(run.as_of)),
    }
    fact(page, "Run", &summary.id.to_string());
    if !summary.notes.tags.is_empty() {
        fact(page, "Tags", &summary.notes.tags.join(", "));
    }
    page.raw("</dl>\n");
    if let Some(note) = &summary.notes.note {
        page.raw("<p class=\"note\">").lines(note).raw("</p>\n");
    }
    page.raw("</header>\n");
}

fn fact(page: &mut Markup, name: &'static str, value: &str) {
    page.raw("<div><dt>").raw(name).raw("</dt><dd>").text(value).raw("</dd></div>\n");
}

/// Writes the notices about a run that is simulated, incomplete or failed.
fn notices(page: &mut Markup, run: &RunRecord) {
    let summary = &run.summary;
    if summary.simulated {
        page.raw("<p class=\"notice\"><strong>Simulated.</strong> The results come from a simulated web: nothing in this ")
            .raw("report is real.</p>\n");
    }
    match summary.status {
        Status::Completed => {}
        Status::Running => {
            let left = summary.progress.modules_total.saturating_sub(summary.progress.modules_completed);
            page.raw("<p class=\"notice\"><strong>Still running.</strong> It shows what was known when the ")
                .raw("report was made; ")
                .show(left)
                .raw(" of ")
                .show(summary.progress.modules_total)
                .raw(" modules had not ended yet.</p>\n");
        }
        Status::Failed => {
            let why = summary.error.as_ref().map_or("the reason was not stored", |error| &error.message);
            page.raw("<p class=\"notice\"><strong>The search failed:</strong> ").text(why).raw(
                match run.results.is_empty() {
                    true => ".</p>\n",
                    false => ". The results found before that are below.</p>\n",
                },
            );
        }
    }
}

fn footer(page: &mut Markup, run: &RunRecord) {
    page.raw("<footer>\n<p>A hit is a hint, not a proof: somebody else may use the name. A miss means that ")
        .raw("nothing was found there, not that a name is free.</p>\n<p>Made by Sightline ")
        .raw(env!("CARGO_PKG_VERSION"))
        .raw(" on ")
        .text(&to_the_second(run.as_of))
        .raw(".</p>\n</footer>\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::{result, run};
    use crate::runs::run::RunError;

    fn catalog() -> Catalog {
        Catalog::from_text("none", "[]").unwrap()
    }

    #[test]
    fn nothing_from_outside_is_markup_and_nothing_is_loaded() {
        let mut report = run(vec![result(1, "\"><img src=x onerror=alert(1)>")]);
        report.summary.query = "<script>alert(1)</script>".into();
        let page = page(&report, &catalog());
        for absent in
            ["<img", "<script", "<link", "javascript:alert(1)\"", "onerror=alert(1)>", "url(", "@import"]
        {
            assert!(!page.contains(absent), "{absent}: {page}");
        }
        assert_eq!(page.matches(" style=").count() + page.matches(" src=").count(), 1, "as text: {page}");
        assert!(page.contains("javascript:alert(1)"), "shown, not linked");
        assert!(page.contains("walled &lt;b&gt;&amp;"), "{page}");
        assert!(page.contains("href=\"https://a.example/?q=%221,2%22\""), "{page}");
    }

    #[test]
    fn thumbnails_are_part_of_the_page_and_other_results_have_a_letter() {
        let mut report = run(vec![result(1, "octocat"), result(2, "other")]);
        assert!(!page(&report, &catalog()).contains("class=\"face\""), "no pictures were asked for");
        report.summary.options.avatars = true;
        report.thumbnails.insert(1, b"\x89PNG".to_vec());
        let page = page(&report, &catalog());
        assert_eq!(
            page.matches("<img class=\"face\" src=\"data:image/png;base64,iVBORw==\" alt=\"\"").count(),
            1
        );
        assert_eq!(page.matches("<span class=\"face\" aria-hidden=\"true\">G</span>").count(), 1, "{page}");
        assert!(content_security_policy().contains("img-src data:;"));
    }

    #[test]
    fn the_policy_fits_the_style() {
        let page = page(&run(Vec::new()), &catalog());
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(content_security_policy().contains(&hash));
        assert!(page.contains(&format!("sha256-{hash}")), "in the page too, for a file that was kept");
    }

    #[test]
    fn an_incomplete_run_begins_with_a_notice() {
        let mut report = run(Vec::new());
        let shown = page(&report, &catalog());
        for part in ["Nothing was found.", "captcha", "needs key", "2 of 3", "walled &lt;b&gt;&amp;"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        assert!(!shown.contains("class=\"notice\""), "{shown}");
        (report.summary.status, report.summary.simulated) = (Status::Running, true);
        report.summary.progress.modules_total = 9;
        let shown = page(&report, &catalog());
        assert!(
            shown.contains("5 of 9 modules had not ended yet") && shown.contains("Simulated."),
            "{shown}"
        );
        report.summary.status = Status::Failed;
        report.summary.error =
            Some(RunError { code: "no_conclusion".into(), message: "no <module> did".into() });
        assert!(page(&report, &catalog()).contains("The search failed:</strong> no &lt;module&gt; did."));
    }
}
