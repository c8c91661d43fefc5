//! The parts of every page around its content, and the rendering of templates.

use askama::Template;
use log::error;

use super::assets::ASSETS;
use super::notice::Notice;
use crate::http::Response;

const HTML: &str = "text/html; charset=utf-8";

/// The data of `layout.html`. The struct of every page has it in the field `frame`.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The path of the base URL, which is usually empty. Every address begins with it.
    pub root: String,
    /// The pattern of the route, which determines the current entry of the menu.
    pub here: &'static str,
    /// The account that is signed in.
    pub who: Option<CurrentUser>,
    /// The token that forms send back.
    pub csrf: String,
    /// The notice to show once.
    pub notice: Option<Notice>,
    /// Whether a simulated web answers every search.
    pub sandbox: bool,
}

/// The account that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CurrentUser {
    /// The email address of the account.
    pub email: String,
    /// Whether the account has access to the operator's pages.
    pub is_operator: bool,
}

impl Frame {
    /// Returns the address of the asset with this name.
    pub fn asset(&self, name: &str) -> String {
        format!("{}/app/assets/{}", self.root, ASSETS.address(name))
    }

    /// Returns whether the entry is the current page.
    pub fn current(&self, pattern: &str) -> bool {
        self.here == pattern
    }

    /// Returns `aria-current` for the menu entry of a page and the pages below it: `page`, `true`, or none.
    pub fn section(&self, pattern: &str) -> Option<&'static str> {
        match self.here.strip_prefix(pattern) {
            Some("") => Some("page"),
            Some(below) if below.starts_with('/') => Some("true"),
            _ => None,
        }
    }
}

/// A page that asks whether to do what cannot be undone. Its form posts to the address of the page.
#[derive(Template)]
#[template(path = "confirm.html", config = "src/web/askama.toml")]
pub struct Confirm {
    /// The frame.
    pub frame: Frame,
    /// The question, which is the title.
    pub question: &'static str,
    /// What it is about.
    pub subject: String,
    /// What happens.
    pub text: String,
    /// The name and the label of a check box.
    pub also: Option<(&'static str, String)>,
    /// The label of the button.
    pub button: &'static str,
    /// The page to which the other answer leads.
    pub back: String,
}

/// Renders a page with status 200.
pub fn render(page: &impl Template) -> Response {
    render_as(200, page)
}

/// Renders a page with this status.
pub fn render_as(status: u16, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => Response::new(status, HTML, text.into_bytes()),
        Err(failure) => {
            error!("cannot render a page: {failure}");
            Response::new(500, "text/plain; charset=utf-8", *b"Internal error.")
        }
    }
}
