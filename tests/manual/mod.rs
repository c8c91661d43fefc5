//! The README and the manual: their links, their examples and their words.

mod examples;
mod fields;
mod served;
mod verified;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use pulldown_cmark::{Event, Options, Parser, Tag};

use sightline::manual::{TOPICS, render};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the README and all pages: path from the project's root to text.
fn documents() -> BTreeMap<String, String> {
    let pages =
        TOPICS.iter().map(|topic| (format!("src/manual/{}.md", topic.name), topic.markdown.to_owned()));
    let readme = ("README.md".to_owned(), fs::read_to_string(root().join("README.md")).unwrap());
    pages.chain([readme]).collect()
}

/// Returns the targets of the links and images of a document.
fn links(markdown: &str) -> Vec<String> {
    let events = Parser::new_ext(markdown, Options::ENABLE_TABLES);
    events
        .filter_map(|event| match event {
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                Some(dest_url.to_string())
            }
            _ => None,
        })
        .collect()
}

/// Returns the ids of the headings of a document.
fn ids(markdown: &str) -> BTreeSet<String> {
    let page = render(markdown, "", str::to_owned);
    page.split(" id=\"").skip(1).filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

#[test]
fn every_page_of_the_folder_is_listed() {
    let listed: BTreeSet<String> = TOPICS.iter().map(|topic| format!("{}.md", topic.name)).collect();
    let names = fs::read_dir(root().join("src/manual")).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert_eq!(names.filter(|name| name.ends_with(".md")).collect::<BTreeSet<_>>(), listed);
}

#[test]
fn every_link_leads_to_a_file_and_a_heading() {
    let documents = documents();
    let mut broken = Vec::new();
    for (path, text) in &documents {
        for link in links(text) {
            if link.starts_with("https://") {
                continue;
            }
            let (file, heading) = link.split_once('#').unwrap_or((&link, ""));
            let folder = Path::new(path).parent().unwrap();
            let target = if file.is_empty() { path.clone() } else { folder.join(file).display().to_string() };
            // A served page reaches other pages only, and pictures, each of which the tests of `served` fetch.
            let is_picture = target.ends_with(".png");
            let is_reachable = path == "README.md" || is_picture || documents.contains_key(&target);
            let exists = is_reachable && root().join(&target).is_file();
            let has_heading = || documents.get(&target).is_some_and(|text| ids(text).contains(heading));
            if !exists || !(heading.is_empty() || has_heading()) {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
    let readme_links = links(&documents["README.md"]).len();
    assert!(readme_links > 10, "the README has {readme_links} links");
}
