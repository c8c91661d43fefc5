//! Reads a CSS selector as instructions for building an element that it finds.
//!
//! The rule engine compiles selectors to bit masks, from which no element can be read back; this reads
//! the same grammar: compounds, joined by white space or `>`, listed by `,` (the first of a list is built).

/// One compound: an element to build.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Compound {
    /// Lower-case tag; `None` where any does.
    pub(super) tag: Option<String>,
    pub(super) tests: Vec<Test>,
}

/// What a compound asks of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Test {
    pub(super) name: String,
    operator: Operator,
    value: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Present,
    Equals,
    Word,
    Prefix,
    Suffix,
    Substring,
}

impl Compound {
    /// The value that an attribute must have, if it is to hold `content` at the same time.
    pub(super) fn attribute(&self, name: &str, content: Option<&str>) -> String {
        let tests: Vec<&Test> = self.tests.iter().filter(|test| test.name == name).collect();
        if let Some(exact) = tests.iter().find(|test| test.operator == Operator::Equals) {
            return exact.value.clone();
        }
        let mut value = content.unwrap_or_default().to_owned();
        for test in tests {
            if test.holds(&value) {
                continue;
            }
            value = match test.operator {
                // A prefix of an address with the last part of another is still an address.
                Operator::Prefix => format!("{}{}", test.value, value.rsplit('/').next().unwrap_or_default()),
                Operator::Word if !value.is_empty() => format!("{value} {}", test.value),
                Operator::Suffix | Operator::Substring | Operator::Word => format!("{value}{}", test.value),
                Operator::Present | Operator::Equals => value,
            };
        }
        if value.is_empty() && content.is_none() { "sample".to_owned() } else { value }
    }

    /// Names of all attributes that it tests, each once.
    pub(super) fn attribute_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.tests.iter().map(|test| test.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }
}

impl Test {
    fn holds(&self, actual: &str) -> bool {
        match self.operator {
            Operator::Present => true,
            Operator::Equals => actual == self.value,
            Operator::Word => actual.split_ascii_whitespace().any(|word| word == self.value),
            Operator::Prefix => actual.starts_with(&self.value),
            Operator::Suffix => actual.ends_with(&self.value),
            Operator::Substring => actual.contains(&self.value),
        }
    }
}

/// The compounds of the first selector in a list, outermost first. `None`: not in the grammar.
pub(super) fn read(text: &str) -> Option<Vec<Compound>> {
    let mut reader = Reader { rest: text.trim() };
    let mut compounds = Vec::new();
    loop {
        compounds.push(reader.compound()?);
        reader.rest = reader.rest.trim_start();
        if reader.rest.is_empty() || reader.rest.starts_with(',') {
            return Some(compounds);
        }
        // Building every element directly inside the one before suits both combinators.
        reader.rest = reader.rest.strip_prefix('>').unwrap_or(reader.rest).trim_start();
    }
}

struct Reader<'t> {
    rest: &'t str,
}

impl<'t> Reader<'t> {
    fn compound(&mut self) -> Option<Compound> {
        let before = self.rest.len();
        let mut compound = Compound::default();
        if !self.skip('*') {
            let tag = self.name();
            compound.tag = (!tag.is_empty()).then(|| tag.to_ascii_lowercase());
        }
        loop {
            let test = if self.skip('#') {
                self.shorthand("id", Operator::Equals)?
            } else if self.skip('.') {
                self.shorthand("class", Operator::Word)?
            } else if self.skip('[') {
                self.attribute()?
            } else {
                break;
            };
            compound.tests.push(test);
        }
        (self.rest.len() < before).then_some(compound)
    }

    fn skip(&mut self, c: char) -> bool {
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn name(&mut self) -> &'t str {
        let end = self
            .rest
            .find(|c: char| !c.is_alphanumeric() && !matches!(c, '-' | '_'))
            .unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name
    }

    fn shorthand(&mut self, attribute: &str, operator: Operator) -> Option<Test> {
        let value = self.name();
        (!value.is_empty()).then(|| Test { name: attribute.to_owned(), operator, value: value.to_owned() })
    }

    /// Behind the `[`, up to and with the `]`.
    fn attribute(&mut self) -> Option<Test> {
        self.rest = self.rest.trim_start();
        let end = self
            .rest
            .find(|c: char| matches!(c, '=' | ']' | '~' | '|' | '^' | '$' | '*') || c.is_whitespace())?;
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        let name = name.to_ascii_lowercase();
        if self.skip(']') {
            return Some(Test { name, operator: Operator::Present, value: String::new() });
        }
        let operator = match self.rest.split_once('=')?.0 {
            "" | "|" => Operator::Equals,
            "~" => Operator::Word,
            "^" => Operator::Prefix,
            "$" => Operator::Suffix,
            "*" => Operator::Substring,
            _ => return None,
        };
        self.rest = self.rest.split_once('=')?.1.trim_start();
        let value = self.attribute_value()?;
        self.rest = self.rest.trim_start();
        // A flag for case: the value as it stands fits anyway.
        self.rest = self.rest.trim_start_matches(['i', 'I', 's', 'S']).trim_start();
        self.skip(']').then_some(Test { name, operator, value })
    }

    fn attribute_value(&mut self) -> Option<String> {
        for quote in ['"', '\''] {
            if self.skip(quote) {
                let (value, rest) = self.rest.split_once(quote)?;
                self.rest = rest;
                return Some(value.to_owned());
            }
        }
        let end = self.rest.find(|c: char| c == ']' || c.is_whitespace())?;
        let (value, rest) = self.rest.split_at(end);
        self.rest = rest;
        Some(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_become_elements() {
        let compounds = read("main > div#x.card.big a[href^='https://x.org/'][rel=me], p").unwrap();
        let tags: Vec<_> = compounds.iter().map(|compound| compound.tag.as_deref()).collect();
        assert_eq!(tags, [Some("main"), Some("div"), Some("a")]);
        assert_eq!(compounds[1].attribute("class", None), "card big");
        assert_eq!(compounds[1].attribute("id", None), "x");
        assert_eq!(compounds[2].attribute("href", Some("https://y.org/alice")), "https://x.org/alice");
        assert_eq!(compounds[2].attribute("rel", Some("else")), "me");
        assert_eq!(compounds[2].attribute_names(), ["href", "rel"]);
        assert_eq!(read("[data-x]").unwrap()[0].attribute("data-x", None), "sample");
    }

    #[test]
    fn what_is_no_selector_is_none() {
        for bad in ["", "a:hover", "a > ", "[x", "a[b='c]", "#"] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
