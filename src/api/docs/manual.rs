//! The manual as web pages, and as Markdown for programs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, LazyLock};

use super::assets::{with_addresses, with_pictures};
use super::pages::{MANUAL_POLICY, Page, show};
use crate::http::{Reply, Request, Response, StaticFile};
use crate::manual::{self, TOPICS, Topic, escape};

const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// The most characters of a search that are used.
const MOST_QUERY_CHARS: usize = 200;

static INDEX: LazyLock<Page> = LazyLock::new(|| {
    let mut list = String::from("<h1>Manual</h1>\n<ul class=\"topics\">\n");
    for topic in TOPICS {
        let summary = manual::render(topic.summary()).replace("<p>", "").replace("</p>", "");
        let _ =
            writeln!(list, "<li><a href=\"manual/{}\">{}</a><br>{summary}</li>", topic.name, topic.title());
    }
    list.push_str(
        "</ul>\n<p>For programs: <a href=\"llms.txt\">llms.txt</a> lists these pages as Markdown.</p>\n",
    );
    Page::new(&Frame { root: "", title: "Manual", current: None, query: "" }.around(&list), MANUAL_POLICY)
});

static PAGES: LazyLock<HashMap<&'static str, Page>> = LazyLock::new(|| {
    let page = |topic: &'static Topic| {
        let frame = Frame { root: "../", title: topic.title(), current: Some(topic), query: "" };
        let source =
            format!("<p class=\"source\"><a href=\"{}.md\">This page as Markdown</a></p>\n", topic.name);
        let content = with_pictures(&manual::render(topic.markdown), frame.root);
        let text = frame.around(&format!("{content}{source}"));
        (topic.name, Page::new(&text, MANUAL_POLICY))
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
        show(&Page::new(&found(&query), MANUAL_POLICY), request)
    }
}

/// Answers with the page of this name, or with its source if the name ends with `.md`.
pub(super) fn page(request: &Request, name: &str) -> Option<Reply> {
    match SOURCES.get(name) {
        Some(source) => Some(file(source, request)),
        None => PAGES.get(name).map(|page| show(page, request)),
    }
}

/// Answers with the index for programs.
pub(super) fn llms(request: &Request) -> Reply {
    file(&LLMS, request)
}

fn file(file: &Arc<StaticFile>, request: &Request) -> Reply {
    Reply::Now(Response::of_file(file, request).with_header("Cache-Control", "no-cache"))
}

/// The page that lists the sections with the words of `query`.
fn found(query: &str) -> String {
    let found = manual::search(query);
    let sections =
        if found.len() == 1 { "1 section".to_owned() } else { format!("{} sections", found.len()) };
    let mut list =
        format!("<h1>Search</h1>\n<p>{sections} with “{}”</p>\n<ul class=\"topics\">\n", escape(query));
    for section in found {
        let heading = match section.heading == section.title {
            true => escape(section.title),
            false => format!("{}: {}", escape(section.title), escape(section.heading)),
        };
        let excerpt = escape(&section.excerpt);
        let _ = writeln!(
            list,
            "<li><a href=\"manual/{}#{}\">{heading}</a><br>{excerpt}</li>",
            section.topic, section.id
        );
    }
    list.push_str("</ul>\n");
    Frame { root: "", title: "Search", current: None, query }.around(&list)
}

/// The parts of a page around its content.
struct Frame<'a> {
    /// The path from the page to the server's root.
    root: &'a str,
    title: &'a str,
    /// The topic that the page shows, if any.
    current: Option<&'a Topic>,
    /// The text in the search form.
    query: &'a str,
}

impl Frame<'_> {
    fn around(&self, content: &str) -> String {
        let mut topics = String::new();
        for topic in TOPICS {
            let is_current = self.current.is_some_and(|current| current.name == topic.name);
            let mark = if is_current { " aria-current=\"page\"" } else { "" };
            let _ = writeln!(
                topics,
                "<li><a href=\"{}manual/{}\"{mark}>{}</a></li>",
                self.root,
                topic.name,
                topic.title()
            );
        }
        // The content is inserted last, so that no placeholder in it is replaced.
        with_addresses(include_str!("pages/manual.html"))
            .replace("{{root}}", self.root)
            .replace("{{title}}", &escape(self.title))
            .replace("{{topics}}", &topics)
            .replace("{{query}}", &escape(self.query).replace('{', "&#123;"))
            .replacen("{{content}}", content, 1)
    }
}
