//! The report as one HTML page to read, print or keep. It has no scripts, external images or external styles, and a
//! content security policy that forbids them. Thumbnails are part of the page.
//!
//! | file | holds |
//! |---|---|
//! | `templates/` | askama templates (`askama.toml` says where they are): `report.html` is the page |
//! | `escape` | makes every value of a template safe |
//! | `overview` | what the results say together, people, the categories, and the dossier as tables |
//! | `graph` | what joins the results, as a list |
//! | `results` | the results by category, in order of confidence |
//! | `colours.css` | the palette, which the web app also uses |
//! | `parts.css` | the style of overview, timeline, dossier and graph, which the web app also uses |
//! | `report.css` | style for the screen, light and dark, and for paper |
//!
//! The web app shows `overview.html` and `graph.html` in its own pages.

pub mod escape;
mod graph;
mod overview;
mod results;

use std::io;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::base::clock::to_the_second;
use crate::base::encoding::{hex, sha256};
use crate::base::text::write_json;
use crate::model::entity::merge::modules;
use crate::model::run::{RunSummary, Status};
use crate::modules::catalog::Catalog;
use crate::modules::outcome::Outcome;
use crate::runs::graph::Graph;
use crate::runs::record::RunRecord;
pub use graph::GraphList;
pub(super) use overview::cut;
pub use overview::{Overview, Timeline, titled};
pub(super) use results::in_order;
use results::{Listed, listed, thumbnail, value};
pub use results::{count_of_facts, facts, items, name, years};

const STYLE: &str =
    concat!(include_str!("colours.css"), include_str!("parts.css"), include_str!("report.css"));

/// The page, which is `templates/report.html`.
#[derive(Template)]
#[template(path = "report.html", config = "src/report/html/askama.toml")]
struct Page<'r> {
    run: &'r RunRecord,
    summary: &'r RunSummary,
    overview: Overview,
    graph: GraphList<'r>,
    listed: Listed<'r>,
    /// The SHA-256 of the JSON report in hex.
    sha256: String,
}

/// Returns the page. The catalogue has the categories of modules and the addresses of profiles.
///
/// # Errors
/// Returns an error if a template cannot be rendered.
pub fn page(run: &RunRecord, catalog: &Catalog) -> io::Result<String> {
    let mut data = Vec::new();
    write_json(&mut data, run)?;
    let graph = Graph::of(&Vec::from_iter(run.findings()), catalog.profiles());
    let page = Page {
        run,
        summary: &run.summary,
        overview: Overview::whole(run, catalog),
        graph: GraphList::new(&graph, Some(run.summary.id)),
        listed: listed(run, catalog),
        sha256: hex(&sha256(&data)),
    };
    page.render().map_err(io::Error::other)
}

/// Returns the policy of the page: it may use its own style, pictures that are part of it, and nothing else.
pub fn content_security_policy() -> String {
    let hash = STANDARD.encode(sha256(STYLE));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::csv::tests::{result, run};

    fn page(run: &RunRecord) -> String {
        super::page(run, &Catalog::from_text("none", "[]").unwrap()).unwrap()
    }

    #[test]
    fn nothing_from_outside_is_markup_and_nothing_is_loaded() {
        let mut report = run(vec![result(1, "\"><img src=x onerror=alert(1)>")]);
        report.summary.query = "<script>alert(1)</script>\u{202e}\u{7}".into();
        let page = page(&report);
        for absent in
            ["<img", "<script", "<link", "javascript:alert(1)\"", "onerror=alert(1)>", "url(", "@import"]
        {
            assert!(!page.contains(absent), "{absent}: {page}");
        }
        assert_eq!(page.matches(" style=").count() + page.matches(" src=").count(), 1, "as text: {page}");
        assert!(page.contains("javascript:alert(1)"), "shown, not linked");
        assert!(page.contains("walled &#60;b&#62;&#38;"), "{page}");
        assert!(page.contains("href=\"https://a.example/?q=%221,2%22\""), "{page}");
        assert!(!page.contains(|c: char| c.is_control() && c != '\n' || c == '\u{202e}'), "{page:?}");
    }

    #[test]
    fn the_policy_fits_the_style() {
        let page = page(&run(Vec::new()));
        let style = page.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = STANDARD.encode(sha256(style));
        assert!(content_security_policy().contains(&hash));
        assert!(page.contains(&format!("sha256-{hash}")), "also in the page, for a file that was kept");
    }
}
