//! Variants of a person's names.

use any_ascii::any_ascii;
use unicode_normalization::UnicodeNormalization as _;

use super::{COUNTS, Form, Variant, ranked, share};
use crate::modules::catalog::Catalog;

/// Letters with two usual spellings, with the longer one. `any_ascii` gives the shorter one.
const LONGER: [(char, &str); 6] =
    [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('ø', "oe"), ('å', "aa"), ('æ', "ae")];

/// The names of a person, as they write them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The first name.
    pub first: String,
    /// The last name.
    pub last: String,
    /// The middle name.
    pub middle: Option<String>,
    /// The nickname, which may replace the first name.
    pub nick: Option<String>,
    /// A year that may follow a name, such as the year of birth: 1900 to 2099.
    pub year: Option<u16>,
}

impl Person {
    /// Returns the variants of the names, the most frequent first, at most [`MAX_VARIANTS`](super::MAX_VARIANTS).
    /// Names that cannot be written in Latin letters have none.
    pub fn variants(&self, catalog: &Catalog) -> Vec<Variant> {
        let of = |name: &Option<String>| name.as_deref().map(spellings).unwrap_or_default();
        let (first, last, middle, nick) =
            (spellings(&self.first), spellings(&self.last), of(&self.middle), of(&self.nick));
        let weight = share(COUNTS.same.0, COUNTS.same.1) / nick.len().max(1) as f64;
        let alone = |name: &String| Variant { username: name.clone(), rule: "{nick}".to_owned(), weight };
        let mut found: Vec<Variant> = nick.iter().map(alone).collect();
        for (firsts, is_nick) in [(first, false), (nick.clone(), true)] {
            let (firsts, middles, lasts) = (choices(&firsts), choices(&middle), choices(&last));
            // Each spelling has an equal part of the weight.
            let spellings = firsts.len() * middles.len() * lasts.len();
            for first in &firsts {
                for middle in &middles {
                    for last in &lasts {
                        let names = [("first", *first), ("middle", *middle), ("last", *last)];
                        for mut variant in COUNTS.names.iter().flat_map(|form| form.fill(&names, self.year)) {
                            variant.weight /= spellings as f64;
                            if is_nick {
                                variant.rule =
                                    variant.rule.replace("{first}", "{nick}").replace("{f}", "{n}");
                            }
                            found.push(variant);
                        }
                    }
                }
            }
        }
        ranked(found, catalog)
    }
}

/// Returns the spellings of a name, or one that is missing.
fn choices(spellings: &[String]) -> Vec<Option<&str>> {
    if spellings.is_empty() { vec![None] } else { spellings.iter().map(|name| Some(name.as_str())).collect() }
}

impl Form {
    /// Returns the variants of this form: none if a name of it is missing.
    fn fill(&self, names: &[(&str, Option<&str>); 3], year: Option<u16>) -> Vec<Variant> {
        let separated = self.separators.iter().map(|(separator, count)| (*separator, *count, ""));
        let [two_digits, whole] = self.years;
        let with_year =
            [("", two_digits, "{yy}"), ("", whole, "{year}")].into_iter().filter(|_| year.is_some());
        let rules = separated.chain(with_year).filter(|(_, count, _)| *count > 0);
        let variant = |(separator, count, end): (&str, u32, &str)| {
            let rule = self.pieces.join(separator) + end;
            let year = year.unwrap_or_default();
            let mut username =
                rule.replace("{yy}", &format!("{:02}", year % 100)).replace("{year}", &year.to_string());
            for (kind, name) in names {
                let initial = &kind[..1];
                if [*kind, initial].iter().any(|slot| rule.contains(&format!("{{{slot}}}"))) {
                    let name = (*name)?;
                    let first = name.get(..1).unwrap_or_default();
                    username = username
                        .replace(&format!("{{{kind}}}"), name)
                        .replace(&format!("{{{initial}}}"), first);
                }
            }
            Some(Variant { username, rule, weight: share(count, self.of) })
        };
        rules.filter_map(variant).collect()
    }
}

/// Returns the usual spellings of a name in small Latin letters and digits: one, or two for names with letters such as
/// `ü`. Returns none if nothing of it can be written so.
fn spellings(name: &str) -> Vec<String> {
    // A letter with its own mark is the same as one letter.
    let small = name.nfc().collect::<String>().to_lowercase();
    let longer = LONGER.iter().fold(small.clone(), |name, (letter, longer)| name.replace(*letter, longer));
    let mut spellings = [longer, small].map(|name| plain(&name)).to_vec();
    spellings.dedup();
    spellings.retain(|name| !name.is_empty());
    spellings
}

/// Transliterates a name, and leaves out all but letters and digits.
fn plain(name: &str) -> String {
    any_ascii(name).to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::modules::query::{Query, SearchType};
    use crate::modules::variants::{MAX_VARIANTS, of_username};

    static CATALOG: LazyLock<Catalog> = LazyLock::new(|| Catalog::builtin().unwrap());

    fn person(first: &str, last: &str) -> Person {
        Person { first: first.to_owned(), last: last.to_owned(), ..Person::default() }
    }

    fn names(variants: &[Variant]) -> Vec<&str> {
        variants.iter().map(|variant| variant.username.as_str()).collect()
    }

    #[test]
    fn frequent_forms_come_first() {
        let found = person("Ada", "Lovelace").variants(&CATALOG);
        assert_eq!(
            names(&found)[..6],
            ["adalovelace", "ada-lovelace", "ada_lovelace", "ada", "lovelaceada", "alovelace"]
        );
        assert_eq!(found[0].rule, "{first}{last}");
        assert!((found[0].weight - 654.0 / 4852.0).abs() < 1e-6);
        let born = Person { year: Some(1915), ..person("Ada", "Lovelace") }.variants(&CATALOG);
        assert_eq!(names(&born)[..2], ["adalovelace", "adalovelace15"]);
        assert!(names(&born).contains(&"ada1915"));
        let known = Person { nick: Some("Countess".to_owned()), ..person("Ada", "Lovelace") };
        assert_eq!(known.variants(&CATALOG)[0].rule, "{nick}");
    }

    #[test]
    fn both_spellings_are_tried() {
        let found = person("Jürgen", "Weiß").variants(&CATALOG);
        assert_eq!(names(&found)[..2], ["juergenweiss", "jurgenweiss"]);
        let found = person("Юлия", "Ωνάσης").variants(&CATALOG);
        assert_eq!(found[0].username, "yuliyaonasis");
        assert_eq!(person("---", "!").variants(&CATALOG), []);
        assert_eq!(names(&person("---", "Weiß").variants(&CATALOG)), ["weiss"]);
    }

    #[test]
    fn names_that_no_platform_could_have_are_left_out() {
        let entry = r#"[{"id": "short", "platform": "Short", "type": "username", "category": "test",
            "accepts": "[a-z]{1,8}", "control": false, "probes": [{"url": "https://short.example.com/{query}"}],
            "hit": [{"status": [200]}], "miss": [{"status": [404]}], "result": {"type": "account"}}]"#;
        let catalog = Catalog::from_text("short.json", entry).unwrap();
        let found = person("Ada", "Lovelace").variants(&catalog);
        assert_eq!(names(&found), ["ada", "adal", "lovelace", "lada"]);
    }

    #[test]
    fn separators_and_digits_of_usernames_change() {
        let found = of_username("John.Doe", &CATALOG);
        assert_eq!(names(&found)[..4], ["john.doe", "john_doe", "johndoe", "john.doe_"]);
        assert_eq!(found[1].rule, "{word}_{word}");
        let found = of_username("JohnDoe", &CATALOG);
        assert_eq!(names(&found)[..2], ["johndoe", "john_doe"]);
        let found = of_username("john1990", &CATALOG);
        assert_eq!(names(&found)[..2], ["john1990", "john"]);
        assert_eq!(found[1].rule, "{letters}");
    }

    #[test]
    fn names_are_written_in_latin_letters() {
        for (name, expected) in [
            ("Ada", vec!["ada"]),
            ("Müller", vec!["mueller", "muller"]),
            ("Weiß", vec!["weiss"]),
            ("Bjørn Åge", vec!["bjoernaage", "bjornage"]),
            ("O'Neill-Smith", vec!["oneillsmith"]),
            ("Юлия", vec!["yuliya"]),
            ("Γιώργος", vec!["giorgos"]),
            ("Łukasz", vec!["lukasz"]),
            ("José", vec!["jose"]),
            ("Mu\u{308}ller", vec!["mueller", "muller"]),
            ("---", vec![]),
        ] {
            assert_eq!(spellings(name), expected, "{name}");
        }
    }

    proptest! {
        #[test]
        fn variants_are_ranked_valid_and_few(
            first in "\\PC{1,20}", last in "[A-Za-zÄÖÜßа-я' -]{1,20}", middle in proptest::option::of("\\PC{1,8}"),
            nick in proptest::option::of("[a-zA-Z0-9_.]{1,12}"), year in proptest::option::of(1900u16..2100),
        ) {
                let person = Person { first, last, middle, nick: nick.clone(), year };
            let mut all = vec![person.variants(&CATALOG)];
            all.extend(nick.map(|name| of_username(&name, &CATALOG)));
            for variants in all {
                prop_assert!(variants.len() <= MAX_VARIANTS);
                prop_assert!(variants.is_sorted_by(|a, b| a.weight >= b.weight));
                let mut seen = std::collections::HashSet::new();
                for variant in &variants {
                    prop_assert!(variant.weight > 0.0 && variant.weight <= 1.0);
                    prop_assert!(seen.insert(&variant.username));
                    prop_assert!(Query::parse(SearchType::Username, &variant.username).is_ok());
                }
            }
        }
    }
}
