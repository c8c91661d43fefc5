//! CSS selectors.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::modules::definition::text::entry_text;
use crate::modules::text::{constant, truncate};

/// The supported selectors, for error messages.
const ALLOWED: &str =
    "compound selectors such as `tag#id.class[attribute^=\"value\"]`, joined by a space, listed by `,`";
/// The pieces of a selector: what joins two compounds, and what a compound consists of. `NAME` represents a name.
const PIECE: &str = r#"(?<list>\s*,\s*)|(?<space>\s+)|(?<tag>\*|NAME)|#(?<id>NAME)|\.(?<class>NAME)|\[\s*(?<name>NAME)\s*(?:(?<operator>[~^*]?=)\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>NAME))\s*)?\]"#;

static PIECES: LazyLock<Regex> = LazyLock::new(|| constant(&PIECE.replace("NAME", r"[-\w[^\x00-\x7f]]+")));

/// A CSS selector of an entry: alternatives, each of which is a list of compounds from the outermost to the innermost.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    text: String,
    pub(crate) alternatives: Vec<Vec<Compound>>,
}

/// A compound selector, such as `tag#id.class[attr]`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Compound {
    pub(crate) tag: Option<String>,
    pub(crate) tests: Vec<AttributeTest>,
}

/// A condition on one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AttributeTest {
    pub(crate) name: String,
    pub(crate) operator: Operator,
    pub(crate) value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Present,
    Equals,
    Word,
    Prefix,
    Substring,
}

entry_text!(Selector, text, Selector::parse);

impl Selector {
    /// Parses the text of a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (trimmed, mut at) = (text.trim(), 0);
        let (mut alternatives, mut compounds, mut compound) = (Vec::new(), Vec::new(), None::<Compound>);
        for found in PIECES.captures_iter(trimmed) {
            let (piece, tag) = (found.get_match(), found.name("tag").map(|tag| tag.as_str()));
            let is_list = found.name("list").is_some();
            let joins = is_list || found.name("space").is_some();
            // A compound begins with its tag, and nothing is joined without one before it.
            let is_allowed = if compound.is_some() { tag.is_none() } else { !joins };
            if piece.start() > at || !is_allowed {
                break;
            }
            at = piece.end();
            if !joins {
                compound.get_or_insert_default().add(tag, &found);
                continue;
            }
            compounds.extend(compound.take());
            if is_list {
                alternatives.push(std::mem::take(&mut compounds));
            }
        }
        let Some(last) = compound.filter(|_| at == trimmed.len()) else {
            return Err(unsupported(text, &trimmed[at..]));
        };
        compounds.push(last);
        alternatives.push(compounds);
        Ok(Self { text: text.to_owned(), alternatives })
    }
}

/// Returns the message about a selector that is not supported from `rest` on.
fn unsupported(text: &str, rest: &str) -> String {
    let text = truncate(text, 80);
    let what = match rest {
        "" => "ends too early".to_owned(),
        _ => format!("is not supported from `{}` on", truncate(rest, 20)),
    };
    format!("the selector `{text}` {what}; expected {ALLOWED}")
}

impl Compound {
    /// Adds the tag that was found, or else the test of an attribute.
    fn add(&mut self, tag: Option<&str>, found: &Captures<'_>) {
        match tag {
            Some(tag) => self.tag = Some(tag.to_ascii_lowercase()).filter(|tag| tag != "*"),
            None => self.tests.push(AttributeTest::read(found)),
        }
    }

    /// Returns whether the compound matches an element. `attribute` returns the value of an attribute by its
    /// name.
    pub(super) fn matches<'e>(&self, tag: &str, attribute: impl Fn(&str) -> Option<&'e str>) -> bool {
        self.tag.as_ref().is_none_or(|wanted| wanted == tag)
            && self.tests.iter().all(|test| attribute(&test.name).is_some_and(|value| test.holds(value)))
    }
}

impl AttributeTest {
    fn read(found: &Captures<'_>) -> Self {
        let group = |name: &str| found.name(name).map(|group| group.as_str());
        let value = ["double", "single", "bare"].into_iter().find_map(group).unwrap_or_default();
        let (name, operator, value) = match (group("id"), group("class"), group("operator")) {
            (Some(id), ..) => ("id", Operator::Equals, id),
            (_, Some(class), _) => ("class", Operator::Word, class),
            (.., None) => ("", Operator::Present, ""),
            (.., Some("=")) => ("", Operator::Equals, value),
            (.., Some("~=")) => ("", Operator::Word, value),
            (.., Some("^=")) => ("", Operator::Prefix, value),
            (.., Some(_)) => ("", Operator::Substring, value),
        };
        let name = group("name").unwrap_or(name).to_ascii_lowercase();
        Self { name, operator, value: value.to_owned() }
    }

    pub(crate) fn holds(&self, actual: &str) -> bool {
        let wanted = self.value.as_str();
        match self.operator {
            Operator::Present => true,
            Operator::Equals => actual == wanted,
            Operator::Word => actual.split_ascii_whitespace().any(|word| word == wanted),
            Operator::Prefix => !wanted.is_empty() && actual.starts_with(wanted),
            Operator::Substring => !wanted.is_empty() && actual.contains(wanted),
        }
    }
}
