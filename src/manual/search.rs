//! Search over the sections of the manual.

use std::sync::LazyLock;

use pulldown_cmark::{Event, Tag, TagEnd};

use super::render::{Ids, events};
use super::topic::{TOPICS, Topic};

/// Words of a query that are looked at.
const MOST_WORDS: usize = 8;
/// Characters of a section's text that are shown before and after the first word found.
const CONTEXT_CHARS: usize = 100;

/// A heading with the text below it, up to the next heading.
struct Section {
    topic: &'static Topic,
    heading: String,
    id: String,
    text: String,
    /// Heading and text in lower case.
    folded: String,
}

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| TOPICS.iter().flat_map(sections).collect());

/// A section that contains all words of a query.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// Name of the page.
    pub topic: &'static str,
    /// Title of the page.
    pub title: &'static str,
    /// Text of the section's heading; the title for the first section.
    pub heading: &'static str,
    /// Id of the heading.
    pub id: &'static str,
    /// A part of the section's text that contains the first word that was found.
    pub excerpt: String,
}

/// Returns the sections that contain every word of `query`, in any case and also inside longer words. Sections with a
/// word in their heading come first. Of a longer query the first eight words count.
pub fn search(query: &str) -> Vec<Found> {
    let words: Vec<String> = query.split_whitespace().take(MOST_WORDS).map(str::to_lowercase).collect();
    if words.is_empty() {
        return Vec::new();
    }
    let fits = |section: &&Section| words.iter().all(|word| section.folded.contains(word.as_str()));
    let mut found: Vec<&'static Section> = SECTIONS.iter().filter(fits).collect();
    // A stable sort: sections stay in the order of the manual.
    found.sort_by_key(|section| {
        let heading = section.heading.to_lowercase();
        !words.iter().any(|word| heading.contains(word.as_str()))
    });
    found.into_iter().map(|section| section.shown(&words)).collect()
}

impl Section {
    fn shown(&'static self, words: &[String]) -> Found {
        Found {
            topic: self.topic.name,
            title: self.topic.title(),
            heading: &self.heading,
            id: &self.id,
            excerpt: excerpt(&self.text, words),
        }
    }
}

/// Returns the part of `text` around the first of `words` in it, or its beginning if none is there.
fn excerpt(text: &str, words: &[String]) -> String {
    let characters: Vec<char> = text.chars().collect();
    // One character for one, so that positions agree with those in `characters`.
    let folded: Vec<char> = characters.iter().map(|c| c.to_lowercase().next().unwrap_or(*c)).collect();
    let position = |word: &String| {
        let word: Vec<char> = word.chars().collect();
        folded.windows(word.len()).position(|window| window == word)
    };
    let at = words.iter().filter_map(position).min().unwrap_or(0);
    let (start, end) = (at.saturating_sub(CONTEXT_CHARS), (at + CONTEXT_CHARS).min(characters.len()));
    let mut part: String = characters[start..end].iter().collect();
    if start > 0 {
        part = format!("…{}", part.split_once(' ').map_or(part.as_str(), |(_, rest)| rest));
    }
    if end < characters.len() {
        part = format!("{}…", part.rsplit_once(' ').map_or(part.as_str(), |(rest, _)| rest));
    }
    part
}

/// Cuts a page into its sections.
fn sections(topic: &'static Topic) -> Vec<Section> {
    let mut ids = Ids::default();
    let mut sections: Vec<Section> = Vec::new();
    let mut heading: Option<String> = None;
    for event in events(topic.markdown) {
        match event {
            Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
            Event::End(TagEnd::Heading(_)) => {
                let heading = heading.take().unwrap_or_default();
                let id = ids.next(&heading);
                sections.push(Section { topic, heading, id, text: String::new(), folded: String::new() });
            }
            Event::Text(text) | Event::Code(text) => match (&mut heading, sections.last_mut()) {
                (Some(heading), _) => heading.push_str(&text),
                (None, Some(section)) => section.text.push_str(&text),
                (None, None) => {}
            },
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                if let (None, Some(section)) = (&heading, sections.last_mut()) {
                    section.text.push(' ');
                }
            }
            _ => {}
        }
    }
    for section in &mut sections {
        section.text = section.text.split_whitespace().collect::<Vec<_>>().join(" ");
        section.folded = format!("{} {}", section.heading, section.text).to_lowercase();
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_with_all_words_is_found_and_headings_come_first() {
        let found = search("rate LIMITS");
        assert_eq!((found[0].topic, found[0].id), ("errors-and-limits", "rate-limits"), "{found:?}");
        assert!(found.iter().any(|section| section.topic != found[0].topic), "{found:?}");
        assert!(search("").is_empty() && search("  ").is_empty());
        assert!(search("rate unfindableword").is_empty());
    }

    #[test]
    fn an_excerpt_shows_the_word_in_whole_words() {
        let text = format!("{} needle {}", "before ".repeat(40), "after ".repeat(40));
        let part = excerpt(&text, &["needle".to_owned()]);
        assert!(
            part.starts_with("…before ") && part.contains(" needle ") && part.ends_with("after…"),
            "{part}"
        );
        assert_eq!(excerpt("short İ text", &["nowhere".to_owned()]), "short İ text");
        assert_eq!(excerpt("", &["a".to_owned()]), "");
    }
}
