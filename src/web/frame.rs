//! The parts of every page around its content, the rendering of templates, and the styles and scripts. The binary contains
//! these; their addresses contain a hash of their content.

use std::sync::{Arc, LazyLock};

use askama::Template;
use log::{Level, log};

use super::cookies::Notice;
use super::error::{Answer, Shown, WebError};
use crate::base::ids::RequestId;
use crate::http::{Asset, Assets, Reply, Response};

/// All files. Each has the name by which templates refer to it.
pub(super) static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets(vec![
        Asset::new("app.css", STYLES.as_bytes()),
        Asset::new("app.js", SCRIPTS.as_bytes()),
        Asset::new("graph.js", include_bytes!("assets/graph.js")),
        Asset::new("cytoscape.js", include_bytes!("../api/docs/assets/cytoscape.js.gz")),
        Asset::new("icon.svg", include_bytes!("../api/docs/assets/icon.svg")),
    ])
});

/// The styles of all pages. Reports share the colours of outcomes, and some parts.
const STYLES: &str = concat!(
    include_str!("../report/html/colours.css"),
    include_str!("assets/app.css"),
    include_str!("../report/html/parts.css"),
);

/// The scripts of all pages in one file, to keep the number of requests low. The first applies to every page,
/// the others do nothing on pages that are not theirs. Each has its own scope.
const SCRIPTS: &str = concat!(
    include_str!("assets/app.js"),
    "{\n",
    include_str!("assets/search.js"),
    "}\n{\n",
    include_str!("assets/batch.js"),
    "}\n{\n",
    include_str!("assets/refresh.js"),
    "}\n{\n",
    include_str!("assets/results.js"),
    "}\n",
);

/// The data of `layout.html`. The struct of every page has it in the field `frame`.
#[derive(Debug, Clone)]
pub struct Frame {
    /// The path of the base URL, which is usually empty. Every address starts with it.
    pub root: String,
    /// The pattern of the route, which determines the current entry of the menu.
    pub here: &'static str,
    /// The account that is signed in.
    pub who: Option<CurrentUser>,
    /// The token that forms send back.
    pub csrf: String,
    /// The notice to show once.
    pub notice: Option<Notice>,
    /// The reason why the form that was sent is shown again.
    pub error: Option<Arc<WebError>>,
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

/// A page of the menu: its path and its title.
type Page = (&'static str, &'static str);

/// The entries of the menu, each with the pages that belong to it and are listed above their content.
const MENU: [(Page, &[Page]); 3] = [
    (
        ("/app", "Search"),
        &[("/app/searches", "History"), ("/app/batches", "Batches"), ("/app/watches", "Watches")],
    ),
    (
        ("/app/account", "Settings"),
        &[("/app/account", "Account"), ("/app/keys", "API keys"), ("/app/webhooks", "Webhooks")],
    ),
    (("/app/operator", "Operator"), &[]),
];

impl Frame {
    /// Returns the address of the asset with this name.
    pub fn asset(&self, name: &str) -> String {
        format!("{}/app/assets/{}", self.root, ASSETS.address(name))
    }

    /// Returns the pages of the menu, each with `aria-current` if this page belongs to it.
    pub fn menu(&self) -> Vec<(Page, Option<&'static str>)> {
        let is_operator = self.who.as_ref().is_some_and(|who| who.is_operator);
        let shown =
            MENU.iter().map(|(page, _)| *page).filter(|(path, _)| is_operator || *path != "/app/operator");
        let current = self.entry().0;
        shown.map(|page| (page, (page == current).then(|| self.current(page.0)))).collect()
    }

    /// Returns the pages beside this one. A search and its results have none.
    pub fn places(&self) -> Vec<(Page, Option<&'static str>)> {
        if self.who.is_none() || self.here.starts_with("/app/searches/") {
            return Vec::new();
        }
        let current = |path| self.here.starts_with(path).then(|| self.current(path));
        self.entry().1.iter().map(|page| (*page, current(page.0))).collect()
    }

    /// Returns the entry of the menu to which the page belongs.
    fn entry(&self) -> &'static (Page, &'static [Page]) {
        let is_of = |(page, pages): &&(Page, &[Page])| {
            pages.iter().chain([page]).any(|page| self.here.starts_with(page.0))
        };
        MENU.iter().rev().find(is_of).unwrap_or(&MENU[0])
    }

    fn current(&self, path: &str) -> &'static str {
        if self.here == path { "page" } else { "true" }
    }

    /// Returns the error to show at this field of the form.
    pub(super) fn wrong(&self, field: &str) -> Option<&str> {
        self.error.as_ref().filter(|error| error.shown == Shown::Field(field)).map(|error| &*error.text)
    }

    /// Returns the error to show above the content of the page.
    pub(super) fn form_error(&self) -> Option<&WebError> {
        self.error.as_deref().filter(|error| matches!(error.shown, Shown::Form | Shown::NewForm))
    }
}

/// Renders a page with status 200.
///
/// # Errors
/// Returns 500 if a template cannot be rendered.
pub(super) fn render(page: &impl Template) -> Answer {
    let text = page.render().map_err(WebError::internal)?;
    Ok(Reply::Now(Response::new(200, "text/html; charset=utf-8", text.into_bytes())))
}

#[derive(Template)]
#[template(path = "error.html", config = "src/web/askama.toml")]
struct ErrorPage<'a> {
    frame: Frame,
    error: &'a WebError,
    request_id: &'a str,
}

/// Returns the page of an error, and logs its cause.
pub(super) fn error_page(error: &WebError, frame: &Frame, request_id: &RequestId) -> Response {
    if let Some(cause) = &error.cause {
        // The store itself logs that it is unavailable, once for all requests.
        let is_known = error.status == 503 && error.shown == Shown::Page;
        let (level, title) = (if is_known { Level::Debug } else { Level::Warn }, error.title);
        log!(level, request_id = request_id.as_str(); "{} {}: {title}: {cause}", error.status, frame.here);
    }
    let frame = Frame { error: None, ..frame.clone() };
    let page = render(&ErrorPage { frame, error, request_id: request_id.as_str() });
    match page {
        Ok(Reply::Now(response)) => error.mark(response),
        _ => Response::new(500, "text/plain; charset=utf-8", *b"Internal error."),
    }
}
