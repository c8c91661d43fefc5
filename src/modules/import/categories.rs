//! Converts the categories and tags of lists into those of the catalogue.

/// The category of adult sites.
pub(super) const ADULT: &str = "adult";

/// The category of each tag, in lower case. The first tag of an entry that is found here determines the
/// category.
const OF_TAG: [(&str, &str); 47] = [
    ("anime", "hobby"),
    ("art", "art"),
    ("auto", "hobby"),
    ("blog", "blog"),
    ("bookmarks", "links"),
    ("books", "hobby"),
    ("business", "business"),
    ("career", "business"),
    ("coding", "coding"),
    ("cooking", "hobby"),
    ("crypto", "finance"),
    ("dating", "dating"),
    ("design", "art"),
    ("discussion", "forum"),
    ("education", "education"),
    ("finance", "finance"),
    ("forum", "forum"),
    ("freelance", "business"),
    ("gambling", "gaming"),
    ("gaming", "gaming"),
    ("hacking", "tech"),
    ("hobby", "hobby"),
    ("links", "links"),
    ("lemmy", "social"),
    ("mastodon", "social"),
    ("medicine", "health"),
    ("messaging", "social"),
    ("movies", "video"),
    ("music", "music"),
    ("networking", "social"),
    ("news", "news"),
    ("photo", "images"),
    ("professional", "business"),
    ("q&a", "forum"),
    ("reading", "hobby"),
    ("research", "education"),
    ("science", "education"),
    ("sharing", "links"),
    ("shopping", "shopping"),
    ("social", "social"),
    ("sport", "hobby"),
    ("stock", "finance"),
    ("streaming", "video"),
    ("tech", "tech"),
    ("trading", "finance"),
    ("travel", "travel"),
    ("video", "video"),
];

/// The tags of adult sites, in lower case.
const ADULT_TAGS: [&str; 6] = ["adult", "erotic", "nsfw", "porn", "webcam", "xxx"];

/// Returns the category for a `cat` of WhatsMyName. The word is kept, except for adult sites.
pub(super) fn whatsmyname(cat: &str) -> String {
    let word = word(cat);
    match word.as_deref() {
        Some(text) if text.split_whitespace().any(|part| ADULT_TAGS.contains(&part)) => ADULT.to_owned(),
        Some(text) => text.to_owned(),
        None => "misc".to_owned(),
    }
}

/// Returns the category of the first tag that has one.
pub(super) fn of_tags(tags: &[&str]) -> String {
    if is_adult(tags) {
        return ADULT.to_owned();
    }
    let found = tags.iter().find_map(|tag| {
        let tag = tag.to_lowercase();
        OF_TAG.iter().find(|(known, _)| *known == tag).map(|(_, category)| *category)
    });
    found.unwrap_or("misc").to_owned()
}

/// Returns whether a tag says that the site is for adults.
pub(super) fn is_adult(tags: &[&str]) -> bool {
    tags.iter().any(|tag| ADULT_TAGS.contains(&tag.to_lowercase().as_str()))
}

/// Returns the tags as words that a catalogue entry may contain, without duplicates.
pub(super) fn words(tags: &[&str]) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in tags.iter().filter_map(|tag| word(tag)) {
        if !words.contains(&word) {
            words.push(word);
        }
    }
    words
}

/// Returns a tag as lower-case ASCII letters and digits, `_`, `-` and spaces. Any other character becomes a
/// `-`. Returns `None` if nothing is left.
fn word(text: &str) -> Option<String> {
    let fit = |c: char| {
        let c = c.to_ascii_lowercase();
        if c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | ' ') { c } else { '-' }
    };
    let word: String = text.trim().chars().take(64).map(fit).collect();
    let word = word.trim_matches(['-', ' ']);
    (!word.is_empty()).then(|| word.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imported_categories_are_converted() {
        assert_eq!(whatsmyname("xx NSFW xx"), ADULT);
        assert_eq!(whatsmyname("political"), "political");
        assert_eq!(whatsmyname("!"), "misc");
        assert_eq!(of_tags(&["us", "photo", "coding"]), "images");
        assert_eq!(of_tags(&["social", "Porn"]), ADULT);
        assert_eq!(of_tags(&["ru"]), "misc");
        assert_eq!(words(&["Q&A", "us", "us", "музыка", "a b"]), ["q-a", "us", "a b"]);
    }

    #[test]
    fn the_table_is_in_lower_case_and_has_no_duplicates() {
        for (index, (tag, _)) in OF_TAG.iter().enumerate() {
            assert_eq!(*tag, tag.to_lowercase());
            assert!(OF_TAG[index + 1..].iter().all(|(other, _)| other != tag), "{tag}");
        }
    }
}
