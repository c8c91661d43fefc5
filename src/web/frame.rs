//! What every page has around it, and how a template becomes an answer.

use askama::Template;
use log::error;

use super::assets;
use super::notice::Notice;
use crate::http::Response;

const HTML: &str = "text/html; charset=utf-8";

/// What `layout.html` shows around a page. Every page's struct has one, as the field `frame`.
#[derive(Debug, Clone)]
pub struct Frame {
    /// What stands before `/app` in every address: the path of the base URL, mostly empty.
    pub root: String,
    /// The route's pattern: which entry of the menu is the present one.
    pub here: &'static str,
    /// Who is signed in.
    pub who: Option<Who>,
    /// What forms bring back.
    pub csrf: String,
    /// What is to be said once.
    pub notice: Option<Notice>,
    /// A simulated web answers every search.
    pub sandbox: bool,
}

/// Who is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Who {
    /// The account's name.
    pub email: String,
    /// Whether the operator's page is theirs.
    pub is_operator: bool,
}

impl Frame {
    /// The address of the asset of that name.
    pub fn asset(&self, name: &str) -> String {
        format!("{}/app/assets/{}", self.root, assets::address(name))
    }

    /// Whether this is the present page.
    pub fn current(&self, pattern: &str) -> bool {
        self.here == pattern
    }

    /// `aria-current` of the menu's entry for a page and those below it: `page`, `true`, or none.
    pub fn section(&self, pattern: &str) -> Option<&'static str> {
        match self.here.strip_prefix(pattern) {
            Some("") => Some("page"),
            Some(below) if below.starts_with('/') => Some("true"),
            _ => None,
        }
    }

    /// This program's version.
    pub fn version(&self) -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

/// A page, with 200.
pub fn render(page: &impl Template) -> Response {
    render_as(200, page)
}

/// A page, with that status. Not compressed: it holds the form token beside what a caller chose, and its compressed
/// length would tell about the token (BREACH).
pub fn render_as(status: u16, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Response::new(status, HTML, text.into_bytes()),
        Err(failure) => {
            error!("a page could not be made: {failure}");
            Response::new(500, "text/plain; charset=utf-8", *b"Internal error.")
        }
    }
}
