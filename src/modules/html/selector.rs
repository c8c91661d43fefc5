//! CSS selectors.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use crate::modules::definition::text::entry_text;
use crate::modules::text::truncate;

/// The supported selectors, for error messages.
const ALLOWED: &str =
    "compound selectors such as `tag#id.class[attribute^=\"value\"]`, joined by a space, listed by `,`";
/// The characters of a name.
const NAME: &str = r"[-\w[^\x00-\x7f]]+";
/// A test of an attribute: `#id`, `.class`, `[name]` or `[name="value"]`.
const TEST: &str = r#"(?:#(?<id>NAME)|\.(?<class>NAME)|\[\s*(?<name>NAME)\s*(?:(?<operator>[~^*]?=)\s*(?:"(?<double>[^"]*)"|'(?<single>[^']*)'|(?<bare>NAME))\s*)?\])"#;

static TESTS: LazyLock<Regex> = LazyLock::new(|| pattern(TEST));
static COMPOUND: LazyLock<Regex> = LazyLock::new(|| pattern(&format!(r"^(?:\*|NAME)?{TEST}*")));

fn pattern(text: &str) -> Regex {
    // The patterns are constant, and the tests compile each of them.
    Regex::new(&text.replace("NAME", NAME)).expect("a valid pattern")
}

/// A CSS selector of an entry: alternatives, each of which is a list of compounds from the outermost to the innermost.
#[derive(Debug, Clone, Default)]
pub struct Selector {
    text: String,
    alternatives: Vec<Vec<Compound>>,
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

entry_text!(Selector, Selector::parse);

impl Selector {
    /// Parses the text of a selector.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let (mut rest, mut compounds, mut alternatives) = (text.trim(), Vec::new(), Vec::new());
        loop {
            let found = COMPOUND.find(rest).map(|found| found.as_str()).filter(|found| !found.is_empty());
            let found = found.ok_or_else(|| unsupported(text, rest))?;
            compounds.push(Compound::read(found));
            let after = &rest[found.len()..];
            rest = after.trim_start();
            if let Some(next) = rest.strip_prefix(',') {
                alternatives.push(std::mem::take(&mut compounds));
                rest = next.trim_start();
            } else if rest.is_empty() {
                alternatives.push(compounds);
                return Ok(Self { text: text.to_owned(), alternatives });
            } else if rest.len() == after.len() {
                return Err(unsupported(text, rest));
            }
        }
    }

    /// Returns the text as it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    pub(crate) fn alternatives(&self) -> &[Vec<Compound>] {
        &self.alternatives
    }
}

/// Returns the message about a selector that is not supported from `rest` on.
fn unsupported(text: &str, rest: &str) -> String {
    let text = truncate(text, 80);
    let what = match rest {
        "" => "ends too early".to_owned(),
        _ => format!("is not supported from `{}` on", truncate(rest, 20)),
    };
    format!("the selector `{text}` {what}; allowed are {ALLOWED}")
}

impl Compound {
    fn read(text: &str) -> Self {
        let (tag, tests) = text.split_at(text.find(['#', '.', '[']).unwrap_or(text.len()));
        let tag = Some(tag).filter(|tag| !matches!(*tag, "" | "*")).map(str::to_ascii_lowercase);
        Self { tag, tests: TESTS.captures_iter(tests).map(|found| AttributeTest::read(&found)).collect() }
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
        let test = |name: &str, operator, value: &str| Self {
            name: name.to_ascii_lowercase(),
            operator,
            value: value.to_owned(),
        };
        if let Some(id) = group("id") {
            return test("id", Operator::Equals, id);
        }
        if let Some(class) = group("class") {
            return test("class", Operator::Word, class);
        }
        let operator = match group("operator") {
            None => Operator::Present,
            Some("=") => Operator::Equals,
            Some("~=") => Operator::Word,
            Some("^=") => Operator::Prefix,
            Some(_) => Operator::Substring,
        };
        let value = ["double", "single", "bare"].into_iter().find_map(group);
        test(group("name").unwrap_or_default(), operator, value.unwrap_or_default())
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
