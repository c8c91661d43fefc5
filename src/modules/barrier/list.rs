//! The list of barriers, `catalog/tables/barriers.json`, and the search for its words in a body.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use regex::Regex;
use serde::Deserialize;

use crate::modules::reason::Reason;
use crate::modules::tables;
use crate::modules::text::{constant, squeeze};

/// The number of bytes at the start of a body that are searched for barriers.
pub(crate) const BARRIER_REACH: usize = 64 * 1024;

/// The responses to which a pattern applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Needs {
    /// All responses.
    #[default]
    Any,
    /// Pages, which are HTML or plain text, with any status.
    Page,
    /// Responses with JSON and any status.
    Json,
    /// Responses of at most 300 bytes that are neither HTML nor JSON, with any status.
    Bare,
    /// Responses with a status that barriers use (403, 503, …). 401 is not among them: sign-in forms with
    /// captchas use it.
    Refusal,
    /// Responses with a status of 400 or above.
    Failure,
    /// Pages with a success status.
    Success,
    /// Pages with any status, for modules that do not use sign-in pages themselves.
    LoginPage,
}

/// One pattern of a barrier. It matches if all of its conditions hold. Several patterns with one reason are
/// alternatives.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Pattern {
    /// A remark for people.
    #[serde(rename = "about")]
    _about: String,
    /// The outcome's reason.
    pub(super) reason: Reason,
    pub(super) needs: Needs,
    /// The statuses to which the pattern applies. If there are none, it applies to all.
    pub(super) status: Vec<u16>,
    /// The headers of which one must contain the given lower-case text. With a leading `=`, the header must
    /// equal the text.
    pub(super) header: Vec<(String, String)>,
    /// The texts that must all appear in the first part of the body, ignoring case.
    pub(super) all: Vec<String>,
    /// The texts of which at least one must appear.
    pub(super) any: Vec<String>,
    /// A further list of texts of which at least one must appear.
    pub(super) also: Vec<String>,
    /// The texts that must not appear.
    pub(super) none: Vec<String>,
    /// Whether the page must contain little readable text.
    pub(super) short: bool,
}

/// The texts by which addresses of barriers are recognized, in lower case, each with the outcome's reason.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Addresses {
    /// The beginnings of hosts, and of paths, which begin with a slash.
    pub(super) fronts: Vec<(String, Reason)>,
    /// Hosts. Names below them count as well.
    pub(super) hosts: Vec<(String, Reason)>,
    /// Texts that appear only in the paths of barriers, in any segment.
    pub(super) parts: Vec<(String, Reason)>,
    /// Words that appear only in the paths of barriers. Only whole words count, since many sites have a page such as
    /// `challenges`.
    pub(super) words: Vec<(String, Reason)>,
    /// The names of paths to sign-in pages. They count as the first or last path segment, up to a dot.
    pub(super) logins: Vec<String>,
}

/// The file of barriers. A text such as `@forms` in a pattern represents a list of texts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    addresses: Addresses,
    lists: BTreeMap<String, Vec<String>>,
    barriers: Vec<Pattern>,
}

/// All patterns, and an automaton that finds their words.
pub(super) struct List {
    pub(super) addresses: Addresses,
    pub(super) patterns: Vec<Pattern>,
    pub(super) words: Vec<String>,
    automaton: AhoCorasick,
}

/// The start of a title. Titles are searched a second time with their white space normalized.
const TITLE: &str = "<title";
/// The maximum number of bytes of a title that are searched.
const MAX_TITLE: usize = 400;

pub(super) static LIST: LazyLock<List> = LazyLock::new(|| {
    let File { addresses, lists, barriers: mut patterns } =
        tables::read(include_str!("../catalog/tables/barriers.json"));
    let mut words = BTreeSet::from([TITLE.to_owned()]);
    let of_patterns =
        patterns.iter_mut().flat_map(|it| [&mut it.all, &mut it.any, &mut it.also, &mut it.none]);
    for texts in of_patterns {
        let whole = std::mem::take(texts).into_iter().flat_map(|text| match text.strip_prefix('@') {
            Some(name) => lists.get(name).cloned().unwrap_or_default(),
            None => vec![text],
        });
        *texts = whole.collect();
        words.extend(texts.iter().cloned());
    }
    let words = Vec::from_iter(words);
    // Every page is searched, and a DFA takes half the time of the NFA that would be chosen for so many words.
    let kind = Some(AhoCorasickKind::DFA);
    let automaton = AhoCorasick::builder().ascii_case_insensitive(true).kind(kind).build(&words);
    List { addresses, automaton: automaton.expect("the words are few and short"), words, patterns }
});

/// The words of the list that were found in a body.
#[derive(Debug, Default)]
pub(super) struct Seen(BTreeSet<&'static str>);

impl Seen {
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.contains(word)
    }

    /// Searches the first part of a body.
    pub(super) fn look(body: &[u8]) -> Self {
        let body = &body[..body.len().min(BARRIER_REACH)];
        let mut seen = Self::default();
        let title = seen.search(body).and_then(|at| bare_title(&body[at..]));
        if let Some(title) = title {
            let barred = with_bars(&title);
            for form in [with_host(&barred), barred, title] {
                seen.search(form.as_bytes());
            }
        }
        seen
    }

    /// Adds the words in a text. Returns the place behind the first [`TITLE`].
    fn search(&mut self, text: &[u8]) -> Option<usize> {
        let (list, mut title) = (&*LIST, None);
        for place in list.automaton.find_overlapping_iter(text) {
            let word = list.words[place.pattern().as_usize()].as_str();
            self.0.insert(word);
            title = title.or((word == TITLE).then_some(place.end()));
        }
        title
    }
}

/// Returns the title without attributes and superfluous white space. `rest` is the text after `<title`.
fn bare_title(rest: &[u8]) -> Option<String> {
    let rest = String::from_utf8_lossy(&rest[..rest.len().min(MAX_TITLE)]);
    let (_, text) = rest.split_once('>')?;
    let (text, _) = text.split_once("</")?;
    Some(format!("<title>{}</title>", squeeze(text).to_lowercase()))
}

/// Returns the title with ` | ` in place of other separators between the name of a page and the name of its site, as they are
/// written in HTML.
fn with_bars(title: &str) -> String {
    static SEPARATORS: LazyLock<Regex> =
        LazyLock::new(|| constant(" (?:[-–—•·»«›/]|::|&(?:[nm]dash|#821[12]|bull|middot|raquo|#124);) "));
    SEPARATORS.replace_all(title, " | ").into_owned()
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
