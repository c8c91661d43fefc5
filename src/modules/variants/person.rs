//! Variants of a person's names.

use any_ascii::any_ascii;
use unicode_normalization::UnicodeNormalization as _;

use super::{COUNTS, Variant, ranked, share};
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
        let slots = [
            ("{first}", first.clone()),
            ("{f}", initials(&first)),
            ("{nick}", nick.clone()),
            ("{n}", initials(&nick)),
            ("{middle}", middle.clone()),
            ("{m}", initials(&middle)),
            ("{last}", last.clone()),
            ("{l}", initials(&last)),
            ("{year}", self.year.iter().map(u16::to_string).collect()),
            ("{yy}", self.year.iter().map(|year| format!("{:02}", year % 100)).collect()),
        ];
        for (name, initial, firsts) in [("{first}", "{f}", &first), ("{nick}", "{n}", &nick)] {
            // Each spelling has an equal part of the weight.
            let spellings: usize = [firsts, &middle, &last].map(|name| name.len().max(1)).iter().product();
            for (rule, count, total) in &COUNTS.names {
                let rule = rule.replace("{first}", name).replace("{f}", initial);
                let weight = share(*count, *total) / spellings as f64;
                let variant = |username| Variant { username, rule: rule.clone(), weight };
                found.extend(filled(&rule, &slots).into_iter().map(variant));
            }
        }
        ranked(found, catalog)
    }
}

fn initials(spellings: &[String]) -> Vec<String> {
    spellings.iter().filter_map(|name| Some(name.get(..1)?.to_owned())).collect()
}

/// Returns the usernames that a rule forms: one for each spelling of the names in it, and none if one of them is missing.
fn filled(rule: &str, slots: &[(&str, Vec<String>)]) -> Vec<String> {
    let mut usernames = vec![rule.to_owned()];
    for (slot, texts) in slots.iter().filter(|(slot, _)| rule.contains(slot)) {
        let with = |username: &String| texts.iter().map(|text| username.replace(slot, text)).collect();
        usernames = usernames.iter().flat_map::<Vec<_>, _>(with).collect();
    }
    usernames
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
