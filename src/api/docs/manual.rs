//! The manual as web pages, and as Markdown for programs.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use askama::Template;

use super::frame::{Frame, Page, answer, show};
use crate::http::{Reply, Request, StaticFile};
use crate::manual::{self, Found, TOPICS, Topic};

const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// Allows our own styles and images, and search forms.
const POLICY: &str = "form-action 'self'; style-src 'self'; img-src 'self'";
/// The most characters of a search that are used.
const MOST_QUERY_CHARS: usize = 200;

static INDEX: LazyLock<Page> =
    LazyLock::new(|| Page::new(&IndexPage { frame: Frame { root: "", here: "manual" } }, POLICY));

static PAGES: LazyLock<HashMap<&'static str, Page>> = LazyLock::new(|| {
    let page = |topic: &'static Topic| {
        let frame = Frame { root: "../", here: topic.name };
        (topic.name, Page::new(&TopicPage { frame, topic }, POLICY))
    };
    TOPICS.iter().map(page).collect()
});

static SOURCES: LazyLock<HashMap<String, Arc<StaticFile>>> = LazyLock::new(|| {
    let file = |topic: &Topic| Arc::new(StaticFile::plain(MARKDOWN, topic.markdown.as_bytes()));
    TOPICS.iter().map(|topic| (format!("{}.md", topic.name), file(topic))).collect()
});

static LLMS: LazyLock<Arc<StaticFile>> =
    LazyLock::new(|| Arc::new(StaticFile::plain(MARKDOWN, manual::index_for_programs().into_bytes())));

/// Answers with the list of pages, or with the sections that contain the words of `query` if there are any.
pub(super) fn index(request: &Request, query: &str) -> Reply {
    let query: String = query.trim().chars().take(MOST_QUERY_CHARS).collect();
    if query.is_empty() {
        show(&INDEX, request)
    } else {
        let frame = Frame { root: "", here: "manual" };
        let page = SearchPage { frame, query: &query, found: manual::search(&query) };
        show(&Page::new(&page, POLICY), request)
    }
}

/// Answers with the page of this name, or with its source if the name ends with `.md`.
pub(super) fn page(request: &Request, name: &str) -> Option<Reply> {
    match SOURCES.get(name) {
        Some(source) => Some(Reply::Now(answer(source, request))),
        None => PAGES.get(name).map(|page| show(page, request)),
    }
}

/// Answers with the index for programs.
pub(super) fn llms(request: &Request) -> Reply {
    Reply::Now(answer(&LLMS, request))
}

/// The list of pages.
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
