//! The documentation in a browser: an overview, Swagger UI, ReDoc and the manual. The binary contains all
//! files that the pages load.
//!
//! Addresses in the pages are relative, so they work under any prefix of a proxy. Templates of pages below `/manual`
//! begin them with `{{ frame.root }}`. To update Swagger UI or ReDoc: run `scripts/docs-assets`.
//!
//! To add a page: write a template that extends `layout.html` and whose struct has a field `frame`, and add a handler here
//! and a row in the route table.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use askama::Template;
use log::error;
use serde::Deserialize;
use utoipa::IntoParams;

use super::context::{Api, Call};
use super::error::ApiError;
use super::request;
use crate::http::{Asset, Assets, Reply, Request, Response, StaticFile};
use crate::manual::{self, Found, TOPICS, Topic};

/// The part of the policy that all pages share: each page loads only what its own part allows, and no page
/// may be framed.
const BASE_POLICY: &str = "default-src 'none'; base-uri 'none'; frame-ancestors 'none'";
/// Allows our own styles and images.
const LANDING_POLICY: &str = "form-action 'none'; style-src 'self'; img-src 'self'";
/// For Swagger UI, whose stylesheet contains its images. Browsers let it send requests to this server only.
const SWAGGER_UI_POLICY: &str =
    "form-action 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'";
/// For ReDoc, which writes two style elements: an empty one that it fills with rules, and one for its scroll
/// bar.
const REDOC_POLICY: &str = "form-action 'none'; script-src 'self'; img-src 'self' data:; connect-src 'self'; style-src 'self' \
    'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=' 'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";
/// Allows our own styles and images, and search forms.
const MANUAL_POLICY: &str = "form-action 'self'; style-src 'self'; img-src 'self'";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// The most characters of a search that are used.
const MOST_QUERY_CHARS: usize = 200;

/// The licences of the files of other projects.
static LICENSES: LazyLock<Arc<StaticFile>> = LazyLock::new(|| {
    let text = include_bytes!("assets/licenses.txt").as_slice();
    Arc::new(StaticFile::plain("text/plain; charset=utf-8", text))
});

/// The icon of Sightline.
static ICON: LazyLock<Asset> = LazyLock::new(|| Asset::plain("icon.svg", include_bytes!("assets/icon.svg")));

/// Scripts, styles and images. Those of other projects are written by `scripts/docs-assets`, compressed. Each has the name by
/// which templates and pages of the manual refer to it.
static ASSETS: LazyLock<Assets> = LazyLock::new(|| {
    Assets(vec![
        Asset::gzipped("swagger-ui-bundle.js", include_bytes!("assets/swagger-ui-bundle.js.gz")),
        Asset::gzipped("swagger-ui.css", include_bytes!("assets/swagger-ui.css.gz")),
        Asset::gzipped("redoc.standalone.js", include_bytes!("assets/redoc.standalone.js.gz")),
        Asset::plain("begin-swagger-ui.js", include_bytes!("assets/begin-swagger-ui.js")),
        Asset::plain("begin-redoc.js", include_bytes!("assets/begin-redoc.js")),
        Asset::plain("pages.css", include_bytes!("assets/pages.css")),
        Asset::plain("manual.css", include_bytes!("assets/manual.css")),
        ICON.clone(),
        Asset::plain("follow-the-leads.png", include_bytes!("../../manual/follow-the-leads.png")),
        Asset::plain("follow-the-leads-card.png", include_bytes!("../../manual/follow-the-leads-card.png")),
        Asset::plain(
            "follow-the-leads-family.png",
            include_bytes!("../../manual/follow-the-leads-family.png"),
        ),
    ])
});

/// The overview, for the real and for the simulated web.
static LANDING: LazyLock<[Arc<StaticFile>; 2]> = LazyLock::new(|| {
    [false, true].map(|sandbox| html(&LandingPage { frame: Frame { root: "", here: "" }, sandbox }))
});
static SWAGGER_UI: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| html(&SwaggerUiPage { frame: Frame { root: "", here: "docs" } }));
static REDOC: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| html(&RedocPage { frame: Frame { root: "", here: "redoc" } }));
static MANUAL: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| html(&IndexPage { frame: Frame { root: "", here: "manual" } }));
static LLMS: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| Arc::new(StaticFile::plain(MARKDOWN, manual::index_for_programs().into_bytes())));

/// The pages of the manual by their names, and their sources.
static TOPIC_FILES: LazyLock<HashMap<&str, [Arc<StaticFile>; 2]>> = LazyLock::new(|| {
    let files = |topic: &'static Topic| {
        let page = html(&TopicPage { frame: Frame { root: "../", here: topic.name }, topic });
        (topic.name, [page, Arc::new(StaticFile::plain(MARKDOWN, topic.markdown.as_bytes()))])
    };
    TOPICS.iter().map(files).collect()
});

/// The data of `layout.html`. The struct of every page has it in the field `frame`.
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
#[template(path = "landing.html", config = "src/api/docs/askama.toml")]
struct LandingPage {
    frame: Frame,
    /// Whether a simulated web answers every search.
    sandbox: bool,
}

#[derive(Template)]
#[template(path = "swagger-ui.html", config = "src/api/docs/askama.toml")]
struct SwaggerUiPage {
    frame: Frame,
}

#[derive(Template)]
#[template(path = "redoc.html", config = "src/api/docs/askama.toml")]
struct RedocPage {
    frame: Frame,
}

/// The list of the manual's pages.
#[derive(Template)]
#[template(path = "manual-index.html", config = "src/api/docs/askama.toml")]
struct IndexPage {
    frame: Frame,
}

impl IndexPage {
    /// Returns the first paragraph of a page as HTML, without its element.
    fn summary(&self, topic: &Topic) -> String {
        let paragraph =
            manual::render(topic.summary(), &format!("manual/{}", topic.name), |name| self.frame.asset(name));
        paragraph.replace("<p>", "").replace("</p>", "")
    }
}

/// A page of the manual.
#[derive(Template)]
#[template(path = "manual-topic.html", config = "src/api/docs/askama.toml")]
struct TopicPage {
    frame: Frame,
    topic: &'static Topic,
}

impl TopicPage {
    /// Returns the text of the page as HTML.
    fn text(&self) -> String {
        manual::render(self.topic.markdown, "", |name| self.frame.asset(name))
    }
}

/// The sections that contain the words of a query.
#[derive(Template)]
#[template(path = "manual-search.html", config = "src/api/docs/askama.toml")]
struct SearchPage<'a> {
    frame: Frame,
    query: &'a str,
    found: Vec<Found>,
}

/// Renders a page.
fn html(page: &impl Template) -> Arc<StaticFile> {
    let html = page.render().unwrap_or_else(|failure| {
        error!("cannot render a page: {failure}");
        String::new()
    });
    Arc::new(StaticFile::plain("text/html; charset=utf-8", html.into_bytes()))
}

/// Answers with a page, whose policy gets the part `may`. With a slash at the end of the path its relative addresses would be
/// wrong, so such a request is redirected.
fn show(page: &Arc<StaticFile>, may: &str, request: &Request) -> Result<Reply, ApiError> {
    let path = request.path.trim_end_matches('/');
    let name = path.rsplit('/').next().unwrap_or_default();
    if request.path.len() > 1 && request.path.ends_with('/') {
        return Ok(Reply::Now(Response::empty(308).with_header("Location", format!("../{name}"))));
    }
    let response = answer(page, request)
        .with_header("Content-Security-Policy", format!("{BASE_POLICY}; {may}"))
        .with_header("Referrer-Policy", "no-referrer");
    Ok(Reply::Now(response))
}

/// Answers with a file. Browsers may store it but must revalidate it, since its address does not change with its
/// content.
fn answer(file: &Arc<StaticFile>, request: &Request) -> Response {
    Response::of_file(file, request).with_header("Cache-Control", "no-cache")
}

/// Gets the OpenAPI 3.1 document.
///
/// Needs no key and is not counted. It changes with each release, so a copy can be used for some minutes.
#[utoipa::path(get, path = "/openapi.json",
    params(("If-None-Match" = String, Header)),
    responses((status = 200, description = "The OpenAPI document.", body = Object, headers(("ETag" = String)))))]
pub fn get_open_api(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let response = Response::of_file(&api.openapi, call.request);
    Ok(Reply::Now(response.with_header("Cache-Control", "public, max-age=300")))
}

/// `GET /`: an overview with links to the documentation and to the addresses for programs.
pub fn landing(api: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    show(&LANDING[usize::from(api.config.sandbox)], LANDING_POLICY, call.request)
}

/// `GET /docs`: Swagger UI over `/openapi.json`.
pub fn swagger_ui(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    show(&SWAGGER_UI, SWAGGER_UI_POLICY, call.request)
}

/// `GET /redoc`: ReDoc over `/openapi.json`.
pub fn redoc(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    show(&REDOC, REDOC_POLICY, call.request)
}

/// The query parameters of the manual's index.
#[derive(Deserialize, IntoParams)]
struct IndexParameters {
    q: Option<String>,
}

/// `GET /manual`: the list of pages, or the sections that contain the words of `q`.
///
/// # Errors
/// Returns 400 if `q` is sent twice.
pub fn manual_index(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let IndexParameters { q } = request::query(call.request)?;
    let query: String = q.unwrap_or_default().trim().chars().take(MOST_QUERY_CHARS).collect();
    if query.is_empty() {
        return show(&MANUAL, MANUAL_POLICY, call.request);
    }
    let frame = Frame { root: "", here: "manual" };
    let page = SearchPage { frame, query: &query, found: manual::search(&query) };
    show(&html(&page), MANUAL_POLICY, call.request)
}

/// `GET /manual/{topic}`: a page, or its source with `.md` at the end.
///
/// # Errors
/// Returns 404 for an unknown page.
pub fn manual_page(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let name = call.segments.get("topic").unwrap_or_default();
    let source = name.strip_suffix(".md");
    let files = TOPIC_FILES.get(source.unwrap_or(name));
    let [page, markdown] = files.ok_or_else(|| ApiError::no_such("address"))?;
    match source {
        Some(_) => Ok(Reply::Now(answer(markdown, call.request))),
        None => show(page, MANUAL_POLICY, call.request),
    }
}

/// `GET /llms.txt`: the index of the manual for programs.
pub fn llms(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(answer(&LLMS, call.request)))
}

/// `GET /docs/licenses`: the licences of the files of other projects.
pub fn licenses(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(answer(&LICENSES, call.request)))
}

/// `GET /favicon.ico`, which browsers request for text and JSON answers, since these cannot name an icon.
pub fn icon(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    Ok(Reply::Now(answer(&ICON.file, call.request)))
}

/// `GET /docs/assets/{file}`. The file may be cached without limit, since its name contains a hash of its
/// content.
///
/// # Errors
/// Returns 404 for an unknown file, also for a file of another version.
pub fn asset(_: &Arc<Api>, call: &Call<'_>) -> Result<Reply, ApiError> {
    let asset = call.segments.get("file").and_then(|file| ASSETS.find(file));
    let asset = asset.ok_or_else(|| ApiError::no_such("address"))?;
    Ok(Reply::Now(Response::of_asset(asset, call.request)))
}
