//! CSS selectors: parses them and tests one compound against one element.

/// The supported selectors, for error messages.
const ALLOWED: &str =
    "compound selectors such as `tag#id.class[attribute^=\"value\"]`, joined by a space, listed by `,`";

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

impl AttributeTest {
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

impl Compound {
    /// Returns whether the compound matches an element. `attribute` returns the value of an attribute by its
    /// name.
    pub(super) fn matches<'e>(&self, tag: &str, attribute: impl Fn(&str) -> Option<&'e str>) -> bool {
        self.tag.as_ref().is_none_or(|wanted| wanted == tag)
            && self.tests.iter().all(|test| attribute(&test.name).is_some_and(|value| test.holds(value)))
    }
}

/// Parses a selector list.
pub(crate) fn parse(text: &str) -> Result<Vec<Vec<Compound>>, String> {
    let mut reader = Reader { text, at: 0 };
    let mut list = Vec::new();
    loop {
        list.push(reader.compounds()?);
        if reader.at == text.len() {
            return Ok(list);
        }
        reader.at += 1; // the comma
    }
}

struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_space(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let length = rest.len() - rest.trim_start().len();
        self.at += length;
        length > 0
    }

    fn error(&self, what: &str) -> String {
        let shown = super::super::text::truncate(self.text, 80);
        format!("the selector `{shown}` {what}; allowed are {ALLOWED}")
    }

    /// Parses one selector, up to a comma or the end of the text.
    fn compounds(&mut self) -> Result<Vec<Compound>, String> {
        let mut compounds = Vec::new();
        self.skip_space();
        loop {
            compounds.push(self.compound()?);
            let spaced = self.skip_space();
            match self.peek() {
                None | Some(',') => return Ok(compounds),
                Some(_) if spaced => {}
                Some(c) => return Err(self.error(&format!("contains `{c}`, which is not supported"))),
            }
        }
    }

    fn compound(&mut self) -> Result<Compound, String> {
        let start = self.at;
        let mut compound = Compound::default();
        if self.peek() == Some('*') {
            self.at += 1;
        } else if self.peek().is_some_and(is_name_char) {
            compound.tag = Some(self.name()?.to_ascii_lowercase());
        }
        loop {
            let test = match self.peek() {
                Some('#') => self.shorthand("id", Operator::Equals)?,
                Some('.') => self.shorthand("class", Operator::Word)?,
                Some('[') => self.attribute()?,
                _ => break,
            };
            compound.tests.push(test);
        }
        if self.at == start {
            return Err(match self.peek() {
                None | Some(',') => self.error("ends too early"),
                Some(c) => self.error(&format!("contains `{c}`, which is not supported")),
            });
        }
        Ok(compound)
    }

    fn shorthand(&mut self, name: &str, operator: Operator) -> Result<AttributeTest, String> {
        self.at += 1;
        let value = self.name()?;
        Ok(AttributeTest { name: name.to_owned(), operator, value })
    }

    fn name(&mut self) -> Result<String, String> {
        let rest = &self.text[self.at..];
        let name = &rest[..rest.find(|c| !is_name_char(c)).unwrap_or(rest.len())];
        self.at += name.len();
        if name.is_empty() {
            Err(self.error("lacks a name after `#`, `.` or `[`"))
        } else {
            Ok(name.to_owned())
        }
    }

    fn attribute(&mut self) -> Result<AttributeTest, String> {
        self.at += 1;
        self.skip_space();
        let name = self.name()?.to_ascii_lowercase();
        self.skip_space();
        let mut test = AttributeTest { name, operator: Operator::Present, value: String::new() };
        if self.peek() != Some(']') {
            test.operator = self.operator()?;
            self.skip_space();
            test.value = self.value()?;
            self.skip_space();
        }
        if self.peek() != Some(']') {
            return Err(self.error("has a `[` without its `]`"));
        }
        self.at += 1;
        Ok(test)
    }

    fn operator(&mut self) -> Result<Operator, String> {
        let rest = &self.text[self.at..];
        let (length, operator) = match rest.as_bytes() {
            [b'=', ..] => (1, Operator::Equals),
            [b'~', b'=', ..] => (2, Operator::Word),
            [b'^', b'=', ..] => (2, Operator::Prefix),
            [b'*', b'=', ..] => (2, Operator::Substring),
            _ => return Err(self.error("compares an attribute with something else than = ~= ^= *=")),
        };
        self.at += length;
        Ok(operator)
    }

    fn value(&mut self) -> Result<String, String> {
        match self.peek() {
            Some(quote @ ('"' | '\'')) => {
                self.at += 1;
                let Some(end) = self.text[self.at..].find(quote) else {
                    return Err(self.error("has a quote that is not closed"));
                };
                let value = self.text[self.at..self.at + end].to_owned();
                self.at += end + 1;
                Ok(value)
            }
            _ => self.name(),
        }
    }
}

fn is_name_char(c: char) -> bool {
    c.is_alphanumeric() || c == '-' || c == '_' || !c.is_ascii()
}
