//! The parts around every page, the rendering of templates, and the answers with pages and files.

use std::sync::Arc;

use askama::Template;
use log::error;

use super::assets::ASSETS;
use crate::http::{Reply, Request, Response, StaticFile};

/// The part of the policy that all pages share: each page loads only what its own part allows, and no page
/// may be framed.
const BASE_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";

/// The data of `layout.html`. The struct of every page has it in the field `frame`.
pub(super) struct Frame {
    /// The path from the page to the server's root: `../` below `/manual`, otherwise nothing.
    pub(super) root: &'static str,
    /// The last segment of the page's path, which determines the current entry of a menu.
    pub(super) here: &'static str,
}

impl Frame {
    /// Returns the address of the asset with this name.
    pub(super) fn asset(&self, name: &str) -> String {
        format!("{}docs/assets/{}", self.root, ASSETS.address(name))
    }

    /// Returns whether the entry is the current page.
    pub(super) fn current(&self, name: &str) -> bool {
        self.here == name
    }
}

/// A page that is ready to be sent.
pub(super) struct Page {
    file: Arc<StaticFile>,
    /// Content-Security-Policy.
    policy: String,
}

impl Page {
    /// Renders a page. `may` is the part of its policy that other pages do not share.
    pub(super) fn new(template: &impl Template, may: &str) -> Self {
        let text = template.render().unwrap_or_else(|failure| {
            error!("cannot render a page: {failure}");
            String::new()
        });
        Self {
            file: Arc::new(StaticFile::plain("text/html; charset=utf-8", text.into_bytes())),
            policy: format!("{BASE_POLICY}; {may}"),
        }
    }
}

/// Answers with a page. With a slash at the end of the path its relative addresses would be wrong, so such a
/// request is redirected.
pub(super) fn show(page: &Page, request: &Request) -> Reply {
    let path = request.path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    Reply::Now(if request.path.len() > 1 && request.path.ends_with('/') {
        Response::empty(308).with_header("Location", format!("../{name}"))
    } else {
        answer(&page.file, request)
            .with_header("Content-Security-Policy", page.policy.clone())
            .with_header("Referrer-Policy", "no-referrer")
    })
}

/// Answers with a file. Browsers may store it but must revalidate it, since its address does not change with its
/// content.
pub(super) fn answer(file: &Arc<StaticFile>, request: &Request) -> Response {
    Response::of_file(file, request).with_header("Cache-Control", "no-cache")
}
