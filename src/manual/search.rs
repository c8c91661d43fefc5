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
#[derive(Debug)]
pub struct Section {
    /// The page.
    pub topic: &'static Topic,
    /// Text of the heading; the title of the page for the first section.
    pub heading: String,
    /// Id of the heading.
    pub id: String,
    text: String,
}

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| TOPICS.iter().flat_map(sections).collect());

/// Returns the sections that contain every word of `query`, in any case and also inside longer words, each with a part of
/// its text that contains the first word that was found. Sections with a word in their heading come first. Of a longer
/// query the first eight words count.
pub fn search(query: &str) -> Vec<(&'static Section, String)> {
    let words: Vec<String> = query.split_whitespace().take(MOST_WORDS).map(str::to_lowercase).collect();
    let mut found: Vec<&Section> = SECTIONS.iter().filter(|section| section.has_all(&words)).collect();
    // A stable sort: sections stay in the order of the manual.
    found.sort_by_key(|section| {
        let heading = section.heading.to_lowercase();
        !words.iter().any(|word| heading.contains(word.as_str()))
    });
    found.into_iter().map(|section| (section, excerpt(&section.text, &words))).collect()
}

impl Section {
    fn has_all(&self, words: &[String]) -> bool {
        let text = format!("{} {}", self.heading, self.text).to_lowercase();
        !words.is_empty() && words.iter().all(|word| text.contains(word.as_str()))
    }
}

/// Returns the part of `text` around the first of `words` in it, or its beginning if none is there. It has whole words only.
fn excerpt(text: &str, words: &[String]) -> String {
    let folded = text.to_lowercase();
    let at = words.iter().filter_map(|word| folded.find(word.as_str())).min().unwrap_or(0);
    let at = folded[..at].chars().count();
    let (start, end) = (at.saturating_sub(CONTEXT_CHARS), at + CONTEXT_CHARS);
    let mut part: String = text.chars().skip(start).take(end - start).collect();
    if text.chars().count() > end {
        part = format!("{}…", part.rsplit_once(' ').map_or(part.as_str(), |(rest, _)| rest));
    }
    if start > 0 {
        part = format!("…{}", part.split_once(' ').map_or(part.as_str(), |(_, rest)| rest));
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
                sections.push(Section { topic, heading, id, text: String::new() });
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
    }
    sections
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_with_all_words_is_found_and_headings_come_first() {
        let found = search("rate LIMITS");
        let (first, _) = &found[0];
        assert_eq!((first.topic.name, first.id.as_str()), ("errors-and-limits", "rate-limits"), "{found:?}");
        assert!(found.iter().any(|(section, _)| section.topic.name != first.topic.name), "{found:?}");
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
