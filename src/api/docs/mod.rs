//! The documentation in a browser: an overview, Swagger UI, ReDoc and the manual. The binary contains all
//! files that the pages load.
//!
//! Addresses in the pages are relative, so they work under any prefix of a proxy. Templates of pages below `/manual`
//! begin them with `{{ frame.root }}`. To update Swagger UI or ReDoc: run `scripts/docs-assets`.
//!
//! To add a page: write a template that extends `layout.html`, and add a variant of `Page` with a field `frame`, a row in
//! `FILES` and one in the route table.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use askama::Template;
use log::error;

use super::context::{Api, Call};
use crate::http::{Asset, Assets, Reply, Response, StaticFile};
use crate::manual::{self, TOPICS, Topic};
use crate::model::refusal::Refusal;

/// The part of the policy that all pages share: each page loads only what its own part allows, and no page
/// may be framed.
const BASE_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Allows our own styles and images.
const TEXT_POLICY: &str = "form-action 'none'; style-src 'self'; img-src 'self'";
/// For Swagger UI, whose stylesheet contains its images. Browsers let it send requests to this server only.
const SWAGGER_UI_POLICY: &str =
    "form-action 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";
/// For ReDoc, which writes two style elements: an empty one that it fills with rules, and one for its scroll
/// bar.
const REDOC_POLICY: &str = "form-action 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";
const MARKDOWN: &str = "text/markdown; charset=utf-8";

/// The style of all pages, with the palette of the web app.
const PAGES: &str = concat!(include_str!("../../report/html/colours.css"), include_str!("assets/pages.css"));

/// The icon of Sightline.
static ICON: LazyLock<Asset> = LazyLock::new(|| Asset::new("icon.svg", include_bytes!("assets/icon.svg")));

/// Scripts, styles and images. Those of other projects are written by `scripts/docs-assets`, compressed. Each has the name by
/// which templates and pages of the manual refer to it.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets(vec![
        Asset::new("swagger-ui-bundle.js", include_bytes!("assets/swagger-ui-bundle.js.gz")),
        Asset::new("swagger-ui.css", include_bytes!("assets/swagger-ui.css.gz")),
        Asset::new("redoc.standalone.js", include_bytes!("assets/redoc.standalone.js.gz")),
        Asset::new("begin-swagger-ui.js", include_bytes!("assets/begin-swagger-ui.js")),
        Asset::new("begin-redoc.js", include_bytes!("assets/begin-redoc.js")),
        Asset::new("pages.css", PAGES.as_bytes()),
        Asset::new("manual.css", include_bytes!("assets/manual.css")),
        ICON.clone(),
        Asset::new("follow-the-leads.png", include_bytes!("../../manual/follow-the-leads.png")),
    ])
});

/// A file, with its part of the policy if it is a page.
type Document = (Arc<StaticFile>, Option<&'static str>);

/// What is equal for all clients, by path.
static FILES: LazyLock<HashMap<String, Document>> = LazyLock::new(|| {
    let frame = |here| Frame { root: "", here };
    let text = |kind, text: &[u8]| (Arc::new(StaticFile::plain(kind, text)), None);
    let licenses = include_bytes!("assets/licenses.txt");
    let files = [
        ("/", (html(&Page::Landing { frame: frame("") }), Some(TEXT_POLICY))),
        ("/docs", (html(&Page::SwaggerUi { frame: frame("docs") }), Some(SWAGGER_UI_POLICY))),
        ("/redoc", (html(&Page::Redoc { frame: frame("redoc") }), Some(REDOC_POLICY))),
        ("/manual", (html(&Page::Index { frame: frame("manual") }), Some(TEXT_POLICY))),
        ("/llms.txt", text(MARKDOWN, manual::index_for_programs().as_bytes())),
        ("/docs/licenses", text("text/plain; charset=utf-8", licenses)),
        // Browsers request it for text and JSON answers, since these cannot name an icon.
        ("/favicon.ico", (Arc::clone(&ICON.file), None)),
    ];
    let topics = TOPICS.iter().flat_map(|topic| {
        let page = html(&Page::Topic { frame: Frame { root: "../", here: topic.name }, topic });
        let source = text(MARKDOWN, topic.markdown.as_bytes());
        let path = format!("/manual/{}", topic.name);
        [(format!("{path}.md"), source), (path, (page, Some(TEXT_POLICY)))]
    });
    files.map(|(path, file)| (path.to_owned(), file)).into_iter().chain(topics).collect()
});

/// The data of `layout.html`. Every page has it in the field `frame`.
struct Frame {
    /// The path from the page to the server's root: `../` below `/manual`, otherwise nothing.
    root: &'static str,
    /// The last segment of the page's path, which determines the current entry of a menu.
    here: &'static str,
}

impl Frame {
    /// Returns the address of the asset with this name.
    fn asset(&self, name: &str) -> String {
        format!("{}docs/assets/{}", self.root, ASSETS.address(name))
    }

    /// Returns whether the entry is the current page.
    fn current(&self, name: &str) -> bool {
        self.here == name
    }
}

#[derive(Template)]
#[template(config = "src/api/docs/askama.toml")]
enum Page {
    #[template(path = "landing.html")]
    Landing { frame: Frame },
    #[template(path = "swagger-ui.html")]
    SwaggerUi { frame: Frame },
    #[template(path = "redoc.html")]
    Redoc { frame: Frame },
    /// The list of the manual's pages.
    #[template(path = "manual-index.html")]
    Index { frame: Frame },
    /// A page of the manual.
    #[template(path = "manual-topic.html")]
    Topic { frame: Frame, topic: &'static Topic },
}

/// Returns the text of a page of the manual as HTML.
fn text(frame: &Frame, topic: &Topic) -> String {
    manual::render(topic.markdown, "", |name| frame.asset(name))
}

/// Returns the first paragraph of a page of the manual as HTML, without the surrounding `<p>`.
fn summary(frame: &Frame, topic: &Topic) -> String {
    let address = format!("manual/{}", topic.name);
    let paragraph = manual::render(topic.summary(), &address, |name| frame.asset(name));
    paragraph.replace("<p>", "").replace("</p>", "")
}

/// Renders a page.
fn html(page: &Page) -> Arc<StaticFile> {
    let html = page.render().unwrap_or_else(|failure| {
        error!("cannot render a page: {failure}");
        String::new()
    });
    Arc::new(StaticFile::plain("text/html; charset=utf-8", html.into_bytes()))
}

/// Gets the OpenAPI 3.1 document.
///
/// Needs no key and is not counted. It changes with each release, so a copy can be used for some minutes.
#[utoipa::path(get, path = "/openapi.json",
    params(("If-None-Match" = String, Header)),
    responses((status = 200, description = "The OpenAPI document.", body = Object, headers(("ETag" = String)))))]
pub fn get_open_api(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let response = Response::of_file(api.openapi(), call.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "public, max-age=300")))
}

/// Returns `false` for a path below `/manual` or `/docs/assets` that has no file, which its route cannot tell.
pub fn has_file(path: &str) -> bool {
    let path = path.strip_suffix('/').unwrap_or(path);
    let asset = path.strip_prefix("/docs/assets/").map(|file| ASSETS.find(file));
    asset.map_or_else(|| !path.starts_with("/manual/") || FILES.contains_key(path), |asset| asset.is_some())
}

/// `GET` for a path of `FILES`. Browsers may store a file but must revalidate it, since its address does not change with
/// its content. With a slash at the end of the path, the relative addresses of a page would be wrong, so such a request is
/// redirected.
///
/// # Errors
/// Returns 404 for an unknown page of the manual.
pub fn file(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let given = &call.request.path;
    let path = match given.trim_end_matches('/') {
        "" => "/",
        path => path,
    };
    let (file, may) = FILES.get(path).ok_or_else(|| Refusal::no_such("address"))?;
    let answer = Response::of_file(file, call.request).with_header("Cache-Control", "no-cache");
    Ok(Reply::Now(match may {
        None => answer,
        Some(_) if given.len() > 1 && given.ends_with('/') => {
            let name = path.rsplit('/').next().unwrap_or_default();
            Response::empty(308).with_header("Location", format!("../{name}"))
        }
        Some(may) => answer
            .with_header("Content-Security-Policy", format!("{BASE_POLICY}; {may}"))
            .with_header("Referrer-Policy", "no-referrer"),
    }))
}

/// `GET /docs/assets/{file}`. The file may be cached without limit, since its name contains a hash of its
/// content.
///
/// # Errors
/// Returns 404 for an unknown file, also for a file of another version.
pub fn asset(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, Refusal> {
    let asset = call.segments.get("file").and_then(|file| ASSETS.find(file));
    let asset = asset.ok_or_else(|| Refusal::no_such("address"))?;
    Ok(Reply::Now(Response::of_asset(asset, call.request)))
}
