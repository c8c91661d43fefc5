//! A search for the words of all barriers in one pass.

use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};

use super::list::BARRIERS;
use super::pattern::Pattern;
use crate::modules::text::squeeze;

/// The start of a title. Titles are searched a second time with their white space normalized.
const TITLE: &str = "<title";
/// The maximum number of bytes of a title that are searched.
const MAX_TITLE: usize = 400;

struct Words {
    automaton: AhoCorasick,
    list: Vec<&'static str>,
    title: usize,
}

static WORDS: LazyLock<Option<Words>> = LazyLock::new(|| {
    let mut list: Vec<&'static str> = BARRIERS.iter().flat_map(Pattern::words).chain([TITLE]).collect();
    list.sort_unstable();
    list.dedup();
    let automaton = AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .match_kind(MatchKind::Standard)
        .kind(Some(AhoCorasickKind::DFA))
        .build(&list)
        .ok()?;
    let title = list.binary_search(&TITLE).ok()?;
    Some(Words { automaton, list, title })
});

/// The words of the list that were found in a body.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<&'static str>);

impl Seen {
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// Searches a body, or the first part of one.
    pub(super) fn look(body: &[u8]) -> Self {
        let Some(words) = WORDS.as_ref() else { return Self::default() };
        let mut is_seen = vec![false; words.list.len()];
        let mut title = None;
        for found in words.automaton.find_overlapping_iter(body) {
            let word = found.pattern().as_usize();
            is_seen[word] = true;
            if word == words.title {
                title = title.or(Some(found.end()));
            }
        }
        if let Some(title) = title.and_then(|at| bare_title(&body[at..])) {
            let barred = with_bars(&title);
            for form in [with_host(&barred), barred, title] {
                for found in words.automaton.find_overlapping_iter(&form) {
                    is_seen[found.pattern().as_usize()] = true;
                }
            }
        }
        let seen = words.list.iter().zip(is_seen).filter(|(_, is_seen)| *is_seen);
        Self(seen.map(|(word, _)| *word).collect())
    }
}

/// Returns the title without attributes and superfluous white space. `rest` is the text after `<title`.
fn bare_title(rest: &[u8]) -> Option<String> {
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(MAX_TITLE)]);
    let (_, text) = rest.split_once('>')?;
    let (text, _) = text.split_once("</")?;
    Some(format!("<title>{}</title>", squeeze(text).to_lowercase()))
}

/// Separators between the name of a page and the name of its site, as they are written in HTML.
const SEPARATORS: [&str; 18] = [
    " - ",
    " – ",
    " — ",
    " • ",
    " · ",
    " » ",
    " « ",
    " › ",
    " :: ",
    " / ",
    " &ndash; ",
    " &#8211; ",
    " &mdash; ",
    " &#8212; ",
    " &bull; ",
    " &middot; ",
    " &raquo; ",
    " &#124; ",
];

/// Returns the title with every separator replaced by ` | `.
fn with_bars(title: &str) -> String {
    SEPARATORS.iter().fold(title.to_owned(), |title, separator| match title.contains(separator) {
        true => title.replace(separator, " | "),
        false => title,
    })
}

/// Returns the title with a host name at its start replaced by `(host)`.
fn with_host(title: &str) -> String {
    let text = title.strip_prefix("<title>").unwrap_or(title);
    let (first, rest) = text.split_once(' ').unwrap_or((text, ""));
    let is_host = first.len() >= 4
        && first.trim_matches('.').contains('.')
        && first.chars().all(|c| c.is_alphanumeric() || "-.".contains(c));
    if is_host { format!("<title>(host) {rest}") } else { title.to_owned() }
}
