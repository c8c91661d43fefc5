//! New conditions on pages.

use super::candidate::{Candidate, selector, template, templated};
use super::evidence::{Evidence, Sample, Side};
use super::wording::{is_of_failure, names_missing, says_missing};
use crate::modules::answer::Answer;
use crate::modules::definition::{CssCondition, CssRule, Matcher};
use crate::modules::html::{SelectorId, Selectors};
use crate::modules::module::Module;
use crate::modules::pattern::Pattern;
use crate::modules::text::{same_name, squeeze};

/// The most classes and identifiers of a page that are looked at.
const MAX_MARKS: usize = 300;
/// The lengths of a text that a condition may repeat, in characters.
const TEXT_CHARS: std::ops::RangeInclusive<usize> = 8..=120;
/// The most places of the name in a page that are looked at.
const MAX_PLACES: usize = 60;
/// The most characters before a name that a condition repeats.
const REACH: usize = 30;

/// Words in classes that every profile may have.
const PROFILE: [&str; 12] = [
    "profile", "user", "account", "member", "author", "avatar", "handle", "nick", "person", "channel",
    "owner", "vcard",
];
/// Words in classes that only some profiles have, or that say how a page is shown.
const OPTIONAL: [&str; 14] = [
    "verified", "badge", "premium", "pro-", "online", "active", "private", "empty", "banner", "dark",
    "light", "open", "login", "signup",
];

/// The selectors that list the marks of a page.
struct Marks {
    selectors: Selectors,
    classes: SelectorId,
    ids: SelectorId,
    metas: Vec<(&'static str, SelectorId)>,
    texts: Vec<SelectorId>,
}

impl Marks {
    fn new() -> Option<Self> {
        let mut selectors = Selectors::default();
        let mut add = |text: &str, attribute: Option<&str>| selectors.add(text, attribute).ok();
        let classes = add("[class]", Some("class"))?;
        let ids = add("[id]", Some("id"))?;
        let metas = vec![
            ("property", add("meta[property]", Some("property"))?),
            ("name", add("meta[name]", Some("name"))?),
        ];
        let texts = ["h1", "h2", "h3", "p", "strong", "title"].map(|tag| add(tag, None));
        let texts = texts.into_iter().collect::<Option<Vec<_>>>()?;
        selectors.want("content");
        selectors.want_visibility();
        Some(Self { selectors, classes, ids, metas, texts })
    }
}

/// Returns the conditions of this kind that may hold for the answers of a side.
pub(super) fn candidates(module: &Module, evidence: &Evidence, side: Side) -> Vec<Candidate> {
    let (Some(marks), Some(sample)) = (Marks::new(), evidence.wanted(side).first()) else {
        return Vec::new();
    };
    let Some(response) = sample.responses.first() else { return Vec::new() };
    let answer = Answer::new(response, &marks.selectors);
    if answer.json().is_some() {
        return Vec::new();
    }
    let name = module.name_of(&sample.query);
    match side {
        Side::Hit => {
            let shows = Matcher { shows_query: true, ..Matcher::default() };
            let mut found = vec![Candidate::new(14, shows)];
            found.extend(metas(&answer, &marks, &name));
            found.extend(linked_data(&answer));
            found.extend(marked(&answer, &marks, &name, evidence.known.len() > 1));
            found.extend(places(answer.text(), &name));
            found.extend(shared_texts(&answer, &marks, &evidence.known));
            found
        }
        Side::Miss => {
            let mut found: Vec<Candidate> = missing_marks(&answer, &marks).collect();
            found.extend(missing_title(&answer, &name));
            found.extend(missing_texts(&answer, &marks, &name));
            found.extend(whole_body(&answer, &name));
            found
        }
    }
}

fn css(cost: usize, rule: CssRule) -> Candidate {
    Candidate::new(cost, Matcher { css: vec![rule], ..Matcher::default() })
}

/// Returns conditions on the `<meta>` elements that repeat the name, or say that the page is a profile.
fn metas(answer: &Answer<'_>, marks: &Marks, name: &str) -> Vec<Candidate> {
    let page = answer.page();
    let mut found = Vec::new();
    for (attribute, id) in &marks.metas {
        for meta in page.elements(*id) {
            let (Some(key), Some(content)) = (meta.attribute(attribute), meta.attribute("content")) else {
                continue;
            };
            if !is_plain(key) {
                continue;
            }
            let select = format!("meta[{attribute}=\"{key}\"]");
            if same_name(content.trim().trim_start_matches('@'), name) {
                let attribute = Some("content".to_owned());
                let equals_query = Some(true);
                let select = selector(&select);
                let condition = CssCondition { select, attribute, equals_query, exists: true, matches: None };
                found.push(css(12, CssRule::Detailed(condition)));
            } else if key == "og:type" && content == "profile" {
                found.push(css(17, CssRule::Found(selector(&format!("{select}[content=\"profile\"]")))));
            } else if key.starts_with("profile:") {
                found.push(css(20, CssRule::Found(selector(&select))));
            }
        }
    }
    found
}

/// Returns conditions on the types of the page's JSON-LD.
fn linked_data(answer: &Answer<'_>) -> Vec<Candidate> {
    let types = answer.json_ld().iter().filter_map(|object| object.get("@type")?.as_str());
    let known = types.filter(|kind| matches!(*kind, "ProfilePage" | "Person" | "Organization"));
    let made = known.map(|kind| {
        let regex = Pattern::parse(&format!("\"@type\"\\s*:\\s*\"{kind}\"")).ok();
        Candidate::new(18, Matcher { regex, ..Matcher::default() })
    });
    made.collect()
}

/// Returns the classes and identifiers of a page as selectors, each with the text of its element.
fn selectors_of(answer: &Answer<'_>, marks: &Marks) -> Vec<(String, String)> {
    let page = answer.page();
    let mut found: Vec<(String, String)> = Vec::new();
    for (id, attribute, sign) in [(marks.classes, "class", '.'), (marks.ids, "id", '#')] {
        for element in page.elements(id) {
            let text = page.text_of(element);
            let names = element.attribute(attribute).unwrap_or_default().split_whitespace();
            for name in names.filter(|name| is_plain(name)) {
                let select = format!("{sign}{name}");
                if found.len() < MAX_MARKS && found.iter().all(|(known, _)| *known != select) {
                    found.push((select, text.clone()));
                }
            }
        }
    }
    found
}

/// Returns whether a word can be written in a selector, and is not generated for a build of the site.
fn is_plain(word: &str) -> bool {
    let is_short = (3..=40).contains(&word.len());
    let is_generated = word.starts_with("css-") || word.starts_with("sc-") || word.starts_with("jsx-");
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_word = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_:".contains(&b));
    let begins = word.starts_with(|c: char| c.is_ascii_alphabetic());
    is_short && is_word && begins && !is_generated && digits <= 3
}

/// Returns conditions on classes and identifiers: that an element has the name as its text, or that it is there.
/// `is_compared` says whether there are several known accounts. A single one does not show which elements only some
/// pages have.
fn marked(answer: &Answer<'_>, marks: &Marks, name: &str, is_compared: bool) -> Vec<Candidate> {
    let mut found = Vec::new();
    for (select, text) in selectors_of(answer, marks).into_iter().filter(|(select, _)| !select.contains(':'))
    {
        let lower = select.to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| lower.contains(word));
        if same_name(text.trim().trim_start_matches('@'), name) {
            let equals_query = Some(true);
            let condition = CssCondition {
                select: selector(&select),
                equals_query,
                exists: true,
                attribute: None,
                matches: None,
            };
            found.push(css(18, CssRule::Detailed(condition)));
        }
        if lower.contains(&name.to_lowercase()) || is_of_failure(&select) || names_missing(&select) {
            continue;
        }
        let cost = match () {
            () if is_compared && says(&OPTIONAL) => 50,
            () if says(&PROFILE) && !says(&OPTIONAL) => 30,
            () if is_compared => 38,
            () => continue,
        };
        found.push(css(cost, CssRule::Found(selector(&select))));
    }
    found
}

/// Returns conditions on the name with the markup in front of it, such as `"login":"{query}"`.
fn places(body: &str, name: &str) -> Vec<Candidate> {
    let mut found: Vec<Candidate> = Vec::new();
    for (start, matched) in body.match_indices(name).filter(|_| !name.is_empty()).take(MAX_PLACES) {
        let is_markup = |c: char| c.is_ascii_alphabetic() || "\"'=:@/_-<>".contains(c);
        let front = &body[..start];
        let reach =
            front.chars().rev().take(REACH).take_while(|c| is_markup(*c)).map(char::len_utf8).sum::<usize>();
        let before = &front[start - reach..];
        let behind = body[start + matched.len()..].chars().next().filter(|c| "\"'/<&?)".contains(*c));
        // The name alone is on pages that repeat what was asked for.
        let has_key = before.chars().filter(char::is_ascii_alphabetic).count() >= 3
            && before.ends_with(|c: char| "\"'=:@/>".contains(c));
        let Some(behind) = behind.filter(|_| has_key) else { continue };
        let (text, count) = templated(&format!("{before}{name}{behind}"), name);
        let candidate = Candidate::words(34, &text);
        if count == 1 && !found.contains(&candidate) {
            found.push(candidate);
        }
    }
    found
}

/// Returns conditions on texts that the pages of several known accounts share. The page of a single one does not
/// show which of its texts are its own.
fn shared_texts(answer: &Answer<'_>, marks: &Marks, known: &[Sample]) -> Vec<Candidate> {
    if known.len() < 2 {
        return Vec::new();
    }
    let texts = texts_of(answer, marks).into_iter().filter(|text| !is_of_failure(text));
    let made = texts.map(|text| {
        let text = vec![template(&templated(&text, "").0)];
        Candidate::new(60, Matcher { text, ..Matcher::default() })
    });
    made.take(MAX_PLACES).collect()
}

/// Returns the short texts of headings and paragraphs.
fn texts_of(answer: &Answer<'_>, marks: &Marks) -> Vec<String> {
    let page = answer.page();
    let elements = marks.texts.iter().flat_map(|id| page.elements(*id));
    let mut texts: Vec<String> = elements.map(|element| page.text_of(element)).collect();
    texts.retain(|text| TEXT_CHARS.contains(&text.chars().count()));
    texts.dedup();
    texts
}

/// Returns conditions on classes and identifiers that say that something does not exist.
fn missing_marks(answer: &Answer<'_>, marks: &Marks) -> impl Iterator<Item = Candidate> {
    let selectors = selectors_of(answer, marks).into_iter().map(|(select, _)| select);
    selectors
        .filter(|select| names_missing(select) && !select.contains(':'))
        .map(|select| css(26, CssRule::Found(selector(&select))))
}

/// Returns the condition that the title says that something does not exist.
fn missing_title(answer: &Answer<'_>, name: &str) -> Option<Candidate> {
    let title = squeeze(answer.page().title.as_deref()?);
    let title_is = Some(template(&templated(&title, name).0));
    (says_missing(&title) && title.chars().count() <= *TEXT_CHARS.end())
        .then(|| Candidate::new(30, Matcher { title_is, ..Matcher::default() }))
}

/// Returns conditions on texts that say that something does not exist.
fn missing_texts(answer: &Answer<'_>, marks: &Marks, name: &str) -> Vec<Candidate> {
    let visible = answer.visible();
    let shown =
        texts_of(answer, marks).into_iter().filter(|text| says_missing(text) && visible.contains(text));
    let shown = shown.map(|text| {
        let text = vec![template(&templated(&text, name).0)];
        Candidate::new(40, Matcher { text, ..Matcher::default() })
    });
    // Pages without headings have their message between other tags.
    let pieces = answer.text().split(['<', '>', '\n']).map(str::trim);
    let pieces = pieces.filter(|piece| TEXT_CHARS.contains(&piece.chars().count()) && says_missing(piece));
    let pieces = pieces.take(MAX_PLACES).map(|piece| Candidate::words(44, &templated(piece, name).0));
    shown.chain(pieces).collect()
}

/// Returns the condition that the whole body is a short text.
fn whole_body(answer: &Answer<'_>, name: &str) -> Option<Candidate> {
    let body = answer.text().trim();
    let is_short = (1..=*TEXT_CHARS.end()).contains(&body.chars().count()) && !body.starts_with('<');
    (is_short && says_missing(body)).then(|| {
        let body_is = Some(template(&templated(body, name).0));
        Candidate::new(32, Matcher { body_is, ..Matcher::default() })
    })
}
