//! A search for the words of all barriers in one pass.

use std::sync::LazyLock;

use super::list::BARRIERS;
use super::pattern::Pattern;
use crate::modules::text::squeeze;

/// The start of a title. Titles are searched a second time with their white space normalized.
const TITLE: &str = "<title";
/// The maximum number of bytes of a title that are searched.
const MAX_TITLE: usize = 400;
/// The number of bytes at the start of a word that are looked up in a table. No word of the list has fewer.
const START: usize = 4;
/// The number of bits of a hash of these bytes. The table has few entries in use, so that most places in a text need
/// no comparison, and fits into the processor's first cache.
const HASH_BITS: u32 = 13;

/// The words of all barriers, and a table by which they are found in any case.
struct Words {
    list: Vec<&'static str>,
    title: usize,
    /// For each hash, the index of its words in `starting`, or 0 if no word has it: `starting[0]` is empty.
    table: Vec<u16>,
    starting: Vec<Vec<usize>>,
}

static WORDS: LazyLock<Words> = LazyLock::new(|| {
    let mut list: Vec<&'static str> = BARRIERS.iter().flat_map(Pattern::words).chain([TITLE]).collect();
    list.sort_unstable();
    list.dedup();
    let title = list.binary_search(&TITLE).unwrap_or_default();
    let (mut table, mut starting) = (vec![0; 1 << HASH_BITS], vec![Vec::new()]);
    for (word, text) in list.iter().enumerate() {
        let Some(start) = text.as_bytes().first_chunk() else { continue };
        let entry = &mut table[hash(*start)];
        if *entry == 0 {
            *entry = starting.len() as u16;
            starting.push(Vec::new());
        }
        starting[usize::from(*entry)].push(word);
    }
    Words { list, title, table, starting }
});

/// Returns the same number for upper and lower case.
fn hash(start: [u8; START]) -> usize {
    let lower_case = u32::from_le_bytes(start) | 0x2020_2020;
    (lower_case.wrapping_mul(0x9E37_79B1) >> (u32::BITS - HASH_BITS)) as usize
}

impl Words {
    /// Calls a function with the index and the end of each word in a text.
    fn find(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        for (at, start) in text.windows(START).enumerate() {
            let entry = start.first_chunk().map_or(0, |start| self.table[hash(*start)]);
            for &word in &self.starting[usize::from(entry)] {
                let end = at + self.list[word].len();
                if text.get(at..end).is_some_and(|it| it.eq_ignore_ascii_case(self.list[word].as_bytes())) {
                    found(word, end);
                }
            }
        }
    }
}

/// The words of the list that were found in a body.
#[derive(Debug, Default)]
pub(super) struct Seen(Vec<&'static str>);

impl Seen {
    pub(super) fn has(&self, word: &str) -> bool {
        self.0.binary_search(&word).is_ok()
    }

    /// Searches a body, or the first part of one.
    pub(super) fn look(body: &[u8]) -> Self {
        let words = &*WORDS;
        let mut is_seen = vec![false; words.list.len()];
        let mut title = None;
        words.find(body, |word, end| {
            is_seen[word] = true;
            if word == words.title {
                title = title.or(Some(end));
            }
        });
        if let Some(title) = title.and_then(|at| bare_title(&body[at..])) {
            let barred = with_bars(&title);
            for form in [with_host(&barred), barred, title] {
                words.find(form.as_bytes(), |word, _| is_seen[word] = true);
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn each_word_is_found() {
        for word in &WORDS.list {
            assert!(word.len() >= START, "{word}");
            assert!(Seen::look(format!("a{}b", word.to_ascii_uppercase()).as_bytes()).has(word), "{word}");
        }
    }

    proptest! {
        #[test]
        fn the_words_of_a_text_are_found(
            picked in prop::collection::vec((".{0,3}", any::<prop::sample::Index>(), 1..99_usize), 0..6),
            upper_case: u64,
        ) {
            // Whole words, and parts of some.
            let text: String = picked
                .iter()
                .map(|(before, word, chars)| {
                    before.chars().chain(word.get(&WORDS.list).chars().take(*chars)).collect::<String>()
                })
                .collect();
            let cased = |(at, c): (usize, char)| match upper_case >> (at % 64) & 1 {
                0 => c,
                _ => c.to_ascii_uppercase(),
            };
            let text: String = text.chars().enumerate().map(cased).collect();
            let (mut found, lower_case) = (vec![false; WORDS.list.len()], text.to_ascii_lowercase());
            WORDS.find(text.as_bytes(), |word, end| {
                assert!(lower_case[..end].ends_with(WORDS.list[word]));
                found[word] = true;
            });
            for (word, is_found) in WORDS.list.iter().zip(found) {
                prop_assert_eq!(is_found, lower_case.contains(word), "{}", word);
            }
        }
    }
}
