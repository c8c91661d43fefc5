//! Generates texts that a regex matches, for made-up names and for the pages of the sandbox.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind};

use super::pattern::SearchRegex;

/// The most bytes of a generated text.
const MAX_BYTES: usize = 4_096;
/// The number of texts that are tried, because an assertion such as `\b` may reject some.
const TRIES: u64 = 24;
/// The most repetitions beyond the minimum of a pattern.
const EXTRA_REPETITIONS: u64 = 8;

/// Returns a text in which `pattern` is found, as rules search it: `^` and `$` match at line ends. The same
/// seed gives the same text. Returns `None` if the pattern is invalid, or if no attempt gave a matching text.
pub fn sample(pattern: &str, seed: u64) -> Option<String> {
    Sampled::new(pattern)?.text(seed)
}

/// A regex that texts are generated for. It is compiled once.
#[derive(Debug)]
pub(crate) struct Sampled {
    regex: SearchRegex,
    hir: Hir,
}

impl Sampled {
    /// Compiles a pattern. Returns `None` if it is not valid.
    pub(crate) fn new(pattern: &str) -> Option<Self> {
        Self::of(SearchRegex::compile(pattern).ok()?)
    }

    /// Returns the regex with what its texts are made from, or `None` if its groups are nested too deep.
    pub(crate) fn of(regex: SearchRegex) -> Option<Self> {
        let hir = ParserBuilder::new().multi_line(true).nest_limit(50).build().parse(&regex).ok()?;
        Some(Self { regex, hir })
    }

    /// Returns a text that the regex matches, or `None` if no attempt gave one. The same seed gives the same text.
    pub(crate) fn text(&self, seed: u64) -> Option<String> {
        (0..TRIES).find_map(|attempt| {
            let mut writer = Writer { random: Random::new(seed ^ (attempt << 32)), text: String::new() };
            writer.write(&self.hir)?;
            self.regex.regex().is_match(&writer.text).then_some(writer.text)
        })
    }
}

/// A small random number generator (SplitMix64). It is not for secrets.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns the next random number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`, which must be above 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// Returns one of these values.
    pub(crate) fn pick<'v, T>(&mut self, from: &'v [T]) -> Option<&'v T> {
        from.get(usize::try_from(self.below(from.len() as u64)).ok()?)
    }
}

struct Writer {
    random: Random,
    text: String,
}

impl Writer {
    /// Writes a text that the expression matches. Returns `None` if there is none, or if the text is too long.
    fn write(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => Some(()),
            HirKind::Literal(literal) => self.push(std::str::from_utf8(&literal.0).ok()?),
            HirKind::Class(class) => {
                let c = self.choose(class)?;
                self.push(c.encode_utf8(&mut [0; 4]))
            }
            HirKind::Repetition(repetition) => {
                let least = u64::from(repetition.min);
                let most = repetition.max.map_or(u64::MAX, u64::from).min(least + EXTRA_REPETITIONS);
                let count = least + self.random.below(most - least + 1);
                (0..count).try_for_each(|_| self.write(&repetition.sub))
            }
            HirKind::Capture(capture) => self.write(&capture.sub),
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.write(part)),
            HirKind::Alternation(choices) => {
                let choice = self.random.pick(choices)?;
                self.write(choice)
            }
        }
    }

    fn push(&mut self, text: &str) -> Option<()> {
        self.text.push_str(text);
        (self.text.len() <= MAX_BYTES).then_some(())
    }

    /// Returns a character of the class: a lower-case letter or digit if
    /// possible, otherwise printable ASCII if possible.
    fn choose(&mut self, class: &Class) -> Option<char> {
        let class = match class {
            Class::Unicode(class) => class.clone(),
            Class::Bytes(class) => class.to_unicode_class()?,
        };
        let holds = |c: &char| class.iter().any(|range| (range.start()..=range.end()).contains(c));
        let simple = ('a'..='z').chain('0'..='9').filter(holds).collect();
        let printable = (' '..='~').filter(holds).collect();
        let first = class.iter().flat_map(|range| range.start()..=range.end()).take(40).collect();
        let chars: Vec<char> =
            [simple, printable, first].into_iter().find(|chars: &Vec<char>| !chars.is_empty())?;
        self.random.pick(&chars).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_matches_and_depends_on_the_seed() {
        for pattern in [
            "^[a-z0-9_]{3,20}$",
            "^(?:[A-Za-z0-9](?:-?[A-Za-z0-9]){0,38})$",
            r"\bfoo\b|\d{2,}",
            r"(?i)not found",
            r"^\p{Lu}+$",
            r#"<title>([^<|]+) \| Site</title>"#,
            r"[^\x00-\x7f]{2}",
            "",
        ] {
            let text = sample(pattern, 7).unwrap();
            assert_eq!(sample(pattern, 7).unwrap(), text);
            assert!(regex::Regex::new(pattern).unwrap().is_match(&text), "{pattern}: {text:?}");
        }
        let all: std::collections::BTreeSet<_> =
            (0..20).map(|seed| sample("[a-z]{12}", seed).unwrap()).collect();
        assert_eq!(all.len(), 20);
    }

    #[test]
    fn a_pattern_that_matches_nothing_has_no_sample() {
        for pattern in ["(", "a\\bb", "[a&&b]", "(?:a{1000}){1000}"] {
            assert_eq!(sample(pattern, 1), None, "{pattern}");
        }
    }
}
